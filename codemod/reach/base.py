"""What every part of the walk needs: its budget, its trail, and names resolved by scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.reach import externals
from codemod.reach.environment import LIVE, Steps
from codemod.reach.scopes import Bindings, FunctionNode, Writes, bindings_of
from codemod.reach.state import STOP, SURE, State, TooManyPaths, World
from codemod.reach.values import NONE, Class, Const, External, Instance, Opaque, Super, Value, inert

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

MODULE = 0  # the scope of the file itself
STEP_LIMIT = 60_000  # some 100 ms; jax's own file takes under 1,000
PATH_LIMIT = 600
ROUND_LIMIT = 64  # of a loop whose every condition is known
DEPTH_LIMIT = 24
_OPERATORS = tuple(
    f"__{name}__"
    for name in "eq ne lt le gt ge bool len contains iter next getitem setitem delitem getattr "
    "getattribute setattr delattr call hash str repr format int float index neg pos invert add "
    "radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod and rand or ror xor rxor "
    "pow rpow lshift rlshift rshift rrshift matmul rmatmul divmod rdivmod iadd isub imul itruediv "
    "ifloordiv imod ipow imatmul iand ior ixor ilshift irshift complex round trunc floor ceil "
    "reversed missing fspath bytes dir length_hint get set delete class_getitem".split()
)


class Base:
    """Budget, trail and names. The parts above it add expressions, calls and statements."""

    def __init__(self, world: World, writes: Writes) -> None:
        self.world = world
        self.writes = writes  # what the file's functions change outside of themselves
        self.importing = True  # until the file's own statements have run
        self.looked: dict[int, ast.AST] = {}  # where the variable was looked up, by line
        self.steps = 0
        self.scopes = MODULE
        self.functions: dict[int, FunctionNode] = {}  # scope -> the function that made it
        self.classes: dict[int, Class] = {}
        self.class_names: dict[int, Bindings] = {}  # what their own statements bind
        self.tried: set[int] = set()  # classes whose special methods are being tried out
        self.objects: set[int] = set()  # the scopes of objects that were made
        self.wrapped: set[tuple[int, str]] = set()  # functions in a decorator that is not known
        self.comprehensions: set[int] = set()
        self.entered: set[FunctionNode] = set()  # in this walk
        self.awaited: set[ast.AST] = set()  # calls that `await` stands before
        self.consumed: set[ast.AST] = set()  # generator expressions that are run where they stand
        self.drained: set[ast.AST] = set()  # and those of them that are run to their end
        self._exceptions: dict[int, type[BaseException] | None] = {}
        self._bindings: dict[FunctionNode, Bindings] = {}

    def start_over(self, world: World) -> None:
        """Forget the last walk; what was learned of the file stays."""
        self.world = world
        self.looked = {}
        self.entered = set()
        self.steps = 0

    # What the parts above provide.
    def evaluate(self, node: ast.expr, state: State) -> Steps:
        """All that `node` may evaluate to, each on its path."""
        raise NotImplementedError

    def call(
        self,
        called: Value,
        arguments: list[Value],
        keywords: dict[str, Value],
        node: ast.expr,
        state: State,
    ) -> Steps:
        """All that the call may give, each on its path."""
        raise NotImplementedError

    def call_back(self, values: list[Value], node: ast.expr, state: State) -> State:
        """Code of the file that is handed over may be called by whoever gets it."""
        raise NotImplementedError

    def bind(self, target: ast.expr, value: Value, state: State) -> list[State]:
        """`target = value`."""
        raise NotImplementedError

    def run(self, body: Sequence[ast.stmt], state: State) -> list[State]:
        """All the ways through these statements."""
        raise NotImplementedError

    # Budget and trail.
    def tick(self, paths: int = 0) -> None:
        """Count one step; raise `TooManyPaths` when the budget is used up."""
        self.steps += 1
        if self.steps > STEP_LIMIT or paths > PATH_LIMIT:
            raise TooManyPaths

    def sink(self, node: ast.expr, state: State) -> Steps:
        """The metadata server is asked here; the path ends, for nothing after it matters.

        Not while the file is imported: what it defines after that matters very much.
        """
        state.reached = SURE
        state.trail = self.trail(node, state)
        if not self.importing:
            state.leaves(STOP)
        return [(state, inert())]

    def unknown_code(self, node: ast.expr, state: State, result: Value) -> Steps:
        """Something that cannot be followed runs here: it may ask, and it may raise."""
        state.may_reach(self.trail(node, state))
        return self.may_fail(state, result)

    def trail(self, node: ast.expr, state: State) -> tuple[ast.expr, ...]:
        """The calls that lead here, the outermost first."""
        return (*(call for call, _ in state.calls), node)

    def may_fail(
        self, state: State, value: Value, kind: type[BaseException] | None = None
    ) -> Steps:
        """`value`, and where somebody would notice, also the path on which it raised."""
        return [(s, NONE if s.flow else value) for s in self.may_raise(state, kind)]

    def may_raise(self, state: State, kind: type[BaseException] | None = None) -> list[State]:
        """The path, and where somebody would notice, also the one on which something raised."""
        if not state.tries:
            return [state]
        return [state, state.copy().raises(kind, certain=False)]

    def use(self, values: Sequence[Value], node: ast.expr, state: State) -> None:
        """Operators run methods of objects of the file (`__eq__`, `__bool__`), which may ask."""
        for value in values:
            self.use(value.parts(), node, state)
            cls = value.cls if isinstance(value, Instance) else value
            if isinstance(cls, Class) and self._has_operators(cls, state):
                state.may_reach(self.trail(node, state))

    def exception_of(self, value: Value) -> type[BaseException] | None:
        """The exception that a class stands for; one of the file gets a class of the same bases."""
        if isinstance(value, External):
            return externals.exception_class(value.path)
        if not isinstance(value, Class):
            return None
        if value.scope not in self._exceptions:
            bases = [self.exception_of(base) for base in value.bases]
            known = tuple(dict.fromkeys(base for base in bases if base is not None))
            made = type(value.name, known, {}) if known and None not in bases else None
            self._exceptions[value.scope] = made
        return self._exceptions[value.scope]

    def _has_operators(self, cls: Class, state: State) -> bool:
        return any((c.scope, name) in state.heap for c in cls.order for name in _OPERATORS)

    def forget_module(self, state: State) -> None:
        """Any name of the file may have been bound anew: `from x import *`, `globals()`."""
        for place in state.heap:
            if place[0] == MODULE:
                state.heap[place] = Opaque()

    # Names.
    def bindings(self, node: FunctionNode) -> Bindings:
        """What a function binds, found once."""
        found = self._bindings.get(node)
        if found is None:
            found = self._bindings[node] = bindings_of(node)
        return found

    def resolve(self, name: str, scopes: tuple[int, ...], state: State) -> Value | None:
        """What a name stands for, None for a local name that is not bound yet.

        `scopes` are the scopes around, innermost first; a class's scope is seen only from
        its own statements.
        """
        for position, scope in enumerate(scopes):
            if position and scope in self.classes:
                continue
            value = state.heap.get((scope, name))
            if value is not None:
                return Opaque() if (scope, name) in state.volatile else value
            function = self.functions.get(scope)
            own = self.class_names.get(scope)
            if own is not None and name in own.names:
                break  # its own name is looked for in the file, not in the function around
            if function is not None and name in self.bindings(function).names:
                return None
            if function is not None and name in self.bindings(function).globals:
                break
        if (MODULE, name) in state.volatile:
            return Opaque()
        return state.heap.get((MODULE, name)) or self.outside(name)

    def outside(self, name: str) -> Value:
        """A name that the file does not bind: a built-in, or nobody knows whose."""
        if name == "__debug__":  # as whoever starts Python likes
            return inert()
        if externals.is_builtin(name):
            return External(f"builtins.{name}", known=True)
        return External(f"?.{name}")

    def external(self, path: str) -> Value:
        """Something imported, unless the world says what its name stands for."""
        if path in ("typing.TYPE_CHECKING", "typing_extensions.TYPE_CHECKING"):
            return Const(value=False)
        last = path.rpartition(".")[2]
        if last in self.world.names:
            return Const(self.world.names[last])
        return External(path, known=path in externals.HARMLESS_ROOTS or path == LIVE)

    def super_member(self, sup: Super, name: str, state: State) -> Value | None:
        """An attribute of the classes that come after the one that `super()` is used in."""
        bound = sup.bound.cls if isinstance(sup.bound, Instance) else sup.bound
        order = bound.order if isinstance(bound, Class) else sup.cls.order
        after = order[order.index(sup.cls) + 1 :] if sup.cls in order else ()
        return _first(after, name, state)


def inherited(owner: Class, name: str, state: State) -> Value | None:
    """An attribute of a class of the file, looked up through its bases; None: not there."""
    return _first(owner.order, name, state)


def _first(order: Sequence[Class], name: str, state: State) -> Value | None:
    places = ((c.scope, name) for c in order if (c.scope, name) in state.heap)
    place = next(places, None)
    if place is None:
        return None
    return Opaque() if place in state.volatile else state.heap[place]
