"""Which copies of jax are affected: sources to one report, its counts and its exit code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from codemod.examine import examine, patches
from codemod.model import Exit, Outcome, Status
from codemod.sources.model import Unit, Unreadable
from codemod.sources.search import located, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codemod.examine import Found, Settings
    from codemod.model import Patch, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """Files that an audit saw: those it read, and of these those it understood wholly."""

    seen: int = 0
    read: int = 0
    understood: int = 0

    @property
    def not_understood(self) -> int:
        """The files of which something is left that nobody looked at."""
        return self.seen - self.understood


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """All that one audit found."""

    patches: Sequence[Patch]
    results: Sequence[Result]
    unreadable: Sequence[Unreadable]
    counts: Counts
    strict: bool = False
    allow_none: bool = False

    @property
    def exit_code(self) -> Exit:
        """The highest that applies; no jax at all is its own case."""
        if any(one.failed for one in self.unreadable):
            return Exit.REFUSED
        codes = [self._code(row) for row in self.results]
        if self.unreadable and self.strict:
            codes.append(Exit.FINDINGS)
        return max(codes, default=Exit.OK if self.allow_none else Exit.NO_JAX)

    def _code(self, row: Result) -> Exit:
        if row.outcome is Outcome.FAILED:
            return Exit.REFUSED
        open_ = self.strict and row.status is Status.UNDER_INVESTIGATION
        return Exit.FINDINGS if open_ or row.status is Status.AFFECTED else Exit.OK


def audit(
    sources: Sequence[str], settings: Settings, *, strict: bool = False, allow_none: bool = False
) -> Audit:
    """Look at all that the sources stand for; without any, at what is active here.

    Raises UsageError for a source that does not exist.
    """
    seen: set[str] = set()
    queue = list(_once(_units(sources), seen))
    unreadable = [found for found in queue if isinstance(found, Unreadable)]
    gathered = [examine(unit, settings) for unit in queue if isinstance(unit, Unit)]
    return Audit(
        patches=patches(settings.folders),
        results=tuple(row for found in gathered for row in found.rows),
        unreadable=(*unreadable, *(one for found in gathered for one in found.unreadable)),
        counts=_counts(gathered, unreadable),
        strict=strict,
        allow_none=allow_none,
    )


def _units(sources: Sequence[str]) -> Iterable[Unit | Unreadable]:
    if sources:
        return chain.from_iterable(units(source) for source in sources)
    return located(None)


def _once(found: Iterable[Unit | Unreadable], seen: set[str]) -> Iterator[Unit | Unreadable]:
    """Each thing once, though two arguments or a link may lead to it."""
    for one in found:
        if isinstance(one, Unit):
            place = os.path.realpath(one.path) + "@" + one.revision
            if place in seen:
                continue
            seen.add(place)
        yield one


def _counts(gathered: Sequence[Found], unreadable: Sequence[Unreadable]) -> Counts:
    return Counts(
        seen=len(gathered) + len(unreadable),
        read=sum(found.read for found in gathered),
        understood=sum(found.read and found.understood for found in gathered),
    )
