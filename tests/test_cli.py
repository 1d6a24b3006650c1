"""The command line as a user sees it: streams, exit codes, files on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result

from codemod.cli import cli
from codemod.record import Record
from codemod.registry import load
from tests.releases import MEMBER, source, unpack
from tests.shapes import MODULE, PATCHED

ROOT = Path(__file__).parent.parent
SCHEMAS = ROOT / "codemod" / "schema"


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result


def document(result: Result, schema: str = "report") -> dict[str, object]:
    found: dict[str, object] = json.loads(result.stdout)
    jsonschema.validate(found, json.loads((SCHEMAS / f"{schema}.schema.json").read_text()))
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    path = tmp_path / "cloud_tpu_cluster.py"
    path.write_text(MODULE)
    return path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with a good copy, and one that nobody can read."""
    for name, text in (("good", MODULE), ("bad", "def (")):
        path = tmp_path / name / MEMBER
        path.parent.mkdir(parents=True)
        path.write_text(text)
    return tmp_path


def test_apply_edits_the_file_and_says_so(copy: Path) -> None:
    result = run("apply", copy)
    assert result.exit_code == 0
    assert copy.read_text() == PATCHED
    assert "applied      skip_mds_env_value" in result.stdout
    assert result.stderr == ""


def test_applying_again_changes_nothing(copy: Path) -> None:
    run("apply", copy)
    before = copy.stat()
    result = run("apply", copy)
    assert result.exit_code == 0
    assert "already" in result.stdout
    after = copy.stat()  # not all of it: to read a file may change when it was last read
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("option", ["--check", "--dry-run"])
def test_check_and_dry_run_write_nothing(copy: Path, option: str) -> None:
    result = run("apply", copy, option)
    assert result.exit_code == 1
    assert copy.read_text() == MODULE
    assert "would-change" in result.stdout
    assert ("+++ b/" in result.stdout) is (option == "--dry-run")


def test_diff_is_what_git_apply_takes(copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy.parent)
    result = run("diff", copy.name)
    assert result.exit_code == 1
    subprocess.run(["git", "apply", "-"], input=result.stdout_bytes, check=True)
    assert copy.read_text() == PATCHED
    assert run("diff", copy.name).stdout == ""
    assert run("diff", copy.name).exit_code == 0


def test_one_bad_file_does_not_keep_the_others(tree: Path) -> None:
    result = run("apply", tree)
    assert result.exit_code == 3
    assert (tree / "good" / MEMBER).read_text() == PATCHED
    assert (tree / "bad" / MEMBER).read_text() == "def ("
    assert "unparsable: line 1" in result.stdout


def test_diff_complains_on_stderr(tree: Path) -> None:
    result = run("diff", tree)
    assert result.exit_code == 3
    assert result.stdout.startswith("--- a/")
    assert "refused: unparsable" in result.stderr
    assert "refused" not in result.stdout


@pytest.mark.parametrize("command", ["apply", "diff"])
def test_json_follows_its_schema(tree: Path, command: str) -> None:
    result = run(command, tree, "--format", "json")
    found = document(result)
    assert found["exit_code"] == result.exit_code == 3
    assert len(found["results"]) == 2 * len(load())  # type: ignore[arg-type]
    assert len(found["unreadable"]) == 1  # type: ignore[arg-type]


def test_list_names_every_patch_and_its_examples() -> None:
    assert "skip_mds_env_value" in run("list").stdout
    assert "becomes" in run("list", "--examples").stdout
    for patch, families in {
        "skip_mds_env_value": "A1, A2, B1, B2, B3, C, D1, D2, D3, D4, D5, D6, D7, D8 (44 releases,"
        " 0.4.21 to 0.12.0.1)",
        "skip_mds_detection": "A1, A2, B1, B2, B3 (15 releases, 0.4.21 to 0.4.35)",
        "single_slice_defaults": "A1, A2 (5 releases, 0.4.21 to 0.4.25)",
    }.items():
        block = run("list").stdout.partition(f"{patch}\n")[2].partition("\n\n")[0]
        assert f"families: {families}\n" in block
    assert run("list", "-q").stdout == ""
    found = document(run("list", "--format", "json"), "list")
    assert [patch["id"] for patch in found["patches"]] == [p.id for p in load()]  # type: ignore[attr-defined]


