"""setup.cfg and setup.py: https://setuptools.pypa.io/en/latest/userguide/declarative_config.html."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from codemod.pins.model import Follow, Pin, Unread
from codemod.pins.nodes import Node, collected, lines, python
from codemod.pins.requirement import read
from codemod.pins.requirements import of_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pins

LISTS = ("install_requires", "setup_requires", "tests_require", "extras_require")
BEGINS = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?:[ \t\r]*(?:[#;][^\n]*)?\n)*[ \t]*\[")
HEADER = re.compile(r"^\[([^\]]+)\]")
REQUIREMENT = r"(?i)jax(?![\w.-]).*|.+@\s*git\+.+/jax\b.*"
PINNED = r"(?i)jax\s*(?:\[[^\]]*\])?\s*[=<>!~@].+|[\w.-]+\s*@\s*git\+.+/jax\b.*"
KEY = re.compile(r"^([^\s=:#;\[][^=:]*?)\s*[=:]\s*(.*)$")


def collect(data: bytes) -> Pins:
    """The requirements of jax: of a configuration by its keys, of a program by its lists."""
    if BEGINS.match(data.replace(b"\0", b"")):
        return collected(data, lines, _configured)
    return collected(data, python, _programmed)


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


def _programmed(root: Node) -> Iterator[Pin | Unread]:
    """What is given as a list of requirements, and whatever else in the file reads as a pin.

    A list may be built in many ways before it is given, so every text counts that is a
    requirement of jax with a version or a URL; the bare name counts only in a list.
    """
    nodes: list[Any] = root.array()
    listed = {id(text) for text in _listed_texts(nodes)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for line in node.value.splitlines():
                yield from _required(node.lineno, line.strip(), bare=id(node) in listed)


def _listed_texts(nodes: list[Any]) -> Iterator[ast.AST]:
    """The texts in the lists that are given, or assigned to a name that is; keys are none."""
    assigned: dict[str, list[ast.expr]] = {}
    pending: list[ast.AST] = []
    for node in nodes:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Name):
                assigned.setdefault(target.id, []).append(node.value)
        if isinstance(node, ast.keyword) and node.arg in LISTS:
            pending.append(node.value)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, ast.Name):
            pending += assigned.pop(node.id, ())  # once: a list may be made of itself
        elif isinstance(node, ast.Dict):
            pending += node.values
        else:
            pending += ast.iter_child_nodes(node)


def _required(line: int, text: str, *, bare: bool) -> Iterator[Pin | Unread]:
    if re.fullmatch(REQUIREMENT if bare else PINNED, text):
        found = read(line, text)
        if found is not None:
            yield found
