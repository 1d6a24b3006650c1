"""An audit as SARIF 2.1.0 (OASIS, with errata 01), for code scanning and editors."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from codemod import __version__
from codemod.model import Status
from codemod.report.explain import WAYS, about
from codemod.report.places import of_file, place_of
from codemod.report.subjects import evidence, subjects, summary, unreadable

if TYPE_CHECKING:
    from codemod.audit import Audit
    from codemod.model import Patch, Result
    from codemod.report.places import Place

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
LEVELS = {Status.AFFECTED: "error", Status.UNDER_INVESTIGATION: "warning"}
ROOT = "%SRCROOT%"
HOME = "https://github.com/jax-ml/jax/issues/40854"


def to_sarif(audit: Audit) -> str:
    """One run: a rule for each patch, a result for each row that needs somebody to act."""
    driver = {
        "name": "codemod",
        "version": __version__,
        "informationUri": HOME,
        "rules": [_rule(patch) for patch in audit.patches],
    }
    order = [patch.id for patch in audit.patches]
    seen: Counter[str] = Counter()
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [
            {"ruleIndex": order.index(row.patch), **_result(row, seen)}
            for row in audit.results
            if row.status in LEVELS
        ],
        "invocations": [_invocation(audit)],
        "properties": {"summary": summary(audit, subjects(audit.results))},
    }
    return json.dumps({"version": "2.1.0", "$schema": SCHEMA, "runs": [run]}, indent=2) + "\n"


def _rule(patch: Patch) -> dict[str, Any]:
    text = f"{about(patch)}\n{WAYS}"
    return {
        "id": patch.id,
        "name": "".join(part.capitalize() for part in patch.id.split("_")),
        "shortDescription": {"text": patch.title},
        "fullDescription": {"text": about(patch)},
        "helpUri": patch.bug,
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["jax", "tpu"], "precision": "very-high"},
    }


def _result(row: Result, seen: Counter[str]) -> dict[str, Any]:
    place = place_of(row)
    return {
        "ruleId": row.patch,
        "kind": "fail",
        "level": LEVELS[row.status],
        "message": {"text": _message(row)},
        "locations": [_location(row, place)],
        "partialFingerprints": {"codemod/v1": _fingerprint(row, place, seen)},
        "properties": {
            "status": row.status,
            "reason": row.reason,
            "jax_version": row.jax_version,
            "fixes": list(row.fixes),
        },
    }


def _message(row: Result) -> str:
    what = row.pin or f"jax {row.jax_version or ''}".strip()
    parts = [f"{what}: {str(row.status).replace('_', ' ')} ({row.reason})"]
    parts += evidence(row)
    parts += [f"Fix: {fix}" for fix in row.fixes]
    return "\n".join(parts)


def _location(row: Result, place: Place) -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place)}
    if place.line:
        text = row.pin or next((e.text for e in row.evidence if e.line == place.line), "")
        physical["region"] = {"startLine": place.line, "snippet": {"text": text}}
    return {
        "physicalLocation": physical,
        "logicalLocations": [{"fullyQualifiedName": row.file, "kind": "resource"}],
    }


def _artifact(place: Place) -> dict[str, str]:
    return {"uri": place.uri, "uriBaseId": ROOT} if place.relative else {"uri": place.uri}


def _fingerprint(row: Result, place: Place, seen: Counter[str]) -> str:
    """What stays the same when lines move: rule, file, the text, and which of equal ones it is."""
    texts = [row.pin] if row.pin is not None else [found.text for found in row.evidence]
    parts = json.dumps([row.patch, place.path, row.file.rpartition("!/")[2], texts])
    seen[parts] += 1
    return sha256(f"{parts}{seen[parts]}".encode()).hexdigest()


def _invocation(audit: Audit) -> dict[str, Any]:
    return {
        "executionSuccessful": int(audit.exit_code) < 2,
        "exitCode": int(audit.exit_code),
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": why}, "locations": [_file(file, line)]}
            for file, line, why in unreadable(audit)
        ],
    }


def _file(file: str, line: int | None) -> dict[str, Any]:
    region = {"region": {"startLine": line}} if line else {}
    return {"physicalLocation": {"artifactLocation": _artifact(of_file(file, line)), **region}}
