"""The receipt of an installation: what was done to which file, and its bytes before.

It lies in the dist-info beside RECORD, which lists it, so that whatever uninstalls jax takes it
away as well. It is believed only of a file that still has the bytes that it tells of.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemod import __version__
from codemod.errors import Refused

if TYPE_CHECKING:
    from codemod.model import Patch

NAME = "codemod.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One file: its patches with the revision of each, its bytes before, its rows in RECORD."""

    patches: dict[str, str]
    original: bytes
    after_sha256: str
    rows: tuple[str, ...]  # as they were, with their newlines

    def is_of(self, content: bytes) -> bool:
        """Whether a file of this content is the one that was written then."""
        return sha256(content).hexdigest() == self.after_sha256


def revision(patch: Patch) -> str:
    """What tells this state of a patch from others: the start of its file's sha256."""
    file = Path(patch.probe.__code__.co_filename)
    return sha256(file.read_bytes()).hexdigest()[:12]


def entry(patches: dict[str, str], original: bytes, after: bytes, rows: tuple[str, ...]) -> Entry:
    """The entry for a file that was `original` and is now `after`."""
    digest = sha256(after).hexdigest()
    return Entry(patches=patches, original=original, after_sha256=digest, rows=rows)


def dumps(entries: dict[str, Entry]) -> bytes:
    """The receipt of these files, by their path from site-packages, with slashes."""
    files = {
        path: {
            "patches": found.patches,
            "before_sha256": sha256(found.original).hexdigest(),
            "after_sha256": found.after_sha256,
            "original": b64encode(found.original).decode(),
            "record": [*found.rows],
        }
        for path, found in entries.items()
    }
    receipt = {"version": 1, "tool": f"jax-codemod {__version__}", "files": files}
    return json.dumps(receipt, indent=1).encode() + b"\n"


def loads(data: bytes) -> dict[str, Entry]:
    """The entries of a receipt; raises Refused for one that is damaged or of a later version."""
    try:
        receipt = json.loads(data)
        if receipt["version"] != 1:
            raise Refused(f"a receipt of version {receipt['version']}: use a newer codemod")
        return {path: _entry(file) for path, file in receipt["files"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Refused("a receipt that is damaged: reinstall jax to undo") from error


def _entry(file: dict[str, Any]) -> Entry:
    original = b64decode(file["original"], validate=True)
    if sha256(original).hexdigest() != file["before_sha256"]:
        raise ValueError
    return Entry(
        patches=dict(file["patches"]),
        original=original,
        after_sha256=str(file["after_sha256"]),
        rows=tuple(map(str, file["record"])),
    )
