"""The patterns of `match`: whether a subject matches, where that can be told."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

from codemod.reach import environment
from codemod.reach.scopes import bound_names
from codemod.reach.state import GO, State
from codemod.reach.values import Const, Instance, Opaque, Text, Value

if TYPE_CHECKING:
    from codemod.reach.definitions import Definitions


def match_case(
    walk: Definitions, case: ast.match_case, subject: Value, state: State
) -> list[tuple[State, bool]]:
    """The paths on which the case is taken, and those on which it is not."""
    sides: list[tuple[State, bool]] = []
    for here, matched in _match(walk, case.pattern, subject, state):
        if not matched or case.guard is None:
            sides.append((here, matched))
        else:
            sides += walk.branch(case.guard, here)
    return sides


def _match(
    walk: Definitions, pattern: ast.pattern, subject: Value, state: State
) -> list[tuple[State, bool]]:
    answer = _answer(walk, pattern, subject, state)
    _look_at(walk, pattern, subject, state)
    other = state.copy()
    if answer is None:
        environment.forget_parts(state, [subject])
    for name in bound_names([pattern]) if answer is not False else ():
        # What is known to match is matched as a whole: its names stand for the subject.
        _bind(walk, name, subject if answer else Opaque(inert=subject.inert()), state)
    return [(state, answer)] if answer is not None else [(state, True), (other, False)]


def _look_at(walk: Definitions, pattern: ast.pattern, subject: Value, state: State) -> None:
    """An object is compared, and its attributes are looked up; so are those of a pattern."""
    for node in ast.walk(pattern):
        if isinstance(node, ast.MatchValue):
            walk.use([subject], node.value, state)
            reached = [s for s, _ in walk.evaluate(node.value, state.copy()) if s.reached]
            for after in reached:
                state.may_reach(after.trail)
        elif isinstance(node, ast.MatchClass) and isinstance(subject, Instance):
            state.may_reach(walk.trail(node.cls, state))


def _bind(walk: Definitions, name: str, value: Value, state: State) -> None:
    walk.bind(ast.Name(id=name, ctx=ast.Store()), value, state)


def _answer(walk: Definitions, pattern: ast.pattern, subject: Value, state: State) -> bool | None:
    if isinstance(pattern, ast.MatchAs):
        return True if pattern.pattern is None else _answer(walk, pattern.pattern, subject, state)
    if isinstance(pattern, ast.MatchOr):
        return _any([_answer(walk, one, subject, state) for one in pattern.patterns])
    if isinstance(pattern, ast.MatchSingleton):
        if pattern.value is None:
            return subject.is_none()
        return subject.value is pattern.value if isinstance(subject, Const) else None
    if isinstance(pattern, ast.MatchValue):
        return _equals(walk, pattern.value, subject, state)
    if _is_built_in(pattern) and len(pattern.patterns) == 1:
        inner = _answer(walk, pattern.patterns[0], subject, state)
        return _all([_is_of(pattern, subject), inner])  # `str(x)`: x is the string itself
    return _is_a(pattern, subject)


def _is_built_in(pattern: ast.pattern) -> TypeGuard[ast.MatchClass]:
    return isinstance(pattern, ast.MatchClass) and ast.unparse(pattern.cls) in _BUILTIN_CLASSES


def _equals(walk: Definitions, node: ast.expr, subject: Value, state: State) -> bool | None:
    values = [v for s, v in walk.evaluate(node, state.copy()) if s.flow == GO]
    if len(values) == 1 and isinstance(values[0], Const) and isinstance(subject, Const):
        return values[0].value == subject.value
    return None


def _is_a(pattern: ast.pattern, subject: Value) -> bool | None:
    """`case str():` against a constant, `case [*_]:` and `case {}:` against what is no such thing.

    Any other pattern is not followed.
    """
    if isinstance(pattern, (ast.MatchSequence, ast.MatchMapping)):
        return False if isinstance(subject, (Const, Text)) else None
    return _is_of(pattern, subject) if _is_built_in(pattern) and not pattern.patterns else None


def _is_of(pattern: ast.MatchClass, subject: Value) -> bool | None:
    """Whether the subject is of a built-in class, whatever stands in its brackets by position."""
    kind = _BUILTIN_CLASSES[ast.unparse(pattern.cls)]
    if pattern.kwd_patterns or not isinstance(subject, (Const, Text)):
        return None
    return kind is str if isinstance(subject, Text) else isinstance(subject.value, kind)


def _any(answers: list[bool | None]) -> bool | None:
    if True in answers:
        return True
    return None if None in answers else False


def _all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


_BUILTIN_CLASSES: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float}
