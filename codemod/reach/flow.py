"""Statements that decide how a path goes on: branches, loops, leaving."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod.reach import environment
from codemod.reach.base import ROUND_LIMIT
from codemod.reach.containers import Sequence
from codemod.reach.definitions import Definitions, Paths
from codemod.reach.patterns import match_case
from codemod.reach.scopes import bound_names, changed_in_place
from codemod.reach.state import BREAK, CONTINUE, GO, NOT, RETURN, STOP, State
from codemod.reach.values import Opaque, inert

if TYPE_CHECKING:
    from collections.abc import Sequence as Statements

    from codemod.reach.scopes import Writes
    from codemod.reach.state import World


Loop = ast.While | ast.For | ast.AsyncFor


class Changes:
    """What a loop changes from round to round by name."""

    __slots__ = ("bound", "in_place")

    def __init__(self, node: Loop) -> None:
        self.bound = bound_names([node])
        self.in_place = {changed_in_place(one) for one in ast.walk(node)}


class Flow(Definitions):
    """Branches and loops, on top of binding."""

    def __init__(self, world: World, writes: Writes) -> None:
        super().__init__(world, writes)
        self._loops: dict[ast.AST, Changes] = {}

    def run(self, body: Statements[ast.stmt], state: State) -> Paths:
        here = [state]
        done: Paths = []
        for statement in body:
            following: Paths = []
            for path in here:
                for after in self._statement(statement, path):
                    (following if after.flow == GO else done).append(after)
            self.tick(len(following) + len(done))
            here = following
        return here + done

    def _statement(self, node: ast.stmt, state: State) -> Paths:
        self.tick()
        handler = getattr(self, f"_{type(node).__name__}")
        paths: Paths = handler(node, state)
        return paths

    def _nothing(self, node: ast.stmt, state: State) -> Paths:  # noqa: ARG002
        return [state]

    _Pass = _Global = _Nonlocal = _TypeAlias = _nothing

    def _Expr(self, node: ast.Expr, state: State) -> Paths:  # noqa: N802 - ast's name
        return [s for s, _ in self.evaluate(node.value, state)]

    # Leaving.
    def _Return(self, node: ast.Return, state: State) -> Paths:  # noqa: N802
        if node.value is None:
            return [state.leaves(RETURN)]
        steps = self.evaluate(node.value, state)
        return [s if s.flow != GO else s.leaves(RETURN, value) for s, value in steps]

    def _Break(self, node: ast.Break, state: State) -> Paths:  # noqa: N802, ARG002
        return [state.leaves(BREAK)]

    def _Continue(self, node: ast.Continue, state: State) -> Paths:  # noqa: N802, ARG002
        return [state.leaves(CONTINUE)]

    def _Raise(self, node: ast.Raise, state: State) -> Paths:  # noqa: N802
        if node.exc is None:
            exception, certain = state.handling[-1] if state.handling else (None, True)
            return [state.raises(exception, certain=certain)]
        made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
        parts = [node.exc, node.cause] if node.cause else [node.exc]
        paths: Paths = []
        for here, _ in self.each(parts, state):
            kinds = [v for s, v in self.evaluate(made, here.copy()) if s.flow == GO]
            kind = self.exception_of(kinds[0]) if len(kinds) == 1 else None
            paths.append(here if here.flow != GO else here.raises(kind))
        return paths

    def _Assert(self, node: ast.Assert, state: State) -> Paths:  # noqa: N802
        paths: Paths = []
        for here, truth in self.branch(node.test, state):
            said = (
                [here] if truth or not node.msg else [s for s, _ in self.evaluate(node.msg, here)]
            )
            paths += [s if truth or s.flow != GO else s.raises(AssertionError) for s in said]
        return paths

    # Branches.
    def _If(self, node: ast.If, state: State) -> Paths:  # noqa: N802
        paths: Paths = []
        for here, truth in self.branch(node.test, state):
            body = node.body if truth else node.orelse
            paths += [here] if here.flow != GO else self.run(body, here)
        return paths

    def _Match(self, node: ast.Match, state: State) -> Paths:  # noqa: N802
        paths: Paths = []
        for subject_path, subject in self.evaluate(node.subject, state):
            here = [subject_path] if subject_path.flow == GO else []
            paths += [] if here else [subject_path]
            for case in node.cases:
                following: Paths = []
                for path in here:
                    for side, matched in match_case(self, case, subject, path):
                        (
                            paths.extend(self.run(case.body, side))
                            if matched
                            else following.append(side)
                        )
                here = following
            paths += here
        return paths

    # Loops.
    def _While(self, node: ast.While, state: State) -> Paths:  # noqa: N802
        paths: Paths = []
        here = state
        for _ in range(ROUND_LIMIT):
            trial = self.branch(node.test, here.copy())
            if len(trial) != 1 or trial[0][0].flow != GO:
                break
            path, truth = trial[0]
            if not truth:
                return paths + self.run(node.orelse, path)
            inside, left = _ends_of_round(self.run(node.body, path))
            paths += left
            if not inside:
                return paths
            if len(inside) > 1:
                return paths + [p for s in inside for p in self._any_rounds(node, s)]
            here = inside[0]
        return paths + self._any_rounds(node, here)

    def _any_rounds(self, node: Loop, state: State) -> Paths:
        """Any number of further rounds: what the body changes is not known any more.

        The first as it is, two more, and as many as find something new changed.
        """
        paths: Paths = []
        here, settled = [state], list[State]()
        for number in range(ROUND_LIMIT):
            following: Paths = []
            for path in here:
                before = path.copy()
                inside, left = self._one_round(node, path)
                paths += left
                for end in inside:
                    self._forget_bound(node, end)
                    goes_on = end.unsettle(before) or number < 2
                    (following if goes_on else settled).append(end)
            self.tick(len(following) + len(paths) + len(settled))
            here = following
        return paths + [p for s in settled + here for p in self._last_round(node, s)]

    def _one_round(self, node: Loop, state: State) -> tuple[Paths, Paths]:
        """The paths that go into a further round, and those that leave the loop."""
        inside: Paths = []
        left: Paths = []
        for side, goes_on in self._next_round(node, state):
            if side.flow != GO:
                left.append(side)
            elif not goes_on:
                left += self.run(node.orelse, side)
            else:
                into, out_of = _ends_of_round(self.run(node.body, side))
                inside += into
                left += out_of
        return inside, left

    def _changes(self, node: Loop) -> Changes:
        found = self._loops.get(node)
        if found is None:
            found = self._loops[node] = Changes(node)
        return found

    def _last_round(self, node: Loop, state: State) -> Paths:
        """How a path leaves in the end; one that never does still tells what it reached."""
        paths: Paths = []
        for side, goes_on in self._next_round(node, state):
            if side.flow != GO or not goes_on:
                paths += [side] if side.flow != GO else self.run(node.orelse, side)
            elif side.reached != NOT:
                paths.append(side.leaves(STOP))
        return paths

    def _next_round(self, node: Loop, state: State) -> list[tuple[State, bool]]:
        if isinstance(node, ast.While):
            return self.branch(node.test, state)
        ended = state.copy()
        return [(s, True) for s in self.bind(node.target, inert(), state)] + [(ended, False)]

    def _forget_bound(self, node: Loop, state: State) -> None:
        """What the loop binds, changes in place, or lets a function of the file bind."""
        changes = self._changes(node)
        for name in changes.bound:
            place = self.home(name), name
            if place in state.heap:  # else it is not bound, or was deleted
                state.heap[place] = Opaque()
        written, attributes = self.writes.names, self.writes.attributes
        for place in [*state.heap]:
            scope, name = place
            of_object = scope in self.classes or scope in self.objects
            if name in changes.in_place or name in written or (of_object and name in attributes):
                environment.forget(state, state.heap[place])
                state.heap[place] = Opaque()

    def _For(self, node: ast.For | ast.AsyncFor, state: State) -> Paths:  # noqa: N802
        paths: Paths = []
        for here, iterable in self.evaluate(node.iter, state):
            if here.flow != GO:
                paths.append(here)
            elif self.is_walked(iterable):
                paths += self._known_rounds(node, iterable, here)
            else:
                environment.forget_parts(here, [iterable])
                for s, _ in self.iterate(iterable, node.iter, here):
                    paths += self._any_rounds(node, s) if s.flow == GO else [s]
        return paths

    _AsyncFor = _For

    def _known_rounds(self, node: ast.For | ast.AsyncFor, items: Sequence, state: State) -> Paths:
        here, paths = [state], []
        for position in range(len(items.items)):
            following: Paths = []
            for path in here:
                now = path.current(items)
                if not isinstance(now, Sequence):  # it was changed on the way
                    paths += self._any_rounds(node, path)
                    continue
                for bound in self.bind(node.target, now.items[position], path):
                    ran = self.run(node.body, bound) if bound.flow == GO else [bound]
                    inside, left = _ends_of_round(ran)
                    following += inside
                    paths += left
            self.tick(len(following) + len(paths))
            here = following
        for path in here:
            grown = not isinstance(path.current(items), Sequence)
            paths += self._any_rounds(node, path) if grown else self.run(node.orelse, path)
        return paths


def _ends_of_round(paths: Paths) -> tuple[Paths, Paths]:
    """The paths that go into a further round, and those that leave the loop."""
    inside = [p.leaves(GO) for p in paths if p.flow in (GO, CONTINUE)]
    left = [p.leaves(GO) if p.flow == BREAK else p for p in paths if p not in inside]
    return inside, left
