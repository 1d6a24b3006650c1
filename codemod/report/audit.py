"""An audit in the format that was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemod.audit import Audit


def render(audit: Audit, form: str, *, verbose: bool = False) -> str:
    """The whole audit in one of the formats of the command, which each load only their own."""
    if form == "text":
        from codemod.report.audit_text import to_text

        return to_text(audit, verbose=verbose)
    if form == "json":
        from codemod.report.audit_json import to_json

        return to_json(audit)
    if form == "sarif":
        from codemod.report.sarif import to_sarif

        return to_sarif(audit)
    if form == "openvex":
        from codemod.report.openvex import to_openvex

        return to_openvex(audit)
    if form == "markdown":
        from codemod.report.markdown import to_markdown

        return to_markdown(audit)
    if form == "html":
        from codemod.report.page import to_html

        return to_html(audit)
    from codemod.report.github import to_github

    return to_github(audit)
