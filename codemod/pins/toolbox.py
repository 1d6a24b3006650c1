"""manifest.yaml as JAX-Toolbox has it: repositories, each with a branch and a commit."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codemod.pins import tables
from codemod.pins.model import Pins
from codemod.pins.nodes import collected, yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pin
    from codemod.pins.nodes import Node

COMMIT = "latest_verified_commit"


def collect(data: bytes) -> Pins:
    """The repositories of jax; a manifest of anything else is not looked into."""
    if COMMIT.encode() not in data.replace(b"\0", b""):
        return Pins()
    return collected(data, yaml, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    for document in root.array():
        for name, entry in document.table().items():
            url, branch, commit = (entry.at(key) for key in ("url", "tracking_ref", COMMIT))
            if not url.there:
                continue
            place = tables.repository(url.text(), entry)
            place = replace(place, ref=commit.text() or branch.text(), moving=True)
            pin = tables.pin(name, entry, place, url, branch, commit)
            moves = f"moves with {branch.text()}" if branch.there else ""
            yield pin and replace(pin, remark="; ".join(filter(None, (pin.remark, moves))))
