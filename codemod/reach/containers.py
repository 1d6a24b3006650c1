"""Containers of the file being walked: their contents, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.reach.values import Const, Opaque, Value

if TYPE_CHECKING:
    from collections.abc import Iterable

    from codemod.reach.values import Done


def _any_unknown(values: Iterable[Value]) -> bool:
    return any(isinstance(value, Opaque) or value.holds_unknown() for value in values)


class Container(Value):
    """A container whose parts are known; changed, it is another value for whoever holds it."""

    __slots__ = ("_unknown",)
    _unknown: bool

    def holds_unknown(self) -> bool:
        return self._unknown

    def truth(self) -> bool:
        return bool(self.parts())

    def inert(self) -> bool:
        return all(part.inert() for part in self.parts())

    def with_parts(self, parts: tuple[Value, ...]) -> Value:
        """A container of the same kind with these in place of its parts."""
        raise NotImplementedError

    def replaced(self, old: Value, new: Value, done: Done) -> Value:
        if self is old:
            return new
        if isinstance(old, Opaque) and not self._unknown:
            return self
        if id(self) not in done:
            mine = self.parts()
            parts = tuple(part.replaced(old, new, done) for part in mine)
            same = all(a is b for a, b in zip(parts, mine, strict=True))
            done[id(self)] = self, self if same else self.with_parts(parts)
        return done[id(self)][1]


class Sequence(Container):
    """A tuple, list, set or range whose items are known."""

    __slots__ = ("items", "kind")

    def __init__(self, items: tuple[Value, ...], kind: type = tuple) -> None:
        self.items = items
        self.kind = kind
        self._unknown = _any_unknown(items)

    def parts(self) -> tuple[Value, ...]:
        return self.items

    def is_ordered(self) -> bool:
        """Whether it is known in which order one comes by its items."""
        return self.kind is not set or len(self.items) < 2

    def is_changeable(self) -> bool:
        """Whether items can be put into it."""
        return self.kind in (list, set)

    def with_parts(self, parts: tuple[Value, ...]) -> Value:
        return Sequence(parts, self.kind)


class Mapping(Container):
    """A dict with constant keys."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[object, Value]) -> None:
        self.entries = entries
        self._unknown = _any_unknown(entries.values())

    def parts(self) -> tuple[Value, ...]:
        return (*map(Const, self.entries), *self.entries.values())

    def with_parts(self, parts: tuple[Value, ...]) -> Value:
        return Mapping(dict(zip(self.entries, parts[len(self.entries) :], strict=True)))


class View(Sequence):
    """What `values()` and `items()` of a dict give: known until the dict is changed."""

    __slots__ = ("source",)

    def __init__(self, items: tuple[Value, ...], source: Mapping) -> None:
        super().__init__(items, range)  # as little of a list as that
        self.source = source

    def with_parts(self, parts: tuple[Value, ...]) -> Value:
        return Opaque(inert=all(part.inert() for part in parts))

    def replaced(self, old: Value, new: Value, done: Done) -> Value:
        if self.source is old:
            return Opaque(inert=self.inert() and new.inert())
        return super().replaced(old, new, done)


class EnvironmentCopy(Value):
    """A copy of `os.environ`: what it holds for the variable (None: absent), and for the key.

    The latter is said as in `State.wrote_key`.
    """

    __slots__ = ("skip", "wrote_key")

    def __init__(self, skip: Value | None, wrote_key: tuple[Value | None, ...] | None = ()) -> None:
        self.skip = skip
        self.wrote_key = wrote_key

    def truth(self) -> bool | None:
        return True if self.skip is not None and not isinstance(self.skip, Opaque) else None

    def inert(self) -> bool:
        return True
