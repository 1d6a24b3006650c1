"""setup.cfg and setup.py: https://setuptools.pypa.io/en/latest/userguide/declarative_config.html."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from codemod.pins.model import Follow, Pin, Unread
from codemod.pins.nodes import Document, Malformed, Node, collected
from codemod.pins.requirement import read
from codemod.pins.requirements import of_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pins

LISTS = ("install_requires", "setup_requires", "tests_require", "extras_require")
BEGINS = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?:[ \t\r]*(?:[#;][^\n]*)?\n)*[ \t]*\[")
HEADER = re.compile(r"^\[([^\]]+)\]")
KEY = re.compile(r"^([^\s=:#;\[][^=:]*?)\s*[=:]\s*(.*)$")


def collect(data: bytes) -> Pins:
    """The requirements of jax: of a configuration by its keys, of a program by its lists."""
    if BEGINS.match(data.replace(b"\0", b"")):
        return collected(data, _lines, _configured)
    return collected(data, _parsed, _programmed)


def _lines(text: str) -> Node:
    document = Document(text.split("\n"))
    lines = enumerate(document.lines, 1)
    return Node([Node(line.rstrip(), number, document) for number, line in lines], 1, document)


def _configured(root: Node) -> Iterator[Pin | Unread | Follow]:
    section = key = ""
    for line in root.array():
        text = str(line.value)
        if header := HEADER.match(text):
            section, key = header[1].strip(), ""
        elif found := KEY.match(text):
            key, text = found.groups()
        if text.strip().startswith(("#", ";")) or text.startswith("["):
            continue
        if section == "options.extras_require" or (section == "options" and key in LISTS):
            yield from _listed(line.line, text.strip())


def _listed(number: int, text: str) -> Iterator[Pin | Unread | Follow]:
    if text.startswith("file:"):
        for name in text.removeprefix("file:").split(","):
            yield Follow(line=number, target=name.strip())
        return
    yield from of_line(number, re.sub(r"\s+#.*$", "", text))


def _parsed(text: str) -> Node:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise Malformed(line, f"not Python: {error.args[0]}") from error
    return Node(list(ast.walk(tree)), 1, Document(text.split("\n")))


def _programmed(root: Node) -> Iterator[Pin | Unread]:
    """The texts in the lists, and in what is assigned to a name that is given as one of them."""
    nodes: list[Any] = root.array()
    assigned: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    assigned.setdefault(target.id, []).append(node.value)
    pending = [
        word.value
        for node in nodes
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg in LISTS
    ]
    done: set[int] = set()
    while pending:
        value = pending.pop(0)
        for node in () if id(value) in done else ast.walk(value):
            if isinstance(node, ast.Name):
                pending += assigned.get(node.id, ())
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from _required(node, node.value)
        done.add(id(value))


def _required(node: ast.Constant, text: str) -> Iterator[Pin | Unread]:
    for line in text.splitlines():
        if re.match(r"(?i)\s*jax\b(?!-)", line):
            found = read(node.lineno, line.strip())
            if found is not None:
                yield found
