"""Makes modules with a `get_tpu_env_value` out of pieces; whoever wants one says how to choose."""

from __future__ import annotations

import re
from textwrap import indent
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Pick = Callable[[int], int]  # how many there are -> which one, counted from 0

VARIABLE = "TPU_SKIP_MDS_QUERY"
KEY = "MEGASCALE_NUM_SLICES"
OTHER = "SOME_OTHER_VARIABLE"
OTHERS = (OTHER, "TPU_SKIP_MDS", "TPU_SKIP_MDS_QUERIES")  # of these nothing is known

# What a body may use; only what it names goes into its module.
HELPERS = {
    "environ": "from os import environ",
    "getenv": "from os import getenv",
    "_os": "import os as _os",
    "contextlib": "import contextlib",
    "functools": "import functools",
    "requests": "import requests",
    "SKIP": f"SKIP = {VARIABLE!r}",
    "WRONG": "WRONG = 'TPU_SKIP_MDS_QUERIES'",
    "AT_IMPORT": f"AT_IMPORT = os.environ.get({VARIABLE!r})",
    "STATE": "STATE = {'skip': False, 'asks': 0}",
    "CACHED": "CACHED = None",
    "Skip": "class Skip(Exception):\n    pass",
    "_skip": f"def _skip():\n    return os.environ.get({VARIABLE!r}) is not None",
    "_is_set": "def _is_set(name):\n    return os.getenv(name) not in (None, '')",
    "_asks": f"""def _asks():
    if {VARIABLE!r} in os.environ:
        return False
    return True""",
    "_wrong": "def _wrong():\n    return os.environ.get('TPU_SKIP_MDS') is not None",
    "_check": f"def _check():\n    if os.environ.get({VARIABLE!r}):\n        raise Skip",
    "_cached": f"""def _cached():
    global CACHED
    if CACHED is None:
        CACHED = os.environ.get({VARIABLE!r}) is not None
    return CACHED""",
    "_disable": "def _disable():\n    STATE['skip'] = True",
    "_keys": f"def _keys():\n    yield {VARIABLE!r}\n    yield SKIP",
    "_asked": "def _asked(key):\n    yield get_metadata(key)",
    "_guarded": f"""def _guarded(function):
    @functools.wraps(function)
    def wrapper(*args):
        if os.environ.get({VARIABLE!r}) is not None:
            return os.environ.get(args[0])
        return function(*args)
    return wrapper""",
    "_traced": """def _traced(function):
    def wrapper(key, **options):
        return function(key, **options)
    return wrapper""",
    "get_tpu_env_value_from_metadata": """def get_tpu_env_value_from_metadata(key):
    for row in str(get_metadata('tpu-env')).split(','):
        if ':' not in row:
            return row
    return None""",
    "_patient": """def _patient(key):
    for attempt in range(2):
        try:
            return get_metadata(key)
        except ConnectionError:
            continue
    return None""",
    "_default": "def _default(key, ask=get_metadata):\n    return ask(key)",
    "_found": "def _found(key):\n    return {'value': get_metadata(key), 'code': 200}",
    "_careful": f"""def _careful(key):
    if os.environ.get({VARIABLE!r}):
        return None
    return get_metadata(key)""",
    "Client": f"""class Client:
    skip = False

    def __init__(self, skip=None):
        self.skip = skip

    @staticmethod
    def ask(key):
        return get_metadata(key)

    @classmethod
    def ask_too(cls, key):
        return cls.ask(key)

    def maybe(self, key):
        return None if self.skip else self.ask(key)

    @property
    def skips(self):
        return os.environ.get({VARIABLE!r}) is not None""",
    "Quiet": """class Quiet:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return error[0] is not None""",
    "TABLE": "TABLE = {'ask': get_metadata, 'none': lambda key: None}",
}
METADATA = """def get_metadata(key):
    import requests
    return requests.get(f'http://metadata.google.internal/computeMetadata/v1/{key}')"""

