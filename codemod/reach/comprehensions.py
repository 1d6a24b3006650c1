"""Comprehensions and generator expressions, in a scope of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment
from codemod.reach.base import ROUND_LIMIT
from codemod.reach.calls import Calls
from codemod.reach.scopes import bound_names
from codemod.reach.state import GO, MAYBE, RAISE, STOP, SURE, State
from codemod.reach.values import NONE, Const, Opaque, Sequence, Value

if TYPE_CHECKING:
    from codemod.reach.environment import Steps

Node = ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp


class Comprehensions(Calls):
    """Comprehensions, on top of calls."""

    def _comprehension(self, node: Node, state: State) -> Steps:
        steps: Steps = []
        for here, iterable in self.evaluate(node.generators[0].iter, state):
            if here.flow != GO:
                steps.append((here, NONE))
                continue
            before, self.scope = self.scope, (self._own_scope(), *self.scope)
            if self._is_known(node, iterable):
                found = self._known_items(node, iterable.parts(), here)
            else:
                found = self._from_any(node, iterable, here)
            self.scope = before
            steps += [self._lazily(node, step) for step in found]
        return steps

    _ListComp = _SetComp = _GeneratorExp = _DictComp = _comprehension

    def iterate(self, iterable: Value, node: ast.expr, state: State) -> Steps:
        """Start to iterate over something that is not known, which may run code."""
        if iterable.is_none() or (isinstance(iterable, Const) and not _has_items(iterable)):
            return [(state.raises(TypeError), NONE)]
        if not iterable.inert() and not environment.is_environment(iterable):
            state.may_reach(self.trail(node, state))
        return self.may_fail(state, NONE)

    def _own_scope(self) -> int:
        self.scopes += 1
        self.comprehensions.add(self.scopes)
        return self.scopes

    def _is_known(self, node: Node, iterable: Value) -> bool:
        return (
            isinstance(iterable, Sequence)
            and len(iterable.items) <= ROUND_LIMIT
            and len(node.generators) == 1
            and not isinstance(node, ast.DictComp)
        )

    def _known_items(self, node: Node, items: tuple[Value, ...], state: State) -> Steps:
        """Each item in turn; the result is a sequence of what is made of them."""
        paths: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
        for item in items:
            following: list[tuple[State, tuple[Value, ...]]] = []
            for here, made in paths:
                if here.flow != GO:
                    following.append((here, made))
                else:
                    following += self._one_item(node, item, here, made)
            self.tick(len(following))
            paths = following
        return [(s, Sequence(made)) for s, made in paths]

    def _one_item(
        self, node: Node, item: Value, state: State, made: tuple[Value, ...]
    ) -> list[tuple[State, tuple[Value, ...]]]:
        paths: list[tuple[State, tuple[Value, ...]]] = []
        for bound in self.bind(node.generators[0].target, item, state):
            conditions = node.generators[0].ifs if bound.flow == GO else []
            for here, is_kept in self._kept(conditions, bound):
                if here.flow != GO or not is_kept:
                    paths.append((here, made))
                else:
                    paths += [
                        (s, (*made, value)) for s, value in self.evaluate(_element(node), here)
                    ]
        return paths

    def _kept(self, conditions: list[ast.expr], state: State) -> list[tuple[State, bool]]:
        if not conditions:
            return [(state, True)]
        if len(conditions) == 1:
            return self.branch(conditions[0], state)
        return self.branch(ast.BoolOp(op=ast.And(), values=conditions), state)

    def _from_any(self, node: Node, iterable: Value, state: State) -> Steps:
        steps: Steps = []
        for here, _ in self.iterate(iterable, node.generators[0].iter, state):
            steps += self._any_items(node, iterable, here) if here.flow == GO else [(here, NONE)]
        return steps

    def _any_items(self, node: Node, iterable: Value, state: State) -> Steps:
        """Items that are not known: none at all, or one that stands for all."""
        none_at_all = state.copy()
        for generator in node.generators:
            kept = iterable.inert() and generator is node.generators[0]
            for name in bound_names([generator.target]):
                state.heap[self.scope[0], name] = Opaque(inert=kept)
        inner = [generator.iter for generator in node.generators[1:]]
        conditions = [test for generator in node.generators for test in generator.ifs]
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        steps: Steps = [(none_at_all, Opaque(inert=True))]
        for here, values in self.each([*inner, *conditions, *parts], state):
            self._forget_walrus(node, here)
            steps.append((here, Opaque(inert=all(value.inert() for value in values))))
        return steps

    def _forget_walrus(self, node: Node, state: State) -> None:
        """A name bound by `:=` may have been bound more than once."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                name = inner.target.id
                state.heap[self.home(name, walrus=True), name] = Opaque()

    def _lazily(self, node: Node, step: tuple[State, Value]) -> tuple[State, Value]:
        """A generator expression runs later, and may be left before it has asked or failed."""
        state = step[0]
        if not isinstance(node, ast.GeneratorExp):
            return step
        if state.flow == STOP and state.reached == SURE:
            state.reached = MAYBE
            return state.leaves(GO), Opaque()
        return (state.leaves(GO), Opaque()) if state.flow == RAISE else step


def _has_items(value: Const) -> bool:
    return isinstance(value.value, (str, bytes))


def _element(node: Node) -> ast.expr:
    return node.value if isinstance(node, ast.DictComp) else node.elt
