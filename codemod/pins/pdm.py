"""pdm.lock: https://pdm-project.org/en/latest/usage/lockfile/."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.pins import tables
from codemod.pins.nodes import collected, toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pin, Pins
    from codemod.pins.nodes import Node


def collect(data: bytes) -> Pins:
    """The packages called jax: one with extras is written again beside itself, and is one row."""
    return collected(data, toml, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    packages = root.at("package").array()
    plain = {_identity(each) for each in packages if not each.at("extras").there}
    for package in packages:
        if package.at("extras").there and _identity(package) in plain:
            continue
        name, version = package.at("name"), package.at("version")
        place = tables.source(package)
        shown = (package.at(key) for key in ("git", "ref", "revision", "url", "path"))
        label = f"{name.text()} {version.text()}"
        files = [
            *package.at("files").array(),
            *root.at("metadata", "files", label).array(),  # as lock version 4.2 and older has it
        ]
        yield tables.pin(
            name.text(),
            name,
            place,
            version,
            *shown,
            specifier=tables.exact(version),
            hashes=tuple(filter(None, (each.at("hash").text() for each in files))),
            marker=package.at("marker").text(),
        )


def _identity(package: Node) -> tuple[str, ...]:
    keys = ("name", "version", "git", "revision", "url", "path", "marker")
    return tuple(package.at(key).text() for key in keys)
