"""The pieces that bodies of `get_tpu_env_value` are made of."""

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
    "Odd": """class Odd(Exception):
    def __init__(self, skip=True, ask=None):
        self.skip, self.call = skip, ask

    def ask(self, key):
        return get_metadata(key)

    def __str__(self):
        return str(self.ask('x'))""",
    "CONFIG": "CONFIG = Client(True)",
    "_enable": "def _enable():\n    CONFIG.skip = False",
    "_first": """def _first(seen=[]):
    held = seen
    held.append(1)
    return len(held) == 1""",
    "_empty": "def _empty(held, *_):\n    held.clear()\n    return held",
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
    "({0} or '')[:1] in ('1', 't')",
    "({0} or '').startswith(('1', 't'))",
    "isinstance({0}, str)",
    "None is not {0} != ''",
    "'{{}}'.format({0}) != 'None'",
    "{0} in {{'1', 'true'}}",
)
CONDITIONS = (
    "_skip()", "not _asks()", "_is_set(SKIP)", "_is_set('" + VARIABLE + "')", "_wrong()",
    "SKIP in os.environ", "SKIP in environ.keys()", "any(name in os.environ for name in [SKIP])",
    "any(name == SKIP for name in os.environ)", "AT_IMPORT", "False", "True", "0", "_skip",
    "STATE['skip']", "_cached()", "Client().skips", "Client(_skip()).skip", "Client.skip",
    f"os.environ.get('{OTHER}')", f"'{OTHER}' in os.environ", "flag", "flag", "flag", "value",
    "any(name in os.environ for name in _keys())", "all((_skip(), True))", "not None",
    "CONFIG.skip", "_first()", "[name for name in (SKIP,) if name in os.environ]",
    "len({_skip(), True}) == 1", "{SKIP} & os.environ.keys()", "not (name for name in ())",
    "not os.environ", "not dict(os.environ)", "'%s' % [flag] == 'True'", "key.real", "True.imag",
    "any((lambda: name in os.environ)() for name in (SKIP, 'X'))", "(found := not flag)",
    "any((found := name in os.environ) for name in ('X', SKIP)) and found",
    "{True: flag}.get(flag)",
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
    "_default(key, lambda name: None)", "get_metadata(key, **{'key': key})", "Odd().ask(key)",
    "str(Odd())", "'%s' % (Odd(),)", "property(get_metadata).fget(key)",
    "Odd(ask=get_metadata).call(key)", "sorted([key], key=TABLE['ask'])[0]",
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
    "held = {'flag': flag}\nsame = held\nsame['flag'] = not flag\nflag = held['flag']",
    "held = {'flag': flag}\nget = held.get\nheld['flag'] = not flag\nflag = get('flag')",
    "held = {'flag': True}\nread = held.values()\nheld['flag'] = flag\nflag = any(read)",
    "held = {'flag': flag}\nflag = [held, held.pop('flag')][0].get('flag')",
    "held = {'flag': [flag]}\nmax([held['flag']], key=len).clear()\nflag = bool(held['flag'])",
    "held = []\nlist(map(held.append, [flag]))\nflag = bool(held)",
    "held = [flag]\nfunctools.reduce(_empty, [1], held)\nflag = bool(held)",
    "held = [flag]\nsorted([held], key=_empty)\nflag = bool(held)",
    "held = list(key)\nflag = bool(held)\nheld.clear()\nflag = bool(held)",
    "held = [1]\nfor item in held:\n    held.extend([2] if item == 1 else [])\nflag = item == 2",
    "def kept(held={'flag': flag}):\n    return held['flag']\nflag = kept()",
    "names = (name for name in (SKIP,) if name in os.environ)\nany(names)\nflag = any(names)",
    "late = (flag for _ in (1,))\nflag = not flag\nflag = any(late)",
    "late = lambda: flag\nflag = not flag\nflag = not late()",
    "try:\n    raise (KeyError if flag else ValueError)\nexcept KeyError:\n    flag = False",
    "try:\n    raise Odd(flag, get_metadata)\nexcept Odd as error:\n    flag = error.skip",
    "try:\n    raise Odd(flag)\nexcept Exception as error:\n    value = error.ask(key)",
    "try:\n    raise KeyError(get_metadata)\nexcept KeyError as value:\n    value.args[0](key)",
    "try:\n    flag = _skip()\nfinally:\n    flag = not flag",
    "match flag:\n    case (True as seen) | (False as seen):\n        flag = not seen",
    "def read():\n    return value\nread().strip()", "first, *rest = [flag, True]\nflag = first",
    (
        "again = []\ndef twice(_):\n    if again:\n        get_metadata(key)\n"
        "    again.append(1)\nsorted([1, 2], key=twice)"
    ),
    "class Box:\n    flag = True\n    held = [flag]\nflag = Box.held[0]",
    "class Box:\n    nonlocal flag\n    flag = not flag", "os.environ.clear()",
    "class Box:\n    _skip = _skip()\nflag = Box._skip",
    "list(map(os.environ.pop, [SKIP]))", "[os.environ][0].pop(SKIP, None)", "del os.environ[SKIP]",
    "(a, b), c = 'ab', flag", "a, b = value", "-value", "value()", "value[0]",
    "flag = flag < 2 < len(key)",
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
