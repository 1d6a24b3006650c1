"""The table of releases is that of the wheels, and the cache of wheels is never trusted."""

from __future__ import annotations

import hashlib
import shutil
from typing import TYPE_CHECKING

import pytest

from codemod import registry
from codemod.engine import plan
from codemod.model import Status
from tests import releases

if TYPE_CHECKING:
    from pathlib import Path

ROW = {version: row for row in releases.TABLE["family"] for version in row["releases"]}


@pytest.mark.parametrize("version", releases.ALL)
def test_the_bytes_are_those_of_the_table(version: str) -> None:
    data = releases.source(version)
    row = ROW[version]
    assert (len(data), hashlib.sha256(data).hexdigest()) == (row["size"], row["sha256"])


@pytest.mark.parametrize("version", releases.ALL)
def test_the_patches_find_what_the_table_says(version: str) -> None:
    steps = plan(releases.source(version), registry.load()).steps
    affected = {step.patch.id for step in steps if step.finding.status is Status.AFFECTED}
    known = {patch.id for patch in registry.load()}
    assert affected == known & set(ROW[version]["needs"])


def test_no_release_is_in_two_families() -> None:
    rows = [version for row in releases.TABLE["family"] for version in row["releases"]]
    assert len(rows) == len(set(rows))
    assert set(releases.ALL) <= set(rows)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a cache of its own, which has one good wheel."""
    good = releases.wheel("0.4.19")
    (tmp_path / "wheels").mkdir()
    shutil.copy(good, tmp_path / "wheels")
    monkeypatch.setattr(releases, "CACHE", tmp_path)
    return tmp_path / "wheels"


def test_a_good_wheel_is_not_fetched_again(cache: Path) -> None:
    assert releases._is_right("0.4.19")
    assert not releases._is_right("0.4.20")


def test_a_damaged_wheel_is_fetched_again(cache: Path) -> None:
    (wheel,) = cache.glob("*.whl")
    good = wheel.read_bytes()
    wheel.write_bytes(good[:-1])
    assert not releases._is_right("0.4.19")
    assert releases._fetch("0.4.19") == ""
    assert wheel.read_bytes() == good


def test_a_wheel_with_another_hash_is_an_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(releases.HASHES, "0.4.19", "0" * 64)
    assert "0.4.19" in releases._fetch("0.4.19")


def test_a_release_that_cannot_be_fetched_fails_each_test(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(releases, "_fetch_all", lambda: "jax 0.4.19 could not be fetched: no route")
    with pytest.raises(RuntimeError, match="no route"):
        releases.wheel("0.4.19")
