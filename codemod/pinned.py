"""A pin file to rows: each pin by content where that is at hand, else by what it says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from codemod.bybytes import at_hand, fetched
from codemod.deciding import decide
from codemod.errors import Refused
from codemod.fixes import exact, of_pin
from codemod.judging import ids, judged, worst
from codemod.locate import SITES
from codemod.model import Evidence, Finding, Kind, Outcome, Reason, Result, Status
from codemod.pins import collect, kind_of
from codemod.sources.model import Found, Unit, Unreadable
from codemod.textfile import read_regular, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.bybytes import Content
    from codemod.pins.model import Follow, Pin, Pins
    from codemod.sources.git import Revision
    from codemod.sources.model import Settings

LARGEST = 1 << 26  # bytes of a pin file: lock files of large projects have some ten million
PLAIN = "requirements.txt"  # what a file that another one includes is read as


def pins_of(path: str) -> Pins:
    """The pins of a file, one of requirements if its name does not tell. Raises Refused."""
    return _collected(read_regular(Path(path), LARGEST), path)


def in_file(unit: Unit, settings: Settings) -> Found:
    """The rows of a pin file, and the files that it includes. Raises Refused."""
    pins = pins_of(unit.path)
    follows = [_followed(unit, follow) for follow in pins.follows]
    unreadable = [one for one in follows if isinstance(one, Unreadable)]
    return Found(
        rows=tuple(_rows(unit, unit.path, pins, settings)),
        unreadable=(*_unread(unit.path, pins), *unreadable),
        follows=tuple(one for one in follows if isinstance(one, Unit)),
    )


def in_revision(unit: Unit, tree: Revision, prefix: str, settings: Settings) -> Found:
    """The rows of the pin files of a revision, and of what they include; those that are there."""
    rows: list[Result] = []
    unreadable: list[Unreadable] = []
    pending = [name for name in tree.files if kind_of(name) and SITES.isdisjoint(name.split("/"))]
    done = {*pending}
    while pending:
        texts, pending = tree.read(pending, LARGEST), []
        for name, data in texts.items():
            file = prefix + name
            if isinstance(data, str):
                unreadable.append(Unreadable(file=file, line=None, why=data, failed=True))
                continue
            pins = _collected(data, name)
            rows += _rows(unit, file, pins, settings)
            unreadable += _unread(file, pins)
            for follow in pins.follows:
                target = _joined(name, follow.target)
                if target not in tree.files:
                    why = f"includes {show(follow.target)}, which is not in this revision"
                    unreadable.append(Unreadable(file=file, line=follow.line, why=why))
                elif target not in done:
                    done.add(target)
                    pending.append(target)
    return Found(rows=tuple(rows), unreadable=tuple(unreadable))


def _collected(data: bytes, path: str) -> Pins:
    plain = os.path.join(os.path.dirname(path), PLAIN)  # noqa: PTH118, PTH120
    return collect(data, path if kind_of(path) else plain)


def _unread(file: str, pins: Pins) -> Iterator[Unreadable]:
    for one in pins.unread:
        yield Unreadable(file=file, line=one.line, why=one.why)


def _joined(file: str, target: str) -> str:
    return os.path.normpath(os.path.join(os.path.dirname(file), target))  # noqa: PTH118, PTH120


def _followed(unit: Unit, follow: Follow) -> Unit | Unreadable:
    """The file that a line includes, or why it is not looked into."""
    if "://" in follow.target:
        why = f"includes {show(follow.target)}: a URL, which is not fetched"
        return Unreadable(file=unit.path, line=follow.line, why=why)
    path = _joined(unit.path, follow.target)
    if not os.path.lexists(path):
        why = f"includes {show(follow.target)}, which does not exist"
        return Unreadable(file=unit.path, line=follow.line, why=why)
    return Unit(source=unit.source, kind=Kind.PIN, path=path)


def _rows(unit: Unit, file: str, pins: Pins, settings: Settings) -> Iterator[Result]:
    for pin in pins.rows:
        content, failure = _content(pin, settings)
        findings = _of_content(pin, content, settings) if content else _said(pin, settings)
        for patch, found in findings.items():
            finding = _with(found, failure, pin)
            yield Result(
                target=unit.source,
                kind=Kind.PIN,
                file=file,
                line=pin.line,
                pin=pin.text,
                patch=patch,
                status=finding.status,
                reason=finding.reason,
                evidence=finding.evidence,
                outcome=Outcome.FAILED if failure else Outcome.NONE,
                jax_version=(content and content.version) or exact(pin.specifier),
                message=failure or "; ".join(filter(None, (pin.remark, pin.marker))),
                guard=finding.guard,
                fixes=of_pin(pin, finding, content),
            )


def _content(pin: Pin, settings: Settings) -> tuple[Content | None, str]:
    """The content that decides a pin, if there is any, and why it could not be had."""
    if pin.unsure:  # local patches, say: what is upstream of them is not what is used
        return None, ""
    try:
        content = at_hand(pin, settings)
        if content is None and settings.fetch and _is_open(_said(pin, settings)):
            content = fetched(pin)
    except Refused as error:
        return None, error.why
    if content is not None and not content.held:
        return None, f"{show(content.origin)}: has no such file"
    return content, ""


def _said(pin: Pin, settings: Settings) -> dict[str, Finding]:
    """What the pin itself says; of a patch that is not the tool's, no table of releases knows."""
    wanted = ids(settings.folders)
    found = decide(pin, wanted)
    open_ = Finding(
        status=Status.UNDER_INVESTIGATION,
        reason=Reason.NO_SOURCE,
        evidence=(Evidence(line=pin.line, text="no table of releases has this patch"),),
    )
    return {name: found.get(name, open_) for name in wanted}


def _is_open(findings: dict[str, Finding]) -> bool:
    return any(found.status is Status.UNDER_INVESTIGATION for found in findings.values())


def _of_content(pin: Pin, content: Content, settings: Settings) -> dict[str, Finding]:
    """What the copies say, the worst of them for each patch, told at the line of the pin."""
    told: dict[str, Finding] = {}
    parts = [part for held in content.held for part in held.parts]
    findings = [(part, judged(part, settings.folders)[0]) for part in parts]
    for patch in ids(settings.folders):
        part, found = worst([(part, each[patch]) for part, each in findings])
        seen = [f"line {e.line}: {e.text}" for e in found.evidence]
        place = f"decided by {show(part.file)}"
        evidence = Evidence(
            line=pin.line, text=": ".join([place, "; ".join(seen)] if seen else [place])
        )
        told[patch] = replace(found, evidence=(evidence,))
    return told


def _with(finding: Finding, failure: str, pin: Pin) -> Finding:
    if not failure:
        return finding
    evidence = (*finding.evidence, Evidence(line=pin.line, text=failure))
    return replace(finding, evidence=evidence)
