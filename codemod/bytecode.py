"""Compiled forms of a source file: one made as unchecked runs the old code after an edit."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def compiled(source: Path) -> Iterator[Path]:
    """The compiled forms of a source file that there are, of any interpreter and optimisation.

    They lie in `__pycache__` (PEP 3147, PEP 488), below PYTHONPYCACHEPREFIX, or as in Python 2
    beside the source, where they count only without it.
    """
    folders = [source.parent / "__pycache__"]
    if prefix := os.environ.get("PYTHONPYCACHEPREFIX"):
        folders.append(Path(prefix, *source.parent.parts[1:]))
    for folder in folders:
        yield from sorted(_of(source.stem, folder))
    for suffix in (".pyc", ".pyo"):
        if os.path.lexists(beside := source.with_suffix(suffix)):
            yield beside


def _of(stem: str, folder: Path) -> Iterator[Path]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return
    for name in names:
        tag = name.removeprefix(f"{stem}.").removesuffix(".pyc")
        if name == f"{stem}.{tag}.pyc" and re.fullmatch(r"[^.]*(?:\.opt-[0-9A-Za-z]+)?", tag):
            yield folder / name
