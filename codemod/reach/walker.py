"""The whole walk: exceptions and context managers on top of everything else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.reach import externals
from codemod.reach.flow import Flow
from codemod.reach.state import GO, RAISE, STOP, State
from codemod.reach.values import External, Opaque, Suppressor, Value

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from codemod.reach.definitions import Paths


class Walker(Flow):
    """Walks one file in one world."""

    def _Try(self, node: ast.Try | ast.TryStar, state: State) -> Paths:  # noqa: N802
        caught, cleaned = bool(node.handlers), bool(node.finalbody)
        state.tries += caught + cleaned
        paths: Paths = []
        for here in self.run(node.body, state):
            here.tries -= caught
            if here.flow == RAISE:
                paths += self._handle(node.handlers, here)
            else:
                paths += self.run(node.orelse, here) if here.flow == GO else [here]
        for path in paths:
            path.tries -= cleaned
        return [p for s in paths for p in self._finally(node.finalbody, s)]

    _TryStar = _Try

    def _handle(self, handlers: list[ast.ExceptHandler], state: State) -> Paths:
        """The handlers in turn; an exception of unknown class may be any of them, or none."""
        paths: Paths = []
        for handler in handlers:
            matched = self._catches(handler.type, state)
            if matched is not False:
                paths += self._handler(handler, state.copy())
            if matched is True:
                return paths
        return [*paths, state]

    def _catches(self, kind: ast.expr | None, state: State) -> bool | None:
        """Whether a handler for `kind` takes the exception; None where that is not known."""
        if kind is None:
            return True
        trial = state.copy().leaves(GO)
        values = [v for s, v in self.evaluate(kind, trial) if s.flow == GO]
        if len(values) != 1:
            return None
        return self._caught(state.exception, values[0].parts() or (values[0],))

    def _handler(self, handler: ast.ExceptHandler, state: State) -> Paths:
        state.handling = (*state.handling, (state.exception, state.certain))
        state.leaves(GO)
        if handler.name:
            state.heap[self.home(handler.name), handler.name] = Opaque(
                inert=not self._may_have_methods(state.exception), none=False
            )
        paths = self.run(handler.body, state)
        for path in paths:
            path.handling = path.handling[:-1]
            if handler.name:
                path.heap.pop((self.home(handler.name), handler.name), None)
        return paths

    def _may_have_methods(self, exception: type[BaseException] | None) -> bool:
        """Whether an exception may be of a class of the file, that may have code of its own."""
        own = {self.exception_of(cls) for cls in [*self.classes.values()]} - {None}
        return bool(own) if exception is None else exception in own

    def _finally(self, body: list[ast.stmt], state: State) -> Paths:
        if not body or state.flow == STOP:
            return [state]
        flow, value, exception, certain = state.flow, state.value, state.exception, state.certain
        state.leaves(GO)
        paths = self.run(body, state)
        for path in paths:
            if path.flow == GO:
                path.flow, path.value = flow, path.current(value)
                path.exception, path.certain = exception, certain
        return paths

    def _With(self, node: ast.With | ast.AsyncWith, state: State) -> Paths:  # noqa: N802
        return self._with_items(node.items, node.body, state)

    _AsyncWith = _With

    def _with_items(self, items: list[ast.withitem], body: list[ast.stmt], state: State) -> Paths:
        """`with a, b:` is `with a:` around `with b:`."""
        if not items:
            return self.run(body, state)
        paths: Paths = []
        for here, manager in self.evaluate(items[0].context_expr, state):
            bound = [here]
            if here.flow == GO and items[0].optional_vars is not None:
                bound = self.bind(items[0].optional_vars, Opaque(inert=manager.inert()), here)
            for path in bound:
                paths += self._managed(manager, items, body, path) if path.flow == GO else [path]
        return paths

    def _managed(
        self, manager: Value, items: list[ast.withitem], body: list[ast.stmt], state: State
    ) -> Paths:
        """The body under one context manager, which may swallow its exceptions."""
        if manager.inert():
            return self._with_items(items[1:], body, state)
        if not isinstance(manager, Suppressor):
            state.may_reach(self.trail(items[0].context_expr, state))
        state.tries += 1
        paths: Paths = []
        for here in self._with_items(items[1:], body, state):
            here.tries -= 1
            kinds = manager.kinds if isinstance(manager, Suppressor) else None
            swallowed = None if kinds is None else self._caught(here.exception, kinds)
            if here.flow == RAISE and swallowed is not False:
                paths.append(here.copy().leaves(GO))
            if here.flow != RAISE or swallowed is not True:
                paths.append(here)
        return paths

    def _caught(self, exception: type[BaseException] | None, kinds: Sequence[Value]) -> bool | None:
        answers = [self._is_instance(exception, kind) for kind in kinds]
        if True in answers:
            return True
        return None if None in answers else False

    def _is_instance(self, exception: type[BaseException] | None, kind: Value) -> bool | None:
        """Whether an exception of that class is caught as `kind`; None where one is not known."""
        wanted = self.exception_of(kind)
        if exception is None:
            return True if wanted in (BaseException, Exception) else None
        if wanted is not None:
            return issubclass(exception, wanted)
        own = isinstance(kind, External) and externals.is_own_exception(kind.path)
        return False if own else None