LOOK_UPS = (
    "os.environ.get({0})", "os.environ.get({0}, None)", "os.getenv({0})", "environ.get({0})",
    "os.environ.get({0}) or None", "getenv({0})", "_os.environ.get({0})", "os.environ[{0}]",
    "os.environ.get({0}, '')", "getattr(os, 'environ').get({0})", "os.environ.copy().get({0})",
    "dict(os.environ).get({0})", "(os.environ[{0}] if {0} in os.environ else None)",
)  # fmt: skip
NAMES = (
    f"'{VARIABLE}'", "SKIP", f"'{VARIABLE}'", "'TPU_SKIP_' + 'MDS_QUERY'", "'TPU_SKIP_MDS_QUERY'",
    "f\"TPU_SKIP_{'MDS'}_QUERY\"", "WRONG", "'TPU_SKIP_MDS'", "key", f"'{OTHER}'",
    f"'{VARIABLE.lower()}'.upper()",
)  # fmt: skip
TESTS = (
    "{0} is not None",
    "{0}",
    "{0} is not None",
    "{0} is None",
    "not {0}",
    "{0} != None",
    "{0} == 'true'",
    "{0} in ('1', 'true')",
    "{0} not in (None, '', '0', 'false')",
    "bool({0})",
    "any([{0}])",
    "({0} or '').lower() in ('1', 'true', 'yes')",
    "len({0} or '') > 0",
    "isinstance({0} or None, str)",
    "str({0} or None) != 'None'",
    "(seen := {0}) is not None",
    "(lambda: {0})() is not None",
    "int({0} or 0)",
    "{0} > ''",
    "next(iter([{0} or None])) is not None",
    "max([{0} or None], key=bool) is not None",
    "[{0} or None] != [None]",
    "'%s' % ({0} or None,) != 'None'",
    "bool({0} + '')",
    "{0}.strip()",
)
CONDITIONS = (
    "_skip()", "not _asks()", "_is_set(SKIP)", "_is_set('" + VARIABLE + "')", "_wrong()",
    "SKIP in os.environ", "SKIP in environ.keys()", "any(name in os.environ for name in [SKIP])",
    "any(name == SKIP for name in os.environ)", "AT_IMPORT", "False", "True", "0", "_skip",
    "STATE['skip']", "_cached()", "Client().skips", "Client(_skip()).skip", "Client.skip",
    f"os.environ.get('{OTHER}')", f"'{OTHER}' in os.environ", "flag", "flag", "flag", "value",
    "any(name in os.environ for name in _keys())", "all((_skip(), True))", "not None",
    "{'a': _skip()}['a']", "dict(os.environ, x='y').get(SKIP)", "bool(_skip() + 0)",
)  # fmt: skip
ON_VALUE = (
    "value is None", "value is not None", "value", "not value", "value == ''", "key in os.environ",
    "key not in environ", "value != None", "len(value or '') == 0", "isinstance(value, str)",
)  # fmt: skip
ASKS = (
    "get_metadata(key)", "get_tpu_env_value_from_metadata(key)", "get_metadata('tpu-env')",
    "get_metadata(key)", "get_tpu_env_value_from_metadata(key)", "_patient(key)", "_default(key)",
    "_found(key)['value']", "Client.ask(key)", "Client().ask_too(key)", "Client().maybe(key)",
    "Client(_skip()).maybe(key)", "TABLE['ask'](key)", "TABLE.get('none')(key)", "_careful(key)",
    "(lambda: get_metadata(key))()", "[get_metadata(k) for k in (key,)][0]",
    "next(get_metadata(k) for k in [key])", "list(map(get_metadata, [key]))[0]",
    "functools.partial(get_metadata, key)()", "max([key], key=get_metadata)",
    "get_metadata(*[key])", "get_metadata(**{'key': key})", "list(_asked(key))[0]",
    "requests.get(f'http://metadata.google.internal/{key}')", "_traced(get_metadata)(key)",
    "_guarded(get_metadata)(key)", "getattr(Client, 'ask')(key)", "[get_metadata][0](key)",
    "_default(key, lambda name: None)", "sorted([key], key=TABLE['ask'])[0]",
)  # fmt: skip
VALUES = (
    "None", "''", "value", "os.environ.get(key)", "os.environ[key]", "getenv(key)",
    "os.environ.get(key, None)", "environ.get(key, '')", "value and value.strip()", "[value][0]",
    "'default'", "value or None", "str(value)", "os.environ.pop(key, None)",
    "os.environ.get(key.lower())",
)  # fmt: skip
ERRORS = (
    "KeyError", "Exception", "LookupError", "(KeyError, TypeError)", "ValueError", "Skip",
    "ConnectionError", "OSError", "TypeError", "AttributeError", "UnboundLocalError", "NameError",
)  # fmt: skip
EFFECTS = (
    "os.environ.pop(SKIP, None)", f"os.environ['{VARIABLE}'] = '1'", "del value", "_disable()",
    "os.environ.setdefault(SKIP, 'true')", "environ = dict(os.environ)\nenviron.pop(SKIP, None)",
    "_check()", "_check()", "raise KeyError(key)", "raise Skip", "Client.skip = _skip()",
    "STATE['skip'] = flag", "STATE.update(skip=flag)", "seen = list(_keys())",
    "items = []\nitems.append(flag)\nflag = bool(items and items[0])",
    "def change():\n    nonlocal flag\n    flag = not flag\nchange()",
    "def change(_):\n    nonlocal flag\n    flag = True\nlist(map(change, [key]))",
    "holder = [flag]\nholder[0] = not flag\nflag = holder[0]",
    "value, flag = value, not flag", "flag ^= True", "value += ''", "int(value)", "pass",
    "a, b = value.split(':')", "os.environ |= {SKIP: '1'}", "(lambda: value.strip())()",
    "os.environ[key] = 'written'", "(flag) = _skip() or flag",
    "flag = {**STATE, 'skip': flag}['skip']",
    "later = (get_metadata(k) for k in [key])", "ask = functools.partial(get_metadata, key)",
    "flag = [flag for flag in (True, False)][0]", "_skip = lambda: False",
    "for flag in (False, _skip()):\n    pass", "STATE['asks'] += 1", "value = 1 + value",
    "assert not flag", "setattr(Client, 'skip', True)", "Client().skip = True",
)  # fmt: skip

# Whole bodies as people write them.
SHAPES = (
    "value = {look}\nif value is None:\n    value = {ask}\nreturn value",
    "value = {look}\nif value is None and not {guard}:\n    value = {ask}\nreturn value",
    "if {guard}:\n    return os.environ.get(key)\nvalue = {look}\nreturn value or {ask}",
    "value = os.environ.get(key)\nreturn value if value is not None else {ask}",
    "value = os.environ.get(key)\nreturn value if value is not None or {guard} else {ask}",
    "if key in os.environ:\n    return os.environ[key]\nif {guard}:\n    return None\nreturn {ask}",
    "try:\n    return os.environ[key]\nexcept KeyError:\n    return {ask}",
    (
        "try:\n    return os.environ[key]\nexcept KeyError:\n"
        "    if {guard}:\n        return None\n"
        "    return {ask}"
    ),
    "if not {guard}:\n    value = {ask}\nelse:\n    value = {look}\nreturn value",
    "if (value := {look}) is not None:\n    return value\nreturn None if {guard} else {ask}",
    "return {look} or {ask}",
    "return ({look}) or (not {guard} and {ask}) or None",
)


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
