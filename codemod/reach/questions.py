"""Questions to one file: what its functions do in one world or another."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment
from codemod.reach.base import MODULE, inherited
from codemod.reach.scopes import FunctionNode, Writes, parameters
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
from codemod.reach.values import (
    Class,
    Const,
    External,
    Function,
    Instance,
    Opaque,
    Text,
    Value,
    inert,
)
from codemod.reach.walker import Walker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Answer:
    """What one function does in one world, over all its paths.

    `reach` is NOT, MAYBE (through something unknown, or on some paths only) or SURE (on every
    path). `possible` is the most that any path reaches. `raises` holds the names of the
    exceptions that surely end a path, `returns` what the others return, `quiet` what those of
    them return that surely do not ask. Without any of these `ends` is false: it asks, or never
    comes back. `key` is the name of the parameter that takes
    the key, None where there is not exactly one that could.
    """

    __slots__ = (
        "ends",
        "key",
        "looked",
        "node",
        "possible",
        "quiet",
        "raises",
        "reach",
        "returns",
        "trail",
    )

    def __init__(
        self,
        function: Function,
        first: Sequence[State],
        later: Sequence[State],
        looked: dict[int, ast.AST],
    ) -> None:
        """`first` are the paths of a first call, `later` those of any call after it."""
        paths = [*first, *later]
        reached = [path.reached for path in first if path.reached or not _is_doubtful(path)]
        self.node = function.node
        self.key = _key_name(function)
        self.possible = max((path.reached for path in paths), default=NOT)
        self.reach = SURE if reached and min(reached) == SURE else min(self.possible, MAYBE)
        self.raises = sorted(
            {_name(p) for p in paths if p.flow == RAISE and p.certain and not p.unlikely}
        )
        back = [path for path in paths if path.flow == RETURN]
        self.returns = [path.value for path in back]
        self.quiet = [path.value for path in back if path.reached == NOT]
        self.ends = bool(self.returns or self.raises)
        self.trail = next((path.trail for path in paths if path.reached == self.possible), ())
        self.looked = looked

    def returns_none(self) -> bool:
        """Whether the function surely returns None."""
        return bool(self.returns) and all(value.is_none() for value in self.returns)


def _is_doubtful(path: State) -> bool:
    """Whether it is not known that the path is ever taken, and it proves nothing."""
    return path.unlikely or (path.flow == RAISE and not path.certain)


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
        self._writes = Writes(tree)
        self._walker = Walker(self._known, self._writes)
        # What the environment holds at import is not what it holds later, unless it was changed.
        self._untouched = inert()
        self._states = self._run(tree)

    def _run(self, tree: ast.Module) -> list[State]:
        """The file's own statements: one state for each way that they may go."""
        walker = self._walker
        start = State(self._untouched)
        states = [state for state in walker.run(tree.body, start) if state.flow == GO]
        walker.importing = False
        # The call that surely asks while the file is imported, if there is one.
        self.asks_at_import = next((s.trail[0] for s in states if s.reached == SURE), None)
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
        self._walker.start_over(self._known.changed(skip, key))
        names = [*functions]
        first, later = self._walk(names, key, self._states), Walked()
        entered = {*self._walker.entered}
        if set_elsewhere := self._places(lambda writers: bool(writers - entered)):
            first = self._walk(names, key, _forgotten(self._states, set_elsewhere))
        if (set_anywhere := self._places(bool)) or first.changed or first.left:
            states = [*_forgotten(self._states, set_anywhere)]
            later = self._walk(names, key, _called_once(states, first))
        looked = self._walker.looked
        return {
            node: Answer(function, paths, later.get(node, (function, []))[1], looked)
            for node, (function, paths) in first.items()
        }

    def _walk(self, names: Sequence[str], key: str | None, states: Iterable[State]) -> Walked:
        """The paths of each function of these names, from each state of the file."""
        walker = self._walker
        found = Walked()
        for state in states:
            for function in _live(state, names):
                start = state.copy()
                if start.skip is self._untouched:
                    start.skip, start.wrote_key = variable_in(walker.world), ()
                call = ast.copy_location(ast.Name(id="_", ctx=ast.Load()), function.node)
                walker.awaited.add(call)
                arguments, keywords = _given(function, key)
                paths = found.setdefault(function.node, (function, []))[1]
                for path, value in walker.call(function, arguments, keywords, call, start.copy()):
                    ended = path if path.flow != GO else path.leaves(RETURN, value)
                    paths.append(ended)
                    found.note(ended, start)
        return found

    def _places(self, wanted: Callable[[set[ast.AST]], bool]) -> set[Place]:
        """What functions of the file change of the file's own names and of its classes."""
        names = {name for name, by in self._writes.names.items() if wanted(by)}
        attributes = {name for name, by in self._writes.attributes.items() if wanted(by)}
        holders = {*self._walker.classes} | self._walker.objects
        return {
            (scope, name)
            for state in self._states
            for scope, name in state.heap
            if (scope == MODULE and name in names) or (scope in holders and name in attributes)
        }

    def is_foreign(self, names: Iterable[str]) -> bool:
        """Whether these names stand for nothing here but what other files gave."""
        held = [value for _, value in self._held(names)]
        return bool(held) and all(isinstance(value, (External, Const)) for value in held)

    def _held(self, names: Iterable[str]) -> list[tuple[State, Value]]:
        scopes = [MODULE, *self._walker.classes]
        return [
            (state, state.heap[scope, name])
            for state in self._states
            for name in names
            for scope in scopes
            if (scope, name) in state.heap
        ]

    def unfollowed(self, names: Sequence[str]) -> bool:
        """Whether one of these names stands for something here that cannot be looked into."""
        live = {id(state): {f.node for f in _live(state, names)} for state in self._states}
        return any(
            value.node not in live[id(state)]
            if isinstance(value, Function)
            else not isinstance(value, (External, Const))
            for state, value in self._held(names)
        )