def test_quiet_prints_only_complaints(tree: Path, copy: Path) -> None:
    assert run("apply", copy, "-q").output == ""
    result = run("apply", tree, "-q")
    assert result.stdout == ""
    assert "refused" in result.stderr


def test_verbose_shows_the_evidence(copy: Path) -> None:
    assert "line 6: requests.get(" in run("apply", copy, "--check", "-v").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["apply", "/no/such/place"], 2, "/no/such/place"),
        (["apply", "{}", "--patch", "nonsense"], 2, "nonsense"),
        (["apply", "{}", "--patches", "/no/such/place"], 2, "/no/such/place"),
        (["verify", "{}", "--python", "/no/such/place"], 2, "/no/such/place"),
        (["apply", "--nonsense"], 2, "--nonsense"),
        (["nonsense"], 2, "nonsense"),
        (["apply", ""], 2, "codemod: error"),
        (["apply", "{empty}"], 4, "no jax found"),
    ],
    ids=["path", "patch", "patches", "python", "option", "command", "empty", "no jax"],
)
def test_wrong_usage(
    arguments: list[str], code: int, words: str, copy: Path, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    given = [a.format(copy, empty=tmp_path / "empty") if "{" in a else a for a in arguments]
    result = run(*(a.replace("{}", str(copy)) for a in given))
    assert result.exit_code == code
    assert words in result.stderr
    assert result.stdout == ""
    assert copy.read_text() == MODULE


def test_without_a_target_it_says_where_it_looked_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path))
    result = run("verify")
    assert result.exit_code == 4
    assert f"no jax found in {tmp_path} (VIRTUAL_ENV is set to {tmp_path})" in result.stderr
    assert "name a TARGET" in result.stderr


def test_a_copy_that_has_drifted_says_what_is_in_doubt(copy: Path) -> None:
    copy.write_text(MODULE.replace("if value is None:", "if may_ask(value):"))
    result = run("apply", copy)
    assert result.exit_code == 3
    assert "drifted: line 11: cannot be proved: get_metadata(key)" in result.stdout


def test_a_read_only_file_is_refused(copy: Path) -> None:
    copy.chmod(0o444)
    result = run("apply", copy)
    assert result.exit_code == 3
    assert copy.read_text() == MODULE
    assert copy.stat().st_mode & 0o777 == 0o444


def test_a_hard_link_keeps_the_old_bytes(copy: Path) -> None:
    other = copy.with_name("cache.py")
    os.link(copy, other)
    run("apply", copy)
    assert copy.read_text() == PATCHED
    assert other.read_text() == MODULE


def test_a_link_that_leads_out_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(MODULE)
    inside = tmp_path / "root" / MEMBER
    inside.parent.mkdir(parents=True)
    inside.symlink_to(outside)
    result = run("apply", tmp_path / "root")
    assert result.exit_code == 3
    assert str(outside) in result.stdout
    assert outside.read_text() == MODULE


@pytest.mark.parametrize("form", ["interpreter", "prefix", "site-packages", "jax"])
def test_an_environment(form: str, tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    site = next((tmp_path / "v").glob("lib/python*/site-packages"))
    path = unpack("0.10.2", site)
    target = {
        "interpreter": tmp_path / "v" / "bin" / "python",
        "prefix": tmp_path / "v",
        "site-packages": site,
        "jax": site / "jax",
    }[form]
    result = run("apply", target)
    assert result.exit_code == 0, result.output
    assert b'TPU_SKIP_MDS_QUERY") is None:' in path.read_bytes()
    assert "(jax 0.10.2)" in result.stdout
    [row] = Record((site / "jax-0.10.2.dist-info" / "RECORD").read_bytes()).of(MEMBER)
    assert row.agrees(path.read_bytes())


def test_without_a_target_the_active_environment_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    unpack("0.8.0", next((tmp_path / "v").glob("lib/python*/site-packages")))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "v"))
    result = run("apply", "--check")
    assert result.exit_code == 1
    assert "VIRTUAL_ENV" in result.stderr


