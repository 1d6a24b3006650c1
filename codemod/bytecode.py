"""Compiled forms of a source file: one made as unchecked runs the old code after an edit."""

from __future__ import annotations

import os
import re
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

UNCHECKED = b"\1\0\0\0"  # the flags: by hash, and not to be compared with it


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


def unchecked(source: Path, content: bytes) -> Iterator[Path]:
    """The compiled forms that Python runs without a look at the source (PEP 552), of another one.

    Those of other interpreters are taken for such: how they hash a source is not known here.
    """
    for path in compiled(source):
        head = _head(path)
        ours = head[:4] == MAGIC_NUMBER and head[8:16] == source_hash(content)
        if head[4:8] == UNCHECKED and not ours:
            yield path


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError:  # a link to nowhere, say, which Python does not run either
        return b""


def _of(stem: str, folder: Path) -> Iterator[Path]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        return
    for name in names:
        tag = name.removeprefix(f"{stem}.").removesuffix(".pyc")
        if name == f"{stem}.{tag}.pyc" and re.fullmatch(r"[^.]*(?:\.opt-[0-9A-Za-z]+)?", tag):
            yield folder / name
