from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.results import Result, Status, Store, table
from tests.e2e.run import RESULTS, Family, _codemod, _judged, _verdict, affected, prove
from tests.releases import MEMBER
from tests.small_jax import fake

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(sys.executable)
FAMILY = Family(name="X1", release="0.0.1", needs=frozenset({"skip_mds_env_value"}))
CLUSTER = """
import os
coordinator_port = '8476'
def get_metadata(key):
  import requests
  where = os.environ.get("GCE_METADATA_IP", "metadata.google.internal")
  return requests.get(f"http://{where}/computeMetadata/v1/instance/attributes/{key}").text
def get_tpu_env_value(key):
  value = os.environ.get(key, None)
  return value if value is not None else get_metadata("tpu-env")
"""
ASKS = 'if os.environ.get("TPU_SKIP_MDS_QUERY") is None:\n        asked()'
CALLS = """from jax._src.clusters.cloud_tpu_cluster import get_tpu_env_value
    get_tpu_env_value("MEGASCALE_NUM_SLICES")"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    made = Path(mkdtemp())
    yield made
    shutil.rmtree(made)


def small(folder: Path, initialize: str) -> Path:
    """Return a package `jax` that starts so, with a cluster file that needs the first patch."""
    folder.mkdir()
    package = fake(folder, ASKS, initialize) / "jax"
    (package.parent / MEMBER).write_text(CLUSTER)
    return package


@pytest.fixture(scope="module")
def jax(folder: Path) -> Path:
    return small(folder / "jax", CALLS)


@pytest.fixture(scope="module")
def verdicts(folder: Path, jax: Path) -> dict[str, dict[str, Any]]:
    """Return those on the copy as it came, patched, and patched where that is not enough."""
    stubborn = small(folder / "stubborn", f"{CALLS}\n    asked()")
    patched = folder / "patched" / "jax"
    shutil.copytree(jax, patched)
    for package in (stubborn, patched):
        _codemod("apply", "-q", package)
    packages = {"came": jax, "patched": patched, "stubborn": stubborn}
    return {name: _verdict(HERE, package) for name, package in packages.items()}


@cache
def results() -> tuple[Result, ...]:
    proved = replace(
        FAMILY.result(Status.PROVED), before="Error: a|b", after="one slice 2/2, control 1/1"
    )
    return (
        proved,
        FAMILY.result(Status.SKIPPED, "jax 0.0.1 needs Python 3.99, which is not here"),
        FAMILY.result(Status.EXPECTED, "needs another"),
        FAMILY.result(Status.FAILED, "status 1: uv pip install\nno such release"),
    )


def test_the_table_has_a_row_for_each_family() -> None:
    rows = [line for line in table(results()).splitlines() if line.startswith("| X1 |")]
    assert rows == [
        "| X1 | 0.0.1 | 3.11 | Error: a\\|b | one slice 2/2, control 1/1 | proved |",
        "| X1 | 0.0.1 | 3.11 | - | - | skipped: jax 0.0.1 needs Python 3.99, which is not here |",
        "| X1 | 0.0.1 | 3.11 | - | - | expected failure: needs another |",
        "| X1 | 0.0.1 | 3.11 | - | - | FAILED: status 1: uv pip install<br>no such release |",
    ]


def test_the_table_of_the_repository_is_that_of_the_newest_release_of_every_family() -> None:
    text = RESULTS.read_text()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]
    assert [(row[0].removeprefix("| "), row[1]) for row in rows] == [
        (family.name, family.release) for family in affected()
    ]
    assert text.startswith(table([]))
    assert len(rows) == 14


def test_only_proofs_are_kept(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "results.json")
    for result in results():
        store.put(result.status, result)
    again = Store(tmp_path / "new" / "results.json")
    assert [again.get(result.status) for result in results()] == [results()[0], None, None, None]


def test_a_family_is_proved_once_and_not_again_until_something_changes(
    jax: Path, tmp_path: Path
) -> None:
    path = tmp_path / "results.json"
    proved = prove(FAMILY, HERE, jax, Store(path))
    assert proved.status is Status.PROVED, proved
    assert proved.before.startswith("requests.exceptions.ConnectionError: ")
    assert proved.after == "one slice 2/2, two slices 2/2, control 1/1"

    nowhere = tmp_path / "python"  # whatever runs, fails
    assert prove(FAMILY, nowhere, jax, Store(path)) == proved
    assert prove(FAMILY, nowhere, jax, Store(tmp_path / "fresh")).status is Status.FAILED
    changed = tmp_path / "jax"
    shutil.copytree(jax, changed)
    (tmp_path / MEMBER).write_text(CLUSTER + "# another\n")
    failed = prove(FAMILY, nowhere, changed, Store(path))
    assert failed.status is Status.FAILED
    assert failed.why.startswith("codemod verify: status 2: Error: Invalid value for '--python'")


CASES = {
    "proved": ("came", "patched", {"skip_mds_env_value"}, "proved"),
    "not proved": ("came", "stubborn", {"skip_mds_env_value"}, "FAILED: NOT proved: with "),
    "a patch is missing": (
        "came",
        "stubborn",
        {"no_such_patch", "skip_mds_env_value"},
        "expected failure: needs no_such_patch",
    ),
    "no patch is missing, though the table says so": (
        "came",
        "patched",
        {"no_such_patch"},
        "FAILED: proved, though the table of releases says: needs no_such_patch",
    ),
    "the bug does not show": (
        "patched",
        "patched",
        {"skip_mds_env_value"},
        "FAILED: as it came, it is not as reported: proved: with ",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_two_verdicts_add_up_to(name: str, verdicts: dict[str, dict[str, Any]]) -> None:
    before, after, needs, expected = CASES[name]
    family = replace(FAMILY, needs=frozenset(needs))
    assert str(_judged(family, verdicts[before], verdicts[after])).startswith(expected)
