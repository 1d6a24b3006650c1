"""uv.lock: https://docs.astral.sh/uv/concepts/resolution/#lockfile-versioning."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from codemod.pins import tables
from codemod.pins.model import Source, SourceKind
from codemod.pins.nodes import collected, toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pin, Pins
    from codemod.pins.nodes import Node


def collect(data: bytes) -> Pins:
    """The packages called jax; what others need of them is no pin."""
    return collected(data, toml, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    for package in root.at("package").array():
        name, version, source = (package.at(key) for key in ("name", "version", "source"))
        files = [package.at("sdist"), *package.at("wheels").array()]
        markers = [one.text() for one in package.at("resolution-markers").array()]
        yield tables.pin(
            name.text(),
            name,
            _source(source),
            version,
            source,
            specifier=tables.exact(version),
            hashes=tuple(filter(None, (each.at("hash").text() for each in files))),
            marker=" or ".join(markers),
        )


def _source(table: Node) -> Source:
    """As in other tools' tables, but for git, whose commit is the fragment of the URL."""
    if not table.at("git").there:
        return tables.source(table)
    git = urlsplit(table.at("git").text())
    url = git._replace(query="", fragment="").geturl()
    return Source(kind=SourceKind.GIT, url=url, ref=git.fragment, moving=not git.fragment)
