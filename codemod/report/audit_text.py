"""An audit as text for people: the affected first, each with evidence and a way to fix it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.model import Status
from codemod.report.subjects import ORDER, WORDS, evidence, grouped, subjects, summary, unreadable
from codemod.textfile import show

if TYPE_CHECKING:
    from codemod.audit import Audit
    from codemod.report.subjects import Subject

WELL = (Status.FIXED, Status.NOT_AFFECTED)


def to_text(audit: Audit, *, verbose: bool = False) -> str:
    """The whole audit, with a line break at the end; `verbose` says more of what is well."""
    lines: list[str] = []
    found = subjects(audit.results)
    for status, group in grouped(found).items():
        lines.append(f"{WORDS[status]}:")
        for subject in group:
            lines += _subject(subject, status, verbose=verbose)
    return "\n".join([*lines, *_unreadable(audit), summary(audit, found)]) + "\n"


def complaints(audit: Audit) -> str:
    """A line for each file, or part of one, that was not read or not understood."""
    return "".join(f"codemod: {line.strip()}\n" for line in _unreadable(audit)[1:])


def _subject(subject: Subject, status: Status, *, verbose: bool) -> list[str]:
    first = subject.first
    head = f"  {subject.place}"
    if first.pin is not None:
        head += f": {show(first.pin)}"
    elif first.jax_version:
        head += f" (jax {show(first.jax_version)})"
    if first.message and not any(first.message == e.text for e in first.evidence):
        head += f": {show(first.message)}"
    if status in WELL and not verbose:
        return [f"{head}: {', '.join(dict.fromkeys(str(row.reason) for row in subject.rows))}"]
    lines = [head]
    for shown in ORDER if verbose else ORDER[:2]:
        for patches, row in subject.because(shown):
            first_line, *others = evidence(row) or [""]
            lines.append(f"    {patches}: {row.reason}{first_line and ': '}{first_line}")
            lines += [f"      {line}" for line in others]
    return [*lines, *(f"    fix: {show(fix)}" for fix in subject.fixes)]


def _unreadable(audit: Audit) -> list[str]:
    found = unreadable(audit)
    lines = ["not read or not understood:"] if found else []
    for file, line, why in found:
        place = show(file) + (f":{line}" if line else "")
        told = show(why)
        lines.append(f"  {told}" if told.startswith(f"{place}: ") else f"  {place}: {told}")
    return lines
