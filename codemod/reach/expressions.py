"""Expressions: all that each may evaluate to, path by path."""

from __future__ import annotations

import ast
import itertools
from typing import TYPE_CHECKING

from codemod.reach import environment
from codemod.reach.base import MODULE, Base
from codemod.reach.containers import Mapping, Sequence, is_unhashable
from codemod.reach.state import GO, State
from codemod.reach.values import (
    NONE,
    Const,
    External,
    Instance,
    Opaque,
    Text,
    Value,
    names_endpoint,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemod.reach.environment import Steps


class Expressions(Base):
    """Evaluates expressions. `scope` lists the scopes around, innermost first."""

    scope: tuple[int, ...] = (MODULE,)

    def evaluate(self, node: ast.expr, state: State) -> Steps:
        self.tick()
        handler = getattr(self, f"_{type(node).__name__}", None)
        if handler is not None:
            steps: Steps = handler(node, state)
            return steps
        return self._unfollowed(node, state)

    def each(self, nodes: Iterable[ast.expr], state: State) -> list[tuple[State, list[Value]]]:
        """Evaluate from left to right; a path that leaves carries the values it had so far."""
        steps: list[tuple[State, list[Value]]] = [(state, [])]
        for node in nodes:
            following: list[tuple[State, list[Value]]] = []
            for here, values in steps:
                if here.flow != GO:
                    following.append((here, values))
                    continue
                following.extend((s, [*values, v]) for s, v in self.evaluate(node, here))
            self.tick(len(following))
            steps = following
        return [(s, [*map(s.current, values)]) for s, values in steps]

    def _unfollowed(self, node: ast.expr, state: State) -> Steps:
        """An expression that is not followed: its parts run, its value is not known."""
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return [(here, self.blurred(values, here)) for here, values in self.each(parts, state)]

    def blurred(self, values: list[Value], state: State) -> Value:
        """Something that holds these values, and that is not followed: they change unseen."""
        for value in values:
            environment.forget(state, value, kept=True)
        return made_of(values, plain=False)

    # Branching.
    def branch(self, test: ast.expr, state: State) -> list[tuple[State, bool]]:
        """The paths on which `test` is true and on which it is false.

        A path that leaves while the test is evaluated is given as true; its flow tells.
        """
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return [
                (s, truth if s.flow else not truth) for s, truth in self.branch(test.operand, state)
            ]
        if isinstance(test, ast.BoolOp):
            return self._branch_all(test, state)
        sides: list[tuple[State, bool]] = []
        for here, value in self.evaluate(test, state):
            if here.flow != GO:
                sides.append((here, True))
            else:
                sides.extend(self.sides(test, value, here))
        return sides

    def _branch_all(self, test: ast.BoolOp, state: State) -> list[tuple[State, bool]]:
        going_on = isinstance(test.op, ast.And)
        here = [state]
        done: list[tuple[State, bool]] = []
        for operand in test.values:
            sides = [side for s in here for side in self.branch(operand, s)]
            self.tick(len(sides) + len(done))
            done += [(s, t) for s, t in sides if s.flow or t is not going_on]
            here = [s for s, t in sides if not s.flow and t is going_on]
        return done + [(s, going_on) for s in here]

    def sides(self, test: ast.expr, value: Value, state: State) -> list[tuple[State, bool]]:
        """The paths on which a value that `test` gave is true, and on which it is false."""
        truth = value.truth()
        if truth is not None:
            return [(state, truth)]
        self.use([value], test, state)
        other = state.copy()
        self._learn(test, state, truth=True)
        self._learn(test, other, truth=False)
        return [(state, True), (other, False)]

    def _learn(self, test: ast.expr, state: State, *, truth: bool) -> None:
        """On one side of a branch more is known of the name that was tested."""
        if isinstance(test, ast.NamedExpr):
            test = test.target
        if isinstance(test, ast.Name):
            self._narrow(test.id, state, none=False if truth else None, truth=truth)
        elif isinstance(test, ast.Compare) and len(test.ops) == 1:
            self._learn_from_none(test, test.ops[0], state, truth=truth)

    def _learn_from_none(
        self, test: ast.Compare, operation: ast.cmpop, state: State, *, truth: bool
    ) -> None:
        """`name is None`, `name is not None`, and the same with `:=`."""
        left = test.left.target if isinstance(test.left, ast.NamedExpr) else test.left
        right = test.comparators[0]
        against_none = isinstance(right, ast.Constant) and right.value is None
        if (
            against_none
            and isinstance(left, ast.Name)
            and isinstance(operation, (ast.Is, ast.IsNot))
        ):
            none = truth is isinstance(operation, ast.Is)
            self._narrow(left.id, state, none=none, truth=None)

    def _narrow(self, name: str, state: State, *, none: bool | None, truth: bool | None) -> None:
        value = self.resolve(name, self.scope, state)
        if isinstance(value, Opaque):
            known = NONE if none else value.where(none=none, truth=truth)
            state.change_everywhere(value, known)

    # Names, constants, containers.
    def _Constant(self, node: ast.Constant, state: State) -> Steps:  # noqa: N802 - ast's name
        return [(state, Const(node.value))]

    def _Name(self, node: ast.Name, state: State) -> Steps:  # noqa: N802
        value = self.resolve(node.id, self.scope, state)
        if value is None:
            return [(state.raises(self._unbound_error(node.id)), NONE)]
        if isinstance(value, External) and value.path.startswith("?"):
            return self.may_fail(state, value, NameError)
        return [(state, value)]

    def _unbound_error(self, name: str) -> type[NameError] | None:
        """What a name without a value raises; of a comprehension that depends on the Python."""
        function = self.functions.get(self.scope[0])
        if function is not None:
            return UnboundLocalError if name in self.bindings(function).names else NameError
        return None

    def _JoinedStr(self, node: ast.JoinedStr, state: State) -> Steps:  # noqa: N802
        fields = [p for p in node.values if isinstance(p, ast.FormattedValue)]
        parts = [p.value if isinstance(p, ast.FormattedValue) else p for p in node.values]
        formats = [field.format_spec for field in fields if field.format_spec]
        plain = not formats and all(field.conversion == -1 for field in fields)
        steps: Steps = []
        for here, values in self.each([*parts, *formats], state):
            if here.flow != GO:
                steps.append((here, NONE))
            elif plain and all(isinstance(v, Const) for v in values):
                text = "".join(str(v.value) for v in values if isinstance(v, Const))
                steps.append((here, Const(text)))
            elif plain and len(values) == 1 and isinstance(values[0], Text):
                steps.append((here, values[0]))
            else:
                self.use(values, node, here)
                made = made_of(values, plain=True)
                steps += self.may_fail(here, made, ValueError) if formats else [(here, made)]
        return steps

    def _items(self, node: ast.Tuple | ast.List | ast.Set, state: State) -> Steps:
        if any(isinstance(item, ast.Starred) for item in node.elts):
            starred = [isinstance(item, ast.Starred) for item in node.elts]
            return [
                (s, self._spread(list(itertools.compress(values, starred)), values, node, s))
                for s, values in self.each(node.elts, state)
            ]
        kind = _KINDS[type(node)]
        return [(s, Sequence(tuple(values), kind)) for s, values in self.each(node.elts, state)]

    _Tuple = _List = _items

    def _Set(self, node: ast.Set, state: State) -> Steps:  # noqa: N802
        """A set whose items are known, and known to differ."""
        steps = self._items(node, state)
        for here, value in steps:
            self.use([value], node, here)
            if here.flow == GO and any(map(is_unhashable, value.parts())):
                here.raises(TypeError)
        return [(s, set_of(value)) for s, value in steps]

    def _Dict(self, node: ast.Dict, state: State) -> Steps:  # noqa: N802
        if None in node.keys:
            return self._merged_dict(node, state)
        keys = [key for key in node.keys if key is not None]
        steps: Steps = []
        for here, values in self.each([*keys, *node.values], state):
            self.use(values[: len(keys)], node, here)
            if here.flow == GO and any(map(is_unhashable, values[: len(keys)])):
                steps.append((here.raises(TypeError), NONE))
                continue
            names, held = values[: len(keys)], values[len(keys) :]
            if here.flow == GO and all(map(environment.is_key, names)):
                pairs = zip(names, held, strict=True)
                steps.append(
                    (here, Mapping({n.value: v for n, v in pairs if isinstance(n, Const)}))
                )
            else:
                steps.append((here, self.blurred(values, here)))
        return steps

    def _merged_dict(self, node: ast.Dict, state: State) -> Steps:
        """`{**os.environ}`, with nothing else in it, is a copy."""
        steps: Steps = []
        keys = [key for key in node.keys if key is not None]
        for here, values in self.each([*keys, *node.values], state):
            if len(values) == 1 and environment.is_environment(values[0]):
                steps.append((here, environment.copy_of(here, values[0])))
            else:
                steps.append((here, self._spread(values, values, node, here)))
        return steps

    def _spread(
        self, spread: list[Value], values: list[Value], node: ast.expr, state: State
    ) -> Value:
        """A display with `*value` or `**value` in it: those are iterated over."""
        if any(isinstance(v, (Instance, Opaque)) and not v.inert() for v in spread):
            state.may_reach(self.trail(node, state))
        environment.forget_parts(state, values)
        return Opaque(inert=all(v.inert() or environment.is_environment(v) for v in values))

    def _Await(self, node: ast.Await, state: State) -> Steps:  # noqa: N802
        self.awaited.add(node.value)
        return self.evaluate(node.value, state)

    def _NamedExpr(self, node: ast.NamedExpr, state: State) -> Steps:  # noqa: N802
        steps = self.evaluate(node.value, state)
        for here, value in steps:
            if here.flow == GO:
                here.heap[self.home(node.target.id, walrus=True), node.target.id] = value
        return steps

    def home(self, name: str, *, walrus: bool = False) -> int:
        """The scope that a binding of `name` goes to."""
        for position, scope in enumerate(self.scope):
            if scope in self.comprehensions:
                if walrus or position:
                    continue
                return scope
            function = self.functions.get(scope)
            own = self.class_names.get(scope)
            if own is not None and name in own.globals:
                return MODULE
            if own is not None and (position or name not in own.names):
                continue
            if function is None and (not position or scope == MODULE):
                return scope
            if function is not None and name in self.bindings(function).names:
                return scope
            if function is not None and name in self.bindings(function).globals:
                return MODULE
        return MODULE


_KINDS: dict[type[ast.expr], type] = {ast.Tuple: tuple, ast.List: list, ast.Set: set}


def set_of(made: Value) -> Value:
    """The items as a set, if they are known and known to differ."""
    values = {item.value for item in made.parts() if isinstance(item, Const)}
    if isinstance(made, Sequence) and len(values) == len(made.items):
        return Sequence(made.items, set)
    return Opaque(inert=made.inert())


def made_of(values: list[Value], *, plain: bool) -> Value:
    """What is computed from these; `plain` where it surely is a string or a number."""
    kept = plain or all(value.inert() for value in values)
    none = False if kept else None
    return Opaque(inert=kept, none=none, endpoint=any(map(names_endpoint, values)))
