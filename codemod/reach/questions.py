"""Questions to one file: what its functions do in one world or another."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach.base import MODULE
from codemod.reach.scopes import parameters
from codemod.reach.state import (
    GO,
    MAYBE,
    NOT,
    RAISE,
    RETURN,
    SURE,
    State,
    World,
    variable_in,
)
from codemod.reach.values import Class, Function, Instance, Text, Value, inert
from codemod.reach.walker import Walker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemod.reach.scopes import FunctionNode


class Answer:
    """What one function does in one world, over all its paths.

    `reach` is NOT, MAYBE (through something unknown, or on some paths only) or SURE (on every
    path). `possible` is the most that any path reaches. `raises` holds the names of the
    exceptions that surely end a path, `returns` what the others return. `key` is the name of
    the parameter that takes the key, None where there is not exactly one that could.
    """

    __slots__ = ("key", "looked", "node", "possible", "raises", "reach", "returns", "trail")

    def __init__(
        self,
        function: Function,
        paths: Sequence[State],
        looked: dict[int, ast.AST],
    ) -> None:
        reached = [
            path.reached for path in paths if path.flow != RAISE or path.reached or path.certain
        ]
        self.node = function.node
        self.key = _key_name(function)
        self.possible = max(reached, default=NOT)
        self.reach = SURE if reached and min(reached) == SURE else min(self.possible, MAYBE)
        self.raises = sorted({_name(p) for p in paths if p.flow == RAISE and p.certain})
        self.returns = [path.value for path in paths if path.flow == RETURN]
        self.trail = next((path.trail for path in paths if path.reached == self.possible), ())
        self.looked = looked

    def returns_none(self) -> bool:
        """Whether the function surely returns None."""
        return bool(self.returns) and all(value.is_none() for value in self.returns)


def _key_name(function: Function) -> str | None:
    taken = parameters(function.node)[function.bound is not None :]
    stars = function.node.args.vararg or function.node.args.kwarg
    return taken[0].arg if len(taken) == 1 and not stars else None


def _name(path: State) -> str:
    return path.exception.__name__ if path.exception else "an exception"


class File:
    """One file, its own statements run once, its functions asked in many worlds.

    `names` gives values to names that the file imports (by their last part), `environment` to
    variables of the environment other than TPU_SKIP_MDS_QUERY (None: not set), `results` to
    calls of the file's functions, which are then not walked. Raises `TooManyPaths`.
    """

    def __init__(
        self,
        tree: ast.Module,
        *,
        names: dict[str, object] | None = None,
        environment: dict[str, str | None] | None = None,
        results: dict[str, object] | None = None,
    ) -> None:
        self._known = World(None, names=names, environment=environment, results=results)
        self._walker = Walker(self._known)
        self._states = self._run(tree)

    def _run(self, tree: ast.Module) -> list[State]:
        """The file's own statements: one state for each way that they may go."""
        walker = self._walker
        walker.importing = True
        start = State(inert())  # what the environment holds at import is not what it holds later
        states = [state for state in walker.run(tree.body, start) if state.flow == GO]
        walker.importing = False
        for state in states:
            state.reached, state.trail = NOT, ()
        return states

    def ask(
        self, functions: Iterable[str], skip: str | None, *, key: str | None = "absent"
    ) -> dict[FunctionNode, Answer]:
        """Walk every live function of one of these names, of the file or of a class of it.

        A definition that a later one replaces is not live. `skip` is the value of
        TPU_SKIP_MDS_QUERY, None where it is not set. `key` says what the environment holds
        under the name that is the first argument: `absent`, `empty` or `present`; None for
        functions without such an argument. Raises `TooManyPaths` past the budget.
        """
        walker = self._walker
        walker.start_over(self._known.changed(skip, key or "absent"))
        arguments: list[Value] = [Text(Text.KEY)] if key else []
        paths: dict[FunctionNode, tuple[Function, list[State]]] = {}
        for state in self._states:
            for function in _live(state, functions):
                start = state.copy()
                start.skip = variable_in(walker.world)
                call = ast.copy_location(ast.Name(id="_", ctx=ast.Load()), function.node)
                for path, value in walker.call(function, [*arguments], {}, call, start):
                    ended = path if path.flow != GO else path.leaves(RETURN, value)
                    paths.setdefault(function.node, (function, []))[1].append(ended)
        looked = walker.looked
        return {node: Answer(function, ways, looked) for node, (function, ways) in paths.items()}

    def values_of(self, names: Iterable[str]) -> list[Value]:
        """What these names of the file stand for, functions or not."""
        return [s.heap[MODULE, n] for s in self._states for n in names if (MODULE, n) in s.heap]


def _live(state: State, names: Iterable[str]) -> list[Function]:
    """The functions that these names stand for when the file has been imported."""
    found: list[Value | None] = []
    classes = {id(v): v for v in state.heap.values() if isinstance(v, Class)}.values()
    for name in names:
        found.append(state.heap.get((MODULE, name)))
        found += [_method(state.heap.get((cls.scope, name)), cls) for cls in classes]
    functions = [value for value in found if isinstance(value, Function)]
    return list({function.node: function for function in functions}.values())


def _method(value: Value | None, cls: Class) -> Value | None:
    if not isinstance(value, Function):
        return value
    return value.binding(cls if value.kind == Function.CLASS else Instance(cls))
