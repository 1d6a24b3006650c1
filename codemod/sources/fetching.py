"""What only a network can tell: the one file of a pinned commit, or a pinned wheel. Nothing else
is fetched, and what is fetched is neither built nor run."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from codemod import releases
from codemod.download import download
from codemod.errors import Refused
from codemod.locate import NAME
from codemod.model import Kind
from codemod.sources.archives import in_archive
from codemod.sources.git import git, in_revision, revision
from codemod.sources.model import Held, Part, Unit
from codemod.sources.parts import is_part
from codemod.textfile import show

if TYPE_CHECKING:
    from codemod.sources.git import Revision

PROTOCOLS = "file:git:http:https:ssh"  # and not ext, which runs a command
ONLINE = {
    "GIT_ALLOW_PROTOCOL": PROTOCOLS,
    "GIT_NO_LAZY_FETCH": "0",
    "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",  # a question would be waited for
}


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

    Raises Refused.
    """
    from hashlib import sha256

    with TemporaryDirectory() as folder:
        wheel = download(requirement, Path(folder))
        held = list(in_archive(Unit(source=requirement, kind=Kind.WHEEL, path=str(wheel))))
        parts = [[_renamed(part, folder) for part in one.parts] for one in held]
        copies = [Held(parts=tuple(p), version=h.version) for p, h in zip(parts, held, strict=True)]
        return wheel.name, sha256(wheel.read_bytes()).hexdigest(), copies


def _renamed(part: Part, folder: str) -> Part:
    return Part(file=part.file.removeprefix(folder + "/"), data=part.data, why=part.why)
