"""Calls: of functions of the file, which are walked, and of everything else, which is judged."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment, externals
from codemod.reach.base import DEPTH_LIMIT, ROUND_LIMIT
from codemod.reach.expressions import Expressions
from codemod.reach.scopes import FunctionNode, body_of, parameters
from codemod.reach.state import GO, NOT, RETURN, State
from codemod.reach.values import (
    NONE,
    Class,
    Const,
    External,
    Function,
    Instance,
    Mapping,
    Method,
    Opaque,
    Sequence,
    Super,
    Suppressor,
    Text,
    Value,
    holds_code,
    inert,
    names_endpoint,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemod.reach.environment import Steps

Arguments = list[Value]
Keywords = dict[str, Value]
_EVERYTHING_ELSE = "*"  # keyword under which `f(**kwargs)` hands on what is not known
_CHANGES = frozenset("append extend insert remove clear update add discard sort reverse".split())


class Calls(Expressions):
    """Calls, on top of expressions."""

    def _Call(self, node: ast.Call, state: State) -> Steps:  # noqa: N802 - ast's name
        names = [keyword.arg or _EVERYTHING_ELSE for keyword in node.keywords]
        operands = [node.func, *node.args, *(keyword.value for keyword in node.keywords)]
        steps: Steps = []
        for here, values in self.each(operands, state):
            if here.flow != GO:
                steps.append((here, NONE))
                continue
            given = values[1 : len(node.args) + 1]
            keywords = dict(zip(names, values[len(node.args) + 1 :], strict=True))
            steps += self.call(values[0], self._spread(node, given), keywords, node, here)
        self.tick(len(steps))
        return steps

    def _Starred(self, node: ast.Starred, state: State) -> Steps:  # noqa: N802
        return self.evaluate(node.value, state)

    def _spread(self, node: ast.Call, values: Arguments) -> Arguments:
        """The positional arguments with `*args` opened."""
        spread: Arguments = []
        for argument, value in zip(node.args, values, strict=True):
            if isinstance(argument, ast.Starred) and isinstance(value, Sequence):
                spread += value.items
            else:
                spread.append(value)
        return spread

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
            return self._call_method(called, arguments, keywords, node, state)
        if isinstance(called, External):
            return self._call_external(called.path, arguments, keywords, node, state)
        return self._call_unknown(called, [*arguments, *keywords.values()], node, state)

    def _call_unknown(
        self, called: Value, values: Arguments, node: ast.expr, state: State
    ) -> Steps:
        """Something that is not known is called."""
        if isinstance(called, Const) and called.value is None:
            return [(state.raises(TypeError), NONE)]
        if any(map(names_endpoint, values)) and not called.inert():
            return self.sink(node, state)
        result = Opaque(inert=called.inert(), endpoint=names_endpoint(called))
        if not called.inert():
            return self.unknown_code(node, state, result)
        return self.may_fail(self._call_back(values, node, state), result)

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
            return self.unknown_code(node, state, Opaque())
        if self.bindings(function.node).yields and not state.generating:
            return self._make_generator(function, node, state)
        before, calls = self.scope, state.calls
        scope = self._open_scope(function)
        self._bind_parameters(function, scope, arguments, keywords, state)
        state.calls = (*calls, (node, function.node))
        self.scope = (scope, *function.closure)
        paths = self.run(body_of(function.node), state)
        self.scope = before
        return [_leave(path, calls) for path in paths]

    def _open_scope(self, function: Function) -> int:
        self.scopes += 1
        self.functions[self.scopes] = function.node
        return self.scopes

    def _make_generator(self, function: Function, node: ast.expr, state: State) -> Steps:
        """Calling a generator function runs nothing yet; whoever iterates over it does."""
        if self._could_ask(function, node, state):
            state.may_reach(self.trail(node, state))
        return [(state, inert())]

    def _bind_parameters(
        self, function: Function, scope: int, arguments: Arguments, keywords: Keywords, state: State
    ) -> None:
        node = function.node
        given = list(arguments)
        if function.bound is not None:
            given.insert(0, function.bound)
        positional = [*node.args.posonlyargs, *node.args.args]
        for parameter in parameters(node):
            name = parameter.arg
            if parameter in positional and given:
                value = given.pop(0)
            elif name in keywords:
                value = keywords[name]
            elif name in function.defaults and _EVERYTHING_ELSE not in keywords:
                value = function.defaults[name]
            else:
                value = Opaque()
            state.heap[scope, name] = value
        if node.args.vararg:
            state.heap[scope, node.args.vararg.arg] = Sequence(tuple(given))
        if node.args.kwarg:
            named = {p.arg for p in parameters(node)}
            rest: dict[object, Value] = {n: v for n, v in keywords.items() if n not in named}
            known = _EVERYTHING_ELSE not in rest
            state.heap[scope, node.args.kwarg.arg] = Mapping(rest) if known else Opaque()

    def _construct(
        self, cls: Class, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps:
        """`Class(…)`: its `__init__` runs; a foreign base's may too."""
        found = self.member(cls, "__init__", state)
        if isinstance(found, Function):
            steps = self._enter(found.binding(Instance(cls)), arguments, keywords, node, state)
            return [(s, Instance(cls)) for s, _ in steps]
        return [(self._call_back([*arguments, *keywords.values()], node, state), Instance(cls))]

    def _call_back(self, values: Arguments, node: ast.expr, state: State) -> State:
        """Code of the file that is handed over may be called by whoever gets it."""
        for value in values:
            if holds_code(value) and self._could_ask(value, node, state):
                state.may_reach(self.trail(node, state))
        return state

    def _could_ask(self, value: Value, node: ast.expr, state: State) -> bool:
        if not isinstance(value, Function):
            return True
        trial = state.copy()
        trial.reached = NOT
        trial.generating = True
        count = len(parameters(value.node)) - (value.bound is not None)
        steps = self._enter(value, [Opaque() for _ in range(max(count, 0))], {}, node, trial)
        return any(s.reached != NOT for s, _ in steps)

    # Methods of built-in values.
    def _call_method(
        self, method: Method, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps:
        receiver, name = method.receiver, method.name
        if environment.is_environment(receiver):
            return self._call_environment(receiver, name, arguments, keywords, node, state)
        if isinstance(receiver, (Const, Sequence)) and name in externals.PURE_METHODS:
            result = _pure(receiver, name, arguments) if not keywords else None
            if result is not None:
                return [(state, result)]
        if isinstance(receiver, Sequence) and name in _CHANGES:
            state.change_everywhere(receiver, Opaque(inert=receiver.inert()))
        if isinstance(receiver, Text) and not arguments:
            return [(state, _text_after(receiver, name))]
        values = [receiver, *arguments, *keywords.values()]
        endpoint = any(map(names_endpoint, values))
        result = Opaque(inert=True, none=None if receiver.parts() else False, endpoint=endpoint)
        return self.may_fail(self._call_back(values, node, state), result)

    def _call_environment(
        self,
        source: Value,
        name: str,
        arguments: Arguments,
        keywords: Keywords,
        node: ast.expr,
        state: State,
    ) -> Steps:
        if name in environment.READS:
            named = [keywords[k] for k in ("key", "default") if k in keywords]
            given = [*arguments, *named]
            if given:
                self.note_look_up(node, given[0])
                return environment.read(self.world, state, source, name, given)
        if name == "copy":
            return [(state, environment.copy_of(state, source))]
        if name in environment.VIEWS:
            return [(state, source if name in ("keys", "__iter__") else inert())]
        environment.forget(state, source)
        return self.may_fail(state, inert())

    # Everything from outside the file.
    def _call_external(
        self, path: str, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps:
        if path.startswith(f"{environment.LIVE}."):
            name = path.removeprefix(f"{environment.LIVE}.")
            live = External(environment.LIVE)
            return self._call_environment(live, name, arguments, keywords, node, state)
        if path == "os.getenv":
            return self._call_environment(
                External(environment.LIVE), "get", arguments, keywords, node, state
            )
        if path in ("os.putenv", "os.unsetenv"):
            environment.forget(state, External(environment.LIVE))
        special = self._special(path, arguments, keywords, node, state)
        if special is not None:
            return special
        return self._judge(path, [*arguments, *keywords.values()], node, state)

    def _judge(self, path: str, values: Arguments, node: ast.expr, state: State) -> Steps:
        """Whether a call of something that is not followed asks the metadata server."""
        if externals.asks(path):
            return self.sink(node, state)
        endpoint = any(map(names_endpoint, values))
        if externals.prepares(path):
            return [(state, External(f"{path}()"))]
        if not externals.harmless(path):
            if endpoint and not path.startswith("?"):
                return self.sink(node, state)
            return self.unknown_code(node, state, Opaque(endpoint=endpoint))
        if externals.exception_class(path):
            return [(state, inert())]
        plain = path in externals.PLAIN_RESULTS or path.startswith("logging.")
        kept = plain or all(v.inert() or (isinstance(v, External) and v.known) for v in values)
        result = Opaque(inert=kept, none=False if plain else None, endpoint=endpoint)
        return self.may_fail(self._call_back(values, node, state), result)

    def _special(
        self, path: str, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps | None:
        """Built-ins and library functions whose result can be told, else None."""
        first = arguments[0] if len(arguments) == 1 else None
        if path in ("builtins.dict", "copy.copy", "copy.deepcopy"):
            return self._copying(arguments, keywords, state)
        if path in ("builtins.getattr", "importlib.import_module"):
            return self._by_name(path, arguments, node, state)
        if path == "contextlib.suppress":
            return [(state, Suppressor(tuple(arguments)))]
        if not path.startswith("builtins."):
            return None
        name = path.removeprefix("builtins.")
        if name in ("any", "all") and first is not None:
            return _any_or_all(name, first, state)
        if name == "str" and isinstance(first, Text):
            return [(state, first)]
        if name == "super":
            return self._super(state)
        return (
            _range(arguments, state) if name == "range" else self._builtin(name, arguments, state)
        )

    def _copying(self, arguments: Arguments, keywords: Keywords, state: State) -> Steps | None:
        if not arguments and not keywords:
            return [(state, Mapping({}))]
        if len(arguments) == 1 and not keywords and environment.is_environment(arguments[0]):
            return [(state, environment.copy_of(state, arguments[0]))]
        return None

    def _super(self, state: State) -> Steps | None:
        """`super()` in a method: the innermost class around, and the method's first argument."""
        scope = next((s for s in self.scope if s in self.classes), None)
        function = self.functions.get(self.scope[0])
        if scope is None or function is None or not parameters(function):
            return None
        first = state.heap.get((self.scope[0], parameters(function)[0].arg), inert())
        return [(state, Super(self.classes[scope], first))]

    def _by_name(
        self, path: str, arguments: Arguments, node: ast.expr, state: State
    ) -> Steps | None:
        """`getattr(os, "environ")` and `import_module("os")` with a constant name."""
        names = [a.value for a in arguments if isinstance(a, Const) and isinstance(a.value, str)]
        if path == "importlib.import_module" and len(arguments) == len(names) == 1:
            return [(state, self.external(names[0]))]
        if len(arguments) == 2 and len(names) == 1 and names[0].isidentifier():
            attribute = ast.Attribute(value=node, attr=names[0], ctx=ast.Load())
            return self.attribute(arguments[0], ast.copy_location(attribute, node), state)
        return self.unknown_code(node, state, Opaque())

    def _builtin(self, name: str, arguments: Arguments, state: State) -> Steps | None:
        """`int(None)` raises, `str(x)` of a constant is a constant, `len(())` is 0."""
        if name == "bool" and len(arguments) == 1:
            truth = arguments[0].truth()
            return [(state, inert() if truth is None else Const(truth))]
        known = all(isinstance(a, (Const, Sequence)) for a in arguments)
        if name not in _BUILTINS or not arguments or not known:
            return None
        if any(isinstance(a, Sequence) for a in arguments):
            return _on_sequence(name, arguments, state)
        try:
            result = _BUILTINS[name](*(a.value for a in arguments if isinstance(a, Const)))
        except (TypeError, ValueError, OverflowError) as error:
            return [(state.raises(type(error)), NONE)]
        return [(state, Const(result) if not isinstance(result, (list, tuple)) else inert())]


def _leave(state: State, calls: tuple[tuple[ast.expr, FunctionNode], ...]) -> tuple[State, Value]:
    """Back in the caller, with what the function returned."""
    state.calls = calls
    if state.flow != RETURN:
        return state, NONE
    value, state.flow = state.value, GO
    return state, value


_BUILTINS: dict[str, Callable[..., object]] = {
    "int": int,
    "float": float,
    "str": str,
    "len": len,
    "abs": abs,
    "min": min,
    "max": max,
    "repr": repr,
    "ord": ord,
    "chr": chr,
    "tuple": tuple,
    "list": list,
    "sorted": sorted,
}


def _on_sequence(name: str, arguments: Arguments, state: State) -> Steps | None:
    held = arguments[0]
    if len(arguments) != 1 or not isinstance(held, Sequence):
        return None
    if name == "len":
        return [(state, Const(len(held.items)))]
    return [(state, Sequence(held.items))] if name in ("tuple", "list") else None


def _any_or_all(name: str, value: Value, state: State) -> Steps | None:
    if not isinstance(value, Sequence):
        return None
    truths = [item.truth() for item in value.items]
    decides = name == "any"
    if decides in truths:
        return [(state, Const(decides))]
    return [(state, inert() if None in truths else Const(not decides))]


def _range(arguments: Arguments, state: State) -> Steps | None:
    bounds = [a.value for a in arguments if isinstance(a, Const) and isinstance(a.value, int)]
    if not 1 <= len(bounds) == len(arguments) <= 3 or (len(bounds) == 3 and not bounds[2]):
        return None
    found = range(*bounds)
    return [(state, Sequence(tuple(map(Const, found))))] if len(found) <= ROUND_LIMIT else None


def _pure(receiver: Value, name: str, arguments: Arguments) -> Value | None:
    """A pure method on constants; a list of strings is a sequence of constants."""
    if not isinstance(receiver, Const) or not all(isinstance(a, Const) for a in arguments):
        return None
    try:
        result = getattr(receiver.value, name)(
            *(a.value for a in arguments if isinstance(a, Const))
        )
    except (AttributeError, TypeError, ValueError, LookupError):
        return None
    if isinstance(result, (list, tuple)):
        return Sequence(tuple(map(Const, result)))
    return Const(result)


def _text_after(receiver: Text, name: str) -> Value:
    """A changed key still is the key for the look-up that follows; a changed value is made of it."""
    if name not in externals.PURE_METHODS or name.startswith("is"):
        return inert()
    return Text(Text.KEY if receiver.origin == Text.KEY else Text.DERIVED)
