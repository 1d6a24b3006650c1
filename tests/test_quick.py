"""A fixed release's file is answered without click, in the words of the command, or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.engine import plan
from codemod.journal import NAME
from codemod.quick import answered
from codemod.registry import load
from tests.releases import AFFECTED, MEMBER, source


def fixed(version: str) -> bytes:
    return plan(source(version), load()).after


def put(folder: Path, content: bytes) -> Path:
    path = folder / MEMBER
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run the command and list what it loaded, which must not be what a measurement loads."""
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('LOADED', *sys.modules, file=sys.stderr))\n"
        "from codemod.__main__ import main\nmain()\n"
    )
    command = [sys.executable, "-c", code, *arguments]
    environ = {name: value for name, value in os.environ.items() if "COVERAGE" not in name}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("version", ["0.4.21", "0.4.30", AFFECTED[-1]])
def test_it_says_what_the_command_says_and_loads_no_click(version: str, tmp_path: Path) -> None:
    files = [put(tmp_path / "a", fixed(version)), put(tmp_path / "b", fixed("0.8.0"))]
    done = run("apply", *files)
    result = CliRunner().invoke(cli, ["apply", *map(str, files)])
    assert (done.returncode, done.stdout) == (result.exit_code, result.stdout) == (0, done.stdout)
    assert "already" in done.stdout
    loaded = done.stderr.split()
    assert not {"click", "libcst", "codemod.cli", "codemod.model", "typing", "tomllib"} & {*loaded}
    assert "codemod.quick" in loaded


def test_what_a_killed_run_left_is_never_answered_quickly(tmp_path: Path) -> None:
    """The command finishes it, tells of it where it writes nothing, and fails where it cannot."""
    path = put(tmp_path, fixed("0.8.0"))
    note = path.with_name(NAME)
    note.write_text('{"changes": []}')
    assert not answered(["apply", str(path)])
    checked = CliRunner().invoke(cli, ["apply", "--check", str(path)])
    assert "a killed run is to be finished" in checked.stderr
    done = CliRunner().invoke(cli, ["apply", str(path)])
    assert (done.exit_code, note.exists()) == (0, False)
    assert "finished what a killed run had begun" in done.stderr
    note.write_text("none of ours")
    failed = CliRunner().invoke(cli, ["apply", str(path)])
    assert failed.exit_code == 3
    assert "not written by codemod: remove it" in failed.output
    assert note.read_text() == "none of ours"


def test_anything_else_is_left_to_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = str(put(tmp_path / "good", fixed("0.8.0")))
    affected = str(put(tmp_path / "affected", source("0.8.0")))
    other = str(put(tmp_path / "other", fixed("0.8.0") + b"#\n"))
    nowhere = str(tmp_path / "cloud_tpu_cluster.py")
    odd = str(put(tmp_path / "caf\xe9", fixed("0.8.0")))
    link = tmp_path / "link" / "cloud_tpu_cluster.py"
    link.parent.mkdir()
    link.symlink_to(good)
    crlf = fixed("0.8.0").replace(b"\n", b"\r\n")
    for arguments in (
        [],
        ["apply"],
        ["apply", ""],
        ["apply", good, ""],
        ["diff", good],
        ["apply", affected],
        ["apply", good, affected],
        ["apply", other],
        ["apply", good, "--check"],
        ["apply", "--", good],
        ["apply", str(tmp_path)],
        ["apply", nowhere],
        ["apply", odd],
        ["apply", str(link)],
        ["apply", f"{tmp_path}/good/../good/{MEMBER}"],
        ["apply", str(put(tmp_path / "unneeded", source("0.4.20")))],
    ):
        assert not answered(arguments), arguments
    assert capsys.readouterr() == ("", "")
    assert answered(["apply", good])
    assert answered(["apply", str(put(tmp_path / "crlf", crlf)), f"{tmp_path}//good/./{MEMBER}"])
    out = capsys.readouterr().out
    assert out.splitlines()[3:5] == [
        str(tmp_path / "crlf" / MEMBER),
        "  already      every patch            the file of jax 0.7.0 to 0.8.0 with all patches",
    ]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    good = put(tmp_path, fixed("0.8.0"))
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-m", "codemod", "apply", str(good)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 3
    assert "cannot write the output" in done.stderr


def test_an_audit_without_options_is_told_without_click(tmp_path: Path) -> None:
    copy = put(tmp_path / "copy", source("0.8.0"))
    pins = tmp_path / "requirements.txt"
    pins.write_text("jax==0.4.20\n")
    for sources, code in (([copy], 1), ([pins], 0), ([copy, pins], 1), ([tmp_path], 1)):
        done = run("audit", *sources)
        result = CliRunner().invoke(cli, ["audit", *map(str, sources)])
        assert (done.returncode, done.stdout) == (result.exit_code, result.stdout)
        assert result.exit_code == code
        loaded = {*done.stderr.split()}
        assert not {"click", "libcst", "codemod.cli", "codemod.engine", "json"} & loaded
    with pytest.raises(SystemExit, match="1"):
        answered(["audit", str(copy)])
    assert answered(["audit", str(pins)])
    for arguments, code in (((tmp_path / "nowhere",), 2), ((copy, "--strict"), 1)):
        done = run("audit", *arguments)
        assert "click" in done.stderr.split()
        assert done.returncode == code
