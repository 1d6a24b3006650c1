"""Files of one revision of a git repository, read with plumbing: no checkout, no hook, no filter.

The repository may be anybody's, and bare. What its own configuration could run or reach is
switched off, and objects that it lacks are not fetched.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.locate import NAME, VERSION
from codemod.sources.parts import CLUSTERS, copies, is_part
from codemod.textfile import LARGEST, reason, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from codemod.sources.model import Held

TIMEOUT = 300.0  # seconds; to list a revision of a large repository takes one
MOST = 1 << 30  # bytes of all files that are read of one revision
REGULAR = ("100644", "100755", "120000")  # the content of a link is its target
# Nothing is fetched, whatever the repository says.
LOCAL: Mapping[str, str] = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
SETTINGS = {
    "GIT_NO_REPLACE_OBJECTS": "1",  # a clone does not get those: an id is to mean what it means
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One commit of a repository: the object of each file by its path.

    `environment` is what git is to be told besides.
    """

    folder: str
    commit: str
    files: dict[str, str]
    environment: Mapping[str, str]

    def read(self, names: Sequence[str], largest: int = LARGEST) -> dict[str, bytes | str]:
        """The content of files, or why there is none. Raises Refused where git fails."""
        oids = [self.files[name] for name in names]
        sizes = self._sizes(oids)
        if sum(sizes.values()) > MOST:
            raise Refused(f"{show(self.folder)}: more than {MOST >> 30} GiB of such files")
        blobs = self._blobs([oid for oid in sizes if sizes[oid] <= largest])
        lost = "the repository has not got this file: a partial or shallow clone?"
        big = f"larger than {largest >> 20} MiB"
        return {
            n: blobs.get(o, big if o in sizes else lost) for n, o in zip(names, oids, strict=True)
        }

    def _sizes(self, oids: Sequence[str]) -> dict[str, int]:
        """The sizes of the objects that are there."""
        output = self._batch("--batch-check", oids)
        told = [line.decode().split() for line in output.splitlines()]
        return {oid: int(size) for oid, *_, size in told if size.isdecimal()}

    def _blobs(self, oids: Sequence[str]) -> dict[str, bytes]:
        output, at = self._batch("--batch", oids), 0
        found: dict[str, bytes] = {}
        while at < len(output):
            end = output.index(b"\n", at)
            oid, _, size = output[at:end].decode().split()
            found[oid] = output[end + 1 : end + 1 + int(size)]
            at = end + int(size) + 2
        return found

    def _batch(self, how: str, oids: Sequence[str]) -> bytes:
        given = "".join(f"{oid}\n" for oid in dict.fromkeys(oids)).encode()
        return git(self.folder, "cat-file", how, given=given, environment=self.environment)


def revision(folder: str, name: str, environment: Mapping[str, str] = LOCAL) -> Revision:
    """The files of a revision. Raises Refused where there is no such repository or revision."""
    found = git(folder, "rev-parse", "--revs-only", "--end-of-options", name + "^{commit}")
    commit_id = found.decode().strip()
    if not re.fullmatch(r"[0-9a-f]{40,64}", commit_id):
        raise Refused(f"{show(folder)}: has no revision {show(name)}")
    files: dict[str, str] = {}
    command = ("ls-tree", "-r", "-z", "--full-tree", commit_id)
    listed = git(folder, *command, environment=environment)
    for entry in listed.split(b"\0")[:-1]:
        head, _, path = entry.partition(b"\t")
        mode, _, oid = head.decode().split()
        if mode in REGULAR:
            files[os.fsdecode(path)] = oid
    return Revision(folder=folder, commit=commit_id, files=files, environment=environment)


def in_revision(tree: Revision, prefix: str) -> Iterable[Held]:
    """The copies in a revision; `prefix` is what comes before a path for people."""
    folders = {n.rpartition("/")[0] for n in tree.files if is_part(n) and n.endswith("/" + NAME)}
    parts = [n for n in tree.files if is_part(n) and n.rpartition("/")[0] in folders]
    packages = {folder: folder.removesuffix(CLUSTERS) for folder in folders}
    stated = [n for p in packages.values() if (n := p + "version.py") in tree.files]
    contents = tree.read([*parts, *stated])

    def version(package: str) -> str | None:
        content = contents.get(f"{package}/version.py" if package else "version.py", b"")
        found = re.search(VERSION, content) if isinstance(content, bytes) else None
        return found[1].decode() if found else None

    return copies({name: contents[name] for name in parts}, version, prefix)


def git(
    folder: str, *arguments: str, given: bytes = b"", environment: Mapping[str, str] = LOCAL
) -> bytes:
    """What a git command prints, in a scrubbed environment; raises Refused where it fails."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "-C", folder, "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(
            command,
            input=given,
            capture_output=True,
            env={**kept, **SETTINGS, **environment},
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, ValueError) as error:
        why = reason(error) if isinstance(error, OSError) else str(error)
        raise Refused(f"{show(folder)}: git cannot be run: {why}") from error
    except subprocess.TimeoutExpired as error:
        raise Refused(f"{show(folder)}: git gave no answer in {TIMEOUT:g} seconds") from error
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise Refused(f"{show(folder)}: {show(said[-1])}")
    return done.stdout
