"""Statements that bind names: assignments, imports, functions, classes."""

from __future__ import annotations

import ast
from copy import copy
from typing import TYPE_CHECKING, TypeGuard

from codemod.reach import environment, externals
from codemod.reach.base import inherited
from codemod.reach.comprehensions import Comprehensions, has_items
from codemod.reach.containers import Sequence
from codemod.reach.scopes import Bindings, parameters
from codemod.reach.state import GO, State
from codemod.reach.values import NONE, Class, Const, External, Function, Opaque, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

Paths = list[State]


class Definitions(Comprehensions):
    """Binding, on top of comprehensions."""

    def bind(self, target: ast.expr, value: Value, state: State) -> Paths:
        """`target = value`."""
        if isinstance(target, ast.Name):
            state.heap[self.home(target.id), target.id] = value
            return [state]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpack(target.elts, value, state)
        if isinstance(target, ast.Starred):
            return self.bind(target.value, Opaque(inert=value.inert()), state)
        if isinstance(target, ast.Subscript):
            return self.set_item(target, value, state)
        return self.set_attribute(target, value, state) if _is_attribute(target) else [state]

    def _unpack(self, targets: list[ast.expr], value: Value, state: State) -> Paths:
        if value.is_none() or (isinstance(value, Const) and not has_items(value)):
            return [state.raises(TypeError)]
        if isinstance(value, Const):
            value = Sequence(tuple(map(Const, value.value)))  # type: ignore[call-overload]
        starred = any(isinstance(target, ast.Starred) for target in targets)
        known = isinstance(value, Sequence) and not starred and value.is_ordered()
        if not known:
            environment.forget_parts(state, [value])
        if known and len(value.parts()) != len(targets):
            return [state.raises(ValueError)]
        self.use([value], targets[0], state)
        paths = [state] if known else self.may_raise(state)
        for position, target in enumerate(targets):
            held = value.parts()[position] if known else Opaque(inert=value.inert())
            paths = [
                p for s in paths for p in (self.bind(target, held, s) if s.flow == GO else [s])
            ]
        return paths

    def _Assign(self, node: ast.Assign, state: State) -> Paths:  # noqa: N802
        paths: Paths = []
        for here, value in self.evaluate(node.value, state):
            bound = [here]
            for target in node.targets:
                bound = [
                    p for s in bound for p in (self.bind(target, value, s) if s.flow == GO else [s])
                ]
            paths += bound
        return paths

    def _AnnAssign(self, node: ast.AnnAssign, state: State) -> Paths:  # noqa: N802
        if self.scope[0] not in self.functions:
            self.annotated([node.annotation], state)
        if node.value is None:
            return [state]
        assign = ast.Assign(targets=[node.target], value=node.value)
        return self._Assign(ast.copy_location(assign, node), state)

    def _AugAssign(self, node: ast.AugAssign, state: State) -> Paths:  # noqa: N802
        load = copy(node.target)
        load.ctx = ast.Load()
        paths: Paths = []
        for here, values in self.each([load, node.value], state):
            if here.flow != GO:
                paths.append(here)
                continue
            self.use(values, node.target, here)
            if _is_changed_in_place(values[0]):
                environment.forget(here, values[0])  # `|=`, `+=`
                environment.forget(here, values[1])
                paths += self.may_raise(here)
                continue
            here.touch(values[0])
            for s, value in self.calculated(node.op, values[0], values[1], here):
                paths += self.bind(node.target, value, s) if s.flow == GO else [s]
        return paths

    def _Delete(self, node: ast.Delete, state: State) -> Paths:  # noqa: N802
        paths = [state]
        for target in node.targets:
            paths = [p for s in paths for p in (self._delete(target, s) if s.flow == GO else [s])]
        return paths

    def _delete(self, target: ast.expr, state: State) -> Paths:
        if isinstance(target, ast.Subscript):
            return self.set_item(target, None, state)
        if isinstance(target, ast.Name):
            held = state.heap.pop((self.home(target.id), target.id), None)
            return [state.raises(UnboundLocalError) if held is None else state]
        if isinstance(target, ast.Attribute):
            return self.set_attribute(target, Opaque(), state)
        return [state]

    def _Import(self, node: ast.Import, state: State) -> Paths:  # noqa: N802
        missing = self._missing(node.names[0].name, state)
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            name = alias.asname or path
            state.heap[self.home(name), name] = self.external(path)
        return [state, *missing]

    def _ImportFrom(self, node: ast.ImportFrom, state: State) -> Paths:  # noqa: N802
        module = "." * node.level + (node.module or "")
        missing = self._missing(module, state)
        for alias in node.names:
            if alias.name == "*":
                self.forget_module(state)
                continue
            name = alias.asname or alias.name
            dot = "" if module.endswith(".") else "."
            state.heap[self.home(name), name] = self.external(f"{module}{dot}{alias.name}")
        return [state, *missing]

    def _missing(self, module: str, state: State) -> Paths:
        """The path on which there is no such module, where somebody would notice.

        That `requests` is not there is no guard: nothing is proved by it.
        """
        if not state.tries:
            return []
        missing = state.copy().raises(ModuleNotFoundError, certain=False)
        missing.unlikely = missing.unlikely or externals.may_ask(module)
        return [missing]

    # Definitions.
    def _FunctionDef(  # noqa: N802
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, state: State
    ) -> Paths:
        paths: Paths = []
        for here, function in self._function(node, state):
            steps = [(here, function)]
            for decorator in reversed(node.decorator_list):
                steps = [
                    step
                    for s, value in steps
                    for step in (
                        self._decorate(decorator, value, s) if s.flow == GO else [(s, value)]
                    )
                ]
            for s, value in steps:
                paths.append(s)
                if s.flow != GO:
                    continue  # a decorator raised: nothing is bound
                place = self.home(node.name), node.name
                s.heap[place] = value
                if not isinstance(value, Function):
                    self.wrapped.add(place)
        return paths

    _AsyncFunctionDef = _FunctionDef

    def _Lambda(self, node: ast.Lambda, state: State) -> environment.Steps:  # noqa: N802
        return self._function(node, state)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, state: State
    ) -> environment.Steps:
        positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        names = positional[len(positional) - len(node.args.defaults) :]
        keyword = [
            (a.arg, d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d
        ]
        names += [name for name, _ in keyword]
        steps: environment.Steps = []
        if not isinstance(node, ast.Lambda):
            self.annotated([node.returns, *(p.annotation for p in parameters(node))], state)
        for here, values in self.each([*node.args.defaults, *(d for _, d in keyword)], state):
            defaults = dict(zip(names, values, strict=False))
            steps.append((here, Function(node, self.scope, defaults)))
        return steps

    def _decorate(self, node: ast.expr, function: Value, state: State) -> environment.Steps:
        """What a decorator makes of a function."""
        steps: environment.Steps = []
        for here, decorator in self.evaluate(
            node.func if isinstance(node, ast.Call) else node, state
        ):
            path = decorator.path if isinstance(decorator, External) else ""
            kind = _KINDS.get(path)
            if kind and isinstance(function, Function):
                steps.append((here, function.seen_as(kind)))
            elif path in externals.TRANSPARENT_DECORATORS:
                steps.append((here, function))
            elif isinstance(decorator, Function):
                for s, value in self.evaluate(node, here):
                    going = s.flow == GO
                    steps += self.call(value, [function], {}, node, s) if going else [(s, NONE)]
            else:
                steps.append((here, Opaque()))
        return steps

    def _ClassDef(self, node: ast.ClassDef, state: State) -> Paths:  # noqa: N802
        self.scopes += 1
        scope, before = self.scopes, self.scope
        paths: Paths = []
        others = [*node.decorator_list, *(keyword.value for keyword in node.keywords)]
        plain = all(self._is_kept(part, state) for part in others)
        for here, values in self.each([*node.bases, *others], state):
            if here.flow != GO:
                paths.append(here)
                continue
            bases, decorators = values[: len(node.bases)], values[len(node.bases) :]
            if any(inherited(b, "__init_subclass__", here) for b in bases if isinstance(b, Class)):
                here.may_reach(self.trail(node.bases[0], here))
            cls = Class(node.name, scope, tuple(bases), made=self._is_made(node, bases))
            self.classes[scope], self.class_names[scope] = cls, Bindings(node.body)
            self.scope = (scope, *before)
            ran = self.run(node.body, here)
            self.scope = before
            for path in ran:
                if path.flow == GO and not cls.possible:
                    path.raises(TypeError)
                done = self._decorate_class(node, cls, decorators, path)
                for end in done:
                    if end.flow == GO:
                        end.heap[self.home(node.name), node.name] = cls if plain else Opaque()
                paths += done
        return paths

    def _decorate_class(
        self, node: ast.ClassDef, cls: Class, decorators: list[Value], state: State
    ) -> Paths:
        """The decorators run; of what they return only the harmless ones are known."""
        paths = [state]
        for called, value in reversed([*zip(node.decorator_list, decorators, strict=False)]):
            paths = [
                s
                for path in paths
                for s, _ in (
                    self.call(value, [cls], {}, called, path) if path.flow == GO else [(path, NONE)]
                )
            ]
        return paths

    def annotated(self, annotations: Iterable[ast.expr | None], state: State) -> None:
        """Annotations are evaluated at once, or when somebody asks for them, or never."""
        for node in annotations:
            if node is None or not any(isinstance(part, ast.Call) for part in ast.walk(node)):
                continue
            for after, _ in self.evaluate(node, state.copy()):
                if after.reached:
                    state.may_reach(after.trail)

    def _is_made(self, node: ast.ClassDef, bases: list[Value]) -> bool:
        """Whether something else has a hand in what the class is: `@dataclass`, `Enum`."""
        plain = [
            isinstance(base, Class)
            or self.exception_of(base) is not None
            or (isinstance(base, External) and base.path in externals.PLAIN_BASES)
            for base in bases
        ]
        return bool(node.decorator_list or node.keywords) or not all(plain)

    def _is_kept(self, decorator: ast.expr, state: State) -> bool:
        """Whether a decorator gives the class back, or a metaclass is a plain one."""
        plain = decorator.func if isinstance(decorator, ast.Call) else decorator
        values = [v for s, v in self.evaluate(plain, state.copy()) if s.flow == GO]
        return all(isinstance(v, External) and externals.harmless(v.path) for v in values)


def _is_changed_in_place(value: Value) -> bool:
    is_list = isinstance(value, Sequence) and value.is_changeable()
    return is_list or environment.is_environment(value) or environment.is_live(value)


def _is_attribute(target: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(target, ast.Attribute)


_KINDS = {
    "builtins.staticmethod": Function.STATIC,
    "builtins.classmethod": Function.CLASS,
    "builtins.property": Function.PROPERTY,
    "functools.cached_property": Function.PROPERTY,
}
