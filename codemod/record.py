"""RECORD of a wheel or an installation: rows that change, between rows that stay as they are.

The format is that of PEP 376 and PEP 427: comma-separated values in UTF-8, with path, hash and
size, where the hash is `<name>=<urlsafe base64 without padding>`.
"""

from __future__ import annotations

import csv
import posixpath
from base64 import urlsafe_b64encode
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING

from codemod.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DEFAULT_HASH = "sha256"  # what PEP 427 asks for; older installers know md5 and sha1 too


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row: its bytes with the newline as they are in the file, and its three fields."""

    raw: bytes
    path: str
    hash: str  # "" where the row has none, as those of RECORD itself and of bytecode
    size: str

    def agrees(self, content: bytes) -> bool:
        """Whether the row is true of a file of this content; what it leaves open, it allows."""
        name = self.hash.partition("=")[0]
        right_hash = not self.hash or self.hash == digest(content, name)
        return right_hash and self.size in ("", str(len(content)))


class Record:
    """The rows of one RECORD. `bytes()` gives the file; rows not touched are byte-identical."""

    def __init__(self, data: bytes, site: str = "") -> None:
        """Read the rows; raises Refused, with the line, where they are not such rows.

        `site` is the folder that their paths start from: a row may be absolute or lead out of it
        and into it again.
        """
        self._site = site
        self._rows = tuple(_rows(data))
        self._wholes: dict[str, str] = {}  # paths that were looked up, as they are without detours
        self._known: dict[str, list[Row]] | None = None  # rows by path, made when it is asked for

    def __bytes__(self) -> bytes:
        return b"".join(row.raw for row in self._rows)

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in their order."""
        return self._rows

    def of(self, path: str) -> list[Row]:
        """The rows of a file: none, one, or several where an installer wrote it twice."""
        if self._known is None:
            self._known = {}
            for row in self._rows:
                self._known.setdefault(self._whole(row.path), []).append(row)
        return self._known.get(self._whole(path), [])

    def update(self, path: str, content: bytes) -> None:
        """Make all rows of a file true of its new content: a hash or size it lacks stays away."""
        self._change(path, lambda row: _updated(row, content))

    def add(self, path: str, content: bytes | None) -> None:
        """Add a row at the end, without hash and size for None; one that is there is replaced.

        The last row ends as the last one did, with or without a newline, so that `drop` undoes it.
        """
        self.drop(path)
        rows, ends = list(self._rows), [_newline(row.raw) for row in self._rows]
        newline = next((end for end in reversed(ends) if end), b"\n")
        ending = ends[-1] if ends else newline
        if rows and not ending:
            rows[-1] = replace(rows[-1], raw=rows[-1].raw + newline)
        hashed, size = ("", "") if content is None else (digest(content), str(len(content)))
        self._set([*rows, _row(path, hashed, size, _raw(path, hashed, size, ending))])

    def blank(self, path: str) -> None:
        """Take hash and size from the rows of a file, in their places."""
        self._change(path, _blanked)

    def restore(self, path: str, rows: Sequence[str]) -> None:
        """Put the rows of a file back as they were, in their places, from their text."""
        old = iter([row for text in rows for row in _rows(text.encode())])
        self._change(path, lambda row: next(old, row))

    def rename(self, new: Callable[[str], str]) -> None:
        """Give each row the path that `new` gives for its own; hash, size and newline stay."""
        self._set([row if new(row.path) == row.path else _moved(row, new) for row in self._rows])

    def insert(self, path: str, content: bytes) -> None:
        """Add a row before the last one, which in a wheel is that of RECORD itself."""
        self.add(path, content)
        rows = list(self._rows)
        self._set([*rows[:-2], *reversed(rows[-2:])])

    def drop(self, path: str) -> None:
        """Remove all rows of a file."""
        gone = self.of(path)
        bare = bool(self._rows) and not _newline(self._rows[-1].raw)
        rows = [row for row in self._rows if row not in gone]
        if bare and rows:
            rows[-1] = replace(rows[-1], raw=rows[-1].raw.removesuffix(_newline(rows[-1].raw)))
        self._set(rows)

    def _change(self, path: str, change: Callable[[Row], Row]) -> None:
        rows = self.of(path)
        self._set([change(row) if row in rows else row for row in self._rows])

    def _set(self, rows: Iterable[Row]) -> None:
        self._rows, self._known = tuple(rows), None

    def _whole(self, path: str) -> str:
        if path not in self._wholes:
            self._wholes[path] = posixpath.normpath(posixpath.join(self._site, path))
        return self._wholes[path]


def digest(content: bytes, name: str = DEFAULT_HASH) -> str:
    """The hash field of a file of this content; raises Refused for a hash nobody knows."""
    import hashlib

    if name not in hashlib.algorithms_guaranteed or name.startswith("shake"):
        raise Refused(f"RECORD uses the hash {name!r}, which is not known here")
    made = hashlib.new(name, content, usedforsecurity=False).digest()
    return f"{name}={urlsafe_b64encode(made).decode().rstrip('=')}"


def _updated(row: Row, content: bytes) -> Row:
    if row.agrees(content):
        return row
    hashed = digest(content, row.hash.partition("=")[0]) if row.hash else ""
    size = str(len(content)) if row.size else ""
    return _row(row.path, hashed, size, _raw(row.path, hashed, size, _newline(row.raw)))


def _blanked(row: Row) -> Row:
    return _row(row.path, "", "", _raw(row.path, "", "", _newline(row.raw)))


def _moved(row: Row, new: Callable[[str], str]) -> Row:
    path = new(row.path)
    return _row(path, row.hash, row.size, _raw(path, row.hash, row.size, _newline(row.raw)))


def _newline(raw: bytes) -> bytes:
    return raw[len(raw.rstrip(b"\r\n")) :]


def _row(path: str, hashed: str, size: str, raw: bytes) -> Row:
    return Row(raw=raw, path=path, hash=hashed, size=size)


def _raw(path: str, hashed: str, size: str, newline: bytes) -> bytes:
    buffer = StringIO()
    csv.writer(buffer, lineterminator="").writerow((path, hashed, size))
    return buffer.getvalue().encode() + newline


def _rows(data: bytes) -> Iterator[Row]:
    for number, raw in _lines(data):
        try:
            fields = next(csv.reader([raw.decode()], strict=True), [])
        except UnicodeDecodeError as error:
            raise Refused("RECORD is not UTF-8", number) from error
        except csv.Error as error:
            raise Refused(
                f"RECORD has a row that is not comma-separated: {error}", number
            ) from error
        if len(fields) not in (0, 3):
            raise Refused(f"RECORD has a row of {len(fields)} fields and not 3", number)
        path, hashed, size = fields or ("", "", "")
        yield Row(raw=raw, path=path, hash=hashed, size=size)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Each row with the 1-based line where it starts: a quoted path may hold a newline."""
    start, whole = 1, b""
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        start, whole = (number, line) if not whole else (start, whole + line)
        if whole.count(b'"') % 2 == 0:
            yield start, whole
            whole = b""
    if whole:
        yield start, whole
