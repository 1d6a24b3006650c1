"""Releases, patches and what was found, as SVG: who needs what, and where one's own jax stands."""

from __future__ import annotations

from collections import Counter, defaultdict
from html import escape
from typing import TYPE_CHECKING

from codemod import releases
from codemod.report.subjects import ORDER, WORDS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from codemod.model import Patch, Status
    from codemod.report.subjects import Subject

    Table = dict[str, dict[str, str]]
    Counts = defaultdict[tuple[str, str], Counter[Status]]

CELL, LABELS, NAMES = 16, 56, 170  # pixels: a cell, the height of the labels, the width of names
OTHER = "other"  # a version that the table of releases has not, or none


def picture(patches: Sequence[Patch], found: Sequence[Subject]) -> str:
    """The picture; cells where something was found can be reached and chosen by keyboard."""
    table = {**releases.statuses(), OTHER: {}}
    counts: Counts = defaultdict(Counter)
    for row in (row for subject in found for row in subject.rows):
        counts[release_of(row.jax_version, table), row.patch][row.status] += 1
    width, height = NAMES + CELL * len(table) + CELL, LABELS + CELL * len(patches) + 4
    return "".join(
        [
            f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="group">',
            "<title>Which release needs which patch, and what was found of it</title>",
            *(_label(number, name) for number, name in enumerate(table)),
            *_rows(patches, table, counts),
            "</svg>",
        ]
    )


def release_of(version: str | None, known: Container[str]) -> str:
    """The release that a version is of; a local label says who built it, not what it holds."""
    public = (version or "").partition("+")[0]
    return public if public in known else OTHER


def _label(number: int, name: str) -> str:
    x, y = NAMES + CELL * number + 12, LABELS - 6
    return f'<text x="{x}" y="{y}" transform="rotate(-60 {x} {y})">{escape(name)}</text>'


def _rows(patches: Sequence[Patch], table: Table, counts: Counts) -> Iterator[str]:
    for line, patch in enumerate(patches):
        y = LABELS + CELL * line
        yield f'<text x="0" y="{y + 12}">{escape(patch.id)}</text>'
        for column, (release, needs) in enumerate(table.items()):
            status, held = needs.get(patch.id, "unknown"), counts[release, patch.id]
            yield _cell(NAMES + CELL * column, y, release, patch.id, status, held)


def _cell(x: int, y: int, release: str, patch: str, status: str, held: Counter[Status]) -> str:
    found = ", ".join(f"{n} {WORDS[s]}" for s, n in held.items()) or "nothing"
    told = escape(f"jax {release}, {patch}: {status.replace('_', ' ')}; found: {found}")
    place = f'x="{x}" y="{y}" width="{CELL}" height="{CELL}"'
    if not held:
        return f'<rect class="cell {status}" {place}><title>{told}</title></rect>'
    more = f'tabindex="0" role="button" aria-label="{told}" data-find="version:{release};"'
    count = sum(held[status] for status in ORDER[:2]) or "✓"
    return (
        f'<rect class="cell {status} here" {place} {more}><title>{told}</title></rect>'
        f'<text class="count" x="{x + CELL // 2}" y="{y + 12}">{count}</text>'
    )
