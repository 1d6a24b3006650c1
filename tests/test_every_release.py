"""Every release of jax: affected, patched, fixed, and nothing to do the second time."""

from __future__ import annotations

import difflib
import shutil
import subprocess
from pathlib import Path

import pytest

from codemod.engine import plan
from codemod.model import Guard, Outcome, Reason, Status
from codemod.registry import load
from codemod.textfile import unified_diff
from tests.releases import AFFECTED, ALL, FAMILY_OF, NEEDS, NOT_AFFECTED, source

PATCHES = load()
PATCH = next(patch for patch in PATCHES if patch.id == "skip_mds_env_value")
CONDITION = b'  if value is None and os.environ.get("TPU_SKIP_MDS_QUERY") is None:\n'
OLDEST_PYTHON = {"0.4": "3.9", "0.5": "3.10", "0.6": "3.10", "0.7": "3.11", "0.8": "3.11"}


def test_there_are_45_and_43_are_affected() -> None:
    assert (len(ALL), len(AFFECTED), NOT_AFFECTED) == (45, 43, ("0.4.19", "0.4.20"))


@pytest.mark.parametrize("version", AFFECTED)
def test_affected_then_fixed_then_nothing_to_do(version: str) -> None:
    first = plan(source(version), PATCHES)
    needed = {step.patch.id for step in first.steps if step.outcome is Outcome.APPLIED}
    assert needed == set(NEEDS[FAMILY_OF[version]])
    for step in first.steps:
        expected = Status.AFFECTED if step.patch.id in needed else Status.FIXED
        assert step.finding.status is expected
    second = plan(first.after, PATCHES)
    for step in second.steps:
        assert step.outcome is Outcome.ALREADY
        assert step.finding.reason is (
            Reason.PATCHED if step.patch.id in needed else Reason.UPSTREAM
        )
        assert step.finding.guard in (Guard.PRESENCE, None)
    assert second.after == first.after


@pytest.mark.parametrize("version", AFFECTED)
def test_each_patch_alone_leaves_the_others_to_be_done(version: str) -> None:
    for number, patch in enumerate(PATCHES):
        after = plan(source(version), [patch]).after
        others = [step.outcome for step in plan(after, PATCHES).steps]
        whole = [step.outcome for step in plan(source(version), PATCHES).steps]
        assert others == [*whole[:number], Outcome.ALREADY, *whole[number + 1 :]]


@pytest.mark.parametrize("version", NOT_AFFECTED)
def test_older_releases_are_left_alone(version: str) -> None:
    planned = plan(source(version), PATCHES)
    assert {step.finding.status for step in planned.steps} == {Status.NOT_AFFECTED}
    assert {step.outcome for step in planned.steps} == {Outcome.NONE}
    assert not planned.changes


@pytest.mark.parametrize("version", AFFECTED)
def test_one_line_changes(version: str) -> None:
    before = source(version).splitlines(keepends=True)
    after = plan(source(version), [PATCH]).after.splitlines(keepends=True)
    ((old, new),) = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
    if FAMILY_OF[version].startswith("D"):
        assert (old, new) == (b"  if value is None:\n", CONDITION)
    else:
        assert old.startswith(b"  return value if value is not None else ")
        assert new == old.replace(
            b" else ", b' or os.environ.get("TPU_SKIP_MDS_QUERY") is not None else ', 1
        )


@pytest.mark.parametrize("version", [v for v in AFFECTED if FAMILY_OF[v][0] in "AB"])
def test_detection_is_guarded_as_upstream_does_it(version: str) -> None:
    """Two lines in the one function that asks; upstream's have a line for the log between."""
    before, after = source(version).decode(), plan(source(version), PATCHES[1:2]).after.decode()
    added = [
        line[2:]
        for line in difflib.ndiff(before.splitlines(), after.splitlines())
        if line.startswith(("+ ", "- "))
    ]
    indent = "  " if FAMILY_OF[version].startswith("A") else "    "
    test = f'{indent}if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:'
    assert added == [test, f"{indent}  return False"]
    if FAMILY_OF[version].startswith("B"):
        assert test in source("0.4.36").decode()
        following = after.partition(test)[2].partition("return False\n")[2].lstrip()
        assert following.startswith("metadata_response, metadata_code = get_metadata(")


@pytest.mark.parametrize("version", AFFECTED)
def test_compiles_under_the_oldest_python_of_the_release(version: str, tmp_path: Path) -> None:
    minor = OLDEST_PYTHON.get(".".join(version.split(".")[:2]), "3.11")
    python = next((Path.home() / ".pyenv/versions").glob(f"{minor}.*/bin/python"), None)
    found = python or shutil.which(f"python{minor}")
    if not found:
        pytest.skip(f"no Python {minor} here")
    copy = tmp_path / "copy.py"
    copy.write_bytes(plan(source(version), PATCHES).after)
    code = f"compile(open({str(copy)!r}, 'rb').read(), 'copy.py', 'exec')"
    subprocess.run([found, "-c", code], check=True)


@pytest.mark.parametrize("version", AFFECTED)
def test_git_apply_takes_the_diff_and_gives_the_same_bytes(version: str, tmp_path: Path) -> None:
    before = source(version)
    after = plan(before, PATCHES).after
    (tmp_path / "x.py").write_bytes(before)
    diff = unified_diff(before, after, "x.py")
    for command in (["git", "apply", "--check", "-"], ["git", "apply", "-"]):
        subprocess.run(command, input=diff, cwd=tmp_path, check=True)
    assert (tmp_path / "x.py").read_bytes() == after


@pytest.mark.skipif(not shutil.which("patch"), reason="GNU patch is not here")
def test_a_text_patch_for_the_newest_release_reaches_21(tmp_path: Path) -> None:
    newest = source(ALL[-1]).decode().splitlines(keepends=True)
    fixed = plan(source(ALL[-1]), [PATCH]).after.decode().splitlines(keepends=True)
    diff = "".join(difflib.unified_diff(newest, fixed, "a/x.py", "b/x.py"))
    reached = 0
    for version in ALL:
        copy = tmp_path / "x.py"
        copy.write_bytes(source(version))
        done = subprocess.run(
            ["patch", "-p1", "--dry-run", "-s"],
            input=diff,
            text=True,
            cwd=tmp_path,
            capture_output=True,
            check=False,
        )
        reached += done.returncode == 0
    assert reached == 21
