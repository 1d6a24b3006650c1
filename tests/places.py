"""Places that jax may be installed in, made by hand for the tests of `locate`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from codemod.locate import Target, locate

if TYPE_CHECKING:
    from pathlib import Path

TAG = f"python{sys.version_info[0]}.{sys.version_info[1]}"
SITE = f"lib/{TAG}/site-packages"
FILE = "jax/_src/clusters/cloud_tpu_cluster.py"


def put_jax(site: Path, version: str | None = None, package: str = "jax") -> Path:
    """Make a jax in a folder, with a dist-info if there is a version; return its file."""
    file = site / package / FILE.removeprefix("jax/")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x = 1\n")
    (site / package / "__init__.py").touch()
    if version:
        put_info(site, version)
    return file


def put_info(site: Path, version: str, name: str = "jax") -> Path:
    info = site / f"jax-{version}.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nVersion: 9 of the text\n"
    (info / "METADATA").write_text(text)
    return info


def find(argument: Path | str | None, **environ: str) -> Target:
    text = None if argument is None else str(argument)
    return locate(text, environ={"PATH": os.environ["PATH"], **environ})


def relatives(target: Target) -> list[str]:
    for copy in target.copies:
        assert copy.path == target.root / copy.relative
    return [copy.relative for copy in target.copies]


@pytest.fixture(scope="session")
def pristine_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture
def venv(pristine_venv: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "venv"
    shutil.copytree(pristine_venv, folder, symlinks=True)
    return folder


@pytest.fixture
def conda(tmp_path: Path) -> Path:
    folder = tmp_path / "conda"
    (folder / "conda-meta").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    put_jax(folder / "lib" / "python3.12" / "site-packages", "0.5.0")
    return folder
