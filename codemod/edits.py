"""The small libcst edits that patches are made of: find a statement again, put a guard in.

What to edit is found with `ast`, by meaning. libcst's tree has the same statements in the same
order, so a statement is handed over by its place among all of its kind. Only the blocks around
it are made anew, which keeps a rewrite at a few milliseconds. libcst is imported inside the
functions: deciding must not pay for rewriting.
"""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from codemod.reach import VARIABLE, FunctionNode, bindings_of, bound_names, functions_in_order
from codemod.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import libcst as cst

    Path = tuple[tuple[cst.CSTNode, str, int | None], ...]  # parent, its field, index in it

_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")  # in the order of the source


@lru_cache(maxsize=4)
def source_of(module: cst.Module) -> bytes:
    """The source of a libcst module; kept, as printing it costs as much as parsing it."""
    return bytes(module.bytes)


@lru_cache(maxsize=4)
def tree_of(module: cst.Module) -> ast.Module:
    """The syntax tree of a libcst module, as Python itself reads it."""
    return parse(source_of(module))


def place(tree: ast.Module, node: ast.AST) -> int:
    """The place of a statement among all of its kind, in the order of the source."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return functions_in_order(tree).index(node)
    return _in_order(tree, type(node)).index(node)


def _in_order(tree: ast.Module, kind: type[ast.AST]) -> list[Any]:
    alike: list[Any] = [found for found in ast.walk(tree) if isinstance(found, kind)]
    return sorted(alike, key=lambda found: (found.lineno, found.col_offset))


def counterpart(before: ast.Module, node: FunctionNode, after: ast.Module) -> FunctionNode:
    """The same function after an edit that added and removed none of its kind."""
    if isinstance(node, ast.Lambda):
        found: ast.Lambda = _in_order(after, ast.Lambda)[place(before, node)]
        return found
    return functions_in_order(after)[place(before, node)]


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
    for node in ast.walk(tree):
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


def guard(spelling: str, quote: str, *, is_set: bool) -> str:
    """The source of the test whether the variable is set, or is not."""
    return f"{spelling}({quote}{VARIABLE}{quote}) is {'not ' if is_set else ''}None"


def is_in(node: ast.AST, statements: Iterable[ast.AST]) -> bool:
    """Whether a node is somewhere in one of these."""
    return any(found is node for statement in statements for found in ast.walk(statement))


def is_one_line(function: FunctionNode) -> bool:
    """Whether a function has its body on the line of its `def`."""
    return not isinstance(function, ast.Lambda) and function.body[0].lineno == function.lineno


def early_return(
    module: cst.Module,
    tree: ast.Module,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    test: str,
    value: str,
    *,
    before: ast.stmt | None = None,
) -> cst.Module:
    """The module with `if test: return value` in a function.

    It stands in front of `before`, one of the function's own statements, else after the
    docstring. `os` is imported there too if the test needs it and the function has it not.
    """
    import libcst as cst

    lines = [f"if {test}:\n    return {value}\n"]
    if _needs_import(tree, function, test):
        lines.insert(0, "import os\n")
    skipped = function.body.index(before) if before else int(_has_docstring(function))

    def edit(node: cst.FunctionDef) -> cst.FunctionDef:
        return _lines_after(node, skipped, lines)

    return change(module, cst.FunctionDef, place(tree, function), edit)


def _has_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(function) is not None


def _needs_import(tree: ast.Module, function: FunctionNode, test: str) -> bool:
    """Whether `os` has to be imported first: it is not at all, or only later in the function."""
    root = test.partition(".")[0]
    if root != "os":
        return False
    return root not in bound_names(tree.body) or root in bindings_of(function).names


def _lines_after(function: cst.FunctionDef, skipped: int, lines: list[str]) -> cst.FunctionDef:
    """The function with statements after the first `skipped` of its own.

    Each of `lines` is the source of a statement that may span several lines, indented by four
    blanks inside; it takes the function's own indentation and newline.
    """
    import libcst as cst

    block = function.body
    if not isinstance(block, cst.IndentedBlock):
        message = "the function has no block of its own"
        raise LookupError(message)  # noqa: TRY004 - a shape that is not there
    added = [_in_style(cst.parse_statement(line), block) for line in lines]
    after, count = 0, 0
    while count < skipped:
        held = block.body[after]
        count += len(held.body) if isinstance(held, cst.SimpleStatementLine) else 1
        after += 1
    body = [*block.body[:after], *added, *block.body[after:]]
    return function.with_changes(body=block.with_changes(body=body))


def conditional(
    module: cst.Module, tree: ast.Module, function: FunctionNode, test: str, value: str
) -> cst.Module | None:
    """The module with `value if test else …` in a one-line function or a lambda.

    None where the function is neither, or its line is not one `return`.
    """
    import libcst as cst

    if _needs_import(tree, function, test):
        return None
    condition, instead = cst.parse_expression(test), cst.parse_expression(value)

    def choice(otherwise: Any) -> cst.IfExp:
        if isinstance(otherwise, (cst.Tuple, cst.Yield)) and not otherwise.lpar:
            raise LookupError("its one line returns more than one value")
        return cst.IfExp(test=condition, body=instead, orelse=otherwise)

    if isinstance(function, ast.Lambda):
        return _change_lambda(module, tree, function, choice)
    returned = function.body[-1]
    if not is_one_line(function) or not isinstance(returned, ast.Return):
        return None
    return change(
        module,
        cst.Return,
        place(tree, returned),
        lambda node: node.with_changes(value=choice(node.value)),
    )


def _change_lambda(
    module: cst.Module, tree: ast.Module, function: ast.Lambda, edit: Callable[[Any], Any]
) -> cst.Module | None:
    """The module with the body of a lambda edited that is assigned to a name."""
    import libcst as cst

    assigned = next((n for n in ast.walk(tree) if getattr(n, "value", None) is function), None)
    if not isinstance(assigned, ast.Assign):
        return None

    def in_lambda(node: Any) -> Any:
        return node.with_changes(value=node.value.with_changes(body=edit(node.value.body)))

    return change(module, cst.Assign, place(tree, assigned), in_lambda)


def _in_style(statement: Any, block: cst.IndentedBlock) -> Any:
    """A parsed statement with the newlines and the indentation of a block of the file."""
    import libcst as cst

    end = cst.TrailingWhitespace(newline=block.header.newline)
    if isinstance(statement, cst.SimpleStatementLine):
        return statement.with_changes(trailing_whitespace=end)
    inner = [_in_style(held, block) for held in statement.body.body]
    body = statement.body.with_changes(body=inner, header=end, indent=block.indent)
    return statement.with_changes(body=body)
