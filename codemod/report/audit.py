"""An audit in the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemod.audit import Audit


def render(audit: Audit, form: str, *, verbose: bool = False) -> str:
    """The whole audit in one of the formats of the command."""
    if form == "json":
        from codemod.report.audit_json import to_json

        return to_json(audit)
    from codemod.report.audit_text import to_text

    return to_text(audit, verbose=verbose)
