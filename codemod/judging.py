"""What the patches find in the files of one copy, from its bytes; the cheapest way first."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from codemod import releases
from codemod.model import Evidence, Finding, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.model import Patch
    from codemod.sources.model import Part

    Judgement = tuple[dict[str, Finding], str]

ORDER = (Status.AFFECTED, Status.UNDER_INVESTIGATION, Status.FIXED, Status.NOT_AFFECTED)


def ids(folders: tuple[str, ...]) -> tuple[str, ...]:
    """The ids of the patches of the tool and of these folders, in the order in which they apply.

    The tool's own are known without loading them, which takes longer than to decide a release.
    """
    return tuple(patch.id for patch in patches(folders)) if folders else releases.patch_ids()


@lru_cache(maxsize=4)
def patches(folders: tuple[str, ...]) -> tuple[Patch, ...]:
    """The same patches, loaded once in each process."""
    from codemod.registry import load

    return tuple(load(folders))


def judged(part: Part, folders: tuple[str, ...]) -> Judgement:
    """The finding of each patch for a file, and what is known of the file or why it is not."""
    if not part.why:
        return _of_bytes(part.data, folders)
    finding = Finding(
        status=Status.UNDER_INVESTIGATION,
        reason=Reason.NO_SOURCE,
        evidence=(Evidence(line=1, text=part.why),),
    )
    return dict.fromkeys(ids(folders), finding), part.why


@lru_cache(maxsize=256)
def _of_bytes(data: bytes, folders: tuple[str, ...]) -> Judgement:
    """In a tree with many copies most are the same; only what no table has is parsed."""
    known = releases.known(data)
    settled = {name: known.finding(name) if known else None for name in ids(folders)}
    findings = {name: found or _probed(data, name, folders) for name, found in settled.items()}
    return findings, known.what if known else ""


def _probed(data: bytes, name: str, folders: tuple[str, ...]) -> Finding:
    from codemod.engine import find

    return find(data, next(patch for patch in patches(folders) if patch.id == name))


def worst(findings: Sequence[tuple[Part, Finding]]) -> tuple[Part, Finding]:
    """The finding that counts for a copy of several files."""
    return min(findings, key=lambda found: ORDER.index(found[1].status))
