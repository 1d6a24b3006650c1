"""Environments with a real jax and jaxlib, made once and kept in the cache of the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CACHE = Path(__file__).parents[1] / ".cache" / "envs"

# The newest of each family that can be installed. jaxlib is that of the release, but for those
# that were never published; the last column holds what newer packages broke.
OLD = ("numpy<2", "scipy<1.14")
PYTHONS = {"0.4": "3.11", "0.5": "3.11", "0.11": "3.12", "0.12": "3.12"}
JAXLIB = {"0.4.37": "0.4.36", "0.5.2": "0.5.1", "0.12.0.1": "0.12.0"}


def environment(version: str) -> Path:
    """Return the interpreter of an environment with this jax; skips where it cannot be made."""
    folder = CACHE / version
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        _make(folder, interpreter(version), _packages(version))
        (folder / "complete").touch()
    return python


def interpreter(version: str) -> Path:
    """Return an interpreter that this jax runs on; skips where there is none."""
    wanted = PYTHONS.get(".".join(version.split(".")[:2]), "3.11")
    if sys.version_info[:2] == tuple(map(int, wanted.split("."))):
        return Path(sys.executable)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for folder in sorted(pyenv.glob(f"{wanted}.*")):
        if (folder / "bin" / "python").exists():
            return folder / "bin" / "python"
    if found := shutil.which(f"python{wanted}"):
        return Path(found)
    pytest.skip(f"jax {version} needs Python {wanted}, which is not here")


def _packages(version: str) -> list[str]:
    old = OLD if version.startswith("0.4.") else ()
    return [f"jax=={version}", f"jaxlib=={JAXLIB.get(version, version)}", "requests", *old]


def _make(folder: Path, python: Path, packages: list[str]) -> None:
    uv = shutil.which("uv") or Path(sys.executable).with_name("uv")
    if Path(uv).exists():
        _run([uv, "venv", "-q", "--python", python, folder])
        _run([uv, "pip", "install", "-q", "--python", folder / "bin" / "python", *packages])
        return
    _run([python, "-m", "venv", folder])
    _run([folder / "bin" / "python", "-m", "pip", "install", "-q", *packages])


def _run(command: list[str | Path]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{command[0]}: {done.stderr.strip().splitlines()[-1:]}")
