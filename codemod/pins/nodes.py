"""TOML, JSON and YAML files as one kind of tree that knows its lines, and pins gathered from it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from codemod.pins.model import Follow, Pin, Pins, Unread
from codemod.pins.text import decoded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codemod.pins.positions import Path

LONGEST = 240  # characters of lines that are shown as they are: some files are one long line


class Malformed(Exception):  # noqa: N818 - it is what the file is
    """The file is not of its format: the line, None if it is not known, and why."""

    def __init__(self, line: int | None, why: str) -> None:
        super().__init__(line, why)
        self.line, self.why = line, why


@dataclass(slots=True, eq=False)
class Document:
    """A text with its tree, and what in that is not of the shape that it should have."""

    lines: list[str]
    odd: list[Unread] = field(default_factory=list)

    def written(self, *nodes: Node) -> str:
        """The lines of the file that these values begin on, as one; empty if that is too long."""
        numbers = sorted({node.line for node in nodes if node.there})
        text = " ".join(" ".join(self.lines[n - 1].split()) for n in numbers)
        return text if len(text) <= LONGEST else ""


@dataclass(slots=True, eq=False)
class Node:
    """A value with the 1-based line that it, or the key before it, begins on.

    What is not there is a node too, an empty one, so that a path is followed without asking.
    """

    value: object
    line: int
    document: Document

    @property
    def there(self) -> bool:
        """Whether the file has it."""
        return self.value is not None

    def at(self, *keys: str) -> Node:
        """The value below these keys."""
        node = self
        for key in keys:
            node = node.table().get(key) or Node(None, node.line, self.document)
        return node

    def table(self) -> dict[str, Node]:
        """The keys and values of a table; what is something else is noted, and empty."""
        if isinstance(self.value, dict):
            return self.value
        self._odd("a table")
        return {}

    def array(self) -> list[Node]:
        """The elements of an array; what is something else is noted, and empty."""
        if isinstance(self.value, list):
            return self.value
        self._odd("an array")
        return []

    def several(self) -> list[Node]:
        """The elements of an array; what is no array as the only one, nothing as none."""
        if isinstance(self.value, list):
            return self.value
        return [self] if self.there else []

    def entry(self, key: str) -> Node:
        """A table; a text in its place stands for a table with that text below this key."""
        return Node({key: self}, self.line, self.document) if self.text() else self

    def text(self) -> str:
        """A text, or a number as one; empty for all else."""
        plain = isinstance(self.value, str | int | float) and not isinstance(self.value, bool)
        return str(self.value).strip() if plain else ""

    def _odd(self, wanted: str) -> None:
        if self.there:
            self.document.odd.append(Unread(line=self.line, why=f"is not {wanted}"))


def collected(
    data: bytes,
    parse: Callable[[str], Node],
    read: Callable[[Node], Iterable[Pin | Unread | Follow | None]],
) -> Pins:
    """The pins that `read` finds in the tree that `parse` makes. Never raises.

    A file without the three letters is not even parsed: most files of a tree are so.
    """
    if not re.search(rb"(?i)j\0*a\0*x", data):
        return Pins()
    try:
        root = parse(decoded(data))
        found = list(read(root))
    except UnicodeDecodeError as error:
        return Pins(unread=(Unread(line=None, why=f"cannot be decoded: {error}"),))
    except Malformed as error:
        return Pins(unread=(Unread(line=error.line, why=error.why),))
    except RecursionError:
        return Pins(unread=(Unread(line=None, why="is nested too deeply"),))
    return gathered([*found, *root.document.odd])


def gathered(found: Iterable[Pin | Unread | Follow | None]) -> Pins:
    """The same by kind, the pins in the order of their lines."""
    every = list(found)
    return Pins(
        rows=tuple(sorted((p for p in every if isinstance(p, Pin)), key=lambda pin: pin.line)),
        unread=tuple(one for one in every if isinstance(one, Unread)),
        follows=tuple(one for one in every if isinstance(one, Follow)),
    )


def toml(text: str) -> Node:
    """The tree of a TOML text. Raises Malformed."""
    import tomllib

    from codemod.pins.positions import of_toml

    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise Malformed(int(line[1]) if line else None, f"not TOML: {error}") from error
    return _tree(content, of_toml(text), text)


def json(text: str) -> Node:
    """The tree of a JSON text. Raises Malformed."""
    import json as library

    from codemod.pins.positions import of_json

    try:
        content = library.loads(text)
    except library.JSONDecodeError as error:
        raise Malformed(error.lineno, f"not JSON: {error.msg}") from error
    return _tree(content, of_json(text), text)


def lines(text: str) -> Node:
    """The lines of a text, with their indentation, as an array."""
    document = Document(text.split("\n"))
    numbered = enumerate(document.lines, 1)
    return Node([Node(line.rstrip(), number, document) for number, line in numbered], 1, document)


def python(text: str) -> Node:
    """All nodes of a Python program, or of Starlark, as `ast` has them. Raises Malformed."""
    import ast

    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise Malformed(line, f"not Python: {error.args[0]}") from error
    return Node(list(ast.walk(tree)), 1, Document(text.split("\n")))


def yaml(text: str) -> Node:
    """The documents of a YAML text, as an array; every scalar is a text. Raises Malformed."""
    import yaml as library

    loader = getattr(library, "CSafeLoader", library.SafeLoader)
    try:
        roots = list(library.compose_all(text, loader))
    except library.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Malformed(mark and mark.line + 1, f"not YAML: {why}") from error
    graph = _Graph(Document(text.split("\n")))
    return Node([graph.node(root) for root in roots], 1, graph.document)


class _Graph:
    """Nodes of YAML as ours: what several aliases stand for is made once, and never copied."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.made: dict[int, object] = {}

    def node(self, given: Any, line: int = 0) -> Node:
        """A node of the library as ours; it may be found again within itself."""
        line = line or given.start_mark.line + 1
        if id(given) not in self.made:
            self.made[id(given)] = self._value(given)
        return Node(self.made[id(given)], line, self.document)

    def _value(self, given: Any) -> object:
        if isinstance(given.value, str):
            empty = given.style is None and given.value in ("", "~", "null")
            return None if empty else given.value
        if given.tag.endswith(":map"):
            table: dict[str, Node] = {}
            self.made[id(given)] = table
            for key, value in given.value:
                if isinstance(key.value, str):
                    table[key.value] = self.node(value, key.start_mark.line + 1)
            return table
        array: list[Node] = []
        self.made[id(given)] = array
        array.extend(map(self.node, given.value))
        return array


def _tree(content: object, lines: dict[Path, int], text: str) -> Node:
    document = Document(text.split("\n"))

    def node(value: object, path: Path, line: int) -> Node:
        line = lines.get(path, line)
        made: object = value
        if isinstance(value, dict):
            made = {key: node(each, (*path, key), line) for key, each in value.items()}
        elif isinstance(value, list):
            made = [node(each, (*path, at), line) for at, each in enumerate(value)]
        return Node(made, line, document)

    return node(content, (), 1)
