"""The table of releases is what `make releases` makes of the wheels; no archive is trusted."""

from __future__ import annotations

import shutil
import tarfile
import tomllib
import zipfile
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from codemod.engine import plan
from codemod.registry import load
from tests import releases
from tests.releases import ALL, MEMBER, TABLE, source
from tests.shapes import MODULE
from tests.tools import releases_table
from tests.tools.releases_table import NEW, PATH, fetch, generate, read

if TYPE_CHECKING:
    from pathlib import Path


# --- the table ------------------------------------------------------------------------------


def make(sources: dict[str, bytes], table: dict[str, Any] = TABLE) -> dict[str, Any]:
    return tomllib.loads(generate(table, sources))


def row(table: dict[str, Any], version: str) -> dict[str, Any]:
    (found,) = [family for family in table["family"] if version in family["releases"]]
    return found  # type: ignore[no-any-return]


def changed(version: str, **values: object) -> dict[str, Any]:
    """The table with other values in the family of a release."""
    family = [{**f, **values} if version in f["releases"] else f for f in TABLE["family"]]
    return {**TABLE, "family": family}


def test_made_again_the_table_is_the_same() -> None:
    made = generate(TABLE, {version: source(version) for version in ALL})
    assert made == PATH.read_text("utf-8")


def test_families_are_in_the_order_of_their_oldest_release() -> None:
    backwards = {**TABLE, "family": TABLE["family"][::-1]}
    assert generate(backwards, {}) == PATH.read_text("utf-8")


def test_no_family_waits_for_its_name() -> None:
    names = [family["name"] for family in TABLE["family"]]
    assert len(names) == len(set(names))
    assert not any(name.startswith(NEW) for name in names)


def test_no_release_is_in_two_families() -> None:
    rows = [version for family in TABLE["family"] for version in family["releases"]]
    assert len(rows) == len(set(rows))
    assert {*ALL, *TABLE["other_sha256"]} == set(rows)


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "fixed"},
        {"needs": ["skip_mds_detection"]},
        {"size": 1},
        {"patched_sha256": "0" * 64},
        {"patched_size": 1},
        {"before": {}},
        {"after": {}},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_wrong_value_is_put_right(wrong: dict[str, object]) -> None:
    assert make({"0.8.0": source("0.8.0")}, changed("0.8.0", **wrong)) == TABLE
    assert make({"0.4.20": source("0.4.20")}, changed("0.4.20", **wrong)) == TABLE


def test_a_release_in_the_wrong_family_is_moved() -> None:
    here, there = row(TABLE, "0.8.0")["releases"], row(TABLE, "0.12.0")["releases"]
    wrong = changed("0.12.0", releases=["0.8.0", *there])
    (without,) = [f for f in changed("0.8.0", releases=here[:-1])["family"] if f["name"] == "D2"]
    wrong["family"] = [without if f["name"] == "D2" else f for f in wrong["family"]]
    assert here[-1] == "0.8.0"
    assert row(wrong, "0.8.0")["name"] == "D8"
    assert make({"0.8.0": source("0.8.0")}, wrong) == TABLE


def test_a_release_that_is_not_at_hand_stays_as_it_is() -> None:
    wrong = changed("0.8.0", size=1)
    assert make({"0.12.0": source("0.12.0")}, wrong) == wrong


def test_what_is_written_by_hand_is_kept() -> None:
    by_hand = changed("0.8.0", name="mine", shape='"odd" é')
    assert make({"0.8.0": source("0.8.0")}, by_hand) == by_hand


def test_a_new_release_of_known_bytes_joins_its_family() -> None:
    made = make({"99.0": source("0.12.0")})
    assert made["newest"] == "99.0"
    assert row(made, "99.0") == {
        **row(TABLE, "0.12.0"),
        "releases": [*row(TABLE, "0.12.0")["releases"], "99.0"],
    }


def test_a_new_release_of_new_bytes_is_a_family_without_a_name() -> None:
    made = make({"0.12.0.2": source("0.12.0") + b"#\n", "0.12.0.10": source("0.12.0") + b"#\n"})
    found = row(made, "0.12.0.2")
    assert made["newest"] == "0.12.0.10"
    assert found["name"] == f"{NEW}-0.12.0.2"
    assert found["releases"] == ["0.12.0.2", "0.12.0.10"]
    assert found["needs"] == ["skip_mds_env_value"]
    assert [f for f in made["family"] if f is not found] == TABLE["family"]


def test_a_release_that_upstream_fixed_needs_nothing() -> None:
    found = row(make({"99.0": plan(source("0.12.0"), load()).after}), "99.0")
    assert (found["status"], found["needs"]) == ("fixed", [])
    assert "patched_sha256" not in found
    assert "after" not in found


def test_a_release_that_cannot_be_decided_says_so() -> None:
    found = row(make({"99.0": b"def ("}), "99.0")
    assert found["status"] == "under_investigation"
    assert found["before"]["skip_mds_env_value"]["reason"] == "unparsable"


# --- the archives ---------------------------------------------------------------------------


def test_the_file_is_found_in_a_wheel_and_in_an_sdist(tmp_path: Path) -> None:
    wheel, sdist = tmp_path / "jax-1-py3-none-any.whl", tmp_path / "jax-1.tar.gz"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(MEMBER, MODULE)
    with tarfile.open(sdist, "w:gz") as tar:
        info = tarfile.TarInfo(f"jax-1/{MEMBER}")
        info.size = len(MODULE)
        tar.addfile(info, BytesIO(MODULE.encode()))
    assert read(wheel, "1") == read(sdist, "1") == MODULE.encode()


def test_an_archive_without_the_file_says_so(tmp_path: Path) -> None:
    wheel, sdist = tmp_path / "jax-1-py3-none-any.whl", tmp_path / "jax-1.tar.gz"
    zipfile.ZipFile(wheel, "w").close()
    with tarfile.open(sdist, "w:gz") as tar:
        folder = tarfile.TarInfo(f"jax-2/{MEMBER}")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
    for archive, version in ((wheel, "1"), (sdist, "1"), (sdist, "2")):
        with pytest.raises(LookupError, match="cloud_tpu_cluster"):
            read(archive, version)


def test_an_archive_of_the_cache_is_taken_only_with_its_hash(cache: Path) -> None:
    archive = cache / "jax-99.0.tar.gz"
    archive.write_bytes(b"")
    assert fetch("99.0", None) == archive
    assert fetch("99.0", releases_table._sha256(b"")) == archive
    with pytest.raises(LookupError, match="No matching distribution"):
        fetch("99.0", "0" * 64)


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
