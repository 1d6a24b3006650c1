"""What an expression may stand for while a function is walked.

Plain slotted classes and not dataclasses: they are made on every start, and eleven dataclass
decorators cost more than walking a whole file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.reach import externals

if TYPE_CHECKING:
    import ast

ENDPOINT_MARKS = (
    "metadata.google",
    "169.254.169.254",
    "computemetadata",
    "metadata-flavor",
    "gce_metadata",
)


Done = dict[int, tuple["Value", "Value"]]  # what became of an object, by its id


class Value:
    """Something that an expression may evaluate to; what is known of it is in its class."""

    __slots__ = ()

    def truth(self) -> bool | None:
        """Its truth value, or None where that is not known."""
        return True

    def is_none(self) -> bool | None:
        """Whether it is `None`, or None where that is not known."""
        return False

    def inert(self) -> bool:
        """Whether using it (calling a method, passing it on) cannot run code that asks."""
        return False

    def parts(self) -> tuple[Value, ...]:
        """The values inside it."""
        return ()

    def holds_unknown(self) -> bool:
        """Whether a value is in it of which more may become known."""
        return False

    def replaced(
        self,
        old: Value,
        new: Value,
        done: Done,  # noqa: ARG002 - for those with parts
    ) -> Value:
        """The same with `new` for `old` in it; `done` keeps what two names share one object."""
        return new if self is old else self


class Const(Value):
    """A value known exactly: None, a bool, a number, a string, bytes."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def truth(self) -> bool:
        return bool(self.value)

    def is_none(self) -> bool:
        return self.value is None

    def inert(self) -> bool:
        return True


class Text(Value):
    """A string that is not known: the key, a value of the environment, or made of them."""

    __slots__ = ("origin",)
    KEY, CHANGED_KEY, ENVIRONMENT, DERIVED = range(4)

    def __init__(self, origin: int) -> None:
        self.origin = origin

    def truth(self) -> bool | None:
        return None if self.origin == Text.DERIVED else True  # `" ".strip()` is empty

    def inert(self) -> bool:
        return True


class Opaque(Value):
    """A value that nothing, or only truth and presence, is known of."""

    __slots__ = ("_inert", "_none", "_truth", "endpoint")

    def __init__(
        self,
        *,
        inert: bool = False,
        none: bool | None = None,
        truth: bool | None = None,
        endpoint: bool = False,
    ) -> None:
        self._inert = inert
        self._none = none
        self._truth = truth
        self.endpoint = endpoint

    def truth(self) -> bool | None:
        return self._truth

    def is_none(self) -> bool | None:
        return self._none

    def inert(self) -> bool:
        return self._inert

    def where(self, *, none: bool | None = None, truth: bool | None = None) -> Opaque:
        """The same value with more known of it, on one side of a branch."""
        return Opaque(
            inert=self._inert,
            none=self._none if none is None else none,
            truth=self._truth if truth is None else truth,
            endpoint=self.endpoint,
        )

    def with_any_truth(self) -> Opaque:
        """The same value after something that may have emptied or filled it."""
        return Opaque(inert=self._inert, none=self._none, endpoint=self.endpoint)


class External(Value):
    """Something that the file takes from elsewhere, by its dotted path (`os.environ.get`)."""

    __slots__ = ("known", "path")

    def __init__(self, path: str, *, known: bool = False) -> None:
        self.path = path
        self.known = known  # of the standard library: neither None nor false

    def truth(self) -> bool | None:
        return True if self.known and self.path != "os.environ" else None  # which may be empty

    def is_none(self) -> bool | None:
        return False if self.known else None


