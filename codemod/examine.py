"""One thing of an audit, from its bytes to rows: what runs in a process of its own if asked to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.fixes import of_copy
from codemod.judging import judged
from codemod.model import Kind, Outcome, Result
from codemod.sources.model import Found, Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from codemod.sources.model import Held, Settings, Unit


def examine_all(units: Sequence[Unit], settings: Settings) -> list[Found]:
    """The same of several, in their order: what another process is asked for at once."""
    return [examine(unit, settings) for unit in units]


def examine(unit: Unit, settings: Settings) -> Found:
    """The rows of one unit, or why there are none. Raises nothing that its bytes could cause."""
    try:
        return _found(unit, settings)
    except Refused as error:
        unreadable = Unreadable(file=unit.path, line=error.line, why=error.why, failed=True)
        return Found(unreadable=(unreadable,))


def _found(unit: Unit, settings: Settings) -> Found:
    if unit.kind is Kind.PIN:
        from codemod.pinned import in_file

        return in_file(unit, settings)
    if unit.kind is Kind.GIT:
        return _in_revision(unit, settings)
    rows = (row for held in _held(unit) for row in _rows(unit, held, settings))
    return Found(rows=tuple(rows))


def _in_revision(unit: Unit, settings: Settings) -> Found:
    """The copies in a revision of a repository, and its pin files."""
    from codemod.pinned import in_revision as pins_in
    from codemod.sources.git import in_revision, revision

    tree = revision(unit.path, unit.revision)
    prefix = f"{unit.path}@{unit.revision}:"
    rows = [row for held in in_revision(tree, prefix) for row in _rows(unit, held, settings)]
    pins = pins_in(unit, tree, prefix, settings)
    return replace(pins, rows=(*rows, *pins.rows))


def _held(unit: Unit) -> Iterable[Held]:
    if unit.kind in (Kind.WHEEL, Kind.SDIST):
        from codemod.sources.archives import in_archive

        return in_archive(unit)
    if unit.kind is Kind.IMAGE:
        from codemod.sources.images import in_image

        return in_image(unit)
    from codemod.sources.folders import copy_at

    return [copy_at(unit)]


def _rows(unit: Unit, held: Held, settings: Settings) -> Iterator[Result]:
    """A row for each file of a copy and each patch."""
    for part in held.parts:
        findings, what = judged(part, settings.folders)
        for patch, finding in findings.items():
            yield Result(
                target=unit.source,
                kind=unit.kind,
                file=part.file,
                line=next((found.line for found in finding.evidence), None),
                patch=patch,
                status=finding.status,
                reason=finding.reason,
                evidence=finding.evidence,
                outcome=Outcome.FAILED if part.why else Outcome.NONE,
                jax_version=held.version,
                message=what,
                guard=finding.guard,
                fixes=of_copy(unit, part.file, finding),
            )
