"""Copies in environments, trees and files on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.locate import jax_version
from codemod.siblings import siblings
from codemod.sources.model import Held, Part
from codemod.textfile import read_regular

if TYPE_CHECKING:
    from codemod.sources.model import Unit


def copy_at(unit: Unit) -> Held:
    """The copy that a file on disk belongs to; of one that was named, that file alone."""
    path = Path(unit.path)
    beside = () if unit.named else tuple(siblings(path))
    return Held(parts=tuple(_part(file) for file in (path, *beside)), version=jax_version(path))


def _part(path: Path) -> Part:
    try:
        return Part(file=str(path), data=read_regular(path))
    except Refused as error:
        return Part(file=str(path), why=error.why)
