"""On which line each value of a TOML or JSON text stands, which no parser of the library says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Path = tuple[str | int, ...]

TOKEN = re.compile(
    r'(?P<string>"""(?:[^\\]|\\.)*?"""(?:"{0,2})|\'\'\'.*?\'\'\'(?:\'{0,2})'
    r'|"(?:[^"\\]|\\.)*"|\'[^\']*\')'
    r"|(?P<skip>[ \t\r]+|#[^\n]*)|(?P<mark>[\[\]{}=:,.\n])|(?P<bare>[^\s\[\]{}=:,.#\"']+)",
    re.DOTALL,
)
ENDS = ("\n", ",", "]", "}", "")


def of_toml(text: str) -> dict[Path, int]:
    """The 1-based line of each key and element of a TOML text that a parser has accepted."""
    return _Walk(text).document()


def of_json(text: str) -> dict[Path, int]:
    """The same for a JSON text."""
    walk = _Walk(text)
    walk.value(())
    return walk.lines


class _Walk:
    """Reads tokens one by one; the text is known to be well formed, so that nothing is checked."""

    def __init__(self, text: str) -> None:
        self.lines: dict[Path, int] = {}
        self.sizes: dict[Path, int] = {}  # of arrays of tables
        self.tokens = self._tokens(text)
        self.line, self.part = 1, ""
        self.step()

    def _tokens(self, text: str) -> Iterator[tuple[int, str]]:
        line = 1
        for match in TOKEN.finditer(text):
            token = match[0]
            if match.lastgroup != "skip":
                yield line, token
            line += token.count("\n")
        yield line, ""

    def step(self) -> str:
        """Go on to the next token; return the one before."""
        last = self.part
        self.line, self.part = next(self.tokens, (self.line, ""))
        return last

    def skip_lines(self) -> None:
        while self.part == "\n":
            self.step()

    def document(self) -> dict[Path, int]:
        table: Path = ()
        self.skip_lines()
        while self.part:
            table = self.header() if self.part == "[" else table
            self.skip_lines()
            if self.part not in ("[", ""):
                self.pair(table)
                self.skip_lines()
        return self.lines

    def header(self) -> Path:
        """`[a.b]` or `[[a.b]]`: the path of the table that follows."""
        line = self.line
        self.step()
        several = self.part == "["
        if several:
            self.step()
        *first, last = self.keys()
        path = (*self.within((), *first), last)
        for _ in range(1 + several):
            self.step()
        if several:
            self.sizes[path] = self.sizes.get(path, 0) + 1
            path += (self.sizes[path] - 1,)
        self.lines.setdefault(path, line)
        return path if several else self.within(path[:-1], last)

    def within(self, path: Path, *keys: str) -> Path:
        """The path below: of an array of tables its last one is meant."""
        for key in keys:
            path += (key,)
            if path in self.sizes:
                path += (self.sizes[path] - 1,)
        return path

    def keys(self) -> list[str]:
        found = [_plain(self.step())]
        while self.part == ".":
            self.step()
            found.append(_plain(self.step()))
        return found

    def pair(self, table: Path) -> None:
        line = self.line
        path = table
        for key in self.keys():
            path += (key,)
            self.lines.setdefault(path, line)
        self.step()  # = or :
        self.value(path)

    def value(self, path: Path) -> None:
        self.skip_lines()
        self.lines.setdefault(path, self.line)
        if self.part in ("[", "{"):
            self.several(path, "]" if self.step() == "[" else "}")
            return
        while self.part not in ENDS:
            self.step()

    def several(self, path: Path, end: str) -> None:
        number = 0
        self.skip_lines()
        while self.part not in (end, ""):
            if self.part == ",":
                self.step()
            elif end == "]":
                self.value((*path, number))
                number += 1
            else:
                self.pair(path)
            self.skip_lines()
        self.step()


def _plain(key: str) -> str:
    if key[:1] not in ('"', "'"):
        return key
    return re.sub(r"\\u([0-9a-fA-F]{4})|\\(.)", _character, key[1:-1]) if "\\" in key else key[1:-1]


def _character(match: re.Match[str]) -> str:
    return chr(int(match[1], 16)) if match[1] else match[2]
