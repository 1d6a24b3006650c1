"""A report as text for people: one block a copy, one line a patch, a summary at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from codemod.model import Guard, Outcome, Reason, Status
from codemod.releases import needing
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.examples import Check
    from codemod.model import Patch, Report, Result

_SUMMARY = {
    Outcome.APPLIED: "applied",
    Outcome.WOULD_CHANGE: "would be applied",
    Outcome.REVERTED: "reverted",
    Outcome.ALREADY: "already there",
    Outcome.NONE: "not needed",
    Outcome.REFUSED: "refused",
    Outcome.FAILED: "failed",
}

_WELL = (Outcome.ALREADY, Outcome.NONE)  # nothing was to be done


def to_text(report: Report, *, verbose: bool = False) -> str:
    """The whole report, with a line break at the end."""
    lines: list[str] = []
    for file, rows in _by_file(report.results, every=verbose).items():
        lines.append(show(file) + _version(rows))
        for row in rows:
            lines.append(_line(row))
            if verbose:
                lines += [f"      line {found.line}: {found.text}" for found in row.evidence]
    lines += [f"{show(found.folder)}: {found.why}" for found in report.unsearched]
    return "\n".join([*lines, summary(report)]) + "\n"


def _version(rows: Sequence[Result]) -> str:
    """What the copy says that it is, unless its bytes say it better."""
    known = all(row.message and row.outcome in _WELL for row in rows)
    return f" (jax {rows[0].jax_version})" if rows[0].jax_version and not known else ""


def _by_file(results: Sequence[Result], *, every: bool = False) -> dict[str, list[Result]]:
    """The rows of each file; those that all say the same are one, unless every one is wanted."""
    files: dict[str, list[Result]] = {}
    for row in results:
        files.setdefault(row.file, []).append(row)
    for file, rows in () if every else files.items():
        alike = {(row.outcome, row.message) for row in rows}
        if len(alike) == 1 and len(rows) > 1 and rows[0].message:
            files[file] = [replace(rows[0], patch="every patch")]
    return files


def summary(report: Report) -> str:
    """One line: how many patches had which outcome, over how many copies."""
    counted = Counter(row.outcome for row in report.results)
    words = _SUMMARY | ({Outcome.NONE: "not in it"} if report.command == "revert" else {})
    parts = [f"{counted[o]} {word}" for o, word in words.items() if counted[o]]
    copies = len({row.file for row in report.results})
    return f"{copies} {'copy' if copies == 1 else 'copies'} of jax; patches: {', '.join(parts)}"


def _line(row: Result) -> str:
    return f"  {row.outcome:<12} {row.patch:<22} {_why(row)}".rstrip()


def _why(row: Result) -> str:
    """What a person wants to know of a row, in a few words."""
    if row.outcome in (Outcome.REFUSED, Outcome.FAILED):
        place = f"line {row.line}: " if row.line and row.outcome is Outcome.REFUSED else ""
        if row.status is not Status.UNDER_INVESTIGATION:
            return f"{place}{row.message}"
        doubt = "cannot be proved: " if row.reason is Reason.DRIFTED else ""
        return f"{row.reason}: {place}{doubt}{row.message}"
    if row.outcome is Outcome.REVERTED:
        return ""
    if row.outcome is Outcome.NONE and row.message:
        return row.message
    if row.status is Status.AFFECTED:
        return f"line {row.line}: {row.evidence[0].text}" if row.evidence else str(row.reason)
    if row.message:
        return row.message
    if row.outcome is Outcome.ALREADY:
        return _fixed(row)
    return "" if row.outcome is Outcome.APPLIED else str(row.reason)


def _fixed(row: Result) -> str:
    words = str(row.reason)
    if row.reason is Reason.UPSTREAM:
        words += f": line {row.line}"
    if row.guard is Guard.TRUTHY:
        words += "; `false`, `0` or an empty value still asks"
    return words


def list_text(patches: Sequence[Patch], *, examples: bool) -> str:
    """The patches, what they fix and which releases need them; with their examples if asked."""
    return "\n".join(_patch_text(patch, examples=examples) for patch in patches)


def _patch_text(patch: Patch, *, examples: bool) -> str:
    upstream = patch.fixed_upstream_in or "no release yet"
    lines = [
        patch.id,
        f"  {patch.title}",
        f"  needed by: jax {patch.releases}    upstream has it in: {upstream}",
        *_families(patch),
        f"  bug: {patch.bug}",
    ]
    if patch.requires:
        lines.append(f"  requires: {', '.join(patch.requires)}")
    for example in patch.examples if examples else ():
        lines += ["", f"  example: {example.name} ({example.status})", *_indented(example.before)]
        if example.after is not None:
            lines += ["  becomes", *_indented(example.after)]
    return "\n".join(lines) + "\n"


def _families(patch: Patch) -> list[str]:
    """The families of releases that the table has for a patch; none for somebody's own."""
    found = needing(patch.id)
    if not found:
        return []
    names = ", ".join(name for name, _ in found)
    count = sum(len(releases) for _, releases in found)
    return [f"  families: {names} ({count} releases, {found[0][1][0]} to {found[-1][1][-1]})"]


def _indented(source: str) -> list[str]:
    return [f"    {line}".rstrip() for line in source.splitlines()]


def checks_text(checks: Sequence[Check], *, quiet: bool) -> str:
    """A line for each example, only for those that do not hold if `quiet`, and a summary."""
    lines = [
        f"{check.patch}: {check.example or 'examples'}: {check.why or 'holds'}"
        for check in checks
        if check.why or not quiet
    ]
    failed = sum(bool(check.why) for check in checks)
    lines.append(f"{len(checks) - failed} of {len(checks)} examples hold")
    return "\n".join(lines) + "\n"


def complaints(report: Report) -> str:
    """A line for each row that was refused or failed, and each folder that was not searched."""
    wrong = [
        f"{show(file)}: {row.patch}: {row.outcome}: {_why(row)}"
        for file, rows in _by_file(report.results).items()
        for row in rows
        if row.outcome in (Outcome.REFUSED, Outcome.FAILED)
    ]
    wrong += [f"{show(found.folder)}: {found.why}" for found in report.unsearched]
    return "".join(f"codemod: {line}\n" for line in wrong)
