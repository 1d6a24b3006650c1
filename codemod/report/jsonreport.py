"""Reports as JSON documents, `"version": 1`; their schemas are in `codemod/schema`."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from codemod.releases import needing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.examples import Check
    from codemod.model import Patch, Report, Result
    from codemod.verdict import Verdict

VERSION = 1


def to_json(report: Report) -> str:
    """The whole report as one JSON document, with a line break at the end."""
    document = {
        "version": VERSION,
        "command": report.command,
        "results": [row_json(row) for row in report.results],
        "unreadable": _unreadable(report),
        "notes": list(report.notes),
        "summary": {str(k): n for k, n in Counter(row.outcome for row in report.results).items()},
        "exit_code": int(report.exit_code),
    }
    if report.diff:
        document["diff"] = report.diff.decode("utf-8", "backslashreplace")
    return _dump(document)


def _unreadable(report: Report) -> list[dict[str, Any]]:
    """What could not be treated and why, once for all patches that say the same."""
    wrong = [row for row in report.results if row.outcome in ("refused", "failed")]
    found = [(row.file, row.line, row.message) for row in wrong]
    found += [(unsearched.folder, None, unsearched.why) for unsearched in report.unsearched]
    return [{"file": file, "line": line, "why": why} for file, line, why in dict.fromkeys(found)]


def row_json(row: Result) -> dict[str, Any]:
    """What every command tells of a row."""
    return {
        "target": row.target,
        "kind": row.kind,
        "file": row.file,
        "line": row.line,
        "jax_version": row.jax_version,
        "patch": row.patch,
        "status": row.status,
        "reason": row.reason,
        "guard": row.guard,
        "evidence": [{"line": found.line, "text": found.text} for found in row.evidence],
        "outcome": row.outcome,
        "message": row.message,
    }


def list_json(patches: Sequence[Patch]) -> str:
    """The patches with all that they declare, as one JSON document."""
    return _dump(
        {
            "version": VERSION,
            "command": "list",
            "patches": [_patch(patch) for patch in patches],
        }
    )


def _patch(patch: Patch) -> dict[str, Any]:
    return {
        "id": patch.id,
        "title": patch.title,
        "bug": patch.bug,
        "origin": patch.origin,
        "forwarded": patch.forwarded,
        "fixed_upstream_in": patch.fixed_upstream_in,
        "releases": patch.releases,
        "families": {name: list(releases) for name, releases in needing(patch.id)},
        "requires": list(patch.requires),
        "examples": [
            {"name": e.name, "status": e.status, "before": e.before, "after": e.after}
            for e in patch.examples
        ],
    }


def checks_json(checks: Sequence[Check]) -> str:
    """The examples that were run, as one JSON document."""
    from codemod.examples import exit_code

    return _dump(
        {
            "version": VERSION,
            "command": "test",
            "examples": [
                {"patch": c.patch, "example": c.example, "holds": not c.why, "why": c.why}
                for c in checks
            ],
            "exit_code": int(exit_code(checks)),
        }
    )


def verdicts_json(verdicts: Sequence[Verdict]) -> str:
    """All verdicts of one run as one JSON document, however many there are."""
    from codemod.report.verdict import to_dict

    return _dump(
        {
            "version": VERSION,
            "command": "verify",
            "results": [to_dict(verdict) for verdict in verdicts],
            "exit_code": max(int(verdict.exit_code) for verdict in verdicts),
        }
    )


def _dump(document: object) -> str:
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
