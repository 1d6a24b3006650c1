"""A verdict as text for a terminal of 80 columns, and as data for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from codemod.textfile import show
from codemod.verdict import Level, is_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.verdict import Row, Verdict

WIDTH = 80
SHOWN = 8  # kinds of failure that the text shows
KINDS = ("set", "false", "unset")  # `false` stands for `0` and the empty value too


def to_dict(verdict: Verdict) -> dict[str, Any]:
    """Return the verdict as `schema/verify.schema.json` describes one result."""
    return {
        "level": str(verdict.level),
        "target": verdict.target,
        "about": verdict.about,
        "proved": verdict.proved,
        "failed": verdict.failed,
        "rows": [_row(row) for row in verdict.rows],
        "notes": list(verdict.notes),
        "summary": verdict.summary,
        "exit_code": int(verdict.exit_code),
    }


def to_text(verdict: Verdict) -> str:
    """Return a table of the calls, the results that are wrong, and the summary as the last line."""
    lines = [f"verify {show(verdict.target)}"]
    lines += _table(verdict)
    lines += _failures([row for row in verdict.rows if not row.ok])
    lines += [part for note in verdict.notes for part in _wrapped("note: ", note)]
    return "\n".join([*lines, verdict.summary, ""])


def summaries(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the summary of each; where there are several, with what each is of."""
    if len(verdicts) == 1:
        return [verdicts[0].summary]
    return [f"{show(verdict.target)}: {verdict.summary}" for verdict in verdicts]


def _row(row: Row) -> dict[str, Any]:
    data = asdict(row)
    scenario = row.scenario
    data["scenario"] = {
        "variable": scenario.variable,
        "environment": str(scenario.environment),
        "server": str(scenario.server),
    }
    return {**data, "other_connections": list(row.other_connections)}


def _table(verdict: Verdict) -> list[str]:
    """Return a line for each call, its arguments left out, with the requests that it made."""
    lines = [
        f"  {'requests with the variable':>64}",
        f"  {'':39}{'calls':>6}{'set':>6}{'false':>6}{'unset':>7}{'wrong':>7}",
    ]
    calls: dict[str, list[Row]] = {}
    for row in verdict.rows:
        name = row.call if verdict.level is Level.CLUSTER else row.call.partition("(")[0]
        calls.setdefault(name, []).append(row)
    for name, rows in calls.items():
        wrong = sum(not row.ok for row in rows) or "-"
        traffic = [_traffic(rows, kind) for kind in KINDS]
        columns = f"{traffic[0]:>6}{traffic[1]:>6}{traffic[2]:>7}{wrong:>7}"
        lines.append(f"  {_cut(name, 38):39}{len(rows):>6}{columns}")
    return lines


def _traffic(rows: Sequence[Row], kind: str) -> int | str:
    """Return how often these calls left the process with such a variable, `-` for no such call."""
    counts = [row.requests + len(row.other_connections) for row in rows if _variable(row) == kind]
    return sum(counts) if counts else "-"


def _variable(row: Row) -> str:
    if row.scenario.variable is None:
        return "unset"
    return "set" if is_set(row.scenario) else "false"


def _failures(wrong: Sequence[Row]) -> list[str]:
    """Return the first wrong result of each kind, and how many more there are."""
    lines: list[str] = []
    seen: set[tuple[str, str, str | None]] = set()
    for row in wrong:
        kind = (row.call.partition("(")[0], _variable(row), row.broken)
        if kind in seen or len(seen) == SHOWN:
            continue
        seen.add(kind)
        lines += ["", *_wrapped("  ", f"{row.call}: {row.scenario}")]
        lines += _wrapped("    expected  ", row.expected or "an answer")
        lines += _wrapped("    got       ", row.broken or _outcome(row))
    if len(wrong) > len(seen):
        lines += ["", f"  and {len(wrong) - len(seen)} more like these; the JSON has them all"]
    return [*lines, ""]


def _outcome(row: Row) -> str:
    plural = "" if row.requests == 1 else "s"
    keys = f" ({', '.join(row.asked)})" if row.asked else ""
    traffic = [f"{row.requests or 'no'} request{plural}{keys}", *row.other_connections[:3]]
    return ", ".join(traffic) + " and " + (row.exception or row.value or "no value")


def _wrapped(prefix: str, text: str) -> list[str]:
    from textwrap import wrap

    return wrap(
        text,
        WIDTH,
        initial_indent=prefix,
        subsequent_indent=" " * len(prefix),
        break_on_hyphens=False,
    )


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
