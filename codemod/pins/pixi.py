"""pixi.toml, pixi.lock and the table of pixi in pyproject.toml: https://pixi.sh, manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.pins import tables
from codemod.pins.conda import by_url, packaged
from codemod.pins.nodes import Node, collected, toml, yaml
from codemod.pins.versions import of_conda

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pin, Pins

OF_CONDA = ("dependencies", "host-dependencies", "build-dependencies", "constraints")
OF_PIP = ("pypi-dependencies",)
KEYS = ("version", "build", "git", "rev", "tag", "branch", "url", "path")


def collect(data: bytes) -> Pins:
    """The packages called jax; a lock file begins with its version, a manifest with a table."""
    locked = data.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"version:")
    return collected(data, yaml if locked else toml, _locks if locked else read)


def read(root: Node) -> Iterator[Pin | None]:
    """The packages of a manifest, or of the table of pixi in another file."""
    features = root.at("feature").table().values()
    for holder in (root, root.at("workspace"), *features):
        for each in (holder, *holder.at("target").table().values()):
            for kind in (*OF_CONDA, *OF_PIP):
                yield from _wanted(each.at(kind), conda=kind in OF_CONDA)


def _wanted(packages: Node, *, conda: bool) -> Iterator[Pin | None]:
    for name, wanted in packages.table().items():
        table = wanted.entry("version")
        version = table.at("version").text()
        any_ = "" if version == "*" else version
        specifier = of_conda(version) if conda else any_
        yield tables.pin(
            name,
            wanted,
            tables.source(table),
            *(table.at(key) for key in KEYS),
            specifier=specifier or "",
            unsure=f"{version} is not understood" if specifier is None else "",
        )


def _locks(root: Node) -> Iterator[Pin | None]:
    """The list of packages, in which each is once; an environment only refers to it."""
    for document in root.array():
        for package in document.at("packages").array():
            name, version = package.at("name"), package.at("version")
            urls = (package.at(key) for key in ("conda", "pypi", "url"))
            none = Node(None, package.line, document.document)
            url = next((each for each in urls if each.there), none)
            label = name.text() or ("jax" if packaged(url.text()) else "")
            yield by_url(label, name if name.there else url, url, version)
