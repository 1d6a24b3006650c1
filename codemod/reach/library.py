"""Calls of what the file does not define: methods of built-in values, built-ins, imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment, externals, folding
from codemod.reach.attributes import Attributes
from codemod.reach.containers import Mapping, Sequence
from codemod.reach.scopes import parameters
from codemod.reach.values import (
    NONE,
    Class,
    Const,
    External,
    Function,
    Method,
    Opaque,
    Super,
    Suppressor,
    Text,
    Value,
    inert,
    names_endpoint,
)

if TYPE_CHECKING:
    from codemod.reach.environment import Steps
    from codemod.reach.state import State

Arguments = list[Value]
Keywords = dict[str, Value]
EVERYTHING_ELSE = "*"  # keyword under which arguments are handed on that are not known


class Library(Attributes):
    """Calls of everything but the file's own functions and classes."""

    # Methods of built-in values.
    def call_method(
        self, method: Method, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps:
        receiver, name = state.current(method.receiver), method.name
        values = [*arguments, *keywords.values()]
        if environment.is_environment(receiver):
            return self._call_environment(receiver, name, arguments, keywords, node, state)
        if isinstance(receiver, (Const, Sequence)) and name in externals.PURE_METHODS:
            result = folding.pure(receiver, name, arguments) if not keywords else None
            if result is not None:
                return [(state, result)]
        if isinstance(receiver, Sequence) and name not in externals.READING_METHODS:
            kept = all(value.inert() for value in values)
            for value in (receiver, *values):
                environment.forget(state, value, kept=kept)
        if isinstance(receiver, Text) and not arguments:
            return [(state, folding.text_after(receiver, name))]
        return self._some_method(receiver, name, values, node, state)

    def _some_method(
        self, receiver: Value, name: str, values: Arguments, node: ast.expr, state: State
    ) -> Steps:
        endpoint = any(map(names_endpoint, [receiver, *values]))
        text = isinstance(receiver, (Const, Text)) and name in externals.PURE_METHODS
        kept = text or all(value.inert() for value in (receiver, *values))
        result = Opaque(inert=kept, none=False if text else None, endpoint=endpoint)
        self.use(values, node, state)
        if not text or name == "join":
            state = self.call_back([receiver, *values], node, state)
        return self.may_fail(state, result)

    def _call_environment(
        self,
        source: Value,
        name: str,
        arguments: Arguments,
        keywords: Keywords,
        node: ast.expr,
        state: State,
    ) -> Steps:
        if name in environment.READS and EVERYTHING_ELSE not in keywords:
            named = [keywords[k] for k in ("key", "default") if k in keywords]
            given = [*arguments, *named]
            if given:
                self.note_look_up(node, given[0])
                return environment.read(self.world, state, source, name, given)
        if name == "copy":
            return [(state, environment.copy_of(state, source))]
        if name in environment.VIEWS:
            return [(state, environment.view(source, name))]
        environment.forget(state, source)
        return self.may_fail(state, inert() if source.inert() else Opaque())

    # Everything from outside the file.
    def call_external(
        self, path: str, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps:
        live = External(environment.LIVE)
        if path.startswith(f"{environment.LIVE}."):
            name = path.removeprefix(f"{environment.LIVE}.")
            return self._call_environment(live, name, arguments, keywords, node, state)
        if path == "os.getenv":
            return self._call_environment(live, "get", arguments, keywords, node, state)
        if environment.is_changing(path):
            environment.forget(state, live)
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
        if externals.logs(path):
            return self.may_fail(state, inert())
        if not externals.harmless(path):
            return self._foreign(path, values, node, state)
        if externals.exception_class(path):
            for value in values:
                environment.forget(state, value, kept=True)
            return [(self.call_back(values, node, state), inert())]
        if externals.changes(path):
            self._forget_all(values, state)
        self._lend(path, values, state)
        if path in externals.ASKING_CLASSES:
            state = self.call_back(values[1:], node, state)
        plain = path in externals.PLAIN_RESULTS
        kept = plain or all(v.inert() or (isinstance(v, External) and v.known) for v in values)
        result = Opaque(
            inert=kept and path not in externals.HOLDERS,
            none=False if plain else None,
            endpoint=endpoint,
        )
        if not plain:
            state = self.call_back(values, node, state)
        self.use(values, node, state)
        return self.may_fail(state, result)

    def _lend(self, path: str, values: Arguments, state: State) -> None:
        """What is given back may be one of the arguments, or be in one, and be changed then."""
        if path in externals.PLAIN_RESULTS:
            return
        if path.startswith("builtins.") and path not in externals.RETURNING_ARGUMENTS:
            environment.forget_parts(state, values)
            return
        for value in values:
            environment.forget(state, value, kept=True)

    def _foreign(self, path: str, values: Arguments, node: ast.expr, state: State) -> Steps:
        """Something of another file: it may ask, and change what it is given."""
        endpoint = any(map(names_endpoint, values))
        if endpoint and not path.startswith("?"):
            return self.sink(node, state)
        if path in externals.HARMFUL:
            self.forget_module(state)
        self._forget_all(values, state)
        state = self.call_back(values, node, state)
        return self.unknown_code(node, state, Opaque(endpoint=endpoint))

    def _forget_all(self, values: Arguments, state: State) -> None:
        for value in values:
            environment.forget(state, value)

    def _special(
        self, path: str, arguments: Arguments, keywords: Keywords, node: ast.expr, state: State
    ) -> Steps | None:
        """Built-ins and library functions whose result can be told, else None."""
        if (result := _result_of(path, arguments, keywords, state)) is not None:
            return [(state, result)]
        if path in ("builtins.getattr", "importlib.import_module"):
            return self._by_name(path, arguments, node, state)
        if path in ("builtins.setattr", "builtins.delattr"):
            return self._set_by_name(arguments, node, state)
        if path in externals.EXITS:
            return [(state.raises(SystemExit), NONE)]
        if path == "builtins.staticmethod" and len(arguments) == 1:
            return [(state, _static(arguments[0]))]
        if not path.startswith("builtins.") or keywords:
            return None
        name = path.removeprefix("builtins.")
        if name == "super":
            return self._super(state)
        self.use(arguments, node, state)
        return folding.call(name, arguments, state)

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
        if path == "importlib.import_module":
            name = _name_in(arguments[0]) if len(arguments) == 1 else None
            return [(state, self.external(name))] if name else None
        name = _name_in(arguments[1]) if len(arguments) > 1 else None
        sure = len(arguments) == 2 or _is_there(arguments[0], name)
        if name is not None and sure:
            attribute = ast.Attribute(value=node, attr=name, ctx=ast.Load())
            return self.attribute(arguments[0], ast.copy_location(attribute, node), state)
        return self.unknown_code(node, state, Opaque())

    def _set_by_name(self, arguments: Arguments, node: ast.expr, state: State) -> Steps:
        name = _name_in(arguments[1]) if len(arguments) > 1 else None
        if name is None:
            return self.unknown_code(node, state, NONE)
        value = arguments[2] if len(arguments) > 2 else Opaque()
        self.put(arguments[0], name, value, node, state)
        if isinstance(arguments[0], Class) and len(arguments) == 2:
            self.forget_attribute(name, state)
        return [(state, NONE)]


def _name_in(value: Value) -> str | None:
    text = value.value if isinstance(value, Const) else None
    return text if isinstance(text, str) and text.isidentifier() else None


def _is_there(holder: Value, name: str | None) -> bool:
    """Whether `getattr(holder, name, default)` surely does not need its default."""
    return isinstance(holder, External) and holder.path == "os" and name in ("environ", "getenv")


def _static(value: Value) -> Value:
    """What `staticmethod(…)` makes of it, where a class takes a function of the module."""
    return value.seen_as(Function.STATIC) if isinstance(value, Function) else value


def _result_of(path: str, arguments: Arguments, keywords: Keywords, state: State) -> Value | None:
    """Library functions that only make a value."""
    if path == "contextlib.suppress":
        return Suppressor((*arguments, *keywords.values()))
    if path == "logging.getLogger":
        return External("logging.getLogger()", known=True)
    if path not in ("builtins.dict", "copy.copy", "copy.deepcopy") or keywords:
        return None
    if not arguments:
        return Mapping({})
    plain = len(arguments) == 1 and environment.is_environment(arguments[0])
    if path == "copy.deepcopy" and any(part.parts() for part in arguments[0].parts()):
        return None  # it copies what is in it, too
    if path == "copy.copy" and isinstance(arguments[0], External):
        return arguments[0] if plain else None  # such a copy writes to the same environment
    return environment.copy_of(state, arguments[0]) if plain else None
