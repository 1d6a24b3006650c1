"""What only a network can tell: the one file of a pinned commit, or a pinned wheel. Nothing else
is fetched, and what is fetched is neither built nor run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from codemod import releases
from codemod.errors import Refused
from codemod.locate import NAME
from codemod.model import Kind
from codemod.sources.archives import in_archive
from codemod.sources.git import git, in_revision, revision
from codemod.sources.model import Held, Part, Unit
from codemod.sources.parts import is_part
from codemod.textfile import reason, show

if TYPE_CHECKING:
    from codemod.sources.git import Revision

PROTOCOLS = "file:git:http:https:ssh"  # and not ext, which runs a command
ONLINE = {
    "GIT_ALLOW_PROTOCOL": PROTOCOLS,
    "GIT_NO_LAZY_FETCH": "0",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",  # a question would be waited for
}
TIMEOUT = 300.0  # seconds
PIP = (
    *("-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-input", "--no-deps"),
    *("--only-binary", ":all:", "--ignore-requires-python"),
)


def from_repository(url: str, ref: str) -> list[Held]:
    """The copies in a revision of a repository elsewhere; raises Refused where that fails."""
    plain = url.removeprefix("git+")
    with TemporaryDirectory() as folder:
        git(folder, "init", "-q", "--bare")
        for key, value in (
            ("remote.origin.url", plain),
            ("remote.origin.promisor", "true"),
            ("remote.origin.partialclonefilter", "blob:none"),
            ("extensions.partialClone", "origin"),
            ("core.repositoryFormatVersion", "1"),
        ):
            git(folder, "config", key, value)
        fetch = ("fetch", "-q", "--depth", "1", "--filter=blob:none", "--no-tags")
        try:
            git(folder, *fetch, "--end-of-options", "origin", ref, environment=ONLINE)
            tree = revision(folder, "FETCH_HEAD", ONLINE)
            return _least(tree, f"{plain}@{ref}:")
        except Refused as error:
            raise Refused(error.why.replace(show(folder), show(plain))) from error


def _least(tree: Revision, prefix: str) -> list[Held]:
    """The copies; where the one file is a release's, the files beside it are not fetched."""
    names = [name for name in tree.files if is_part(name) and name.endswith("/" + NAME)]
    contents = tree.read(names)
    if all(isinstance(data, bytes) and releases.known(data) for data in contents.values()):
        return [
            Held(parts=(Part(file=prefix + name, data=data),))
            for name, data in contents.items()
            if isinstance(data, bytes)
        ]
    return list(in_revision(tree, prefix))


def from_index(requirement: str) -> tuple[str, str, list[Held]]:
    """The wheel that pip takes for a requirement: its name, its SHA-256, and the copies in it.

    Only a wheel is taken: to look at an sdist, pip would run what is in it. Raises Refused.
    """
    from hashlib import sha256

    with TemporaryDirectory() as folder:
        _download(requirement, folder)
        found = sorted(Path(folder).glob("*.whl"))
        if not found:
            raise Refused(f"pip found no wheel for {show(requirement)}")
        wheel = found[0]
        held = list(in_archive(Unit(source=requirement, kind=Kind.WHEEL, path=str(wheel))))
        parts = [[_renamed(part, folder) for part in one.parts] for one in held]
        copies = [Held(parts=tuple(p), version=h.version) for p, h in zip(parts, held, strict=True)]
        return wheel.name, sha256(wheel.read_bytes()).hexdigest(), copies


def _renamed(part: Part, folder: str) -> Part:
    return Part(file=part.file.removeprefix(folder + "/"), data=part.data, why=part.why)


def _download(requirement: str, folder: str) -> None:
    command = [sys.executable, *PIP, "-d", folder, requirement]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = reason(error) if isinstance(error, OSError) else f"no answer in {TIMEOUT:g} seconds"
        raise Refused(f"pip: {why}") from error
    if done.returncode:
        lines = re.findall(r"ERROR: (.*)", done.stderr.decode(errors="replace"))
        raise Refused(f"pip: {show(lines[-1]) if lines else f'exit status {done.returncode}'}")
