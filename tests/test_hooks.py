"""The hooks of `.pre-commit-hooks.yaml`, run by the real pre-commit from a clone of the project."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from codemod.engine import plan
from codemod.pins import kind_of
from codemod.registry import load
from tests.releases import MEMBER, source
from tests.repositories import ENVIRONMENT, commit, git

ROOT = Path(__file__).parent.parent
VENDORED = f"third_party/{MEMBER}"

pytest.importorskip("pre_commit", reason="pre-commit is not installed")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository of the project as it is in the working tree."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: there is nothing to clone")
    folder = tmp_path_factory.mktemp("project")
    listed = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in filter(None, listed.split("\0")):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copyfile(ROOT / name, path)
    git(folder, "init", "-q")
    commit(folder, {})
    return folder


@pytest.fixture(scope="module")
def user(hooks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository that uses both hooks, with an affected pin and an affected vendored copy."""
    folder = tmp_path_factory.mktemp("user")
    git(folder, "init", "-q")
    config = (
        f"repos:\n- repo: {hooks}\n  rev: {git(hooks, 'rev-parse', 'HEAD')}\n"
        "  hooks:\n  - id: codemod-audit\n  - id: codemod-apply\n"
    )
    files = {
        ".pre-commit-config.yaml": config.encode(),
        "requirements.txt": b"numpy\njax==0.8.0\n",
        "other/requirements.txt": b"numpy\n",
        VENDORED: source("0.8.0"),
        "main.py": b"jax = '0.8.0'\n",
    }
    commit(folder, files)
    return folder


def test_the_hook_for_pins_takes_only_files_that_an_audit_knows() -> None:
    """What it is given and does not know would be wrong usage."""
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    pattern = hooks[0]["files"]
    taken = [name for name in NAMES if re.search(pattern, name)]
    assert taken == [name for name in NAMES if kind_of(name)]
    assert "requirements.txt" in taken


NAMES = """
requirements.txt requirements-dev.txt a/requirements.in constraints.txt
requirements/base.txt notes.txt main.py README.md requirements.py uv.lock poetry.lock
pdm.lock pixi.lock pylock.toml pylock.dev.toml Pipfile Pipfile.lock pyproject.toml
environment.yml a/environment.yaml conda-lock.yml MODULE.bazel WORKSPACE
third_party/repo.bzl Dockerfile a/Dockerfile.tpu .gitmodules Cargo.toml package.json
setup.py setup.cfg a/setup.pyc pixi.toml a/manifest.yaml manifests.yaml
a/conda-linux-64.lock other.lock Dockerfile.dockerignore tpu.Dockerfile Containerfile x/dockerfile
WORKSPACE.bazel my-environment.yml env.yml
""".split()


def hook(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pre_commit", "run", name, "--all-files", "--verbose"]
    cache = folder.parent / "pre-commit-cache"
    environment = {**ENVIRONMENT, "PRE_COMMIT_HOME": str(cache), "PATH": os.environ["PATH"]}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_hook_for_vendored_copies_edits_them_once(user: Path) -> None:
    done = hook(user, "codemod-apply")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "files were modified by this hook" in done.stdout
    assert (user / VENDORED).read_bytes() == plan(source("0.8.0"), load()).after
    git(user, "add", "-A")
    again = hook(user, "codemod-apply")
    assert again.returncode == 0, again.stdout
    assert "already" in again.stdout


def test_the_hook_for_pins_fails_on_an_affected_one_only(user: Path) -> None:
    done = hook(user, "codemod-audit")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "requirements.txt:2: jax==0.8.0" in done.stdout
    assert "codemod wheel jax==0.8.0" in done.stdout
    (user / "requirements.txt").write_text("numpy\njax==0.4.20\n")
    git(user, "add", "-A")
    again = hook(user, "codemod-audit")
    assert again.returncode == 0, again.stdout