class Function(Value):
    """A function or lambda of the file, with the scopes around it and what it is bound to."""

    __slots__ = ("bound", "closure", "defaults", "kind", "node")
    PLAIN, STATIC, CLASS, PROPERTY = range(4)

    def __init__(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        closure: tuple[int, ...],
        defaults: dict[str, Value],
        kind: int = PLAIN,
        bound: Value | None = None,
    ) -> None:
        self.node = node
        self.closure = closure
        self.defaults = defaults
        self.kind = kind
        self.bound = bound

    def seen_as(self, kind: int) -> Function:
        """The same function under `staticmethod`, `classmethod` or `property`."""
        return Function(self.node, self.closure, self.defaults, kind, self.bound)

    def binding(self, bound: Value) -> Function:
        """The same function, bound to an object or a class; a static one stays as it is."""
        if self.kind == Function.STATIC:
            return self
        return Function(self.node, self.closure, self.defaults, self.kind, bound)


class Class(Value):
    """A class of the file: its scope, its bases, and where an attribute is looked up in turn.

    Of one that is `made` by something else (a decorator, a metaclass, a base of another file)
    only the methods are known.
    """

    __slots__ = ("bases", "made", "name", "order", "possible", "scope")

    def __init__(
        self, name: str, scope: int, bases: tuple[Value, ...], *, made: bool = False
    ) -> None:
        self.name = name
        self.scope = scope
        self.bases = bases
        own = [base for base in bases if isinstance(base, Class)]
        self.made: bool = made or any(base.made for base in own)
        orders = [[*base.order] for base in own] + [own]
        self.order: tuple[Class, ...] = (self, *_merged(orders))
        # Else Python raises a TypeError: a class before its own subclass, or twice.
        kept = all(order == sorted(order, key=self.order.index) for order in orders)
        self.possible = kept and len({*own}) == len(own)


def _merged(orders: list[list[Class]]) -> list[Class]:
    """The order in which bases are looked through: Python's own, C3."""
    found: list[Class] = []
    while orders := [order for order in orders if order]:
        heads = [order[0] for order in orders]
        tails = [cls for order in orders for cls in order[1:]]
        head = next((cls for cls in heads if cls not in tails), heads[0])
        found.append(head)
        orders = [[cls for cls in order if cls is not head] for order in orders]
    return found


class Instance(Value):
    """An object of a class of the file; its own attributes are in its scope.

    One that the file did not make itself may have any.
    """

    __slots__ = ("cls", "made", "scope")

    def __init__(self, cls: Class, scope: int = -1, *, made: bool = False) -> None:
        self.cls = cls
        self.scope = scope
        self.made = made

    def truth(self) -> bool | None:
        return None


class Super(Value):
    """What `super()` gives inside a method of `cls`, bound to `bound`."""

    __slots__ = ("bound", "cls")

    def __init__(self, cls: Class, bound: Value) -> None:
        self.cls = cls
        self.bound = bound


class Suppressor(Value):
    """What `contextlib.suppress(…)` gives: the exceptions that it swallows."""

    __slots__ = ("kinds",)

    def __init__(self, kinds: tuple[Value, ...]) -> None:
        self.kinds = kinds


class Method(Value):
    """A method of a built-in value: `"…".lower`, `os.environ.get` of a copy."""

    __slots__ = ("name", "receiver")

    def __init__(self, receiver: Value, name: str) -> None:
        self.receiver = receiver
        self.name = name

    def inert(self) -> bool:
        return self.receiver.inert()


NONE = Const(None)


def inert() -> Opaque:
    """A value that is not known but cannot run code that asks.

    Always a new one: what a branch shows of one value must not be taken for another's.
    """
    return Opaque(inert=True)


def names_endpoint(value: Value) -> bool:
    """Whether the value holds the metadata server's address, path or header."""
    if isinstance(value, Const):
        text = value.value
        return isinstance(text, str) and any(mark in text.lower() for mark in ENDPOINT_MARKS)
    if isinstance(value, Opaque):
        return value.endpoint
    return any(names_endpoint(part) for part in value.parts())


def holds_code(value: Value) -> bool:
    """Whether the value is, or holds, something that may ask when somebody calls it."""
    if isinstance(value, External):
        return externals.may_ask(value.path) or not externals.harmless(value.path)
    if isinstance(value, Opaque):
        return not value.inert()
    return isinstance(value, (Function, Instance, Class)) or any(map(holds_code, value.parts()))
