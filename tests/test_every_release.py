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
from tests.releases import AFFECTED, ALL, FAMILY_OF, NOT_AFFECTED, source

PATCH = next(patch for patch in load() if patch.id == "skip_mds_env_value")
CONDITION = b'  if value is None and os.environ.get("TPU_SKIP_MDS_QUERY") is None:\n'
OLDEST_PYTHON = {"0.4": "3.9", "0.5": "3.10", "0.6": "3.10", "0.7": "3.11", "0.8": "3.11"}


def test_there_are_45_and_43_are_affected() -> None:
    assert (len(ALL), len(AFFECTED), NOT_AFFECTED) == (45, 43, ("0.4.19", "0.4.20"))


@pytest.mark.parametrize("version", AFFECTED)
def test_affected_then_fixed_then_nothing_to_do(version: str) -> None:
    before = source(version)
    first = plan(before, [PATCH])
    assert first.steps[0].finding.status is Status.AFFECTED
    assert first.steps[0].outcome is Outcome.APPLIED
    second = plan(first.after, [PATCH])
    assert second.steps[0].outcome is Outcome.ALREADY
    assert second.steps[0].finding.reason is Reason.PATCHED
    assert second.steps[0].finding.guard is Guard.PRESENCE
    assert second.after == first.after


@pytest.mark.parametrize("version", NOT_AFFECTED)
def test_older_releases_are_left_alone(version: str) -> None:
    planned = plan(source(version), [PATCH])
    assert planned.steps[0].finding.status is Status.NOT_AFFECTED
    assert planned.steps[0].outcome is Outcome.NONE
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


@pytest.mark.parametrize("version", AFFECTED)
def test_compiles_under_the_oldest_python_of_the_release(version: str, tmp_path: Path) -> None:
    minor = OLDEST_PYTHON.get(".".join(version.split(".")[:2]), "3.11")
    python = next((Path.home() / ".pyenv/versions").glob(f"{minor}.*/bin/python"), None)
    found = python or shutil.which(f"python{minor}")
    if not found:
        pytest.skip(f"no Python {minor} here")
    copy = tmp_path / "copy.py"
    copy.write_bytes(plan(source(version), [PATCH]).after)
    code = f"compile(open({str(copy)!r}, 'rb').read(), 'copy.py', 'exec')"
    subprocess.run([found, "-c", code], check=True)


@pytest.mark.parametrize("version", AFFECTED)
def test_git_apply_takes_the_diff_and_gives_the_same_bytes(version: str, tmp_path: Path) -> None:
    before = source(version)
    after = plan(before, [PATCH]).after
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
