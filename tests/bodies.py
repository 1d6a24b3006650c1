"""Makes modules with a `get_tpu_env_value` out of pieces; whoever wants one says how to choose."""

from __future__ import annotations

import re
from textwrap import indent
from typing import TYPE_CHECKING

from tests.body_pieces import (
    ASKS,
    CONDITIONS,
    EFFECTS,
    ERRORS,
    HELPERS,
    LOOK_UPS,
    METADATA,
    NAMES,
    ON_VALUE,
    SHAPES,
    TESTS,
    VALUES,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Pick = Callable[[int], int]  # how many there are -> which one, counted from 0


class Maker:
    """Makes one module; every choice is asked for."""

    def __init__(self, pick: Pick) -> None:
        self.pick = pick

    def one(self, *options: str) -> str:
        return options[self.pick(len(options))]

    def chance(self, of: int) -> bool:
        return self.pick(of) == of - 1

    def look_up(self) -> str:
        return self.one(*LOOK_UPS).format(self.one(*NAMES))

    def condition(self, depth: int = 2) -> str:
        kind = self.pick(10)
        if kind < 4 or depth == 0:
            look_up = self.look_up()
            return "(" + self.one(*TESTS).format(look_up) + ")"
        if kind < 6:
            return self.one(*CONDITIONS)
        if kind < 7:
            return self.one(*ON_VALUE)
        first, second = self.condition(depth - 1), self.condition(depth - 1)
        forms = ("{0} and {1}", "{0} or {1}", "not {0}", "{0} if {1} else False", "{0} and not {1}")
        return "(" + self.one(*forms).format(first, second) + ")"

    def value(self, depth: int = 2) -> str:
        kind = self.pick(8)
        if kind < 4 or depth == 0:
            return self.one(*VALUES)
        if kind < 6:
            return self.one(*ASKS)
        first, second = self.value(depth - 1), self.value(depth - 1)
        forms = ("({0} or {1})", "({0} if {2} else {1})", "({0} if value is not None else {1})")
        form = self.one(*forms)
        return form.format(first, second, self.condition(1) if "{2}" in form else "")

    def block(self, depth: int) -> str:
        return "\n".join(self.statement(depth) for _ in range(1 + self.pick(2)))

    def statement(self, depth: int) -> str:
        nested = (self.branch, self.branch, self.attempt, self.loop, self.match, self.helper)
        kind = self.pick(5 + len(nested)) if depth else self.pick(5)
        if kind < 2:
            return self.assign()
        if kind < 4:
            return self.leave()
        return self.one(*EFFECTS) if kind == 4 else nested[kind - 5](depth - 1)

    def assign(self) -> str:
        if self.chance(3):
            return f"flag = {self.condition(1)}"
        return f"value = {self.value(1)}"

    def leave(self) -> str:
        if self.chance(6):
            return self.one(*ASKS)
        return f"return {self.value(1)}"

    def branch(self, depth: int) -> str:
        text = f"if {self.condition()}:\n{indented(self.block(depth))}"
        if self.chance(3):
            text += f"\nelse:\n{indented(self.block(depth))}"
        return text

    def attempt(self, depth: int) -> str:
        body = indented(self.block(depth))
        if self.chance(4):
            manager = self.one("contextlib.suppress({})", "Quiet()").format(self.one(*ERRORS))
            return f"with {manager}:\n{body}"
        text = f"try:\n{body}\nexcept {self.one(*ERRORS)}:\n{indented(self.block(depth))}"
        if self.chance(4):
            text += f"\nelse:\n{indented(self.block(depth))}"
        if self.chance(4):
            text += f"\nfinally:\n{indented(self.one(*EFFECTS))}"
        return text

    def loop(self, depth: int) -> str:
        body = indented(self.block(depth))
        kind = self.pick(4)
        if kind == 0:
            rounds = self.one("1", "2", "70", "len(value or key)")
            leaving = self.one("continue", "break", "pass")
            return f"for turn in range({rounds}):\n{body}\n    {leaving}"
        if kind == 1:
            return f"for name in (SKIP, key):\n{body}"
        if kind == 2:
            return f"while {self.condition(1)}:\n{body}\n    break"
        return f"turn = 0\nwhile turn < 3:\n    turn += 1\n{body}"

    def match(self, depth: int) -> str:
        cases = ("None", "'1' | 'true'", "str()", "''", "None if flag", "[*_]", "'x' as value")
        case = self.one(*cases)
        return (
            f"match {self.one(self.look_up(), 'value', self.condition(1))}:\n"
            f"    case {case}:\n{indented(indented(self.block(depth)))}\n"
            f"    case _:\n{indented(indented(self.block(depth)))}"
        )

    def helper(self, depth: int) -> str:
        if self.chance(2):
            return f"def _skip():\n    return {self.condition(1)}\nflag = _skip()"
        body = indented(self.block(depth))
        return f"def ask():\n{body}\n    return {self.value(1)}\nvalue = ask()"

    # Whole functions.
    def shaped(self) -> str:
        """A body in one of the shapes that people write, with any guard in it."""
        guard, look_up, ask = self.condition(1), self.one(*VALUES[3:8]), self.one(*ASKS)
        form = self.one(*SHAPES)
        text = form.format(look=look_up, ask=ask, guard=guard)
        return text if text.startswith("value = ") else f"value = None\n{text}"

    def body(self) -> str:
        kind = self.pick(4)
        if kind < 2:
            return self.shaped()
        first = "value = os.environ.get(key)\nflag = False\n"
        if kind == 2:
            return first + self.statement(1) + "\n" + self.shaped()
        statements = [self.statement(2) for _ in range(1 + self.pick(3))]
        return first + "\n".join(statements) + f"\nreturn {self.value(1)}"

    def function(self) -> str:
        body = self.body()
        if self.chance(4):
            body = '"""A value of the TPU environment."""\n' + body
        text = f"def get_tpu_env_value(key):\n{indented(body)}"
        kind = self.pick(24)
        if kind == 1:
            return f"async {text}"
        if kind == 2:
            return f"class Cluster:\n    @staticmethod\n{indented(text)}"
        if kind in (3, 4):
            return self.one("@functools.lru_cache(maxsize=None)\n", "@_guarded\n") + text
        if kind == 5:
            return text.replace("get_tpu_env_value(", "_get_tpu_env_value(", 1)
        if kind == 6:
            return f"@_traced\n{text}"
        return self.short() if kind == 7 else text

    def short(self) -> str:
        """A function of one expression, that starts with a look-up of the key."""
        value = f"{self.one(*VALUES[3:6])} or {self.value()}".replace("value", "key")
        value = value.replace("get_tpu_env_key", "get_tpu_env_value")
        form = self.one("lambda key: {}", "def get_tpu_env_value(key): return {}")
        text = form.format(value)
        return text if text.startswith("def") else f"get_tpu_env_value = {text}"

    def module(self) -> str:
        function = self.function()
        if "flag" in function and "flag = " not in function:
            function = function.replace("flag", "(key is None)")
        if "nonlocal flag" in function and "    flag = False" not in function:
            function = function.replace("nonlocal flag", "flag = False")
        return "import os\n" + "\n\n\n".join([*_needed(function), function]) + "\n"


def indented(text: str) -> str:
    return indent(text, "    ")


def _needed(function: str) -> Iterator[str]:
    """The helpers that a function names, and those that they name, in the order of `HELPERS`."""
    needed: set[str] = set()
    waiting = [function]
    while waiting:
        words = set(re.findall(r"\w+", waiting.pop()))
        new = [name for name in HELPERS if name in words and name not in needed]
        needed.update(new)
        waiting += [HELPERS[name] for name in new]
    yield METADATA
    yield from (text for name, text in HELPERS.items() if name in needed)
