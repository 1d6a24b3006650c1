"""The wheel holds what it must, and works where nothing of the checkout is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from codemod import __version__
from tests.releases import ROOT, source
from tests.verdicts import RELEASE, patched, unpacked

if TYPE_CHECKING:
    from pathlib import Path

PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=clean)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(*PIP, "wheel", "--no-deps", "-w", folder, ROOT)
    return next(folder.glob("jax_codemod-*.whl"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the wheel and what it depends on."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    run(*PIP, "--python", folder / "bin" / "python", "install", wheel)
    return folder / "bin" / "python"


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_every_patch_and_the_releases_are_in_the_package(wheel: Path) -> None:
    patches = {f"codemod/patches/{path.name}" for path in (ROOT / "patches").glob("*.py")}
    assert "codemod/patches/skip_mds_env_value.py" in patches
    assert patches | {"codemod/patches/releases.toml"} <= names(wheel)


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    listed = run("git", "ls-files", "codemod").split()
    assert "codemod/cli.py" in listed
    assert set(listed) <= names(wheel)


def test_its_types_are_for_others_too(wheel: Path) -> None:
    assert "codemod/py.typed" in names(wheel)  # PEP 561


def test_nothing_else_is_installed(wheel: Path) -> None:
    tops = {name.split("/")[0] for name in names(wheel)}
    assert tops == {"codemod", f"jax_codemod-{__version__}.dist-info"}


def test_the_licence_goes_with_it(wheel: Path) -> None:
    assert f"jax_codemod-{__version__}.dist-info/licenses/LICENSE" in names(wheel)


@pytest.mark.parametrize("command", [["python", "-m", "codemod"], ["codemod"]], ids=" ".join)
def test_the_installed_command_tells_its_version(
    command: list[str], python: Path, tmp_path: Path
) -> None:
    program: list[str | Path] = [python.with_name(command[0]), *command[1:]]
    assert run(*program, "--version", cwd=tmp_path) == f"codemod {__version__}\n"


def test_the_installed_command_applies_its_patches(python: Path, tmp_path: Path) -> None:
    copy = tmp_path / "cloud_tpu_cluster.py"
    copy.write_bytes(source("0.12.0.1"))
    assert b'get("TPU_SKIP_MDS_QUERY") is None:' not in copy.read_bytes()
    run(python.with_name("codemod"), "apply", copy, cwd=tmp_path)
    assert b'get("TPU_SKIP_MDS_QUERY") is None:' in copy.read_bytes()


def test_the_test_to_copy_needs_nothing_of_the_checkout(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    option = readme[readme.index("def pytest_addoption") :].partition("```")[0]
    (tmp_path / "conftest.py").write_text(option)
    (tmp_path / "tests").mkdir()  # hides that of the checkout
    (tmp_path / "tests" / "__init__.py").touch()
    copied = shutil.copy(ROOT / "tests" / "test_no_metadata_requests.py", tmp_path)
    jax = unpacked(RELEASE, tmp_path / "vendored").parents[2]
    ended = []
    for text in (source(RELEASE), patched().encode()):
        (jax / "_src/clusters/cloud_tpu_cluster.py").write_bytes(text)
        command = [sys.executable, "-m", "pytest", "-q", copied, "--jax", jax]
        done = subprocess.run(command, capture_output=True, check=False, cwd=tmp_path)
        ended.append(done.returncode)
    assert ended == [1, 0]
