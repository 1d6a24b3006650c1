"""Which names a function binds, by Python's own rules for scopes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod import syntax

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
# Methods that change what they are called on.
CHANGING = frozenset(
    "append extend insert remove clear update add discard sort reverse pop popitem setdefault "
    "__setitem__ __delitem__ difference_update intersection_update appendleft extendleft popleft "
    "rotate symmetric_difference_update move_to_end subtract __iadd__ __imul__ __isub__ __iand__ "
    "__ior__ __ixor__".split()
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def own_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes and all below them, without the insides of functions and classes."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, _SCOPES):
            stack.extend(ast.iter_child_nodes(node))


def body_of(node: FunctionNode) -> list[ast.stmt]:
    """The statements of a function; a lambda is one `return`."""
    if isinstance(node, ast.Lambda):
        return [ast.copy_location(ast.Return(value=node.body), node.body)]
    return node.body


def parameters(node: FunctionNode) -> list[ast.arg]:
    """The named parameters that can be given by position or by keyword, in order."""
    return [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]


def bound_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that these nodes bind in the scope that they stand in."""
    return Bindings(nodes).names


class Bindings:
    """What one pass over a body tells: the names that it binds, `global` ones, whether it yields.

    Targets of comprehensions are left out: they live in a scope of their own.
    """

    __slots__ = ("globals", "names", "yields")

    def __init__(self, nodes: Iterable[ast.AST], parameters: Iterable[str] = ()) -> None:
        names, elsewhere, targets = set(parameters), set[str](), set[int]()
        self.globals: set[str] = set()
        self.yields = False
        for node in own_nodes(nodes):
            if isinstance(node, ast.Global):
                self.globals.update(node.names)
            elif isinstance(node, ast.Nonlocal):
                elsewhere.update(node.names)
            elif isinstance(node, ast.comprehension):
                targets.update(id(name) for name in ast.walk(node.target))
            elif isinstance(node, (ast.Yield, ast.YieldFrom)):
                self.yields = True
            elif id(node) not in targets:
                names.update(_binds(node))
        self.names = names - elsewhere - self.globals


def bindings_of(node: FunctionNode) -> Bindings:
    """The names that are local to a function, parameters included, and whether it yields."""
    arguments = [*parameters(node), node.args.vararg, node.args.kwarg]
    return Bindings(body_of(node), (a.arg for a in arguments if a is not None))


def _binds(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


class Writes:
    """What functions of a file change outside of themselves, by whom.

    `names` are bound through `global` and `nonlocal`, or changed in place (`STATE["x"] = …`);
    `attributes` are set on objects or classes.
    """

    __slots__ = ("attributes", "names")

    def __init__(self, tree: ast.AST) -> None:
        self.names: dict[str, set[ast.AST]] = {}
        self.attributes: dict[str, set[ast.AST]] = {}
        stack: list[tuple[ast.AST, ast.AST | None]] = [(tree, None)]
        while stack:  # every node of the file: this is most of what a walk of it costs
            node, function = stack.pop()
            kind = type(node)
            if kind in _WRITING and function is not None:
                self._take(node, function)
            if kind in _FUNCTIONS:
                function = node
            for field in node._fields:
                held = getattr(node, field)
                if type(held) is list:
                    stack += [(child, function) for child in held if type(child) not in _LEAVES]
                elif isinstance(held, ast.AST) and type(held) not in _LEAVES:
                    stack.append((held, function))

    def _take(self, node: ast.AST, function: ast.AST) -> None:
        if isinstance(node, (ast.Global, ast.Nonlocal)):
            for bound in node.names:
                self.names.setdefault(bound, set()).add(function)
        elif isinstance(node, ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                self.attributes.setdefault(node.attr, set()).add(function)
        elif (name := changed_in_place(node)) is not None:
            self.names.setdefault(name, set()).add(function)


_FUNCTIONS = frozenset({ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda})
_WRITING = frozenset(
    {ast.Global, ast.Nonlocal, ast.Attribute, ast.Subscript, ast.Call, ast.AugAssign}
)
_LEAVES = frozenset(
    {ast.Name, ast.Constant, ast.Load, ast.Store, ast.Del, ast.arg, ast.alias}
    | {str, int, bool, type(None)}
)


def changed_in_place(node: ast.AST) -> str | None:
    """The name whose value a node changes: `x[…] = …`, `x.update(…)`, `x += …`, else None."""
    held: ast.AST = node
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        held = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        held = node.func.value if node.func.attr in CHANGING else node
    elif isinstance(node, ast.AugAssign):
        held = node.target
    return held.id if isinstance(held, ast.Name) and held is not node else None


def functions_in_order(tree: ast.AST) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """All `def`s of a file in the order in which they stand."""
    found = [
        n for n in syntax.nodes(tree) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    return sorted(found, key=lambda n: (n.lineno, n.col_offset))
