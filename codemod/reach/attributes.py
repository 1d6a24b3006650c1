"""Attributes and items: what `x.name` and `x[index]` stand for, and what setting them does."""

from __future__ import annotations

import ast
import operator
import os
from typing import TYPE_CHECKING

from codemod.reach import environment, externals
from codemod.reach.base import inherited
from codemod.reach.containers import EnvironmentCopy, Mapping, Sequence, View
from codemod.reach.operators import Operators
from codemod.reach.state import GO, State
from codemod.reach.values import (
    NONE,
    Class,
    Const,
    External,
    Function,
    Instance,
    Method,
    Opaque,
    Super,
    Text,
    Value,
    inert,
    names_endpoint,
)

if TYPE_CHECKING:
    from codemod.reach.environment import Steps


class Attributes(Operators):
    """Attributes and items, on top of operators."""

    def _Attribute(self, node: ast.Attribute, state: State) -> Steps:  # noqa: N802 - ast's name
        steps: Steps = []
        for here, value in self.evaluate(node.value, state):
            steps += [(here, NONE)] if here.flow != GO else self.attribute(value, node, here)
        return steps

    def attribute(self, value: Value, node: ast.Attribute, state: State) -> Steps:
        """What `node`, an attribute of `value`, stands for."""
        name = node.attr
        if isinstance(value, External):
            sure = externals.harmless(value.path) or externals.may_ask(value.path)
            sure = sure and (value.path != "os" or hasattr(os, name))
            found = self.external(f"{value.path}.{name}")
            return [(state, found)] if sure else self.may_fail(state, found, AttributeError)
        if isinstance(value, (Const, Text, Sequence, Mapping, EnvironmentCopy)):
            return self._of_built_in(value, name, state)
        if name == "__dict__" and isinstance(value, (Instance, Class)):
            state.volatile |= {place for place in state.heap if place[0] == value.scope}
        member = self._member_of(value, name, state)
        if isinstance(member, Function) and member.kind == Function.PROPERTY and member.bound:
            return self.call(member, [], {}, node, state)
        if isinstance(value, Instance) and self._is_descriptor(value, name, member, state):
            return self.unknown_code(node, state, Opaque())
        if member is not None:
            return [(state, member)]
        self.use([value], node, state)
        if name not in externals.READING_METHODS:
            state.touch(value)
        return self.may_fail(state, Opaque(inert=value.inert(), endpoint=names_endpoint(value)))

    def _is_descriptor(
        self, holder: Instance, name: str, member: Value | None, state: State
    ) -> bool:
        """Whether what a class holds under that name may run code when an object has it read."""
        if (holder.scope, name) in state.heap or member is None:
            return False
        if isinstance(member, Instance):
            return inherited(member.cls, "__get__", state) is not None
        return isinstance(member, Opaque) and not member.inert()

    def _of_built_in(self, value: Value, name: str, state: State) -> Steps:
        """A method of a built-in value; of `os.environ` no class is known."""
        kind = _class_of(value)
        if not hasattr(kind, name) and not isinstance(value, EnvironmentCopy):
            return [(state.raises(AttributeError), NONE)]
        is_method = callable(getattr(kind, name, None)) and name != "__class__"
        return [(state, Method(value, name) if is_method else inert())]

    def _member_of(self, value: Value, name: str, state: State) -> Value | None:
        bound: Value | None = value
        if isinstance(value, Class):
            found = _plain(value, inherited(value, name, state))
            if isinstance(found, Function) and found.kind != Function.CLASS:
                return found  # not bound: `Class.method` takes the object as an argument
        elif isinstance(value, Instance):
            own = state.heap.get((value.scope, name))
            if own is not None:
                return Opaque() if (value.scope, name) in state.volatile else own
            found = _plain(value.cls, inherited(value.cls, name, state))
            if not value.made and name in self.writes.attributes:
                return Opaque()  # set on the object by whoever made it
        elif isinstance(value, Super):
            found, bound = self.super_member(value, name, state), value.bound
        else:
            return None
        return found.binding(bound) if isinstance(found, Function) and bound else found

    def _Subscript(self, node: ast.Subscript, state: State) -> Steps:  # noqa: N802
        steps: Steps = []
        for here, values in self.each((node.value, node.slice), state):
            if here.flow != GO:
                steps.append((here, NONE))
            else:
                self.use(values, node, here)
                steps += self._item(node, values[0], values[1], here)
        return steps

    def _item(self, node: ast.Subscript, holder: Value, index: Value, state: State) -> Steps:
        if environment.is_environment(holder):
            self.note_look_up(node, index)
            return environment.read(self.world, state, holder, "__getitem__", [index])
        if holder.is_none() or isinstance(holder, Function):
            return [(state.raises(TypeError), NONE)]
        if isinstance(holder, Const) and isinstance(index, Const):
            return self.computed(operator.getitem, [holder, index], state)
        if isinstance(holder, Const) and (part := _slice_of(node)) is not None:
            return self.computed(lambda held: held[part], [holder], state)
        if isinstance(holder, External) and holder.path == "sys.modules":
            self.forget_module(state)  # this very file may be what comes out
        number = index.value if isinstance(index, Const) else None
        if isinstance(number, int) and isinstance(holder, Sequence) and _is_indexed(holder):
            inside = -len(holder.items) <= number < len(holder.items)
            return [(state, holder.items[number]) if inside else (state.raises(IndexError), NONE)]
        if isinstance(holder, Sequence) and holder.kind is set:
            return [(state.raises(TypeError), NONE)]
        environment.forget_parts(state, [holder])
        return self.may_fail(state, Opaque(inert=holder.inert(), endpoint=names_endpoint(holder)))

    # Setting them.
    def set_item(self, target: ast.Subscript, value: Value | None, state: State) -> list[State]:
        """`holder[index] = value`, or its removal where `value` is None."""
        paths: list[State] = []
        for here, values in self.each((target.value, target.slice), state):
            if here.flow == GO:
                self.use(values, target, here)
                paths += self._write(values[0], values[1], value, here)
            else:
                paths.append(here)
        return paths

    def _write(self, holder: Value, index: Value, value: Value | None, state: State) -> list[State]:
        if environment.is_environment(holder):
            if value is None:
                return [s for s, _ in environment.read(self.world, state, holder, "pop", [index])]
            environment.write(state, holder, index, value)
            return [state]
        if holder.is_none() or isinstance(holder, (Const, Text)) or _is_tuple(holder):
            return [state.raises(TypeError)]
        environment.forget(state, holder, kept=value is None or value.inert())
        environment.forget(state, value or NONE, kept=True)
        return self.may_raise(state)

    def set_attribute(self, target: ast.Attribute, value: Value, state: State) -> list[State]:
        """`holder.name = value`."""
        paths: list[State] = []
        for here, holder in self.evaluate(target.value, state):
            if here.flow == GO:
                self.use([holder], target, here)
                self.put(holder, target.attr, value, target, here)
            paths.append(here)
        return paths

    def put(self, holder: Value, name: str, value: Value, node: ast.expr, state: State) -> None:
        """Set an attribute, by name: of an object, a class, or `os.environ` itself."""
        if isinstance(holder, Instance):
            state.heap[holder.scope, name] = value
            if name == "__class__":
                names = {n for c in holder.cls.order for n in self.class_names[c.scope].names}
                state.heap.update({(holder.scope, one): Opaque() for one in names})
            if self._has_setter(holder.cls, name, state):
                self._run_setter(holder, node, state)
        elif isinstance(holder, Class):
            state.heap[holder.scope, name] = value
        elif isinstance(holder, External):
            if f"{holder.path}.{name}" in (environment.LIVE, "os.getenv"):
                environment.forget(state, External(environment.LIVE))
        else:
            environment.forget(state, value, kept=True)
            if not holder.inert():
                self.forget_attribute(name, state)

    def _has_setter(self, cls: Class, name: str, state: State) -> bool:
        held = inherited(cls, name, state)
        is_object = isinstance(held, (Function, Instance))
        return is_object or any((c.scope, name) in self.wrapped for c in cls.order)

    def _run_setter(self, holder: Instance, node: ast.expr, state: State) -> None:
        """A property, or what else the class has under that name, may do anything with it."""
        state.may_reach(self.trail(node, state))
        for place in [place for place in state.heap if place[0] == holder.scope]:
            state.heap[place] = Opaque()

    def forget_attribute(self, name: str, state: State) -> None:
        """An attribute of that name was set on something that is not known."""
        scopes = [*self.classes, *self.objects]
        for place in [(scope, name) for scope in scopes if (scope, name) in state.heap]:
            state.heap[place] = Opaque()


def _slice_of(node: ast.Subscript) -> slice | None:
    """`[:1]` with bounds that are written as numbers."""
    bounds = getattr(node.slice, "lower", None), getattr(node.slice, "upper", None)
    if not isinstance(node.slice, ast.Slice) or node.slice.step is not None:
        return None
    plain = all(isinstance(bound, ast.Constant | None) for bound in bounds)
    return slice(*(bound and bound.value for bound in bounds)) if plain else None


def _class_of(value: Value) -> type:
    if isinstance(value, Const):
        return type(value.value)
    if isinstance(value, Text):
        return str
    if isinstance(value, View):
        return type({}.items())
    return value.kind if isinstance(value, Sequence) else dict


def _is_indexed(holder: Sequence) -> bool:
    return holder.kind is not set and not isinstance(holder, View)


def _is_tuple(value: Value) -> bool:
    return isinstance(value, Sequence) and value.kind is tuple


def _plain(cls: Class, value: Value | None) -> Value | None:
    """An attribute of a class, which may be another one where something else made the class."""
    is_known = value is None or isinstance(value, Function) or not cls.made
    return value if is_known else Opaque()