Place = tuple[int, str]


class Walked(dict[FunctionNode, tuple[Function, list[State]]]):
    """The paths of each function that was walked, and what a call of one leaves behind."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: list[Value] = []  # containers
        self.left: dict[tuple[object, ...], State] = {}  # paths that end in another environment

    def note(self, path: State, start: State) -> None:
        """Remember what a path has changed."""
        self.changed += [old for old, _ in path.changed_since(start)]
        if path.skip is not start.skip or path.wrote_key != start.wrote_key:
            self.left.setdefault((*map(_known, (path.skip, *(path.wrote_key or ()))),), path)


def _known(value: Value | None) -> object:
    return value.value if isinstance(value, Const) else type(value)


def _called_once(states: Sequence[State], first: Walked) -> Iterator[State]:
    """The states of the file after a first call."""
    for state in states:
        new = state.copy()
        for container in first.changed:
            environment.forget(new, container)
        yield new
        for path in first.left.values():
            again = new.copy()
            again.skip, again.wrote_key = path.skip, path.wrote_key
            yield again


def _forgotten(states: Iterable[State], places: set[Place]) -> Iterator[State]:
    """The states, with these places holding anything at all."""
    for state in states:
        new = state.copy()
        new.heap.update({place: Opaque() for place in places if place in state.heap})
        yield new


def _given(function: Function, key: str | None) -> tuple[list[Value], dict[str, Value]]:
    """The key, and something for every other parameter that has to be given."""
    taken = parameters(function.node)[function.bound is not None :]
    positional = len(function.node.args.posonlyargs) + len(function.node.args.args)
    room = positional > (function.bound is not None) or function.node.args.vararg is not None
    arguments: list[Value] = [Text(Text.KEY)] if key and room else []
    others = taken[1:] if arguments and positional > (function.bound is not None) else taken
    needed = [p.arg for p in others if p.arg not in function.defaults]
    return arguments, {name: Opaque() for name in needed}


def _live(state: State, names: Iterable[str]) -> list[Function]:
    """The functions that these names stand for when the file has been imported."""
    found: dict[tuple[FunctionNode, int], Function] = {}
    classes = {id(v): v for v in state.heap.values() if isinstance(v, Class)}.values()
    for name in names:
        held = state.heap.get((MODULE, name))
        if isinstance(held, Function):
            found[held.node, MODULE] = held
        for cls in classes:
            method = inherited(cls, name, state)
            if isinstance(method, Function):
                found[method.node, cls.scope] = _bound(method, cls)
    return [*found.values()]


def _bound(method: Function, cls: Class) -> Function:
    """A method as it is called: of an object, unless it takes none."""
    if method.kind == Function.CLASS:
        return method.binding(cls)
    taken = parameters(method.node)
    if len(taken) == 1 and taken[0].arg not in ("self", "cls") and not method.node.args.vararg:
        return method
    return method.binding(Instance(cls))
