"""Comprehensions and generator expressions, in a scope of their own."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

from codemod.reach import environment
from codemod.reach.base import ROUND_LIMIT
from codemod.reach.calls import Calls
from codemod.reach.containers import Sequence
from codemod.reach.expressions import set_of
from codemod.reach.scopes import bound_names
from codemod.reach.state import GO, MAYBE, STOP, SURE, State
from codemod.reach.values import NONE, Const, Opaque, Value, inert

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
            if _is_plain(node) and self.is_walked(iterable):
                found = self._known_items(node, iterable, here)
            else:
                environment.forget_parts(here, [iterable])
                found = self._from_any(node, iterable, here)
            self.scope = before
            steps += found
        return steps

    _ListComp = _DictComp = _comprehension

    def _SetComp(self, node: ast.SetComp, state: State) -> Steps:  # noqa: N802 - ast's name
        return [(s, set_of(value)) for s, value in self._comprehension(node, state)]

    def _GeneratorExp(self, node: ast.GeneratorExp, state: State) -> Steps:  # noqa: N802
        """It runs when somebody iterates over it, and perhaps not to its end."""
        if node in self.drained:
            return self._comprehension(node, state)
        before = state.copy()
        steps = self._comprehension(node, state)
        return [self._lazily(node, step, before) for step in steps]

    def iterate(self, iterable: Value, node: ast.expr, state: State) -> Steps:
        """Start to iterate over something that is not known, which may run code."""
        if iterable.is_none() or (isinstance(iterable, Const) and not has_items(iterable)):
            return [(state.raises(TypeError), NONE)]
        if not iterable.inert() and not environment.is_environment(iterable):
            state.may_reach(self.trail(node, state))
        return self.may_fail(state, NONE)

    def _own_scope(self) -> int:
        self.scopes += 1
        self.comprehensions.add(self.scopes)
        return self.scopes

    def is_walked(self, iterable: Value) -> TypeGuard[Sequence]:
        """Whether one goes round for each of its items, in the order in which they are known."""
        if not isinstance(iterable, Sequence) or len(iterable.items) > ROUND_LIMIT:
            return False
        return iterable.is_ordered()

    def _known_items(self, node: Node, items: Sequence, state: State) -> Steps:
        """Each item in turn; the result is a sequence of what is made of them."""
        paths: list[tuple[State, tuple[Value, ...]]] = [(state, ())]
        steps: Steps = []
        for position in range(len(items.items)):
            following: list[tuple[State, tuple[Value, ...]]] = []
            for here, made in paths:
                now = here.current(items)
                if here.flow != GO:
                    following.append((here, made))
                elif isinstance(now, Sequence):
                    following += self._one_item(node, now.items[position], here, made)
                else:  # it was changed on the way
                    steps += self._from_any(node, now, here)
            self.tick(len(following))
            paths = following
        for here, made in paths:
            if here.flow != GO or isinstance(here.current(items), Sequence):
                steps.append((here, Sequence((*map(here.current, made),), list)))
            else:
                steps += self._from_any(node, Opaque(inert=items.inert()), here)
        return steps

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
        steps: Steps = [(none_at_all, inert())]
        waiting = [state]
        while waiting:
            before = waiting.pop()
            for here, value in self._any_item(node, before.copy()):
                again = here.copy()
                if here.flow == GO and again.unsettle(before):
                    waiting.append(again)  # the next one finds what this one changed
                steps.append((here, value))
            self.tick(len(steps) + len(waiting))
        return steps

    def _any_item(self, node: Node, state: State) -> Steps:
        """One item that is not known; a condition may turn it down."""
        conditions = [test for generator in node.generators for test in generator.ifs]
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        steps: Steps = []
        for inner, values in self.each([g.iter for g in node.generators[1:]], state):
            sides = self._kept(conditions, inner) if inner.flow == GO else [(inner, False)]
            for here, is_kept in sides:
                if here.flow != GO or not is_kept:
                    steps.append((here, inert()))
                    continue
                for s, made in self.each(parts, here):
                    self._forget_walrus(node, s)
                    steps.append((s, self.blurred([*values, *made], s)))
        return steps

    def _forget_walrus(self, node: Node, state: State) -> None:
        """A name bound by `:=` may have been bound more than once."""
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                name = inner.target.id
                state.heap[self.home(name, walrus=True), name] = Opaque()

    def _lazily(
        self, node: ast.GeneratorExp, step: tuple[State, Value], before: State
    ) -> tuple[State, Value]:
        """A generator expression may be left before it has asked, failed, or changed something."""
        state, value = step
        changed = state.places_since(before)
        state.unsettle(before)
        if state.flow == STOP and state.reached == SURE:
            state.reached = MAYBE
        ended = state.flow != GO
        state.leaves(GO)
        if node in self.consumed:
            return state, Opaque() if ended else value
        state.volatile |= changed
        calls = any(isinstance(inner, ast.Call | ast.Await) for inner in ast.walk(node))
        return state, Opaque(inert=not ended and not calls and value.inert())


def _is_plain(node: Node) -> bool:
    return len(node.generators) == 1 and not isinstance(node, ast.DictComp)


def has_items(value: Const) -> bool:
    """Whether one can iterate over a constant."""
    return isinstance(value.value, (str, bytes))


def _element(node: Node) -> ast.expr:
    return node.value if isinstance(node, ast.DictComp) else node.elt
