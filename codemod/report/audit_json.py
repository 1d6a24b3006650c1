"""An audit as a JSON document, as `codemod/schema/audit.schema.json` describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from codemod.model import Kind
from codemod.report.jsonreport import VERSION, row_json
from codemod.report.subjects import statuses, subjects, unreadable

if TYPE_CHECKING:
    from codemod.audit import Audit


def to_json(audit: Audit) -> str:
    """The whole audit as one document, with a line break at the end."""
    document = {
        "version": VERSION,
        "command": "audit",
        "results": [
            {**row_json(row), "pin": row.pin, "fixes": list(row.fixes)} for row in audit.results
        ],
        "unreadable": [
            {"file": file, "line": line, "why": why} for file, line, why in unreadable(audit)
        ],
        "summary": _summary(audit),
        "exit_code": int(audit.exit_code),
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _summary(audit: Audit) -> dict[str, Any]:
    found = subjects(audit.results)
    pins = sum(subject.first.kind is Kind.PIN for subject in found)
    counts = audit.counts
    return {
        "files": {
            "seen": counts.seen,
            "read": counts.read,
            "understood": counts.understood,
            "not_understood": counts.not_understood,
        },
        "copies": len(found) - pins,
        "pins": pins,
        "statuses": {str(status): number for status, number in statuses(found).items()},
    }
