"""The command line under bad conditions: one line, the right exit code, nothing half-written."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from codemod import commands
from codemod.cli import cli
from codemod.engine import Plan, plan
from tests.releases import MEMBER
from tests.shapes import MODULE, PATCHED

if TYPE_CHECKING:
    from codemod.model import Patch

COMMAND = [sys.executable, "-m", "codemod"]
needs_linux = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


def run(*arguments: object) -> Result:
    result = CliRunner().invoke(cli, [*map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def put(folder: Path, text: str = MODULE) -> Path:
    path = folder / MEMBER
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def rows(result: Result) -> list[tuple[str, str, str]]:
    found = json.loads(result.stdout)["results"]
    return [(row["patch"], row["status"], row["outcome"]) for row in found]


FIXED = ("not_affected", "none")  # what the other patches find in this module


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
def test_who_may_not_write_can_still_ask(option: str, tmp_path: Path) -> None:
    path = put(tmp_path)
    path.chmod(0o444)
    result = run("apply", tmp_path, option, "--format", "json")
    assert result.exit_code == 1
    assert rows(result)[0] == ("skip_mds_env_value", "affected", "would-change")
    assert run("diff", tmp_path).stdout.startswith("--- a/")


def test_a_failed_write_says_nothing_of_patches_that_had_nothing_to_write(tmp_path: Path) -> None:
    path = put(tmp_path)
    path.chmod(0o444)
    result = run("apply", tmp_path, "--format", "json")
    assert result.exit_code == 3
    assert [(status, outcome) for _, status, outcome in rows(result)] == [
        ("affected", "refused"),
        FIXED,
        FIXED,
    ]
    assert len(json.loads(result.stdout)["unreadable"]) == 1


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, ZeroDivisionError])
def test_an_interrupted_proof_leaves_the_old_bytes(
    raised: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path)
    seen: list[str] = []

    def objection(*_: object) -> str:
        seen.append(path.read_text())
        raise raised

    monkeypatch.setattr(commands, "objection", objection)
    result = CliRunner().invoke(cli, ["apply", str(tmp_path), "--verify"])
    assert seen == [PATCHED]
    assert path.read_text() == MODULE
    if raised is KeyboardInterrupt:
        assert (result.exit_code, result.stderr) == (130, "codemod: interrupted\n")


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_during_the_proof(number: int, code: int, tmp_path: Path) -> None:
    path = put(tmp_path, MODULE + "for _ in range(10**9): pass\n")
    heard = partial(signal.signal, number, signal.SIG_DFL)  # the tests may run under nohup
    process = subprocess.Popen(
        [*COMMAND, "apply", "--verify", tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=heard,  # noqa: PLW1509 - no thread runs here
    )
    while "SKIP_MDS" not in path.read_text():
        assert process.poll() is None
        time.sleep(0.05)
    time.sleep(1)  # the child has started, or is about to
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == code
    assert "SKIP_MDS" not in path.read_text()


def test_under_nohup_a_terminal_that_goes_ends_nothing() -> None:
    ignored = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
    script = f"{ignored}; from codemod.__main__ import main\ntry: main()\nfinally: "
    script += "raise SystemExit(signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN)"
    assert subprocess.run([sys.executable, "-c", script, "list", "-q"], check=False).returncode == 0


@pytest.mark.parametrize("folder", ["", "a/b/c", "fork/_src/clusters"])
def test_a_file_outside_a_jax_cannot_be_run_as_a_cluster(folder: str) -> None:
    with tempfile.TemporaryDirectory() as top:  # pytest's own folders are deep ones
        path = Path(top, folder, "cloud_tpu_cluster.py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PATCHED)
        result = run("verify", "--level", "cluster", path)
    assert result.exit_code == 3
    assert "level cluster runs a whole jax, and this file lies in none" in result.stdout


@needs_linux
@pytest.mark.parametrize("arguments", [["list"], ["diff", "{}"], ["apply", "{}"], ["--help"]])
def test_a_full_disk_behind_stdout_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    put(tmp_path)
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *(a.format(tmp_path) for a in arguments)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 3
    assert "codemod: error: cannot write the output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_that_cannot_be_searched_is_a_failure(tmp_path: Path) -> None:
    put(tmp_path / "good", PATCHED)
    closed = tmp_path / "closed"
    closed.mkdir()
    if os.geteuid() == 0:  # whom no mode keeps out
        closed.rmdir()
        closed.symlink_to(closed)
        pytest.skip("root may look into every folder")
    closed.chmod(0)
    result = run("apply", tmp_path, "-q")
    assert result.exit_code == 3
    assert "closed: not searched" in result.stderr
    found = json.loads(run("apply", tmp_path, "--format", "json").stdout)
    assert [row["file"] for row in found["unreadable"]] == [str(closed)]


def test_what_is_not_searched_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "good", PATCHED)
    (tmp_path / "closed").mkdir()
    scandir = os.scandir

    def refuse(path: str) -> object:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    result = run("apply", tmp_path)
    assert result.exit_code == 3
    assert f"{tmp_path / 'closed'}: not searched: Permission denied" in result.stdout
    assert "not searched" in run("apply", tmp_path, "-q").stderr
    document = json.loads(run("apply", tmp_path, "--format", "json").stdout)
    assert [row["file"] for row in document["unreadable"]] == [str(tmp_path / "closed")]


def test_a_file_that_is_not_jax_is_no_jax(tmp_path: Path) -> None:
    other = tmp_path / "setup.py"
    other.write_text("print('hello')\n")
    for command in ("apply", "diff", "verify"):
        assert run(command, other).exit_code == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["apply", "{}", "--check", "--verify"], "--verify"),
        (["apply", "{}", "--dry-run", "--verify"], "--verify"),
        (["verify", "{}", "--processes", "3"], "--level cluster"),
        (["apply", "/no/such/place", "--patch", "nope"], "nope"),
        (["list", "-v"], "-v"),
        (["diff", "{}", "-v"], "-v"),
    ],
    ids=["check", "dry-run", "processes", "patch first", "list", "diff"],
)
def test_options_that_would_mean_nothing_are_wrong_usage(
    arguments: list[str], words: str, tmp_path: Path
) -> None:
    path = put(tmp_path)
    result = run(*(argument.format(tmp_path) for argument in arguments))
    assert result.exit_code == 2
    assert words in result.stderr
    assert path.read_text() == MODULE


def test_quiet_prints_no_diff(tmp_path: Path) -> None:
    put(tmp_path)
    result = run("diff", tmp_path, "-q")
    assert (result.exit_code, result.output) == (1, "")


# Diffs and names.


def test_two_targets_elsewhere_have_names_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [put(tmp_path / "one"), put(tmp_path / "two")]
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    both = run("diff", "../one", "../two").stdout
    assert [line[6:] for line in both.splitlines() if line.startswith("+++ ")] == [
        str(path)[1:] for path in paths
    ]
    assert f"+++ b/{MEMBER}\n" in run("diff", "../one").stdout


@pytest.mark.parametrize("name", ["..c", "...", "c"])
def test_names_that_begin_with_dots(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / name)
    monkeypatch.chdir(tmp_path)
    result = run("diff", name)
    subprocess.run(["git", "apply", "-"], input=result.stdout_bytes, check=True)
    assert path.read_text() == PATCHED


def test_a_copy_behind_two_paths_is_treated_once(tmp_path: Path) -> None:
    put(tmp_path / "one")
    (tmp_path / "link").symlink_to("one")
    result = run("diff", tmp_path / "one", tmp_path / "link", "--format", "json")
    assert len(json.loads(result.stdout)["results"]) == 3


def test_the_diff_of_a_linked_copy_is_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(tmp_path / "t")
    path.rename(tmp_path / "t" / "real.py")
    path.symlink_to(tmp_path / "t" / "real.py")
    monkeypatch.chdir(tmp_path / "t")
    result = run("diff", ".")
    subprocess.run(["git", "apply", "-"], input=result.stdout_bytes, check=True)
    assert (tmp_path / "t" / "real.py").read_text() == PATCHED
    assert path.is_symlink()


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    path, gone = put(tmp_path / "t"), tmp_path / "gone"
    gone.mkdir()
    code = (
        "import os, sys\nos.chdir(sys.argv[1]); os.rmdir(sys.argv[1])\n"
        "from codemod.cli import cli\ncli(['diff', sys.argv[2]])\n"
    )
    command: list[str | Path] = [sys.executable, "-c", code, gone, path.parents[3]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert f"+++ b/{MEMBER}" in done.stdout


def test_json_has_the_path_itself_and_text_one_that_can_be_printed(tmp_path: Path) -> None:
    path = put(tmp_path / "new\nline")
    found = json.loads(run("apply", tmp_path, "--check", "--format", "json").stdout)
    assert {row["file"] for row in found["results"]} == {str(path)}
    assert found["command"] == "apply"
    assert "new\\nline" in run("apply", tmp_path, "--check").stdout
    assert "new\nline" not in run("verify", tmp_path).stdout


def test_many_copies_of_one_file_are_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bytes] = []

    def counted(source: bytes, patches: list[Patch], *, table: bool) -> Plan:
        calls.append(source)
        return plan(source, patches, table=table)

    monkeypatch.setattr(commands, "plan", counted)
    for number in range(20):
        put(tmp_path / str(number))
    assert run("apply", tmp_path).exit_code == 0
    assert len(calls) == 1
    assert {path.read_text() for path in tmp_path.rglob("cloud_tpu_cluster.py")} == {PATCHED}


def test_one_cause_is_told_once(tmp_path: Path) -> None:
    put(tmp_path, "def (")
    result = run("apply", tmp_path)
    assert result.stdout.count("unparsable") == 1
    assert "every patch" in result.stdout
    assert f"(Python 3.{sys.version_info[1]}, which runs codemod)" in result.stdout


def test_what_cannot_be_compiled_is_not_called_fixed(tmp_path: Path) -> None:
    put(tmp_path, "import os\nfrom __future__ import annotations\n" + MODULE)
    result = run("apply", tmp_path)
    assert result.exit_code == 3
    assert "unparsable: line 2" in result.stdout


# Somebody's patches.


def own(folder: Path, text: str) -> Path:
    folder.mkdir()
    (folder / "mine.py").write_text(
        "from codemod.model import Finding, Patch, Reason, Status\n"
        "def probe(tree):\n"
        "    return Finding(status=Status.NOT_AFFECTED, reason=Reason.NO_SUCH_CODE)\n"
        "rewrite, examples = print, ()\n"
        + text
        + "\nPATCH = Patch(id='mine', title='', bug='', origin='', forwarded='',\n"
        "    fixed_upstream_in=None, releases='', probe=probe, rewrite=rewrite,\n"
        "    examples=examples)\n"
    )
    return folder


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def probe(tree): raise SystemExit(0)", "the probe of mine itself fails"),
        ("probe = 7", "probe and rewrite must be functions"),
        ("rewrite = None", "probe and rewrite must be functions"),
        ("examples = None", "examples must be a tuple"),
        ("raise SystemExit(0)", "does not load"),
    ],
)
def test_a_patch_that_fails_is_no_success(text: str, words: str, tmp_path: Path) -> None:
    path = put(tmp_path / "t")
    result = run("apply", tmp_path / "t", "--patches", own(tmp_path / "p", text))
    assert result.exit_code == 3
    assert words in result.output
    assert path.read_text() == MODULE


def test_what_a_patch_prints_is_no_result(tmp_path: Path) -> None:
    put(tmp_path / "t")
    folder = own(
        tmp_path / "p",
        "print('loaded')\nseen = probe\n"
        "def probe(tree):\n    print('probed')\n    return seen(tree)\n",
    )
    result = run("apply", tmp_path / "t", "--patches", folder, "--format", "json")
    assert len(json.loads(result.stdout)["results"]) == 4
    assert "loaded" in result.stderr
    assert "probed" in result.stderr


def test_a_pipe_among_the_patches_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    result = run("list", "--patches", tmp_path)
    assert (result.exit_code, "not a regular file" in result.stderr) == (3, True)


@pytest.mark.skipif(not shutil.which("setpriv") or os.geteuid() != 0, reason="needs root, setpriv")
def test_a_file_does_not_change_its_owner(tmp_path: Path) -> None:
    """Who may write into the folder, but is not the owner, would make the file his own."""
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom codemod import replacing, errors\n"
        "os.setgid(1234); os.setuid(1234)\n"
        "try: replacing.check_replaceable(Path(sys.argv[1]))\n"
        "except errors.Refused as error: print(error)\n"
    )
    import tempfile

    with tempfile.TemporaryDirectory() as top:
        Path(top).chmod(0o777)
        path = Path(top, "x.py")
        path.touch()
        path.chmod(0o666)
        command: list[str | Path] = [sys.executable, "-c", code, path]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "belongs to somebody else" in done.stdout
