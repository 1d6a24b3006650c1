"""A copy whose bytes are known is decided without being parsed, and as its content would be."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from codemod import releases
from codemod.cli import cli
from codemod.engine import Plan, plan
from codemod.model import Outcome, Patch, Status
from codemod.registry import load
from tests.releases import ALL, FAMILIES, FAMILY_OF, MEMBER, NEEDS, NOT_AFFECTED, source

if TYPE_CHECKING:
    from pathlib import Path

PATCHES = load()
AFFECTED_FAMILIES = [v for name, v in FAMILIES.items() if v and name[0] != "N"]


def seen(planned: Plan) -> list[tuple[object, ...]]:
    return [
        (s.patch.id, s.outcome, s.finding.status, s.finding.reason, s.finding.guard)
        for s in planned.steps
    ]


@pytest.fixture
def unparsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is parsed in this test."""
    monkeypatch.setattr("codemod.engine.syntax.parse", None)


def by_table(source: bytes, patches: list[Patch] = PATCHES) -> Plan:
    return plan(source, patches, table=True)


@pytest.mark.parametrize("version", ALL)
def test_the_table_and_the_content_lead_to_the_same(version: str) -> None:
    before = source(version)
    assert seen(by_table(before)) == seen(plan(before, PATCHES))
    assert by_table(before).after == plan(before, PATCHES).after
    after = plan(before, PATCHES).after
    for known in (after, after.replace(b"\n", b"\r\n")):
        assert seen(by_table(known)) == seen(plan(known, PATCHES))


@pytest.mark.usefixtures("unparsed")
def test_a_release_that_needs_nothing_is_not_parsed() -> None:
    for version in NOT_AFFECTED:
        assert {step.outcome for step in by_table(source(version)).steps} == {Outcome.NONE}
    for after in AFTER.values():
        assert {step.outcome for step in by_table(after).steps} == {Outcome.ALREADY}


AFTER = {versions[-1]: plan(source(versions[-1]), PATCHES).after for versions in AFFECTED_FAMILIES}


@pytest.mark.usefixtures("unparsed")
@pytest.mark.parametrize("version", AFTER)
def test_a_release_that_needs_an_edit_is_not_parsed_where_all_is_asked_for(version: str) -> None:
    planned = by_table(source(version))
    assert planned.after == AFTER[version]
    applied = [step for step in planned.steps if step.outcome is Outcome.APPLIED]
    assert [step.patch.id for step in applied] == NEEDS[FAMILY_OF[version]]
    assert applied[-1].after == planned.steps[-1].after == planned.after


@pytest.mark.parametrize("version", AFTER)
def test_the_stages_of_an_edit_are_what_each_patch_makes(version: str) -> None:
    told, made = (plan(source(version), PATCHES, table=table).steps for table in (True, False))
    assert [step.after for step in told] == [step.after for step in made]


@pytest.mark.usefixtures("unparsed")
@pytest.mark.parametrize("version", AFTER)
def test_what_is_not_known_is_parsed(version: str) -> None:
    own = [*PATCHES, _renamed(PATCHES[0], "somebody_s_own")]
    windows = source(version).replace(b"\n", b"\r\n")
    for content, patches in (
        (source(version) + b"\n", PATCHES),
        (source(version), own),
        (windows, PATCHES),
        (AFTER[version] + b"\n", PATCHES),
        (AFTER[version], own),
    ):
        with pytest.raises(TypeError):
            by_table(content, patches)


def test_an_edit_that_does_not_lead_to_the_known_bytes_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = releases._text()
    other = table.replace(b"is None:", b"is  None:")
    assert other != table
    monkeypatch.setattr(releases, "_read", [other])
    assert by_table(source("0.12.0")).after == AFTER["0.12.0.1"]


@pytest.mark.parametrize("chosen", [PATCHES[::-1], PATCHES[:1], PATCHES[1:], PATCHES[2:]])
def test_some_patches_or_another_order_are_decided_by_content(chosen: list[Patch]) -> None:
    told, made = (plan(source("0.4.21"), chosen, table=table) for table in (True, False))
    assert seen(told) == seen(made)
    assert told.after == made.after
    assert (told.after == AFTER["0.4.21"]) is (len(chosen) == len(PATCHES))


def test_what_was_edited_is_not_said_to_have_been_found_so() -> None:
    whys = {step.outcome: step.why for step in by_table(source("0.8.0")).steps}
    assert whys == {Outcome.APPLIED: "", Outcome.ALREADY: ""}
    assert "with all patches" in by_table(AFTER["0.8.0"]).steps[1].why


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
    planned = by_table(copy.read_bytes())
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
