"""Tables that name a package and the place it is taken from, as many kinds of pin files do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codemod.pins.model import Pin, Source, SourceKind
from codemod.pins.requirement import COMMIT, is_jax, source_of

if TYPE_CHECKING:
    from codemod.pins.nodes import Node

# Keys for the same thing in the tools' tables; the one that says most comes first.
REVISIONS = "commit-id revision resolved_reference resolved rev tag branch ref reference".split()
ARCHIVES = ("url", "file")
FOLDERS = ("path", "directory", "editable", "virtual")


def source(table: Node) -> Source:
    """The place that a table names with keys such as `git`, `url` and `path`.

    Without any of them it is an index, and the version decides.
    """
    if git := table.at("git").text():
        return repository(git, table)
    if url := _first(table, ARCHIVES):
        return source_of(url) if "://" in url else Source(kind=SourceKind.PATH, url=url)
    if path := _first(table, FOLDERS):
        return Source(kind=SourceKind.PATH, url=path)
    return Source()


def repository(url: str, table: Node) -> Source:
    """A git repository, at the revision that a table names with one of the keys of many tools."""
    ref = _first(table, REVISIONS)
    moving = re.fullmatch(COMMIT, ref) is None
    return Source(kind=SourceKind.GIT, url=url, ref=ref, moving=moving)


def _first(table: Node, keys: tuple[str, ...] | list[str]) -> str:
    return next(filter(None, (table.at(key).text() for key in keys)), "")


def named(name: str) -> bool:
    """Whether a name is jax in one of its spellings (PEP 503)."""
    return name.strip().casefold() == "jax"  # has neither `-` nor `_` nor `.` to normalize


def pin(  # noqa: PLR0913 - what a pin has
    label: str,
    at: Node,
    place: Source,
    *shown: Node,
    specifier: str = "",
    hashes: tuple[str, ...] = (),
    marker: str = "",
    unsure: str = "",
) -> Pin | None:
    """The pin of a package of this name, named `at` a place of the file; None for any but jax.

    `shown` are the values whose lines make the text. Where the source is not an index, it
    decides and a version beside it is but a remark.
    """
    elsewhere = place.kind is not SourceKind.REGISTRY
    foreign = not named(label)
    if foreign and not (place.kind in (SourceKind.GIT, SourceKind.ARCHIVE) and is_jax(place)):
        return None
    remarks = [f"the name {label} and the URL disagree"] if foreign else []
    if elsewhere and specifier:
        remarks.append(f"{specifier.removeprefix('==')}, which stands beside it, decides nothing")
    text = at.document.written(at, *shown) or f"{specifier or place.url}"
    return Pin(
        line=at.line,
        text=text if label in text else f"{label} = {text}",
        specifier="" if elsewhere else specifier,
        source=place,
        hashes=hashes,
        marker=marker,
        remark="; ".join(remarks),
        unsure=unsure,
    )


def exact(version: Node) -> str:
    """The specifier of a version that a lock file names; empty where it names none."""
    return f"=={version.text()}" if version.text() else ""
