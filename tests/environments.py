"""Environments with a real jax and jaxlib, made once and kept in the cache of the checkout."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.releases import CACHE, lock

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENTS = CACHE / "envs"

# jaxlib is that of the release, but for those that were never published; the first line holds
# what newer packages broke.
OLD = ("numpy<2", "scipy<1.14")
PYTHONS = {"0.11": "3.12", "0.12": "3.12"}  # by series; 3.11 is right for the others
JAXLIB = {"0.4.37": "0.4.36", "0.5.2": "0.5.1", "0.12.0.1": "0.12.0"}
LAST_LINES = 5  # of a command that failed


class Lacking(Exception):  # noqa: N818 - what it says is what lacks
    """This machine has no such interpreter, or no network: no fault of what is tested."""


class NotMade(Exception):  # noqa: N818
    """An environment that should be installable is not: the command and its last lines."""


def environment(version: str) -> Path:
    """Return the interpreter of an environment with this jax; skips where the machine lacks it."""
    try:
        return made(version)
    except Lacking as lacking:
        pytest.skip(str(lacking))


def made(version: str) -> Path:
    """Return the same, made now if it is not there. Raises `Lacking` and `NotMade`."""
    ENVIRONMENTS.mkdir(parents=True, exist_ok=True)
    folder = ENVIRONMENTS / version
    with lock(ENVIRONMENTS / f".{version}.lock"):
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, interpreter(version), _packages(version))
            (folder / "complete").touch()
    return folder / "bin" / "python"


def wanted(version: str) -> str:
    """Return the Python, such as 3.11, that this jax is run on."""
    return PYTHONS.get(".".join(version.split(".")[:2]), "3.11")


def interpreter(version: str) -> Path:
    """Return an interpreter that this jax runs on. Raises `Lacking`."""
    python = wanted(version)
    for candidate in _interpreters(python):
        if _answers(candidate, python):
            return candidate
    raise Lacking(f"jax {version} needs Python {python}, which is not here")


def _interpreters(python: str) -> Iterator[Path]:
    """Yield what may be that Python: a name says little, and a shim of pyenv may lead nowhere."""
    yield Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    yield from sorted(pyenv.glob(f"{python}.*/bin/python"))
    if found := shutil.which(f"python{python}"):
        yield Path(found)
    if uv := _uv():
        known = _done([uv, "python", "find", "--no-project", "--no-python-downloads", python])
        if known.returncode == 0:
            yield Path(known.stdout.strip())


def _answers(candidate: Path, python: str) -> bool:
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    with contextlib.suppress(OSError):
        return _done([candidate, "-c", code]).stdout.strip() == python
    return False


def _packages(version: str) -> list[str]:
    old = OLD if version.startswith("0.4.") else ()
    return [f"jax=={version}", f"jaxlib=={JAXLIB.get(version, version)}", "requests", *old]


def _make(folder: Path, python: Path, packages: list[str]) -> None:
    new = folder / "bin" / "python"
    if uv := _uv():
        _run([uv, "venv", "-q", "--python", python, folder])
        _run([uv, "pip", "install", "-q", "--python", new, *packages])
        return
    _run([python, "-m", "venv", folder])
    _run([new, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages])


def _uv() -> Path | None:
    found = Path(shutil.which("uv") or Path(sys.executable).with_name("uv"))
    return found if found.exists() else None


def _run(command: list[str | Path]) -> None:
    done = _done(command)
    if done.returncode == 0:
        return
    if not _network():
        raise Lacking("there is no network to install jax from")
    lines = (done.stderr or done.stdout).strip().splitlines()[-LAST_LINES:]
    raise NotMade("\n".join([f"status {done.returncode}: {' '.join(map(str, command))}", *lines]))


def _network() -> bool:
    """Whether the index that pip is set up for can be reached; a folder on disk is none."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-cache-dir")
    done = _done([*pip, "index", "versions", "jax", "--retries", "1"])  # 0 would hide why
    return done.returncode == 0 and "connection broken by" not in done.stderr


def _done(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False)
