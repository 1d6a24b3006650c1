"""The rows of an audit by what they are of: one copy or one pin, whose worst patch counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemod.model import Kind, Status
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemod.audit import Audit
    from codemod.model import Result

ORDER = (Status.AFFECTED, Status.UNDER_INVESTIGATION, Status.FIXED, Status.NOT_AFFECTED)
WORDS = {status: str(status).replace("_", " ") for status in ORDER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One copy or pin with the rows of all patches, in their order."""

    rows: tuple[Result, ...]

    @property
    def first(self) -> Result:
        """A row, for what is the same in all of them."""
        return self.rows[0]

    @property
    def status(self) -> Status:
        """The worst of its rows."""
        return min((row.status for row in self.rows), key=ORDER.index)

    @property
    def place(self) -> str:
        """The file for people, with the line where it is one of a pin."""
        line = f":{self.first.line}" if self.first.kind is Kind.PIN and self.first.line else ""
        return show(self.first.file) + line

    @property
    def fixes(self) -> tuple[str, ...]:
        """All ways to fix it, each once."""
        return tuple(dict.fromkeys(fix for row in self.rows for fix in row.fixes))

    def because(self, status: Status) -> list[tuple[str, Result]]:
        """The rows of a status, those that say the same as one, with the ids of their patches."""
        alike: dict[object, list[Result]] = {}
        for row in self.rows:
            if row.status is status:
                alike.setdefault((row.reason, row.evidence, row.message), []).append(row)
        return [(", ".join(row.patch for row in rows), rows[0]) for rows in alike.values()]


def subjects(results: Iterable[Result]) -> list[Subject]:
    """The copies and pins of a report, in its order."""
    found: dict[tuple[object, ...], dict[str, Result]] = {}
    for row in results:
        line = row.line if row.kind is Kind.PIN else None
        key, count = (row.file, line, row.pin), 0
        while row.patch in found.setdefault((*key, count), {}):  # the same pin twice on a line
            count += 1
        found[*key, count][row.patch] = row
    return [Subject(rows=tuple(rows.values())) for rows in found.values()]


def grouped(found: Iterable[Subject]) -> dict[Status, list[Subject]]:
    """The copies and pins of each status that there is, the worst first."""
    groups: dict[Status, list[Subject]] = {status: [] for status in ORDER}
    for subject in found:
        groups[subject.status].append(subject)
    return {status: group for status, group in groups.items() if group}


def evidence(row: Result) -> list[str]:
    """What a person can check, with its line; that of a pin is the line of the row."""
    lines = [found.line for found in row.evidence]
    heads = ["" if row.pin is not None else f"line {line}: " for line in lines]
    return [head + show(e.text) for head, e in zip(heads, row.evidence, strict=True)]


def statuses(found: Sequence[Subject]) -> dict[Status, int]:
    """How many copies and pins have which status, the worst first."""
    counted = Counter(subject.status for subject in found)
    return {status: counted[status] for status in ORDER}


def unreadable(audit: Audit) -> list[tuple[str, int | None, str]]:
    """What was not read or not understood: file, line and why, each once."""
    found = [(one.file, one.line, one.why) for one in audit.unreadable]
    found += [(row.file, None, row.message) for row in audit.results if row.outcome == "failed"]
    return list(dict.fromkeys(found))


def summary(audit: Audit, found: Sequence[Subject]) -> str:
    """One line: how many copies and pins have which status, and what became of the files."""
    pins = sum(subject.first.kind is Kind.PIN for subject in found)
    copies = len(found) - pins
    what = f"{_count(copies, 'copy', 'copies')} and {_count(pins, 'pin', 'pins')} of jax"
    parts = [f"{n} {WORDS[status]}" for status, n in statuses(found).items() if n]
    counts = audit.counts
    files = (
        f"{_count(counts.seen, 'file', 'files')} seen, {counts.read} read, "
        f"{counts.understood} understood, {counts.not_understood} not understood"
    )
    return f"{what}: {', '.join(parts) or 'none found'}; {files}"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
