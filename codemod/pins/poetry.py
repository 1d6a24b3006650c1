"""poetry.lock, of poetry 1 and 2."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.pins import tables
from codemod.pins.model import Source, SourceKind
from codemod.pins.nodes import collected, toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pin, Pins
    from codemod.pins.nodes import Node


def collect(data: bytes) -> Pins:
    """The packages called jax, each with the commit that it was resolved to."""
    return collected(data, toml, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    apart = root.at("metadata", "files")  # before lock version 2.0 the hashes stand at the end
    for package in root.at("package").array():
        name, version, source = (package.at(key) for key in ("name", "version", "source"))
        files = [*package.at("files").array(), *apart.at(name.text()).array()]
        yield tables.pin(
            name.text(),
            name,
            _source(source),
            version,
            *source.table().values(),
            specifier=tables.exact(version),
            hashes=tuple(filter(None, (each.at("hash").text() for each in files))),
            marker=package.at("markers").text(),
        )


def _source(table: Node) -> Source:
    url, kind = table.at("url").text(), table.at("type").text()
    if kind in ("", "legacy"):  # the latter is an index that is not the usual one
        return Source()
    if kind == "git":
        return tables.repository(url, table)
    return tables.source(table) if kind == "url" else Source(kind=SourceKind.PATH, url=url)
