"""The releases of jax that the tests run on: fetched once, checked by hash, kept in the cache."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
CACHE = Path(os.environ.get("JAX_CODEMOD_CACHE", ROOT / ".cache"))
MEMBER = "jax/_src/clusters/cloud_tpu_cluster.py"

TABLE: dict[str, Any] = tomllib.loads((ROOT / "patches" / "releases.toml").read_text())
HASHES: dict[str, str] = TABLE["wheel_sha256"]
ALL = tuple(HASHES)
FAMILIES = {
    family["name"]: tuple(v for v in family["releases"] if v in HASHES)
    for family in TABLE["family"]
}
NEEDS: dict[str, list[str]] = {family["name"]: family["needs"] for family in TABLE["family"]}
FAMILY_OF = {version: name for name, versions in FAMILIES.items() for version in versions}
AFFECTED = tuple(v for v in ALL if FAMILY_OF[v][0] in "ABCD")
NOT_AFFECTED = tuple(v for v in ALL if v not in AFFECTED)


def wheel(version: str) -> Path:
    """The wheel of a release, as the package index serves it."""
    if failure := _fetch_all():
        raise RuntimeError(failure)
    return _place(version)


def sdist(version: str) -> Path:
    """The sdist of a release, as the package index serves it."""
    place = CACHE / "sdists" / f"jax-{version}.tar.gz"
    place.parent.mkdir(parents=True, exist_ok=True)
    with lock(place.parent / ".lock"):
        if not place.exists():
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
                command += ["--no-binary", ":all:", "-d", folder, f"jax=={version}"]
                subprocess.run(command, check=True, capture_output=True)
                Path(folder, place.name).replace(place)
    return place


@functools.cache
def source(version: str) -> bytes:
    """The bytes of cloud_tpu_cluster.py of a release."""
    with zipfile.ZipFile(wheel(version)) as archive:
        return archive.read(MEMBER)


def unpack(version: str, into: Path) -> Path:
    """The whole wheel unpacked into a folder; gives the path of its cloud_tpu_cluster.py."""
    with zipfile.ZipFile(wheel(version)) as archive:
        archive.extractall(into)
    return into / MEMBER


def _place(version: str) -> Path:
    return CACHE / "wheels" / f"jax-{version}-py3-none-any.whl"


@functools.cache
def _fetch_all() -> str:
    """All wheels at once, by one process at a time: several test workers start together.

    Gives why it failed, if it did: tried once, not again for each of a thousand tests.
    """
    (CACHE / "wheels").mkdir(parents=True, exist_ok=True)
    with lock(CACHE / "wheels" / ".lock"):
        missing = [version for version in ALL if not _is_right(version)]
        with ThreadPoolExecutor(4) as pool:
            return "; ".join(filter(None, pool.map(_fetch, missing)))


@contextlib.contextmanager
def lock(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _is_right(version: str) -> bool:
    path = _place(version)
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == HASHES[version]


def _fetch(version: str) -> str:
    """Fetch one wheel, in place of a bad one too; gives why that failed, if it did."""
    with tempfile.TemporaryDirectory(dir=CACHE / "wheels") as folder:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"),
                *("--no-deps", "--only-binary", ":all:", "--ignore-requires-python"),
                *("-d", folder, f"jax=={version}"),
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        found = list(Path(folder).glob("*.whl"))
        if not found:
            return f"jax {version} could not be fetched: {done.stderr.strip()}"
        found[0].replace(_place(version))
    return "" if _is_right(version) else f"jax {version}: the wheel has not the hash of the table"
