"""What edits are made of: find a statement of Python's tree in libcst's, and change it there.

What to edit is found with `ast`, by meaning. libcst's tree has the same statements in the same
order, so a statement is handed over by its place among all of its kind. Only the blocks around
it are made anew, which keeps a rewrite at a few milliseconds. libcst is imported inside the
functions: deciding must not pay for rewriting.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from codemod import reach
from codemod.syntax import nodes, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import libcst as cst

    from codemod.reach import FunctionNode

    Path = tuple[tuple[cst.CSTNode, str, int | None], ...]  # parent, its field, index in it

_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")  # in the order of the source


_given: list[tuple[cst.Module, bytes, ast.Module]] = []  # what the last module was parsed from


@lru_cache(maxsize=4)
def source_of(module: cst.Module) -> bytes:
    """The source of a libcst module; kept, as printing it costs as much as parsing it."""
    given = next((source for parsed, source, _ in _given if parsed is module), None)
    return bytes(module.bytes) if given is None else given


@lru_cache(maxsize=4)
def tree_of(module: cst.Module) -> ast.Module:
    """The syntax tree of a libcst module, as Python itself reads it."""
    given = next((tree for parsed, _, tree in _given if parsed is module), None)
    return parse(source_of(module)) if given is None else given


def give(module: cst.Module, source: bytes, tree: ast.Module) -> None:
    """Tell of a module what it was parsed from, where it is known to give that back unchanged."""
    _given[:] = [(module, source, tree)]


def place(tree: ast.Module, node: ast.AST) -> int:
    """The place of a statement among all of its kind, in the order of the source."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return reach.functions_in_order(tree).index(node)
    return _in_order(tree, type(node)).index(node)


def _in_order(tree: ast.Module, kind: type[ast.AST]) -> list[Any]:
    alike: list[Any] = [found for found in nodes(tree) if isinstance(found, kind)]
    return sorted(alike, key=lambda found: (found.lineno, found.col_offset))


def counterpart(before: ast.Module, node: FunctionNode, after: ast.Module) -> FunctionNode:
    """The same function after an edit that added and removed none of its kind."""
    if isinstance(node, ast.Lambda):
        found: ast.Lambda = _in_order(after, ast.Lambda)[place(before, node)]
        return found
    return reach.functions_in_order(after)[place(before, node)]


def change(
    module: cst.Module,
    kind: type[cst.CSTNode],
    position: int,
    edit: Callable[[Any], cst.CSTNode],
) -> cst.Module:
    """The module with one statement edited: the one at that place among those of its kind."""
    matching = (step for step in _statements(module, ()) if isinstance(step[0], kind))
    for count, (node, path) in enumerate(matching):
        if count == position:
            rebuilt: cst.Module = _rebuilt(edit(node), path)
            return rebuilt
    message = f"libcst sees no {kind.__name__} number {position + 1} in this file"
    raise LookupError(message)


def _statements(node: cst.CSTNode, path: Path) -> Iterator[tuple[cst.CSTNode, Path]]:
    """All statements and blocks with the way to each, a node before what is in it."""
    yield node, path
    for field in _BLOCKS:
        held = getattr(node, field, None)
        if isinstance(held, (list, tuple)):
            for index, child in enumerate(held):
                yield from _statements(child, (*path, (node, field, index)))
        elif held is not None and not _is_expression(held):
            yield from _statements(held, (*path, (node, field, None)))


def _is_expression(node: object) -> bool:
    import libcst as cst

    return isinstance(node, cst.BaseExpression)


def _rebuilt(node: cst.CSTNode, path: Path) -> Any:
    """The blocks around a node, from the inside out, with the node in its place."""
    for parent, field, index in reversed(path):
        held: object = node
        if index is not None:
            items = list(getattr(parent, field))
            items[index] = node
            held = items
        node = parent.with_changes(**{field: held})
    return node


def quote_of(tree: ast.Module, source: bytes) -> str:
    """The file's own quote: a double one, unless it has strings and none has that."""
    lines = source.splitlines()
    quotes = set()
    for node in nodes(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = lines[node.lineno - 1][node.col_offset :].lstrip(b"rRbBuUfF")
            if not text.startswith((b'"""', b"'''")):
                quotes.add(text[:1])
    return "'" if b"'" in quotes and b'"' not in quotes else '"'


def environment_spellings(tree: ast.Module, function: ast.AST) -> list[str]:
    """The ways to look up the environment that a function has: `os.environ.get`, `_os.getenv`, …

    Those that the function itself uses come first, then those that the file's imports allow.
    Whoever uses one has the result proved: a name may have been bound to something else.
    """
    used = [_used_spelling(node) for node in ast.walk(function)]
    imported = [spelling for node in tree.body for spelling in _imported_spellings(node)]
    found = [spelling for spelling in used if spelling is not None]
    return list(dict.fromkeys([*found, *imported, "os.environ.get"]))


def _used_spelling(node: ast.AST) -> str | None:
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("getenv"):
        return ast.unparse(node.func)
    if isinstance(node, (ast.Attribute, ast.Name)) and _name(node) == "environ":
        return f"{ast.unparse(node)}.get"
    return None


def _imported_spellings(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.name == "os":
                yield f"{alias.asname or 'os'}.environ.get"
    elif isinstance(node, ast.ImportFrom) and node.module == "os" and not node.level:
        for alias in node.names:
            if alias.name in ("environ", "getenv"):
                yield (alias.asname or alias.name) + (".get" if alias.name == "environ" else "")


def _name(node: ast.Attribute | ast.Name) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id


def is_in(node: ast.AST, statements: Iterable[ast.AST]) -> bool:
    """Whether a node is somewhere in one of these."""
    return any(found is node for statement in statements for found in ast.walk(statement))


def is_one_line(function: FunctionNode) -> bool:
    """Whether a function has its body on the line of its `def`."""
    return not isinstance(function, ast.Lambda) and function.body[0].lineno == function.lineno
