"""pylock.toml: https://packaging.python.org/en/latest/specifications/pylock-toml/ (PEP 751)."""

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
    """The packages called jax; of a repository, a folder or an archive that place decides."""
    return collected(data, toml, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    for package in root.at("packages").array():
        name, version = package.at("name"), package.at("version")
        places = [package.at(key) for key in ("vcs", "directory", "archive")]
        files = [places[2], package.at("sdist"), *package.at("wheels").array()]
        yield tables.pin(
            name.text(),
            name,
            _source(*places),
            version,
            *places,
            specifier=tables.exact(version),
            hashes=tuple(hashed for each in files for hashed in _hashes(each)),
            marker=package.at("marker").text(),
        )


def _source(vcs: Node, directory: Node, archive: Node) -> Source:
    if vcs.there:
        url = vcs.at("url").text() or vcs.at("path").text()
        return tables.repository(url, vcs)
    if directory.there:
        return Source(kind=SourceKind.PATH, url=directory.at("path").text())
    return tables.source(archive)


def _hashes(file: Node) -> Iterator[str]:
    for algorithm, value in file.at("hashes").table().items():
        yield f"{algorithm}:{value.text()}"
