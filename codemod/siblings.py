"""Other files of the folder of `cloud_tpu_cluster.py` that hold a part of its code.

A fork may split the file: the well-known one then holds an abstract class, and the request is
made in a file beside it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from codemod.locate import IN_PACKAGE, NAME, Copy, Target, holds_such_code
from codemod.model import Kind
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def with_siblings(target: Target) -> Target:
    """The target with the files beside its copies that hold such code as well.

    Who names one file wants that file: then the others are only noted.
    """
    beside = {copy: tuple(siblings(copy.path)) for copy in target.copies}
    if target.kind is Kind.FILE:
        notes = [f"{show(p)}: holds such code too: name its folder" for p in _all(beside)]
        return replace(target, notes=(*target.notes, *notes))
    copies = [c for copy, paths in beside.items() for c in (copy, *_copies(copy, paths))]
    return replace(target, copies=tuple(copies))


def whole(path: Path) -> tuple[Path, ...]:
    """All files of the copy that a file is a part of, the well-known one first."""
    known = path.with_name(NAME)
    if not path.match(str(IN_PACKAGE.parent / "*")) or not known.is_file():
        return (path,)
    return (known, *siblings(known))


def siblings(path: Path) -> Iterator[Path]:
    """The files of the folder of a copy, of a jax package, that hold such code, by name."""
    if path.parts[-len(IN_PACKAGE.parts) :] != IN_PACKAGE.parts:
        return
    for found in sorted(path.parent.glob("*.py")):
        if found.name != path.name and holds_such_code(found):
            yield found


def _all(beside: dict[Copy, tuple[Path, ...]]) -> Iterator[Path]:
    for paths in beside.values():
        yield from paths


def _copies(copy: Copy, paths: tuple[Path, ...]) -> Iterator[Copy]:
    folder = copy.relative.rpartition("/")[0]
    for path in paths:
        relative = f"{folder}/{path.name}"
        yield Copy(path=path, relative=relative, jax_version=copy.jax_version)
