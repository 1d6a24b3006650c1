"""Copies in environments, trees and files on disk."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.locate import IN_PACKAGE, NAME, TRACES, jax_version
from codemod.sources.model import Held, Part
from codemod.textfile import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.sources.model import Unit


def copy_at(unit: Unit) -> Held:
    """The copy that a file on disk belongs to; of one that was named, that file alone."""
    beside = () if unit.named else _beside(unit)
    version = jax_version(Path(unit.path))
    return Held(parts=(_part(unit.path), *beside), version=version)


def _beside(unit: Unit) -> Iterator[Part]:
    """The files of the folder of a jax package that hold a part of its code, by name."""
    folder, file = os.path.split(unit.path)
    if file != NAME or not unit.path.endswith(str(IN_PACKAGE)):
        return
    for name in sorted(unit.beside or os.listdir(folder)):  # noqa: PTH208
        if name.endswith(".py") and name != NAME:
            part = _part(os.path.join(folder, name))  # noqa: PTH118
            if part.why or any(trace in part.data for trace in TRACES):
                yield part


def _part(path: str) -> Part:
    try:
        return Part(file=path, data=read_regular(path))
    except Refused as error:
        return Part(file=path, why=error.why)
