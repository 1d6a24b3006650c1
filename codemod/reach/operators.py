"""Operators: boolean, arithmetic, comparisons, conditional expressions."""

from __future__ import annotations

import ast
import operator
from typing import TYPE_CHECKING, Any

from codemod.reach import environment
from codemod.reach.containers import EnvironmentCopy, Mapping, Sequence
from codemod.reach.expressions import Expressions, made_of
from codemod.reach.state import GO, VARIABLE, State
from codemod.reach.values import NONE, Const, Function, Opaque, Text, Value, inert

if TYPE_CHECKING:
    from collections.abc import Callable

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
    ast.BitXor: operator.xor,
}
_SIGNS: dict[type[ast.unaryop], Callable[[Any], object]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class Operators(Expressions):
    """Operators, on top of the plain expressions."""

    def _BoolOp(self, node: ast.BoolOp, state: State) -> Steps:  # noqa: N802 - ast's name
        going_on = isinstance(node.op, ast.And)
        here = [state]
        done: Steps = []
        for position, operand in enumerate(node.values):
            following: list[State] = []
            for s, value in [step for path in here for step in self.evaluate(operand, path)]:
                if s.flow != GO or position == len(node.values) - 1:
                    done.append((s, value))
                    continue
                for side, truth in self.sides(operand, value, s):
                    if truth is going_on:
                        following.append(side)
                    else:
                        done.append((side, _as_side(value, truth=truth)))
            self.tick(len(following) + len(done))
            here = following
        return done

    def _UnaryOp(self, node: ast.UnaryOp, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, value in self.evaluate(node.operand, state):
            truth = value.truth()
            if here.flow != GO:
                steps.append((here, NONE))
                continue
            self.use([value], node, here)
            if isinstance(node.op, ast.Not):
                steps.append((here, inert() if truth is None else Const(not truth)))
            elif isinstance(value, Const) and type(node.op) in _SIGNS:
                steps += self.computed(_SIGNS[type(node.op)], [value], here)
            else:
                steps += self.may_fail(here, inert(), TypeError)
        return steps

    def _BinOp(self, node: ast.BinOp, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, values in self.each((node.left, node.right), state):
            if here.flow != GO:
                steps.append((here, NONE))
            else:
                self.use(values, node, here)
                steps += self.calculated(node.op, values[0], values[1], here)
        return steps

    def calculated(self, operation: ast.operator, left: Value, right: Value, state: State) -> Steps:
        """`left + right`, or another such operation."""
        function = _ARITHMETIC.get(type(operation))
        both = [left, right]
        if (
            function
            and all(isinstance(v, Const) for v in both)
            and not (isinstance(operation, ast.Mod) and _pads(left))
        ):
            return self.computed(function, both, state)
        if isinstance(operation, ast.Mod) and isinstance(left, Const) and left.value == "%s":
            return self._as_text(right, state)
        if function and not _may_do(function, both):
            return [(state.raises(TypeError), NONE)]
        environment.forget_parts(state, both)
        plain = any(isinstance(v, Const) for v in both)
        joined = plain and isinstance(operation, ast.Add)
        return self.may_fail(state, made_of(both, plain=plain), TypeError if joined else None)

    def _as_text(self, value: Value, state: State) -> Steps:
        """`"%s" % value`, of a tuple of one too."""
        is_one = isinstance(value, Sequence) and value.kind is tuple and len(value.items) == 1
        held = value.parts()[0] if is_one else value
        known = isinstance(held, Const) and not isinstance(value, Const)
        return [(state, Const(str(held.value)) if known and isinstance(held, Const) else inert())]

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
            return self._chained(node, state)
        steps: Steps = []
        for here, values in self.each((node.left, node.comparators[0]), state):
            if here.flow != GO:
                steps.append((here, NONE))
            else:
                self.use(values, node, here)
                steps += self._compared(node, values[0], values[1], here)
        return steps

    def _chained(self, node: ast.Compare, state: State) -> Steps:
        """`a < b < c` is not followed: it may stop before it has come to the end."""
        steps: Steps = []
        for here, values in self.each((node.left, node.comparators[0]), state):
            if here.flow != GO:
                steps.append((here, NONE))
                continue
            self.use(values, node, here)
            steps += self.may_fail(here.copy(), inert(), TypeError)
            steps += [(s, inert()) for s, _ in self.each(node.comparators[1:], here)]
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
        if function is None:
            return [(state, inert())]
        if isinstance(left, Const) and isinstance(right, Const):
            return self.computed(function, [left, right], state)
        if not _may_do(function, [left, right]):
            return [(state.raises(TypeError), NONE)]
        return [(state, inert())] if kind in _SAME else self.may_fail(state, inert(), TypeError)

    def _contains(self, node: ast.Compare, item: Value, holder: Value, state: State) -> Steps:
        wanted = isinstance(node.ops[0], ast.In)
        if environment.is_environment(holder):
            self.note_look_up(node, item)
            steps = environment.read(self.world, state, holder, "__contains__", [item])
            return [
                (s, v if wanted or not isinstance(v, Const) else Const(not v.value))
                for s, v in steps
            ]
        if isinstance(item, Const) and isinstance(holder, Const):
            found = self.computed(lambda held, one: (one in held) is wanted, [holder, item], state)
            return [(s, v if isinstance(v, Const) else inert()) for s, v in found]
        if holder.is_none():
            return [(state.raises(TypeError), NONE)]
        known = _is_among(item, holder)
        if known is not None:
            return [(state, Const(known is wanted))]
        return self.may_fail(state, inert(), TypeError)

    def note_look_up(self, node: ast.AST, name: Value) -> None:
        """Remember where the variable itself is looked up, for the evidence."""
        if isinstance(name, Const) and name.value == VARIABLE and not self.importing:
            self.looked[getattr(node, "lineno", 0)] = node

    def computed(self, function: Callable[..., object], values: list[Value], state: State) -> Steps:
        """The result on constants; what it raises on them is raised."""
        try:
            result = function(*(v.value for v in values if isinstance(v, Const)))
        except (TypeError, ValueError, ArithmeticError, LookupError) as error:
            return [(state.raises(type(error)), NONE)]
        large = isinstance(result, (str, bytes)) and len(result) > 10_000
        return [(state, inert() if large else Const(result))]


_SAMPLES: tuple[tuple[type[Value], object], ...] = (
    (Text, "text"),
    (Mapping, {}),
    (EnvironmentCopy, {}),
    (Function, len),
)


def _may_do(function: Callable[..., object], values: list[Value]) -> bool:
    """Whether values of these classes may be added, compared, and so on."""
    samples = []
    for value in values:
        kinds = [sample for kind, sample in _SAMPLES if isinstance(value, kind)]
        if isinstance(value, Const):
            kinds = [value.value]
        elif type(value) is Sequence:
            kinds = [value.kind()] if value.kind is not range else [range(0)]
        if not kinds or function is operator.mod:
            return True
        samples += kinds
    try:
        function(*samples)
    except TypeError:
        return False
    except (ValueError, ArithmeticError):
        return True
    return True


def _pads(template: Value) -> bool:
    """Whether a `%` template has widths: the result may be of any size."""
    text = template.value if isinstance(template, Const) else ""
    return isinstance(text, (str, bytes)) and any(chr(c) in "0123456789*" for c in _codes(text))


def _codes(text: str | bytes) -> bytes:
    return text if isinstance(text, bytes) else text.encode("utf-8", "replace")


def _is_among(item: Value, holder: Value) -> bool | None:
    """Whether a constant is one of a sequence's items, where that can be told."""
    if not isinstance(item, Const) or not isinstance(holder, Sequence):
        return None
    if any(isinstance(held, Const) and held.value == item.value for held in holder.items):
        return True
    return None if any(not isinstance(held, Const) for held in holder.items) else False


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
