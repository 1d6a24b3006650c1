"""`codemod revert`: exactly what was there before, or a reason why not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from codemod.engine import plan
from codemod.registry import load
from tests.installations import VERSION, disagreeing, info, install, listing, receipt, run
from tests.releases import MEMBER, source

if TYPE_CHECKING:
    from pathlib import Path

FIXED = plan(source(VERSION), load()).after


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    install(folder)
    return folder


def test_revert_leaves_what_was_there(site: Path) -> None:
    before = listing(site)
    run("apply", site)
    assert listing(site) != before
    result = run("revert", site)
    assert result.exit_code == 0, result.output
    assert "reverted" in result.stdout
    assert listing(site) == before
    result = run("revert", site)
    assert result.exit_code == 0
    assert "nothing to undo" in result.stdout


def test_a_file_that_was_changed_since_is_not_reverted(site: Path) -> None:
    run("apply", site)
    (site / MEMBER).write_bytes(FIXED + b"# mine\n")
    before = listing(site)
    result = run("revert", site)
    assert result.exit_code == 3
    assert "changed since it was patched" in result.stdout
    assert listing(site) == before


def test_a_receipt_that_survived_an_upgrade_claims_nothing(site: Path) -> None:
    run("apply", site)
    (site / MEMBER).write_bytes(source("0.10.2"))
    assert run("apply", site, "--check").exit_code == 1
    result = run("revert", site)
    assert result.exit_code == 0
    assert "nothing to undo" in result.stdout
    run("apply", site)
    run("revert", site)
    assert (site / MEMBER).read_bytes() == source("0.10.2")
    assert not receipt(site).exists()


def test_a_record_without_a_last_newline_is_put_back_too(site: Path) -> None:
    path = info(site) / "RECORD"
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))
    before = path.read_bytes()
    assert run("apply", site).exit_code == 0
    assert path.read_bytes() != before
    assert run("revert", site).exit_code == 0
    assert path.read_bytes() == before


def test_a_patched_file_without_a_receipt_is_not_guessed_at(site: Path) -> None:
    (site / MEMBER).write_bytes(FIXED)
    result = run("revert", site)
    assert result.exit_code == 3
    assert "no receipt" in result.stdout


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b'{"version": 1, "files": {"a": {}}}',
        b'{"version": 9, "files": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_receipt_is_refused(site: Path, content: bytes) -> None:
    receipt(site).write_bytes(content)
    before = listing(site)
    for command in ("apply", "revert"):
        result = run(command, site)
        assert result.exit_code == 3
        assert "codemod.json: a receipt" in result.stdout
    assert listing(site) == before


def test_one_of_several_patches_is_reverted(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, files={MEMBER: source("0.4.30")})
    before = listing(site)
    run("apply", site)
    result = run("revert", site, "--patch", "skip_mds_detection")
    assert result.exit_code == 0, result.output
    only = plan(source("0.4.30"), [p for p in load() if p.id == "skip_mds_env_value"]).after
    assert (site / MEMBER).read_bytes() == only
    assert disagreeing(site) == []
    assert [*json.loads(receipt(site).read_text())["files"][MEMBER]["patches"]] == [
        "skip_mds_env_value"
    ]
    assert run("revert", site).exit_code == 0
    assert listing(site) == before


def test_patches_that_were_applied_one_after_the_other_are_reverted_together(
    tmp_path: Path,
) -> None:
    site = tmp_path / "site-packages"
    install(site, files={MEMBER: source("0.4.30")})
    before = listing(site)
    run("apply", site, "--patch", "skip_mds_env_value")
    run("apply", site)
    patches = json.loads(receipt(site).read_text())["files"][MEMBER]["patches"]
    assert {*patches} == {"skip_mds_env_value", "skip_mds_detection"}
    run("revert", site)
    assert listing(site) == before


def test_a_patch_that_others_need_is_not_reverted_alone(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    install(site, files={MEMBER: source("0.4.21")})
    run("apply", site)
    before = listing(site)
    result = run("revert", site, "--patch", "skip_mds_env_value")
    assert result.exit_code == 3
    assert "needs skip_mds_env_value: revert both" in result.stdout
    assert listing(site) == before


def test_an_unknown_patch_is_wrong_usage(site: Path) -> None:
    assert run("revert", site, "--patch", "nonsense").exit_code == 2


def test_verify_that_objects_leaves_the_installation_as_it_was(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = listing(site)
    monkeypatch.setattr("codemod.commands.objection", lambda *_: "not proved")
    result = run("apply", site, "--verify")
    assert result.exit_code == 3
    assert "not proved" in result.stdout
    assert listing(site) == before