def test_verify_before_and_after(tmp_path: Path) -> None:
    path = tmp_path / "cloud_tpu_cluster.py"
    path.write_bytes(source("0.10.2"))
    before = run("verify", path, "-q")
    assert before.exit_code == 1
    assert before.stdout.startswith("NOT proved")
    run("apply", path)
    after = run("verify", path)
    assert after.exit_code == 0
    assert "proved: with TPU_SKIP_MDS_QUERY set" in after.stdout
    assert document(run("verify", path, "--format", "json"), "verify")["version"] == 1


def test_summaries_of_several_copies_name_each(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    bad.write_bytes(source("0.10.2"))
    good.write_bytes(source("0.10.2"))
    run("apply", good)
    lines = run("verify", "-q", good, bad).stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == [str(good), str(bad)]
    assert [": proved: " in line for line in lines] == [True, False]


def test_verify_takes_the_named_interpreter_only_where_the_target_has_none(venv: Path) -> None:
    site = next(venv.glob("lib/python*/site-packages"))
    unpack("0.10.2", site)
    no_python = venv / "no-python"
    no_python.write_text("#!/bin/sh\nexit 1\n")
    no_python.chmod(0o755)
    own = run("verify", venv, "--python", no_python)
    named = run("verify", site / "jax" / "_src", "--python", no_python)
    assert (own.exit_code, "NOT proved" in own.stdout) == (1, True)
    assert (named.exit_code, "no verdict" in named.stdout) == (3, True)


def test_a_terminal_is_told_what_is_being_run_and_a_pipe_is_not(copy: Path) -> None:
    pty = pytest.importorskip("pty")
    reader, writer = pty.openpty()
    command = [sys.executable, "-m", "codemod", "verify", str(copy)]
    for stderr in (subprocess.PIPE, writer):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, check=False)
        assert not done.stderr
        assert b"running" not in done.stdout
    os.close(writer)  # or there would be a wait for ever where nothing was told
    assert os.read(reader, 4096).decode() == f"codemod: running {copy} ...\r\n"


def test_apply_and_verify(tmp_path: Path) -> None:
    proved, unproved = tmp_path / "new.py", tmp_path / "old.py"
    proved.write_bytes(source("0.10.2"))
    unproved.write_bytes(source("0.4.21"))  # needs more than this patch: it would not be proved
    assert run("apply", proved, "--verify").exit_code == 0
    assert b'("TPU_SKIP_MDS_QUERY") is None:' in proved.read_bytes()
    result = run("apply", unproved, "--verify", "--patch", "skip_mds_env_value")
    assert result.exit_code == 3
    assert "put back: NOT proved" in result.stdout
    assert unproved.read_bytes() == source("0.4.21")


LATE = ("libcst", "libcst.codemod", "libcst.matchers")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["list"], ["apply", "{}"], ["verify", "-q", "{}"]], ids=lambda a: a[0]
)
def test_libcst_is_not_loaded_to_decide(arguments: list[str], tmp_path: Path) -> None:
    fixed = tmp_path / "cloud_tpu_cluster.py"
    fixed.write_text(PATCHED)
    given = [a.replace("{}", str(fixed)) for a in arguments]
    assert not _loaded(given) & set(LATE)


def test_libcst_codemod_and_matchers_are_never_loaded(copy: Path) -> None:
    assert _loaded(["apply", str(copy)]) & set(LATE) == {"libcst"}


def _loaded(arguments: list[str]) -> set[str]:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('LOADED', *sys.modules, file=sys.stderr))\n"
        "sys.argv[0] = 'codemod'\n"
        "from codemod.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    line = next(line for line in done.stderr.splitlines() if line.startswith("LOADED"))
    return set(line.split())


def test_python_m_codemod() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "codemod", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("codemod ")


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    for name in cli.commands:
        assert f"codemod {name}" in readme


# Run in the interpreter of a target, with nothing of the tool beside them but each other.
