"""Git repositories with a jax in them, made by the real git."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.releases import MEMBER

if TYPE_CHECKING:
    from pathlib import Path

IDENTITY = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


def git(folder: Path, *arguments: str | Path) -> str:
    command = ["git", "-C", folder, *IDENTITY, *arguments]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path, content: bytes, version: str = "0.8.0") -> Path:
    """Make a repository with one commit, tagged v1, on the branch main."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    commit(folder, {MEMBER: content, "jax/version.py": f'_version = "{version}"\n'.encode()})
    git(folder, "tag", "v1")
    return folder


def commit(folder: Path, files: dict[str, bytes]) -> str:
    """Commit these files; gives the id."""
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "work", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")
