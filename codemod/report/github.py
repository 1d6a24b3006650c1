"""An audit as workflow commands of GitHub Actions: annotations at the lines of the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.model import Status
from codemod.report.places import of_file, place_of
from codemod.report.subjects import WORDS, evidence, subjects, summary, unreadable

if TYPE_CHECKING:
    from codemod.audit import Audit
    from codemod.report.places import Place
    from codemod.report.subjects import Subject

COMMANDS = {Status.AFFECTED: "error", Status.UNDER_INVESTIGATION: "warning"}


def to_github(audit: Audit) -> str:
    """A command for each finding, the worst first as few are shown, and the summary as notice."""
    found = subjects(audit.results)
    lines = [
        _command(command, place_of(subject.first), _title(subject), _message(subject))
        for status, command in COMMANDS.items()
        for subject in found
        if subject.status is status
    ]
    lines += [
        _command("warning", of_file(file, line), "jax: not read or not understood", why)
        for file, line, why in unreadable(audit)
    ]
    lines.append(f"::notice title=codemod audit::{_data(summary(audit, found))}")
    return "\n".join(lines) + "\n"


def _title(subject: Subject) -> str:
    what = subject.first.pin or f"jax {subject.first.jax_version or ''}".strip()
    return f"{what}: {WORDS[subject.status]}"


def _message(subject: Subject) -> str:
    lines = [
        f"{patches}: {row.reason}" + "".join(f": {line}" for line in evidence(row))
        for patches, row in subject.because(subject.status)
    ]
    return "\n".join([*lines, *(f"fix: {fix}" for fix in subject.fixes)])


def _command(name: str, place: Place, title: str, message: str) -> str:
    line = f",line={place.line}" if place.line else ""
    return f"::{name} file={_property(place.path)}{line},title={_property(title)}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
