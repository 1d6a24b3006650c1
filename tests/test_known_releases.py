"""A copy whose bytes are known is decided without being parsed, and as its content would be."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.engine import decided, plan
from codemod.model import Outcome, Patch, Status
from codemod.registry import load
from tests.releases import AFFECTED, ALL, FAMILIES, MEMBER, NOT_AFFECTED, source

if TYPE_CHECKING:
    from pathlib import Path

PATCHES = load()
ONE_OF_EACH = [versions[-1] for versions in FAMILIES.values() if versions]


def seen(planned: object) -> list[tuple[object, ...]]:
    steps = getattr(planned, "steps")  # noqa: B009 - a plan or nothing
    return [
        (s.patch.id, s.outcome, s.finding.status, s.finding.reason, s.finding.guard) for s in steps
    ]


@pytest.mark.parametrize("version", AFFECTED)
def test_a_patched_release_is_decided_as_its_content_is(version: str) -> None:
    after = plan(source(version), PATCHES).after
    assert seen(decided(after, PATCHES)) == seen(plan(after, PATCHES))
    crlf = after.replace(b"\n", b"\r\n")
    assert seen(decided(crlf, PATCHES)) == seen(plan(crlf, PATCHES))


@pytest.mark.parametrize("version", NOT_AFFECTED)
def test_a_release_that_needs_nothing_is_decided(version: str) -> None:
    assert seen(decided(source(version), PATCHES)) == seen(plan(source(version), PATCHES))


@pytest.mark.parametrize("version", ONE_OF_EACH)
def test_what_needs_an_edit_or_is_not_known_is_parsed(version: str) -> None:
    if version in AFFECTED:
        assert decided(source(version), PATCHES) is None
        half = plan(source(version), PATCHES[:1]).after
        assert (decided(half, PATCHES) is None) is (plan(half, PATCHES).changes)
    assert decided(plan(source(version), PATCHES).after + b"\n", PATCHES) is None
    own = [*PATCHES, _renamed(PATCHES[0], "somebody_s_own")]
    assert decided(plan(source(version), PATCHES).after, own) is None


def _renamed(patch: Patch, to: str) -> Patch:
    held = {name: getattr(patch, name) for name in Patch.__slots__}
    return Patch(**{**held, "id": to})


def pointer(content: bytes) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    text = f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(content)}\n"
    return text.encode()


def run(root: Path) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["apply", str(root)])
    return result.exit_code, result.output


def test_a_git_lfs_pointer_to_a_known_file(tmp_path: Path) -> None:
    copy = tmp_path / MEMBER
    copy.parent.mkdir(parents=True)
    copy.write_bytes(pointer(source("0.10.2")))
    code, output = run(tmp_path)
    assert code == 3
    assert "a Git LFS pointer to the file of jax 0.10.1 to" in " ".join(output.split())
    assert "git lfs pull" in output
    assert copy.read_bytes() == pointer(source("0.10.2"))
    copy.write_bytes(pointer(plan(source("0.10.2"), PATCHES).after))
    assert run(tmp_path)[0] == 0
    planned = decided(copy.read_bytes(), PATCHES)
    assert planned is not None
    assert {step.finding.status for step in planned.steps} == {Status.FIXED}
    copy.write_bytes(pointer(b"something else"))
    assert run(tmp_path)[0] == 3
    assert "lfs-pointer" in run(tmp_path)[1]


@pytest.mark.parametrize(("version", "newer"), [("0.12.0.1", False), ("99.1", True), ("x", False)])
def test_a_release_newer_than_the_table_is_decided_by_content(
    version: str, newer: object, tmp_path: Path
) -> None:
    copy = tmp_path / MEMBER
    copy.parent.mkdir(parents=True)
    copy.write_bytes(source(ALL[-1]))
    (tmp_path / "jax" / "version.py").write_text(f'_version = "{version}"\n')
    code, output = run(tmp_path)
    assert code == 0
    assert copy.read_bytes() == plan(source(ALL[-1]), PATCHES).after
    assert ("newer than the table of releases, which ends with" in output) is newer


def test_nothing_is_parsed_and_reach_is_not_loaded(tmp_path: Path) -> None:
    copy = tmp_path / "cloud_tpu_cluster.py"
    code = (
        "import sys\nfrom codemod.cli import cli\n"
        "try: cli(['apply', sys.argv[1]])\n"
        "finally: print('LOADED', *sys.modules)\n"
    )
    for content, parsed in (
        (plan(source("0.4.21"), PATCHES).after, False),
        (plan(source("0.4.21"), PATCHES).after + b"#\n", True),  # shows that the check can fail
    ):
        copy.write_bytes(content)
        command = [sys.executable, "-c", code, str(copy)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        loaded = done.stdout.rpartition("LOADED")[2].split()
        assert ("codemod.reach.walker" in loaded) is parsed
        assert "libcst" not in loaded
        assert "already" in done.stdout


def test_outcomes_are_those_of_the_table() -> None:
    planned = decided(source("0.4.20"), PATCHES)
    assert planned is not None
    assert {step.outcome for step in planned.steps} == {Outcome.NONE}
