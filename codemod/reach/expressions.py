"""Expressions: all that each may evaluate to, path by path."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from codemod.reach import environment
from codemod.reach.base import MODULE, Base
from codemod.reach.state import GO, VARIABLE, State
from codemod.reach.values import (
    NONE,
    Class,
    Const,
    EnvironmentCopy,
    External,
    Function,
    Instance,
    Mapping,
    Method,
    Opaque,
    Sequence,
    Super,
    Text,
    Value,
    inert,
    names_endpoint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from codemod.reach.environment import Steps

_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SAME = (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)
_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
}


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
        return steps

    def _unfollowed(self, node: ast.expr, state: State) -> Steps:
        """An expression that is not followed: its parts run, its value is not known."""
        parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
        return [
            (
                here,
                Opaque(
                    inert=all(v.inert() for v in values), endpoint=any(map(names_endpoint, values))
                ),
            )
            for here, values in self.each(parts, state)
        ]

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
                sides.extend(self._sides(test, value, here))
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

    def _sides(self, test: ast.expr, value: Value, state: State) -> list[tuple[State, bool]]:
        truth = value.truth()
        if truth is not None:
            return [(state, truth)]
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
            self._narrow(left.id, state, none=none, truth=False if none else None)

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
            return [(state.raises(UnboundLocalError), NONE)]
        return [(state, value)]

    def _JoinedStr(self, node: ast.JoinedStr, state: State) -> Steps:  # noqa: N802
        parts = [p.value if isinstance(p, ast.FormattedValue) else p for p in node.values]
        plain = all(not isinstance(p, ast.FormattedValue) or _plain(p) for p in node.values)
        steps: Steps = []
        for here, values in self.each(parts, state):
            if plain and all(isinstance(v, Const) for v in values):
                text = "".join(str(v.value) for v in values if isinstance(v, Const))
                steps.append((here, Const(text)))
            elif plain and len(values) == 1 and isinstance(values[0], Text):
                steps.append((here, values[0]))
            else:
                steps.append((here, _made_of(values)))
        return steps

    def _items(self, node: ast.Tuple | ast.List | ast.Set, state: State) -> Steps:
        if any(isinstance(item, ast.Starred) for item in node.elts):
            return self._unfollowed(node, state)
        return [(s, Sequence(tuple(values))) for s, values in self.each(node.elts, state)]

    _Tuple = _List = _Set = _items

    def _Dict(self, node: ast.Dict, state: State) -> Steps:  # noqa: N802
        if None in node.keys:
            return self._merged_dict(node, state)
        keys = [key for key in node.keys if key is not None]
        steps: Steps = []
        for here, values in self.each([*keys, *node.values], state):
            names, held = values[: len(keys)], values[len(keys) :]
            if here.flow == GO and all(isinstance(name, Const) for name in names):
                pairs = zip(names, held, strict=True)
                steps.append(
                    (here, Mapping({n.value: v for n, v in pairs if isinstance(n, Const)}))
                )
            else:
                steps.append((here, Opaque(inert=all(v.inert() for v in values))))
        return steps

    def _merged_dict(self, node: ast.Dict, state: State) -> Steps:
        """`{**os.environ}`, with nothing else in it, is a copy."""
        if len(node.values) != 1:
            keys = [key for key in node.keys if key is not None]
            return [(s, inert()) for s, _ in self.each([*keys, *node.values], state)]
        return [
            (s, environment.copy_of(s, v) if environment.is_environment(v) else inert())
            for s, v in self.evaluate(node.values[0], state)
        ]

    def _Await(self, node: ast.Await, state: State) -> Steps:  # noqa: N802
        return self.evaluate(node.value, state)

    def _NamedExpr(self, node: ast.NamedExpr, state: State) -> Steps:  # noqa: N802
        steps = self.evaluate(node.value, state)
        for here, value in steps:
            if here.flow == GO:
                here.heap[self._home(node.target.id, walrus=True), node.target.id] = value
        return steps

    def _home(self, name: str, *, walrus: bool = False) -> int:
        """The scope that a binding of `name` goes to."""
        for position, scope in enumerate(self.scope):
            if scope in self.comprehensions:
                if walrus or position:
                    continue
                return scope
            function = self.functions.get(scope)
            if function is None and (not position or scope == MODULE):
                return scope
            if function is not None and name in self.bindings(function).names:
                return scope
        return MODULE

    # Operators.
    def _BoolOp(self, node: ast.BoolOp, state: State) -> Steps:  # noqa: N802
        going_on = isinstance(node.op, ast.And)
        here = [state]
        done: Steps = []
        for position, operand in enumerate(node.values):
            following: list[State] = []
            for s, value in [step for path in here for step in self.evaluate(operand, path)]:
                if s.flow != GO or position == len(node.values) - 1:
                    done.append((s, value))
                    continue
                for side, truth in self._sides(operand, value, s):
                    if truth is going_on:
                        following.append(side)
                    else:
                        done.append((side, _as_side(value, truth=truth)))
            here = following
        return done

    def _UnaryOp(self, node: ast.UnaryOp, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, value in self.evaluate(node.operand, state):
            truth = value.truth()
            if isinstance(node.op, ast.Not):
                steps.append((here, inert() if truth is None else Const(not truth)))
            elif isinstance(node.op, ast.USub) and isinstance(value, Const):
                steps.append((here, _computed(operator.neg, value)))
            else:
                steps.append((here, inert()))
        return steps

    def _BinOp(self, node: ast.BinOp, state: State) -> Steps:  # noqa: N802
        function = _ARITHMETIC.get(type(node.op))
        steps: Steps = []
        for here, values in self.each((node.left, node.right), state):
            if here.flow != GO:
                steps.append((here, NONE))
            elif function and all(isinstance(v, Const) for v in values):
                steps.append((here, _computed(function, *values)))
            else:
                steps += self.may_fail(here, _made_of(values))
        return steps

    def _IfExp(self, node: ast.IfExp, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, truth in self.branch(node.test, state):
            if here.flow != GO:
                steps.append((here, NONE))
            else:
                steps += self.evaluate(node.body if truth else node.orelse, here)
        return steps

    def _Compare(self, node: ast.Compare, state: State) -> Steps:  # noqa: N802
        if len(node.ops) != 1:
            return self._unfollowed(node, state)
        steps: Steps = []
        for here, values in self.each((node.left, node.comparators[0]), state):
            if here.flow != GO:
                steps.append((here, NONE))
            else:
                steps += self._compared(node, values[0], values[1], here)
        return steps

    def _compared(self, node: ast.Compare, left: Value, right: Value, state: State) -> Steps:
        kind = type(node.ops[0])
        if kind in (ast.In, ast.NotIn):
            return self._contains(node, left, right, state)
        if kind in _SAME:
            same = _identical(left, right, exact=kind in (ast.Is, ast.IsNot))
            if same is not None:
                return [(state, Const(same is (kind in (ast.Is, ast.Eq))))]
        function = _COMPARE.get(kind)
        if function and isinstance(left, Const) and isinstance(right, Const):
            return [(state, _computed(function, left, right))]
        return [(state, inert())]

    def _contains(self, node: ast.Compare, item: Value, holder: Value, state: State) -> Steps:
        wanted = isinstance(node.ops[0], ast.In)
        if environment.is_environment(holder):
            self.note_look_up(node, item)
            steps = environment.read(self.world, state, holder, "__contains__", [item])
            return [
                (s, v if wanted or not isinstance(v, Const) else Const(not v.value))
                for s, v in steps
            ]
        known: bool | None = None
        if isinstance(item, Const) and isinstance(holder, Sequence):
            if all(isinstance(held, Const) for held in holder.items):
                known = item.value in [
                    held.value for held in holder.items if isinstance(held, Const)
                ]
        elif isinstance(item, Const) and isinstance(holder, Const):
            value = _computed(operator.contains, holder, item)
            known = value.truth() if isinstance(value, Const) else None
        return [(state, inert() if known is None else Const(known is wanted))]

    def note_look_up(self, node: ast.AST, name: Value) -> None:
        """Remember where the variable itself is looked up, for the evidence."""
        if isinstance(name, Const) and name.value == VARIABLE and not self.importing:
            self.looked[getattr(node, "lineno", 0)] = node

    # Attributes and items.
    def _Attribute(self, node: ast.Attribute, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, value in self.evaluate(node.value, state):
            steps += [(here, NONE)] if here.flow != GO else self.attribute(value, node, here)
        return steps

    def attribute(self, value: Value, node: ast.Attribute, state: State) -> Steps:
        """What `node`, an attribute of `value`, stands for."""
        name = node.attr
        if isinstance(value, External):
            return [(state, self.external(f"{value.path}.{name}"))]
        if isinstance(value, Const) and value.value is None:
            return [(state.raises(AttributeError), NONE)]
        if isinstance(value, (Const, Text, Sequence, Mapping, EnvironmentCopy)):
            return [(state, Method(value, name))]
        found = self._member_of(value, name, state)
        if isinstance(found, Function) and found.kind == Function.PROPERTY and found.bound:
            return self.call(found, [], {}, node, state)
        if found is not None:
            return [(state, found)]
        return self.may_fail(state, Opaque(inert=value.inert(), endpoint=names_endpoint(value)))

    def _member_of(self, value: Value, name: str, state: State) -> Value | None:
        bound: Value | None = value
        if isinstance(value, Class):
            found = self.member(value, name, state)
            if isinstance(found, Function) and found.kind != Function.CLASS:
                return found  # not bound: `Class.method` takes the object as an argument
        elif isinstance(value, Instance):
            found = self.member(value.cls, name, state)
        elif isinstance(value, Super):
            found, bound = self.super_member(value, name, state), value.bound
        else:
            return None
        return found.binding(bound) if isinstance(found, Function) and bound else found

    def _Subscript(self, node: ast.Subscript, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, values in self.each((node.value, node.slice), state):
            if here.flow != GO:
                steps.append((here, NONE))
            else:
                steps += self._item(node, values[0], values[1], here)
        return steps

    def _item(self, node: ast.Subscript, holder: Value, index: Value, state: State) -> Steps:
        if environment.is_environment(holder):
            self.note_look_up(node, index)
            return environment.read(self.world, state, holder, "__getitem__", [index])
        if isinstance(holder, Const) and holder.value is None:
            return [(state.raises(TypeError), NONE)]
        if isinstance(index, Const) and isinstance(holder, Sequence):
            if isinstance(index.value, int):
                inside = -len(holder.items) <= index.value < len(holder.items)
                return [
                    (state, holder.items[index.value])
                    if inside
                    else (state.raises(IndexError), NONE)
                ]
        return self.may_fail(state, Opaque(inert=holder.inert(), endpoint=names_endpoint(holder)))

    def _Slice(self, node: ast.Slice, state: State) -> Steps:  # noqa: N802
        return self._unfollowed(node, state)


def _plain(part: ast.FormattedValue) -> bool:
    return part.conversion == -1 and part.format_spec is None


def _identical(left: Value, right: Value, *, exact: bool) -> bool | None:
    """Whether two values are the same where one is None, or (`is`) true or false."""
    for one, other in ((left, right), (right, left)):
        if isinstance(other, Const) and other.value is None:
            return one.is_none()
        if exact and isinstance(other, Const) and isinstance(other.value, bool):
            return one.value is other.value if isinstance(one, Const) else None
    return None


def _as_side(value: Value, *, truth: bool) -> Value:
    """A value of which a branch has shown the truth."""
    return value.where(truth=truth) if isinstance(value, Opaque) else value


def _made_of(values: list[Value]) -> Value:
    """A string, number or the like computed from these."""
    return Opaque(inert=True, none=False, endpoint=any(map(names_endpoint, values)))


def _computed(function: Callable[..., object], *values: Value) -> Value:
    """The result on constants, unknown where it fails or is large."""
    try:
        result = function(*(v.value for v in values if isinstance(v, Const)))
    except (TypeError, ValueError, ArithmeticError):
        return inert()
    if isinstance(result, (str, bytes)) and len(result) > 10_000:
        return inert()
    return Const(result)
