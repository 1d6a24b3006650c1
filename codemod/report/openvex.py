"""An audit as OpenVEX 0.2.0: what is affected, what is not and why, in the standard's words."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from codemod import __version__
from codemod.errors import NoJaxError
from codemod.model import Kind, Reason, Status
from codemod.report.places import place_of

if TYPE_CHECKING:
    from codemod.audit import Audit
    from codemod.model import Patch, Result

CONTEXT = "https://openvex.dev/ns/v0.2.0"
# The code is not in the product: older, without it, or with a body that holds none.
JUSTIFICATION = "vulnerable_code_not_present"


def to_openvex(audit: Audit) -> str:
    """One document; raises NoJaxError where there is nothing to make a statement of."""
    statements = _statements(audit)
    if not statements:
        raise NoJaxError("no jax found, and OpenVEX has no document without a statement")
    content = json.dumps(statements, sort_keys=True)
    document = {
        "@context": CONTEXT,
        "@id": uuid5(NAMESPACE_URL, content).urn,
        "author": "Unknown Author",  # who publishes it is to say so
        "role": "Document Creator",
        "timestamp": _now(),
        "version": 1,
        "tooling": f"codemod {__version__}",
        "statements": statements,
    }
    return json.dumps(document, indent=2) + "\n"


def _now() -> str:
    """The time; the one that SOURCE_DATE_EPOCH fixes, where it is set."""
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    time = datetime.fromtimestamp(int(fixed), UTC) if fixed.isdecimal() else datetime.now(UTC)
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _statements(audit: Audit) -> list[dict[str, Any]]:
    """A statement for all products of which the same is to be said."""
    patches = {patch.id: patch for patch in audit.patches}
    made: dict[str, dict[str, Any]] = {}
    for row in audit.results:
        statement = _statement(row, patches[row.patch])
        held = made.setdefault(json.dumps(statement), {**statement, "products": []})
        if (product := _product(row)) not in held["products"]:
            held["products"].append(product)
    return list(made.values())


def _statement(row: Result, patch: Patch) -> dict[str, Any]:
    said: dict[str, Any] = {
        "vulnerability": {"name": patch.id, "description": f"{patch.title} ({patch.bug})"},
        "products": [],
        "status": str(row.status),
        "status_notes": "; ".join([str(row.reason), *(e.text for e in row.evidence)]),
    }
    if row.status is Status.NOT_AFFECTED:
        said["justification"] = JUSTIFICATION
    elif row.status is Status.AFFECTED:
        said["action_statement"] = "; or: ".join(row.fixes)
    return said


def _product(row: Result) -> dict[str, Any]:
    """A package by its purl; the very copy by its file too, for others of its version differ."""
    purl = "pkg:pypi/jax"
    if row.jax_version:
        purl += f"@{quote(row.jax_version, safe='')}"
    if row.kind is not Kind.PIN or not row.jax_version or row.reason is Reason.PATCHED:
        purl += f"?file_name={quote(os.fsencode(place_of(row).path), safe='')}"
        inside = row.file.partition("!/")[2] if "!/" in row.file else ""
        purl += f"#{quote(os.fsencode(inside), safe='/')}" if inside else ""
    return {"@id": purl, "identifiers": {"purl": purl}}
