"""Calls: of functions and classes of the file, which are walked."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment, externals
from codemod.reach.base import DEPTH_LIMIT, inherited
from codemod.reach.containers import Container, EnvironmentCopy, Mapping, Sequence
from codemod.reach.library import EVERYTHING_ELSE, Arguments, Keywords, Library
from codemod.reach.scopes import FunctionNode, body_of, parameters
from codemod.reach.state import GO, NOT, RETURN, State
from codemod.reach.values import (
    NONE,
    Class,
    Const,
    External,
    Function,
    Instance,
    Method,
    Opaque,
    Text,
    Value,
    holds_code,
    names_endpoint,
)

if TYPE_CHECKING:
    from codemod.reach.environment import Steps


class Calls(Library):
    """Calls, on top of what is known of the library."""

    def _Call(self, node: ast.Call, state: State) -> Steps:  # noqa: N802 - ast's name
        if _runs_coroutines(node.func):
            self.awaited.update(node.args)
        operands = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        self._note_generator(node, operands[2:], state)
        steps: Steps = []
        for here, values in self.each(operands, state):
            if here.flow != GO:
                steps.append((here, NONE))
                continue
            given, keywords = _arguments(node, values[1:])
            steps += self.call(values[0], given, keywords, node, here)
        self.tick(len(steps))
        return steps

    def _note_generator(self, node: ast.Call, others: list[ast.expr], state: State) -> None:
        """`any(… for … in …)` and the like run the generator expression at once."""
        first = node.args[0] if node.args else None
        called = node.func
        if not isinstance(first, ast.GeneratorExp) or not isinstance(called, ast.Name):
            return
        value = self.resolve(called.id, self.scope, state)
        path = value.path if isinstance(value, External) else ""
        plain = all(isinstance(other, ast.Constant | ast.Name | ast.Lambda) for other in others)
        if plain and path in externals.DRAINING:
            self.drained.add(first)
        elif plain and path in externals.CONSUMING:
            self.consumed.add(first)

    def _Starred(self, node: ast.Starred, state: State) -> Steps:  # noqa: N802
        return self.evaluate(node.value, state)

    def call(
        self,
        called: Value,
        arguments: list[Value],
        keywords: Keywords,
        node: ast.expr,
        state: State,
    ) -> Steps:
        if isinstance(called, Function):
            return self._call_function(called, arguments, keywords, node, state)
        if isinstance(called, Class):
            return self._construct(called, arguments, keywords, node, state)
        if isinstance(called, Method):
            return self.call_method(called, arguments, keywords, node, state)
        if isinstance(called, External):
            return self.call_external(called.path, arguments, keywords, node, state)
        return self._call_unknown(called, [*arguments, *keywords.values()], node, state)

    def _call_unknown(
        self, called: Value, values: Arguments, node: ast.expr, state: State
    ) -> Steps:
        """Something that is not known is called."""
        if isinstance(called, Const | Text | Container | EnvironmentCopy):
            return [(state.raises(TypeError), NONE)]
        if any(map(names_endpoint, values)) and not called.inert():
            return self.sink(node, state)
        result = Opaque(inert=called.inert(), endpoint=names_endpoint(called))
        for value in values:
            environment.forget(state, value, kept=called.inert())
        state = self.call_back(values, node, state)
        if not called.inert():
            return self.unknown_code(node, state, result)
        return self.may_fail(state, result)

    # Functions and classes of the file.
    def _call_function(
        self,
        function: Function,
        arguments: Arguments,
        keywords: Keywords,
        node: ast.expr,
        state: State,
    ) -> Steps:
        name = "" if isinstance(function.node, ast.Lambda) else function.node.name
        if name in self.world.results:
            return [(state, Const(self.world.results[name]))]
        return self._enter(function, arguments, keywords, node, state)

    def _enter(
        self,
        function: Function,
        arguments: Arguments,
        keywords: Keywords,
        node: ast.expr,
        state: State,
    ) -> Steps:
        """Walk a function of the file with these arguments."""
        again = sum(called is function.node for _, called in state.calls)
        if len(state.calls) >= DEPTH_LIMIT or again > 1:
            endless = state.copy().raises(RecursionError)
            return [(endless, NONE), *self.unknown_code(node, state, Opaque())]
        if self._is_put_off(function, node) and not state.generating:
            return self._make_generator(function, node, state)
        scope = self._open_scope(function)
        if not self._bind_parameters(function, scope, arguments, keywords, state):
            return [(state.raises(TypeError), NONE)]
        before, calls, generating = self.scope, state.calls, state.generating
        state.calls, state.generating = (*calls, (node, function.node)), False
        self.scope = (scope, *function.closure)
        self.entered.add(function.node)
        paths = self.run(body_of(function.node), state)
        self.scope = before
        for path in paths:
            path.generating = generating
        return [_leave(path, calls) for path in paths]

    def _is_put_off(self, function: Function, node: ast.expr) -> bool:
        """Whether calling it runs nothing yet: a generator, or a coroutine not awaited."""
        is_coroutine = isinstance(function.node, ast.AsyncFunctionDef)
        return self.bindings(function.node).yields or (is_coroutine and node not in self.awaited)

    def _open_scope(self, function: Function) -> int:
        self.scopes += 1
        self.functions[self.scopes] = function.node
        return self.scopes

    def _make_generator(self, function: Function, node: ast.expr, state: State) -> Steps:
        """Nothing runs yet; whoever iterates over it, or awaits it, does that."""
        return [(self.call_back([function], node, state), Opaque())]

    def _bind_parameters(
        self, function: Function, scope: int, arguments: Arguments, keywords: Keywords, state: State
    ) -> bool:
        """Give the parameters their values; False where the arguments do not fit."""
        node = function.node
        given = list(arguments) if function.bound is None else [function.bound, *arguments]
        positional = [*node.args.posonlyargs, *node.args.args]
        if any(p.arg in keywords for p in positional[: len(given)]):
            return False  # given twice
        is_open = EVERYTHING_ELSE in keywords
        for parameter in parameters(node):
            name = parameter.arg
            if parameter in positional and given:
                value = given.pop(0)
            elif name in keywords and parameter not in node.args.posonlyargs:
                value = keywords[name]
            elif is_open:
                value = Opaque()
            elif name in function.defaults:
                value = self._default(function, name, state)
            else:
                return False
            state.heap[scope, name] = value
        return self._bind_rest(node, scope, given, keywords, state)

    def _default(self, function: Function, name: str, state: State) -> Value:
        """The default of a parameter; of a container that is changed in place nobody knows."""
        value = function.defaults[name]
        is_changed = name in self.writes.names and isinstance(value, (Mapping, Sequence))
        return Opaque() if is_changed else state.current(value)

    def _bind_rest(
        self,
        node: FunctionNode,
        scope: int,
        given: Arguments,
        keywords: Keywords,
        state: State,
    ) -> bool:
        """`*args` and `**kwargs`; False where there is more than the function takes."""
        is_open = EVERYTHING_ELSE in keywords
        named = {p.arg for p in (*node.args.args, *node.args.kwonlyargs)}
        rest: dict[object, Value] = {n: v for n, v in keywords.items() if n not in named}
        if node.args.vararg:
            value = Opaque() if is_open else Sequence(tuple(given))
            state.heap[scope, node.args.vararg.arg] = value
        elif given:
            return False
        if node.args.kwarg:
            state.heap[scope, node.args.kwarg.arg] = Opaque() if is_open else Mapping(rest)
        return bool(node.args.kwarg) or is_open or not rest

    def _construct(
        self, cls: Class, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps:
        """`Class(…)`: its `__init__` runs; that of a foreign base is not known."""
        self.scopes += 1
        self.objects.add(self.scopes)
        made = Instance(cls, self.scopes, made=True)
        found = inherited(cls, "__init__", state)
        if inherited(cls, "__new__", state) is not None or _is_foreign(cls):
            state.may_reach(self.trail(node, state))
        self._try_special_methods(cls, node, state)
        if isinstance(found, Function):
            steps = self._enter(found.binding(made), arguments, keywords, node, state)
            return [(s, made) for s, _ in steps]
        return [(self.call_back([*arguments, *keywords.values()], node, state), made)]

    def _try_special_methods(self, cls: Class, node: ast.expr, state: State) -> None:
        """An object's special methods run where nobody calls them: in a set, at its end."""
        if cls.scope in self.tried:
            return
        self.tried.add(cls.scope)
        names = {name for c in cls.order for name in self.class_names[c.scope].names}
        for name in sorted(filter(_runs_unasked, names)):
            held = inherited(cls, name, state)
            self.call_back([held] if held is not None else [], node, state)
        self.tried.discard(cls.scope)

    # Code that is handed over.
    def call_back(self, values: list[Value], node: ast.expr, state: State) -> State:
        for value in values:
            self._lend_method(value, state)
            if holds_code(value) and self._could_ask(value, node, state):
                state.may_reach(self.trail(node, state))
        return state

    def _lend_method(self, value: Value, state: State) -> None:
        """`map(items.append, …)`: whoever gets a method may call it."""
        for part in value.parts():
            self._lend_method(part, state)
        if isinstance(value, Method) and value.name not in externals.READING_METHODS:
            environment.forget(state, value.receiver)
        elif isinstance(value, External) and environment.is_changing(value.path):
            environment.forget(state, External(environment.LIVE))

    def _could_ask(self, value: Value, node: ast.expr, state: State) -> bool:
        """Whether it may ask; what it binds elsewhere is not known from now on."""
        if isinstance(value, Sequence):
            return self._could_any_ask(value, node, state)
        if not isinstance(value, Function):
            return True
        asked, again = self._try_out(value, node, state)
        while again and not asked:  # it may be called again, and find what it changed
            asked, again = self._try_out(value, node, state)
        return asked

    def _try_out(self, function: Function, node: ast.expr, state: State) -> tuple[bool, bool]:
        """Whether it may ask, and whether it changes what was not known to change."""
        before, asked = state.volatile, False
        trial = state.copy()
        trial.reached = NOT
        trial.generating = True
        trial.tries = 0
        for after, _ in self._enter(function, [], {EVERYTHING_ELSE: Opaque()}, node, trial):
            asked = asked or after.reached != NOT
            for old, _ in after.changed_since(state):
                environment.forget(state, old)
            changed = [p for p, held in state.heap.items() if after.heap.get(p) is not held]
            state.volatile |= after.volatile.union(changed)
            if after.skip is not state.skip or after.wrote_key != state.wrote_key:
                environment.forget(state, External(environment.LIVE))
        return asked, state.volatile != before

    def _could_any_ask(self, value: Sequence, node: ast.expr, state: State) -> bool:
        answers = [self._could_ask(held, node, state) for held in value.items if holds_code(held)]
        return any(answers)  # of all of them, for what each binds


