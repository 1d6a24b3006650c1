"""Pipfile and Pipfile.lock: https://pipenv.pypa.io/en/latest/pipfile.html."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.pins import tables
from codemod.pins.nodes import collected, json, toml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pin, Pins
    from codemod.pins.nodes import Node

OTHERS = ("source", "requires", "scripts", "pipenv", "_meta")  # sections that are no category
KEYS = ("version", "git", "ref", "file", "path", "markers")


def collect(data: bytes) -> Pins:
    """The packages called jax in every category; only the lock file begins with a brace."""
    locked = data.replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").startswith(b"{")
    return collected(data, json if locked else toml, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    for category, packages in root.table().items():
        for name, wanted in () if category in OTHERS else packages.table().items():
            table = wanted.entry("version")
            version = table.at("version").text()
            yield tables.pin(
                name,
                wanted,
                tables.source(table),
                *(table.at(key) for key in KEYS),
                specifier="" if version == "*" else version,
                hashes=tuple(each.text() for each in table.at("hashes").array()),
                marker=table.at("markers").text(),
            )
