"""What pip, uv and conda make of an installation that was patched: the table in the README."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import cache
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.engine import plan
from codemod.record import Record
from codemod.registry import load
from tests.installations import listing, small_wheel
from tests.releases import CACHE, MEMBER, source

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "0.8.0", "0.10.2"
OLDEST_PIP = "19.3.1"  # of those that run on Python 3.11
TOOLS = ("oldest pip", "newest pip", "uv")
FIXED = plan(source(OLD), load()).after
OURS = ("codemod.json", ".codemod")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for version in (OLD, NEW):
        small_wheel(version, folder)
    return folder


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("uv-cache")


def run(*command: str | Path, cwd: Path | None = None) -> str:
    environ = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    environ |= {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"}
    done = subprocess.run(
        command, cwd=cwd, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@cache
def pip(version: str) -> Path:
    """A pip of any version, unpacked into the cache, to be run by any interpreter."""
    folder = CACHE / "pips" / version
    if not (folder / "pip").is_dir():
        wanted = "pip" if version == "newest" else f"pip=={version}"
        command = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, wanted)
        run(*command)
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as archive:
            archive.extractall(folder)
    return folder / "pip"


class Environment:
    """A virtual environment without pip, and one installer that works on it."""

    def __init__(self, tool: str, prefix: Path, wheels: Path, cached: Path) -> None:
        self.tool, self.prefix, self.wheels, self.cached = tool, prefix, wheels, cached
        if not prefix.exists():
            run(sys.executable, "-m", "venv", "--without-pip", prefix)
        self.python = prefix / "bin" / "python"
        [self.site] = prefix.glob("lib/python*/site-packages")

    def __call__(self, command: str, *arguments: str) -> str:
        """Run `install`, `uninstall` or `check`."""
        if self.tool == "uv":
            given = ["--python", str(self.python), "--cache-dir", str(self.cached)]
            program: list[str | Path] = [sys.executable, "-m", "uv", "pip", command, *given]
        else:
            version = OLDEST_PIP if self.tool == "oldest pip" else "newest"
            program = [self.python, pip(version), command]
        if command == "install":
            program += ["--no-index", "--find-links", self.wheels]
        return run(*program, *arguments)

    @property
    def patched(self) -> bool:
        return (self.site / MEMBER).read_bytes() == FIXED

    def left_by_us(self) -> list[str]:
        names = [path.name for path in self.prefix.rglob("*")]
        return [name for name in names if name.startswith(OURS)]


@pytest.fixture(scope="module", params=TOOLS)
def installed(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    wheels: Path,
    cached: Path,
) -> Environment:
    """An environment with jax, installed by one tool."""
    prefix = tmp_path_factory.mktemp("installed") / "venv"
    made = Environment(request.param, prefix, wheels, cached)
    made("install", f"jax=={OLD}")
    return made


@pytest.fixture
def patched(installed: Environment, tmp_path: Path) -> Environment:
    """The same, moved to a place of its own and patched."""
    shutil.copytree(installed.prefix, tmp_path / "venv", symlinks=True)
    made = Environment(installed.tool, tmp_path / "venv", installed.wheels, installed.cached)
    assert not made.patched
    assert codemod("apply", made.prefix) == 0
    assert made.patched
    return made


def codemod(*arguments: str | Path) -> int:
    return CliRunner().invoke(cli, [*map(str, arguments)]).exit_code


def test_check_finds_nothing_and_record_agrees(patched: Environment) -> None:
    patched("check")
    [info] = patched.site.glob("jax-*.dist-info")
    listed = Record((info / "RECORD").read_bytes())
    for row in listed.rows:
        place = patched.site / row.path
        assert row.agrees(place.read_bytes()) if place.is_file() else not row.hash
    ours = {p for p in listing(patched.site) if p.startswith("jax")}
    # uv leaves a lock file of its own that it does not list
    assert ours <= {row.path for row in listed.rows}


def test_install_again_keeps_it(patched: Environment) -> None:
    patched("install", f"jax=={OLD}")
    assert patched.patched


def test_a_forced_install_brings_the_pristine_file(patched: Environment) -> None:
    flag = "--reinstall" if patched.tool == "uv" else "--force-reinstall"
    patched("install", flag, f"jax=={OLD}")
    assert (patched.site / MEMBER).read_bytes() == source(OLD)
    assert patched.left_by_us() == []


def test_an_upgrade_brings_an_unpatched_file_and_takes_the_receipt_away(
    patched: Environment,
) -> None:
    patched("install", "--upgrade", f"jax=={NEW}")
    assert (patched.site / MEMBER).read_bytes() == source(NEW)
    assert patched.left_by_us() == []
    assert codemod("apply", patched.prefix, "--check") == 1


def test_uninstall_removes_everything(patched: Environment) -> None:
    patched("uninstall", *([] if patched.tool == "uv" else ["--yes"]), "jax")
    assert not [p for p in listing(patched.site, bytecode=True) if p.startswith("jax")]
    assert patched.left_by_us() == []


def test_uninstall_after_the_bytecode_was_made_again(patched: Environment) -> None:
    run(patched.python, "-m", "compileall", "-q", patched.site / "jax")
    patched("uninstall", *([] if patched.tool == "uv" else ["--yes"]), "jax")
    assert not [p for p in listing(patched.site, bytecode=True) if p.startswith("jax")]


def test_uv_sync_keeps_it(tmp_path: Path, wheels: Path, cached: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "pyproject.toml").write_text(
        f'[project]\nname = "p"\nversion = "1"\nrequires-python = ">=3.11"\n'
        f'dependencies = ["jax=={OLD}"]\n'
        f'[tool.uv]\nfind-links = ["{wheels}"]\nno-index = true\n'
    )
    command = (
        sys.executable,
        "-m",
        "uv",
        "sync",
        "--cache-dir",
        cached,
        "--python",
        sys.executable,
    )
    run(*command, cwd=project)
    [site] = (project / ".venv").glob("lib/python*/site-packages")
    assert codemod("apply", project / ".venv") == 0
    run(*command, cwd=project)
    assert (site / MEMBER).read_bytes() == FIXED
    run(*command, "--reinstall", cwd=project)
    assert (site / MEMBER).read_bytes() == source(OLD)


def test_environments_that_share_files_with_the_cache(
    tmp_path: Path, wheels: Path, cached: Path
) -> None:
    one, two = (Environment("uv", tmp_path / name, wheels, cached) for name in "ab")
    for each in (one, two):
        each("install", "--link-mode", "hardlink", f"jax=={OLD}")
    inode = (one.site / MEMBER).stat()
    assert inode.st_ino == (two.site / MEMBER).stat().st_ino  # else this would prove nothing
    assert inode.st_nlink > 2
    before = listing(two.prefix / "lib"), listing(cached)
    assert codemod("apply", one.prefix) == 0
    assert one.patched
    assert (listing(two.prefix / "lib"), listing(cached)) == before
    one("install", "--reinstall", f"jax=={OLD}")
    assert (one.site / MEMBER).read_bytes() == source(OLD)


def test_shared_files_are_noted_when_asked(tmp_path: Path, wheels: Path, cached: Path) -> None:
    made = Environment("uv", tmp_path / "venv", wheels, cached)
    made("install", "--link-mode", "hardlink", f"jax=={OLD}")
    result = CliRunner().invoke(cli, ["apply", "-v", str(made.prefix)])
    assert re.search(r"cloud_tpu_cluster\.py: had \d+ names", result.stderr)


def test_links_to_the_cache_are_refused_unless_asked(
    tmp_path: Path, wheels: Path, cached: Path
) -> None:
    made = Environment("uv", tmp_path / "venv", wheels, cached)
    made("install", "--link-mode", "symlink", f"jax=={OLD}")
    real = (made.site / MEMBER).resolve()
    assert real.is_relative_to(cached.resolve())
    before = listing(cached)
    result = CliRunner().invoke(cli, ["apply", str(made.prefix)])
    assert result.exit_code == 3
    assert str(real) in result.stdout
    assert codemod("apply", made.prefix, "--replace-symlink") == 0
    assert made.patched
    assert listing(cached) == before
    made("uninstall", "jax")
    assert not [p for p in listing(made.site, bytecode=True) if p.startswith("jax")]


def test_conda_is_told_apart(tmp_path: Path, wheels: Path, cached: Path) -> None:
    """What `conda doctor` does: compare each file with the sha256 in conda-meta."""
    made = Environment("uv", tmp_path / "conda", wheels, cached)
    made("install", f"jax=={OLD}")
    inside = (made.site / MEMBER).relative_to(made.prefix).as_posix()
    digest = hashlib.sha256(source(OLD)).hexdigest()
    paths = {"paths": [{"_path": inside, "path_type": "hardlink", "sha256_in_prefix": digest}]}
    meta = made.prefix / "conda-meta" / "jax-0.8.0-pyhd8ed1ab_0.json"
    meta.parent.mkdir()
    meta.write_text(json.dumps({"name": "jax", "version": OLD, "paths_data": paths}))

    def altered() -> list[str]:
        told = json.loads(meta.read_text())["paths_data"]["paths"]
        now = listing(made.prefix)
        return [row["_path"] for row in told if now[row["_path"]] != row["sha256_in_prefix"]]

    before = meta.read_bytes()
    assert altered() == []
    result = CliRunner().invoke(cli, ["apply", str(made.prefix)])
    assert result.exit_code == 0
    assert "`conda doctor` will list it as altered" in result.stderr
    assert altered() == [inside]
    assert meta.read_bytes() == before
    assert codemod("revert", made.prefix) == 0
    assert altered() == []
