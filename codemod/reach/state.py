"""One path through the code: what its names stand for, how it goes on, what it has reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.reach.containers import Container, View
from codemod.reach.values import NONE, Const, Opaque, Text, inert

if TYPE_CHECKING:
    import ast

    from codemod.reach.scopes import FunctionNode
    from codemod.reach.values import Done, Value

GO, RETURN, RAISE, BREAK, CONTINUE, STOP = range(6)  # how a path goes on
NOT, MAYBE, SURE = range(3)  # whether it has reached the metadata server

VARIABLE = "TPU_SKIP_MDS_QUERY"


class TooManyPaths(Exception):  # noqa: N818 - a limit, not an error: it ends in a finding
    """The walk went past its budget; nothing can be said of the function."""


class World:
    """The assumptions of one walk.

    `skip` is the value of TPU_SKIP_MDS_QUERY, None where it is not set. `key` says what the
    environment holds under the name that the function is asked for: `absent`, `empty` or
    `present`. `environment` gives other variables (None: not set); any not in it is unknown.
    `names` gives values to names that the file imports, by their last part, and `results`
    what a function of the file of that name returns, without walking it.
    """

    __slots__ = ("environment", "key", "names", "results", "skip")

    def __init__(
        self,
        skip: str | None,
        *,
        key: str | None = "absent",
        environment: dict[str, str | None] | None = None,
        names: dict[str, object] | None = None,
        results: dict[str, object] | None = None,
    ) -> None:
        self.skip = skip
        self.key = key
        self.environment = environment or {}
        self.names = names or {}
        self.results = results or {}

    def changed(self, skip: str | None, key: str | None) -> World:
        """The same world with another value of the variable, and of the key."""
        return World(
            skip, key=key, environment=self.environment, names=self.names, results=self.results
        )

    def key_value(self) -> Value | None:
        """What the environment holds under the key, None where it is absent."""
        kinds: dict[str | None, Value] = {"empty": Const(""), "present": Text(Text.ENVIRONMENT)}
        return kinds.get(self.key)


class State:
    """One path. Copied where paths part; never shared between two of them."""

    __slots__ = (
        "became",
        "calls",
        "certain",
        "exception",
        "flow",
        "generating",
        "handling",
        "heap",
        "reached",
        "skip",
        "trail",
        "tries",
        "unlikely",
        "value",
        "volatile",
        "wrote_key",
    )

    def __init__(self, skip: Value | None) -> None:
        self.heap: dict[tuple[int, str], Value] = {}
        self.became: Done = {}  # what objects are now, for those who hold them outside the heap
        self.skip = skip  # what os.environ holds for the variable now
        self.flow = GO
        self.value: Value = NONE  # what a RETURN returns
        self.exception: type[BaseException] | None = None  # of a RAISE; None: not known
        self.certain = True  # the exception is raised, not only possible
        self.handling: tuple[tuple[type[BaseException] | None, bool], ...] = ()
        self.reached = NOT
        self.trail: tuple[ast.expr, ...] = ()  # the calls that led to the sink
        self.calls: tuple[tuple[ast.expr, FunctionNode], ...] = ()  # those under way
        self.generating = False  # a generator's body is being tried out
        self.tries = 0  # blocks around it in which an exception would be noticed
        self.unlikely = False  # a module that asks could not be imported
        self.volatile: frozenset[tuple[int, str]] = frozenset()  # names that handed-over code binds
        # What the environment was given under the key, in a tuple of one; None: not known.
        self.wrote_key: tuple[Value | None, ...] | None = ()

    def copy(self) -> State:
        """A path that has come the same way."""
        new = State.__new__(State)
        for name in State.__slots__:
            setattr(new, name, getattr(self, name))
        new.heap = dict(self.heap)
        return new

    def raises(self, exception: type[BaseException] | None, *, certain: bool = True) -> State:
        """This path, ended by an exception."""
        self.flow = RAISE
        self.exception = exception
        self.certain = certain
        return self

    def leaves(self, flow: int, value: Value = NONE) -> State:
        """This path, leaving the block that it is in."""
        self.flow = flow
        self.value = value
        return self

    def may_reach(self, trail: tuple[ast.expr, ...]) -> None:
        """Remember that something unknown ran, which may have asked."""
        if self.reached == NOT:
            self.reached = MAYBE
            self.trail = trail

    def change_everywhere(self, old: Value, new: Value) -> None:
        """Let all that stands for this very object, or holds it, have what became of it."""
        done: Done = {id(old): (old, new)}
        is_container = not isinstance(old, Opaque)
        for place, value in self.heap.items():
            if is_container or value is old or value.holds_unknown():
                self.heap[place] = value.replaced(old, new, done)
        self.became = self.became | {k: pair for k, pair in done.items() if pair[0] is not pair[1]}

    def current(self, value: Value) -> Value:
        """What an object is now that was taken from the heap, or made, some time ago."""
        if not self.became:
            return value
        while (found := self.became.get(id(value))) is not None:
            value = found[1]
        if not isinstance(value, Container):
            return value
        if isinstance(value, View) and id(value.source) in self.became:
            return Opaque(inert=value.inert())
        mine = value.parts()
        parts = tuple(map(self.current, mine))
        if all(a is b for a, b in zip(parts, mine, strict=True)):
            return value
        made = value.with_parts(parts)
        self.became = self.became | {id(value): (value, made)}
        return made

    def changed_since(self, before: State) -> list[tuple[Value, Value]]:
        """The containers that were changed, and what they are now."""
        return [
            pair
            for key, pair in self.became.items()
            if key not in before.became and not isinstance(pair[0], Opaque)
        ]

    def unsettle(self, before: State) -> bool:
        """All that changed since then may have changed or not; whether some of it was known."""
        containers, changed = self.changed_since(before), self.places_since(before)
        for _, new in containers:
            self.change_everywhere(self.current(new), Opaque())
        for place in changed:
            if place in self.heap:
                kept = self.heap[place].inert() and before.heap[place].inert()
                self.heap[place] = Opaque(inert=kept)
        news = any(not isinstance(before.heap[place], Opaque) for place in changed)
        if self.skip is not before.skip or self.wrote_key != before.wrote_key:
            news = news or not isinstance(before.skip, Opaque)
            self.skip, self.wrote_key = inert(), None
        return news or bool(containers)

    def places_since(self, before: State) -> set[tuple[int, str]]:
        """The places that hold something else than then."""
        return {place for place, held in before.heap.items() if self.heap.get(place) is not held}

    def touch(self, value: Value) -> None:
        """Somebody who is not known may change what this value holds."""
        if isinstance(value, Opaque) and value.truth() is not None:
            self.change_everywhere(value, value.with_any_truth())


def variable_in(world: World) -> Value | None:
    """What `os.environ` holds for the variable when the function starts."""
    return None if world.skip is None else Const(world.skip)