def _arguments(node: ast.Call, values: Arguments) -> tuple[Arguments, Keywords]:
    """Positional arguments and keywords, `*args` and `**kwargs` opened where they are known."""
    given: Arguments = []
    keywords: Keywords = {}
    unknown: list[Value] = []
    for argument, value in zip(node.args, values, strict=False):
        if isinstance(argument, ast.Starred) and isinstance(value, Sequence) and not unknown:
            given += value.items
        elif isinstance(argument, ast.Starred) or unknown:
            unknown.append(value)
        else:
            given.append(value)
    for keyword, value in zip(node.keywords, values[len(node.args) :], strict=True):
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, Mapping):
            keywords.update({str(name): held for name, held in value.entries.items()})
        else:
            unknown.append(value)
    if unknown:
        keywords[EVERYTHING_ELSE] = Sequence(tuple(unknown))
    return given, keywords


def _runs_unasked(name: str) -> bool:
    """Whether a method of that name may run without being called, entered or iterated over."""
    called = "init new call enter exit aenter aexit iter next aiter anext await class_getitem "
    is_special = name.startswith("__") and name.endswith("__")
    return is_special and name[2:-2] not in f"{called}init_subclass post_init".split()


def _runs_coroutines(called: ast.expr) -> bool:
    """`asyncio.run(…)` and the like."""
    name = getattr(called, "attr", getattr(called, "id", None))
    return name in ("run", "run_until_complete")


def _is_foreign(cls: Class) -> bool:
    """Whether a class has a base of another file."""
    return any(
        _is_foreign(base) if isinstance(base, Class) else not _is_plain(base) for base in cls.bases
    )


def _is_plain(base: Value) -> bool:
    return isinstance(base, External) and externals.harmless(base.path)


def _leave(state: State, calls: tuple[tuple[ast.expr, FunctionNode], ...]) -> tuple[State, Value]:
    """Back in the caller, with what the function returned."""
    state.calls = calls
    if state.flow != RETURN:
        return state, NONE
    value, state.flow = state.value, GO
    return state, value
