"""Comprehensions and generator expressions, in a scope of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment
from codemod.reach.base import ROUND_LIMIT
from codemod.reach.calls import Calls
from codemod.reach.scopes import bound_names
from codemod.reach.state import GO, MAYBE, STOP, SURE, State
from codemod.reach.values import NONE, Opaque, Sequence, Value

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
                found = self._any_items(node, iterable, here)
            self.scope = before
            steps += [self._lazily(node, step) for step in found]
        return steps

    _ListComp = _SetComp = _GeneratorExp = _DictComp = _comprehension

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
            for here, kept in self._kept(node.generators[0].ifs, bound):
                if here.flow != GO or not kept:
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

    def _any_items(self, node: Node, iterable: Value, state: State) -> Steps:
        """Items that are not known: none at all, or one that stands for all."""
        if not iterable.inert() and not environment.is_environment(iterable):
            state.may_reach(self.trail(node, state))
        none_at_all = state.copy()
        for generator in node.generators:
            for name in bound_names([generator.target]):
                state.heap[self.scope[0], name] = Opaque(inert=iterable.inert())
        inner = [generator.iter for generator in node.generators[1:]]
        conditions = [test for generator in node.generators for test in generator.ifs]
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        steps: Steps = [(none_at_all, Opaque(inert=True))]
        for here, values in self.each([*inner, *conditions, *parts], state):
            steps.append((here, Opaque(inert=all(value.inert() for value in values))))
        return steps

    def _lazily(self, node: Node, step: tuple[State, Value]) -> tuple[State, Value]:
        """A generator expression may be left before it has asked."""
        state, value = step
        if isinstance(node, ast.GeneratorExp) and state.flow == STOP and state.reached == SURE:
            state.reached = MAYBE
            state.leaves(GO)
        return state, value


def _element(node: Node) -> ast.expr:
    return node.value if isinstance(node, ast.DictComp) else node.elt
