"""Look-ups in `os.environ`, in every spelling, and in copies of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from codemod.reach.containers import EnvironmentCopy, Mapping, Sequence, View, is_unhashable
from codemod.reach.externals import READING_METHODS
from codemod.reach.state import VARIABLE, State, World
from codemod.reach.values import NONE, Const, External, Opaque, Text, Value, inert, names_endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence as Arguments

Steps = list[tuple[State, Value]]
LIVE, BYTES = "os.environ", "os.environb"  # two ways to the same variables
READS = frozenset("get __getitem__ __contains__ pop setdefault".split())
VIEWS = frozenset("keys items values copy __iter__ __len__".split())


def is_changing(path: str) -> bool:
    """Whether this is a method of `os.environ` that writes to it; `os.putenv` does not."""
    name = path.removeprefix(f"{LIVE}.")
    return (name != path and name not in READING_METHODS) or path.startswith(f"{BYTES}.")


def is_environment(value: Value) -> bool:
    """Whether the value is `os.environ`, a copy of it, or a dict that is used like it."""
    if isinstance(value, External):
        return value.path == LIVE
    return isinstance(value, (EnvironmentCopy, Mapping))


def is_live(value: Value) -> bool:
    """Whether what is written into the value is in `os.environ` then."""
    return isinstance(value, External) and value.path in (LIVE, BYTES)


class Lookup:
    """One look-up: present with a value, absent, or not known which.

    Of the variable and of the key it was known once; that it is `lost` is no reason to believe
    that the look-up finds something.
    """

    __slots__ = ("known", "lost", "value")

    def __init__(self, value: Value | None, *, known: bool = True, lost: bool = False) -> None:
        self.value = value
        self.known = known
        self.lost = lost


def look_up(world: World, state: State, source: Value, name: Value) -> Lookup:
    """What `source` holds under `name`."""
    if isinstance(source, Mapping):
        if isinstance(name, Const) and is_key(name):
            return Lookup(source.entries.get(name.value))
        forget_parts(state, [source])
        return Lookup(Opaque(inert=source.inert()), known=False)
    if isinstance(name, Const) and name.value == VARIABLE:
        held = source.skip if isinstance(source, EnvironmentCopy) else state.skip
        is_known = not isinstance(held, Opaque)
        return Lookup(held, known=is_known, lost=not is_known)
    if isinstance(name, Text) and _is_key_text(name):
        wrote_key = (source if isinstance(source, EnvironmentCopy) else state).wrote_key
        if wrote_key != ():
            known = wrote_key is not None and name.origin == Text.KEY
            held = wrote_key[0] if known and wrote_key else inert()
            is_known = known and not isinstance(held, Opaque)
            return Lookup(held, known=is_known, lost=not known)
        value = world.key_value()
        changed = name.origin == Text.CHANGED_KEY and isinstance(value, Text)
        return Lookup(Text(Text.DERIVED) if changed else value)
    if isinstance(name, Const) and name.value in world.environment:
        set_to = world.environment[str(name.value)]
        return Lookup(None if set_to is None else Const(set_to))
    return Lookup(Opaque(inert=True, none=False, endpoint=names_endpoint(name)), known=False)


def read(
    world: World, state: State, source: Value, method: str, arguments: Arguments[Value]
) -> Steps:
    """Call `get`, `[]`, `in`, `pop` or `setdefault` of an environment."""
    if is_unhashable(arguments[0]):
        return [(state.raises(TypeError), NONE)]
    found = look_up(world, state, source, arguments[0])
    default = arguments[1] if len(arguments) > 1 else None
    if method == "setdefault":
        default = default or NONE
    if method == "__contains__":
        return [(state, Const(found.value is not None) if found.known else inert())]
    if method in ("pop", "setdefault"):
        _change(state, source, arguments[0], found, default if method == "setdefault" else None)
    if method in ("get", "setdefault"):
        return [(state, _or_default(found, default or NONE))]
    return _item(state, found, default)


def _item(state: State, found: Lookup, default: Value | None) -> Steps:
    """`source[name]`, or `source.pop(name, default)`."""
    if default is not None:
        return [(state, _or_default(found, default))]
    if found.known:
        absent = found.value is None
        return [(state.raises(KeyError) if absent else state, found.value or NONE)]
    steps: Steps = [(state, found.value or inert())]
    if state.tries or found.lost:
        steps.append((state.copy().raises(KeyError, certain=found.lost), NONE))
    return steps


def _or_default(found: Lookup, default: Value) -> Value:
    if found.known:
        return default if found.value is None else found.value
    none = False if default.is_none() is False else None
    return Opaque(
        inert=default.inert() and (found.value is None or found.value.inert()),
        none=none,
        endpoint=names_endpoint(default)
        or (found.value is not None and names_endpoint(found.value)),
    )


def _change(state: State, source: Value, name: Value, found: Lookup, default: Value | None) -> None:
    """`pop(name)`, or `setdefault(name, default)` where `default` is not None."""
    if default is None:
        write(state, source, name, None)
    elif not found.known:
        write(state, source, name, inert() if default.inert() else Opaque())
    elif found.value is None:
        write(state, source, name, default)


def write(state: State, source: Value, name: Value, value: Value | None) -> None:
    """`source[name] = value`, or its removal where `value` is None."""
    if isinstance(source, Mapping) and is_key(name):
        state.change_everywhere(source, _changed_mapping(source, name, value))
    elif isinstance(source, Mapping):
        forget(state, source, kept=value is None or value.inert())
        forget(state, value or NONE, kept=True)
    elif isinstance(name, Const):
        if name.value == VARIABLE:
            _write_variable(state, source, value)
    else:
        _write_unknown(state, source, name, value)


def _write_unknown(state: State, source: Value, name: Value, value: Value | None) -> None:
    """The same under the key, or under a name that is not known."""
    is_key_text = isinstance(name, Text) and _is_key_text(name)
    exact = isinstance(name, Text) and name.origin == Text.KEY
    written = (value,) if exact else None
    if isinstance(source, EnvironmentCopy):
        skip = source.skip if is_key_text else inert()
        state.change_everywhere(source, EnvironmentCopy(skip, written))
    else:
        state.wrote_key = written
        state.skip = state.skip if is_key_text else inert()


def _write_variable(state: State, source: Value, value: Value | None) -> None:
    if isinstance(source, EnvironmentCopy):
        state.change_everywhere(source, EnvironmentCopy(value, source.wrote_key))
    else:
        state.skip = value


def _is_key_text(name: Text) -> bool:
    return name.origin in (Text.KEY, Text.CHANGED_KEY)


def _changed_mapping(source: Mapping, name: Const, value: Value | None) -> Value:
    entries = dict(source.entries)
    entries.pop(name.value, None)
    if value is not None:
        entries[name.value] = value
    return Mapping(entries)


def forget(state: State, source: Value, *, kept: bool = False) -> None:
    """Something may change this container, or what it holds, in a way that is not followed.

    `kept` says that no code comes into it by that.
    """
    source = state.current(source)
    for part in source.parts():
        forget(state, part, kept=kept)
    source = state.current(source)
    if isinstance(source, Mapping) or (isinstance(source, Sequence) and source.is_changeable()):
        state.change_everywhere(source, Opaque(inert=kept and source.inert()))
    elif isinstance(source, EnvironmentCopy):
        state.change_everywhere(source, inert())
    elif is_live(source):
        state.skip = inert()
        state.wrote_key = None
    else:
        state.touch(source)


def forget_parts(state: State, values: Arguments[Value]) -> None:
    """What these hold may be found in something unknown, and be changed there."""
    for value in values:
        for part in value.parts():
            forget(state, part, kept=True)


def view(source: Value, name: str) -> Value:
    """What `keys()`, `values()` or `items()` gives."""
    if name in ("keys", "__iter__"):
        return source
    if not isinstance(source, Mapping):
        return inert()
    if name == "values":
        return View(tuple(source.entries.values()), source)
    if name == "items":
        pairs = (Sequence((Const(k), v)) for k, v in source.entries.items())
        return View(tuple(pairs), source)
    return inert()


def copy_of(state: State, source: Value) -> Value:
    """A copy of an environment, as it is now."""
    if isinstance(source, EnvironmentCopy):
        return EnvironmentCopy(source.skip, source.wrote_key)
    if isinstance(source, Mapping):
        return Mapping(dict(source.entries))
    return EnvironmentCopy(state.skip, state.wrote_key)


def is_key(name: Value) -> TypeGuard[Const]:
    """Whether a value is a constant that a dict can have as a key."""
    plain = (str, int, bytes, float, type(None))
    return isinstance(name, Const) and isinstance(name.value, plain)
