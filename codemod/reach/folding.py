"""Built-in functions and methods on values that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.reach import externals
from codemod.reach.base import ROUND_LIMIT
from codemod.reach.containers import Sequence
from codemod.reach.expressions import set_of
from codemod.reach.values import NONE, Const, Text, Value, inert

if TYPE_CHECKING:
    from collections.abc import Callable

    from codemod.reach.environment import Steps
    from codemod.reach.state import State

Arguments = list[Value]

_FUNCTIONS: dict[str, Callable[..., object]] = {
    "int": int,
    "float": float,
    "str": str,
    "len": len,
    "abs": abs,
    "min": min,
    "max": max,
    "repr": repr,
    "ord": ord,
    "chr": chr,
    "tuple": tuple,
    "list": list,
    "sorted": sorted,
    "set": set,
    "frozenset": frozenset,
}
_CLASSES: dict[str, type] = {"str": str, "int": int, "bool": bool, "float": float, "bytes": bytes}


def call(name: str, arguments: Arguments, state: State) -> Steps | None:
    """What a built-in gives: `int(None)` raises, `len(())` is 0; None where it is not told."""
    first = arguments[0] if len(arguments) == 1 else None
    if name in ("any", "all") and first is not None:
        return _any_or_all(name, first, state)
    if name == "str" and isinstance(first, Text):
        return [(state, first)]
    if name == "bool" and first is not None:
        truth = first.truth()
        return [(state, inert() if truth is None else Const(truth))]
    if name == "isinstance" and len(arguments) == 2:
        return _is_instance(arguments, state)
    if name == "range":
        return _range(arguments, state)
    return _on_constants(name, arguments, state)


def _on_constants(name: str, arguments: Arguments, state: State) -> Steps | None:
    known = all(isinstance(a, (Const, Sequence)) for a in arguments)
    if name not in _FUNCTIONS or not arguments or not known:
        return None
    if name == "str" and (len(arguments) > 1 or _is_bytes(arguments[0])):
        return None  # a codec is code of its own
    if any(isinstance(a, Sequence) for a in arguments):
        return _on_sequence(name, arguments, state)
    try:
        result = _FUNCTIONS[name](*(a.value for a in arguments if isinstance(a, Const)))
    except (TypeError, ValueError, OverflowError) as error:
        return [(state.raises(type(error)), NONE)]
    is_plain = not isinstance(result, (list, tuple, set, frozenset))
    return [(state, Const(result) if is_plain else inert())]


def _is_bytes(value: Value) -> bool:
    return isinstance(value, Const) and isinstance(value.value, bytes)


def _on_sequence(name: str, arguments: Arguments, state: State) -> Steps | None:
    held = arguments[0]
    if len(arguments) != 1 or not isinstance(held, Sequence):
        return None
    if name == "len":
        return [(state, Const(len(held.items)))]
    if name in ("set", "frozenset"):
        return [(state, set_of(held))]
    kind = {"tuple": tuple, "list": list}.get(name)
    return [(state, Sequence(held.items, kind))] if kind and held.is_ordered() else None


def _any_or_all(name: str, value: Value, state: State) -> Steps | None:
    if not isinstance(value, Sequence):
        return None
    truths = [item.truth() for item in value.items]
    decides = name == "any"
    if decides in truths:
        return [(state, Const(decides))]
    return [(state, inert() if None in truths else Const(not decides))]


def _is_instance(arguments: Arguments, state: State) -> Steps | None:
    """`isinstance(value, str)` of a constant, or of a string that is not known."""
    value, kind = arguments
    path = getattr(kind, "path", "")
    wanted = _CLASSES.get(path.removeprefix("builtins.")) if path.startswith("builtins.") else None
    if wanted is not None and isinstance(value, Const):
        return [(state, Const(isinstance(value.value, wanted)))]
    if wanted is not None and isinstance(value, Text):
        return [(state, Const(wanted is str))]
    return None


def _range(arguments: Arguments, state: State) -> Steps | None:
    bounds = [a.value for a in arguments if isinstance(a, Const) and isinstance(a.value, int)]
    if not 1 <= len(bounds) == len(arguments) <= 3 or (len(bounds) == 3 and not bounds[2]):
        return None
    found = range(*bounds)
    if len(found) > ROUND_LIMIT:
        return None
    return [(state, Sequence(tuple(map(Const, found)), range))]


def pure(receiver: Value, name: str, arguments: Arguments) -> Value | None:
    """A pure method on constants; a list of strings is a sequence of constants."""
    if not isinstance(receiver, Const) or not all(map(_is_constant, arguments)):
        return None
    if name in ("encode", "decode") and arguments:
        return None  # a codec is code of its own
    if name == "format" and any(c in "0123456789{" for c in str(receiver.value).replace("{}", "")):
        return None  # a width may ask for a text of any size
    try:
        result = getattr(receiver.value, name)(*map(_constant, arguments))
    except (AttributeError, TypeError, ValueError, LookupError):
        return None
    if isinstance(result, (list, tuple)):
        return Sequence(tuple(map(Const, result)), type(result))
    return Const(result)


def _is_constant(value: Value) -> bool:
    """Whether it is a constant, or a tuple of them (`.startswith(("1", "t"))`)."""
    if isinstance(value, Sequence):
        return value.kind is tuple and all(isinstance(item, Const) for item in value.items)
    return isinstance(value, Const)


def _constant(value: Value) -> object:
    if isinstance(value, Sequence):
        return tuple(map(_constant, value.items))
    return value.value if isinstance(value, Const) else None


def text_after(receiver: Text, name: str) -> Value:
    """A changed key still is as present as the key; a changed value is made of it."""
    if name not in externals.SAME_KIND_METHODS:
        return inert()
    is_key = receiver.origin in (Text.KEY, Text.CHANGED_KEY)
    return Text(Text.CHANGED_KEY if is_key else Text.DERIVED)
