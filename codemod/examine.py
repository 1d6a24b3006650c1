"""One thing of an audit, from its bytes to rows: what runs in a process of its own if asked to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from codemod import releases
from codemod.engine import find
from codemod.errors import Refused
from codemod.fixes import of_copy
from codemod.model import Evidence, Finding, Kind, Outcome, Reason, Result, Status
from codemod.registry import load
from codemod.sources.model import Unit, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codemod.model import Patch
    from codemod.sources.model import Held, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is the same for all units of one audit."""

    folders: tuple[str, ...] = ()  # of patches


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one unit gave; `follows` are to be looked at as well."""

    rows: tuple[Result, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    follows: tuple[Unit, ...] = ()

    @property
    def read(self) -> bool:
        """Whether its bytes were had at all."""
        failed = any(one.failed for one in self.unreadable)
        return not failed and all(row.outcome is not Outcome.FAILED for row in self.rows)

    @property
    def understood(self) -> bool:
        """Whether nothing in it was left that may be a jax and is not told of."""
        unfit = (Reason.UNPARSABLE, Reason.NO_SOURCE, Reason.LFS_POINTER)
        return not self.unreadable and all(row.reason not in unfit for row in self.rows)


def examine(unit: Unit, settings: Settings) -> Found:
    """The rows of one unit, or why there are none. Raises nothing that its bytes could cause."""
    wanted = patches(settings.folders)
    try:
        rows = [row for held in _held(unit) for row in _rows(unit, held, wanted)]
    except Refused as error:
        unreadable = Unreadable(file=unit.path, line=error.line, why=error.why, failed=True)
        return Found(unreadable=(unreadable,))
    return Found(rows=tuple(rows))


@lru_cache(maxsize=4)
def patches(folders: tuple[str, ...]) -> tuple[Patch, ...]:
    """The patches of the tool and of these folders, loaded once in each process."""
    return tuple(load(folders))


def _held(unit: Unit) -> Iterable[Held]:
    if unit.kind in (Kind.WHEEL, Kind.SDIST):
        from codemod.sources.archives import in_archive

        return in_archive(unit)
    if unit.kind is Kind.IMAGE:
        from codemod.sources.images import in_image

        return in_image(unit)
    if unit.kind is Kind.GIT:
        from codemod.sources.git import in_revision, revision

        return in_revision(revision(unit.path, unit.revision), f"{unit.path}@{unit.revision}:")
    from codemod.sources.folders import copy_at

    return [copy_at(unit)]


def _rows(unit: Unit, held: Held, wanted: tuple[Patch, ...]) -> Iterator[Result]:
    """A row for each file of a copy and each patch."""
    for part in held.parts:
        findings, what = _unread(part, wanted) if part.why else judged(part.data, wanted)
        for patch in wanted:
            finding = findings[patch.id]
            yield Result(
                target=unit.source,
                kind=unit.kind,
                file=part.file,
                line=next((found.line for found in finding.evidence), None),
                patch=patch.id,
                status=finding.status,
                reason=finding.reason,
                evidence=finding.evidence,
                outcome=Outcome.FAILED if part.why else Outcome.NONE,
                jax_version=held.version,
                message=what,
                guard=finding.guard,
                fixes=of_copy(unit, part.file, finding),
            )


@lru_cache(maxsize=256)
def judged(data: bytes, wanted: tuple[Patch, ...]) -> tuple[dict[str, Finding], str]:
    """The finding of each patch for a file of these bytes, and what is known of the file.

    The table of releases decides what it has; only what it has not is parsed.
    """
    known = releases.known(data)
    findings: dict[str, Finding] = {}
    for patch in wanted:
        settled = known.finding(patch.id) if known else None
        findings[patch.id] = settled or find(data, patch)
    return findings, known.what if known else ""


def _unread(part: Part, wanted: Sequence[Patch]) -> tuple[dict[str, Finding], str]:
    finding = Finding(
        status=Status.UNDER_INVESTIGATION,
        reason=Reason.NO_SOURCE,
        evidence=(Evidence(line=1, text=part.why),),
    )
    return {patch.id: finding for patch in wanted}, part.why
