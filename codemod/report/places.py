"""Where a row of an audit points to, for tools that open files: a relative path where it can be."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from codemod.model import Kind

if TYPE_CHECKING:
    from codemod.model import Result

INSIDE = "!/"  # between an archive and the path in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A file, with slashes; `line` is one of that file, None where it is of one inside it."""

    path: str
    line: int | None
    relative: bool

    @property
    def uri(self) -> str:
        """The path as a URI reference, as RFC 3986 has it."""
        encoded = quote(os.fsencode(self.path), safe="/")
        return encoded if self.relative else f"file://{encoded}"


def place_of(row: Result) -> Place:
    """The file that a person can open and, where the row is about a line of it, the line."""
    if row.target.startswith("git:"):
        path = row.file.removeprefix(f"{row.target.removeprefix('git:')}:")
        return Place(path=path, line=row.line, relative=True)
    if row.kind in (Kind.WHEEL, Kind.SDIST, Kind.IMAGE):
        return of_file(row.file.partition(INSIDE)[0], None)
    return of_file(row.file, row.line)


def of_file(path: str, line: int | None) -> Place:
    """The place of a file of the disk, from the working directory where it is below that."""
    below = os.path.relpath(path) if os.path.isabs(path) else os.path.normpath(path)  # noqa: PTH117
    if below == os.pardir or below.startswith(os.pardir + os.sep):
        whole = os.path.abspath(path)  # noqa: PTH100
        return Place(path=whole.replace(os.sep, "/"), line=line, relative=False)
    return Place(path=below.replace(os.sep, "/"), line=line, relative=True)
