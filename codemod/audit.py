"""Which copies of jax are affected: sources to one report, its counts and its exit code."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain
from typing import TYPE_CHECKING

from codemod.examine import examine, examine_all
from codemod.judging import patches
from codemod.model import Exit, Kind, Outcome, Status
from codemod.sources.model import Found, Unit, Unreadable
from codemod.sources.search import active, units

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from concurrent.futures import Executor

    from codemod.model import Patch, Result
    from codemod.sources.model import Settings

GROUP = 32  # units that are handed over at once: most take less time than to hand one over


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

    results: Sequence[Result]
    unreadable: Sequence[Unreadable]
    counts: Counts
    strict: bool = False
    allow_none: bool = False
    folders: tuple[str, ...] = ()  # of patches, beside the tool's own
    notes: tuple[str, ...] = ()

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The patches that were asked: loaded only where a report tells what they are for."""
        return patches(self.folders)

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
    sources: Sequence[str],
    settings: Settings,
    *,
    executor: Executor | None = None,
    strict: bool = False,
    allow_none: bool = False,
) -> Audit:
    """Look at all that the sources stand for; without any, at what is active here.

    With an executor, in its processes or on its machines, which must see the same files. The
    order of the rows does not depend on it. Raises UsageError for a source that does not exist.
    """
    seen: set[str] = set()
    gathered: list[Found] = []
    unreadable: list[Unreadable] = []
    notes, begin = _begin(sources)
    pending = list(_once(begin, seen))
    while pending:
        unreadable += [one for one in pending if isinstance(one, Unreadable)]
        wanted = [one for one in pending if isinstance(one, Unit)]
        found = _examined(wanted, settings, executor)
        gathered += found
        pending = list(_once((unit for one in found for unit in one.follows), seen))
    return Audit(
        folders=settings.folders,
        notes=notes,
        results=tuple(row for found in gathered for row in found.rows),
        unreadable=(*unreadable, *(one for found in gathered for one in found.unreadable)),
        counts=_counts(gathered, unreadable),
        strict=strict,
        allow_none=allow_none,
    )


def _examined(wanted: Sequence[Unit], settings: Settings, executor: Executor | None) -> list[Found]:
    if executor is None:
        return [examine(unit, settings) for unit in wanted]
    from codemod.executors import in_turn

    groups = [tuple(wanted[at : at + GROUP]) for at in range(0, len(wanted), GROUP)]
    work = partial(examine_all, settings=settings)
    return [one for found in in_turn(executor, work, groups) for one in found]


def _begin(sources: Sequence[str]) -> tuple[tuple[str, ...], Iterable[Unit | Unreadable]]:
    """What to look at first, with a note on what was chosen where nothing is named."""
    if sources:
        return (), chain.from_iterable(units(source) for source in sources)
    told, found = active()
    return (told,), found


def _once(found: Iterable[Unit | Unreadable], seen: set[str]) -> Iterator[Unit | Unreadable]:
    """Each thing once, though two arguments or a link may lead to it."""
    for one in found:
        if isinstance(one, Unit):
            place = f"{_real(one)}@{one.revision}"
            if place in seen:
                continue
            seen.add(place)
        yield one


def _real(unit: Unit) -> str:
    """The real path; below a folder that was searched, only the file itself may be a link."""
    below = unit.path.removeprefix(unit.source)
    if unit.kind is Kind.TREE and below != unit.path and not os.path.islink(unit.path):  # noqa: PTH114
        return _real_folder(unit.source) + below
    return os.path.realpath(unit.path)


@lru_cache(maxsize=64)
def _real_folder(path: str) -> str:
    return os.path.realpath(path)


def _counts(gathered: Sequence[Found], unreadable: Sequence[Unreadable]) -> Counts:
    return Counts(
        seen=len(gathered) + len(unreadable),
        read=sum(found.read for found in gathered),
        understood=sum(found.read and found.understood for found in gathered),
    )
