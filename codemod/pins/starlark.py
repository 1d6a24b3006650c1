"""Bazel: MODULE.bazel, WORKSPACE and .bzl files, whose language Python's own parser reads."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from codemod.pins import tables
from codemod.pins.model import Pin, Source, SourceKind
from codemod.pins.nodes import Node, collected, python
from codemod.pins.requirement import COMMIT, is_jax, source_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pins

REPOSITORIES = ("remote", "url", "urls")
REVISIONS = ("commit", "tag", "branch", "version")
NAMES = ("module_name", "name")


def collect(data: bytes) -> Pins:
    """The repositories and archives called jax, and constants that hold a commit of it."""
    return collected(data, python, _read)


def _read(root: Node) -> Iterator[Pin | None]:
    nodes: list[Any] = root.array()
    constants: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            constants[node.targets[0].id] = node.value
    told = False
    for node in nodes:
        if isinstance(node, ast.Call) and (pin := _called(node, constants, root)):
            told = True
            yield pin
    for name, value in () if told else constants.items():
        text = _text(value, constants)
        if re.fullmatch(r"(?i)_?jax_(?:commit|sha|rev|revision)", name) and text:
            at = Node(text, value.lineno, root.document)
            place = Source(kind=SourceKind.GIT, ref=text, moving=not re.fullmatch(COMMIT, text))
            yield tables.pin("jax", at, place)


def _called(call: ast.Call, constants: dict[str, ast.expr], root: Node) -> Pin | None:
    """The pin that a call such as `http_archive` or `git_override` makes."""
    given = {word.arg: word.value for word in call.keywords if word.arg}
    texts = {key: _texts(value, constants) for key, value in given.items()}
    label = next((texts[key][0] for key in NAMES if texts.get(key)), "")
    place = _place(texts)
    if place is None or not (tables.named(label) or is_jax(place)):
        return None
    patches = texts.get("patches", []) + texts.get("patch_file", [])
    if "patches" in given and not patches:
        patches = ["patches that are not read"]
    at = next(given[key] for key in (*NAMES, *REPOSITORIES) if key in given)
    return Pin(
        line=at.lineno,
        text=root.document.written(Node(place.url, at.lineno, root.document)),
        source=place,
        unsure=f"changed by {', '.join(patches)}: read what they do" if patches else "",
    )


def _place(texts: dict[str, list[str]]) -> Source | None:
    urls = [url for key in REPOSITORIES for url in texts.get(key, ())]
    if not urls:
        return None
    ref = next((texts[key][0] for key in REVISIONS if texts.get(key)), "")
    if "remote" not in texts and not ref:
        return next(filter(is_jax, map(source_of, urls)), source_of(urls[0]))
    moving = re.fullmatch(COMMIT, ref) is None
    return Source(kind=SourceKind.GIT, url=urls[0], ref=ref, moving=moving)


def _texts(value: ast.expr, constants: dict[str, ast.expr]) -> list[str]:
    """The texts of a list, of one text, or of what a function such as a mirror is given."""
    if text := _text(value, constants):
        return [text]
    if isinstance(value, ast.Call):
        return [text for each in value.args for text in _texts(each, constants)]
    elements = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    return [text for each in elements for text in _texts(each, constants)]


def _text(value: ast.expr, constants: dict[str, ast.expr], depth: int = 0) -> str:
    """A text that is known: a constant, a sum, `format` and `%`; empty for all else."""

    def of(node: ast.expr) -> str:
        return _text(node, constants, depth + 1)

    if depth > 20:  # a constant of itself
        return ""
    match value:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in constants:
            return of(constants[name])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return of(left) + of(right)
        case ast.BinOp(left=left, op=ast.Mod(), right=right):
            parts = right.elts if isinstance(right, ast.Tuple) else [right]
            return _replaced(r"%s", of(left), [of(part) for part in parts])
        case ast.Call(func=ast.Attribute(value=left, attr="format"), args=args, keywords=keywords):
            text = _replaced(r"\{\d*\}", of(left), list(map(of, args)))
            for word in keywords:
                text = text.replace("{" + str(word.arg) + "}", of(word.value))
            return text
    return ""


def _replaced(pattern: str, text: str, values: list[str]) -> str:
    rest = iter(values)
    return re.sub(pattern, lambda _: next(rest, ""), text)
