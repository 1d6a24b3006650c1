"""An audit as GitHub-flavoured Markdown: the summary of a CI job, or a comment."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codemod.model import Status
from codemod.report.subjects import WORDS, evidence, grouped, subjects, summary, unreadable
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemod.audit import Audit
    from codemod.report.subjects import Subject

MOST = 500  # rows of one table: a summary may have 1 MiB
MARKS = {
    Status.AFFECTED: "❌",
    Status.UNDER_INVESTIGATION: "❔",
    Status.FIXED: "✅",
    Status.NOT_AFFECTED: "⚪",
}


def to_markdown(audit: Audit) -> str:
    """What is affected or open as tables, what is well folded away."""
    found = subjects(audit.results)
    lines = ["### jax and `TPU_SKIP_MDS_QUERY`", "", _text(summary(audit, found)), ""]
    for status, group in grouped(found).items():
        head = f"{MARKS[status]} {WORDS[status]} ({len(group)})"
        if status in (Status.AFFECTED, Status.UNDER_INVESTIGATION):
            rows = (_row(subject) for subject in group)
            lines += [f"#### {head}", "", *_table(("where", "what", "why", "fix"), rows), ""]
        else:
            rows = (_row(subject)[:2] for subject in group)
            lines += [f"<details><summary>{head}</summary>", ""]
            lines += [*_table(("where", "what"), rows), "", "</details>", ""]
    if failed := unreadable(audit):
        rows = (
            [_code(f"{file}:{line}" if line else file), _text(why)] for file, line, why in failed
        )
        lines += ["#### not read or not understood", "", *_table(("where", "why"), rows), ""]
    return "\n".join(lines)


def _table(heads: tuple[str, ...], rows: Iterable[list[str]]) -> list[str]:
    told = [f"| {' | '.join(cells)} |" for cells in rows]
    more = len(told) - MOST
    rest = [f"| and {more} more: `--format json` has all |" + " |" * (len(heads) - 1)]
    return [
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
        *told[:MOST],
        *(rest if more > 0 else []),
    ]


def _row(subject: Subject) -> list[str]:
    first = subject.first
    what = _code(first.pin) if first.pin is not None else _text(f"jax {first.jax_version or ''}")
    why = [
        f"{_code(patches)}: {row.reason}" + "".join(f"<br>{_text(line)}" for line in evidence(row))
        for patches, row in subject.because(subject.status)
    ]
    return [_code(subject.place), what, "<br>".join(why), "<br>".join(map(_code, subject.fixes))]


def _text(text: str) -> str:
    """Plain text: nothing in it is markup, or ends a cell."""
    return re.sub(r"([\\`*_{}\[\]<>()#+!|~&@-])", r"\\\1", show(text))


def _code(text: str) -> str:
    """Text as it is, in a fence longer than any in it; a bar ends a cell even there."""
    shown = show(text).replace("|", "\\|")
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    blank = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{blank}{shown}{blank}{fence}" if shown else ""
