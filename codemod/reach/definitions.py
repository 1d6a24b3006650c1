"""Statements that bind names: assignments, imports, functions, classes."""

from __future__ import annotations

import ast

from codemod.reach import environment, externals
from codemod.reach.comprehensions import Comprehensions
from codemod.reach.state import GO, State
from codemod.reach.values import (
    NONE,
    Class,
    External,
    Function,
    Opaque,
    Sequence,
    Value,
    inert,
)

Paths = list[State]


class Definitions(Comprehensions):
    """Binding, on top of comprehensions."""

    def bind(self, target: ast.expr, value: Value, state: State) -> Paths:
        """`target = value`."""
        if isinstance(target, ast.Name):
            state.heap[self._home(target.id), target.id] = value
            return [state]
        if isinstance(target, (ast.Tuple, ast.List)):
            return self._unpack(target.elts, value, state)
        if isinstance(target, ast.Starred):
            return self.bind(target.value, Opaque(inert=value.inert()), state)
        if isinstance(target, ast.Subscript):
            return self._set_item(target, value, state)
        return self._set_attribute(target, value, state)

    def _unpack(self, targets: list[ast.expr], value: Value, state: State) -> Paths:
        items = (
            value.items if isinstance(value, Sequence) and len(value.items) == len(targets) else ()
        )
        if any(isinstance(target, ast.Starred) for target in targets):
            items = ()
        paths = [state]
        for position, target in enumerate(targets):
            held = items[position] if items else Opaque(inert=value.inert())
            paths = [
                p for s in paths for p in (self.bind(target, held, s) if s.flow == GO else [s])
            ]
        return paths

    def _set_item(self, target: ast.Subscript, value: Value | None, state: State) -> Paths:
        paths: Paths = []
        for here, values in self.each((target.value, target.slice), state):
            paths.append(here)
            if here.flow != GO:
                continue
            if environment.is_environment(values[0]):
                environment.write(here, values[0], values[1], value)
            elif isinstance(values[0], Sequence):
                here.change_everywhere(values[0], Opaque(inert=values[0].inert()))
        return paths

    def _set_attribute(self, target: ast.expr, value: Value, state: State) -> Paths:
        if not isinstance(target, ast.Attribute):
            return [state]
        steps = self.evaluate(target.value, state)
        for here, holder in steps:
            if isinstance(holder, Class) and here.flow == GO:
                here.heap[holder.scope, target.attr] = value
            elif (
                isinstance(holder, External) and f"{holder.path}.{target.attr}" == environment.LIVE
            ):
                here.skip = inert()
        return [s for s, _ in steps]

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
        if node.value is None:
            return [state]
        assign = ast.Assign(targets=[node.target], value=node.value)
        return self._Assign(ast.copy_location(assign, node), state)

    def _AugAssign(self, node: ast.AugAssign, state: State) -> Paths:  # noqa: N802
        if not isinstance(node.target, ast.Name):
            return [s for s, _ in self.evaluate(node.value, state)]
        load = ast.copy_location(ast.Name(id=node.target.id, ctx=ast.Load()), node)
        value = ast.copy_location(ast.BinOp(left=load, op=node.op, right=node.value), node)
        assign = ast.Assign(targets=[node.target], value=value)
        return self._Assign(ast.copy_location(assign, node), state)

    def _Delete(self, node: ast.Delete, state: State) -> Paths:  # noqa: N802
        paths = [state]
        for target in node.targets:
            if isinstance(target, ast.Subscript):
                paths = [p for s in paths for p in self._set_item(target, None, s)]
            elif isinstance(target, ast.Name):
                for path in paths:
                    path.heap.pop((self._home(target.id), target.id), None)
        return paths

    def _Import(self, node: ast.Import, state: State) -> Paths:  # noqa: N802
        for alias in node.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            name = alias.asname or path
            state.heap[self._home(name), name] = self.external(path)
        return self._importing(state)

    def _ImportFrom(self, node: ast.ImportFrom, state: State) -> Paths:  # noqa: N802
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            name = alias.asname or alias.name
            dot = "" if module.endswith(".") else "."
            state.heap[self._home(name), name] = self.external(f"{module}{dot}{alias.name}")
        return self._importing(state)

    def _importing(self, state: State) -> Paths:
        return [s for s, _ in self.may_fail(state, NONE)]

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
                s.heap[self._home(node.name), node.name] = value
                paths.append(s)
        return paths

    _AsyncFunctionDef = _FunctionDef

    def _Lambda(self, node: ast.Lambda, state: State) -> environment.Steps:  # noqa: N802
        return self._function(node, state)

    def _function(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, state: State
    ) -> environment.Steps:
        positional = [a.arg for a in (*node.args.posonlyargs, *node.args.args)]
        count = len(node.args.defaults)
        names = positional[len(positional) - count :] if count else []
        keyword = [
            (a.arg, d)
            for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
            if d
        ]
        names += [name for name, _ in keyword]
        steps: environment.Steps = []
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
                    steps += self.call(value, [function], {}, node, s)
            else:
                steps.append((here, Opaque()))
        return steps

    def _ClassDef(self, node: ast.ClassDef, state: State) -> Paths:  # noqa: N802
        self.scopes += 1
        scope, before = self.scopes, self.scope
        paths: Paths = []
        for here, bases in self.each(node.bases, state):
            cls = Class(node.name, scope, tuple(bases))
            self.classes[scope] = cls
            self.scope = (scope, *before)
            ran = self.run(node.body, here)
            self.scope = before
            for path in ran:
                path.heap[self._home(node.name), node.name] = (
                    Opaque() if node.decorator_list else cls
                )
            paths += ran
        return paths


_KINDS = {
    "builtins.staticmethod": Function.STATIC,
    "builtins.classmethod": Function.CLASS,
    "builtins.property": Function.PROPERTY,
    "functools.cached_property": Function.PROPERTY,
}
