"""What is known of names from outside the file: which ask, which cannot, which are pure."""

from __future__ import annotations

import builtins

from codemod.reach.scopes import CHANGING

# Asking through one of these is asking the network, whatever the address.
NETWORK_ROOTS = frozenset(
    "requests urllib urllib2 urllib3 httplib http httpx aiohttp socket ssl grpc tornado pycurl "
    "ftplib google googleapiclient boto3".split()
)
# Attributes of a network module whose call sends something. Others (a session, an adapter, an
# exception) only prepare it.
NETWORK_VERBS = frozenset(
    "get post put patch delete head options request send urlopen urlretrieve open fetch "
    "getresponse connect connect_ex create_connection gethostbyname gethostbyname_ex getaddrinfo "
    "perform sendall stream".split()
)
NETWORK_HARMLESS = ("urllib.parse", "socket.gethostname", "http.HTTPStatus", "google.protobuf")

# Modules of the standard library that neither ask the network nor call back, except where a
# function of the file is handed to them.
HARMLESS_ROOTS = frozenset(
    "abc argparse ast base64 bisect builtins calendar collections contextlib copy dataclasses "
    "datetime decimal enum errno fnmatch fractions functools gc getpass glob hashlib inspect io "
    "itertools json locale logging math numbers operator os pathlib platform pprint random re "
    "shlex signal stat string struct sys sysconfig tempfile textwrap threading time traceback "
    "types typing typing_extensions unicodedata uuid warnings weakref zlib".split()
)
HARMFUL = frozenset(
    "os.system os.popen builtins.eval builtins.exec builtins.__import__ builtins.compile "
    "builtins.globals builtins.locals builtins.vars".split()
)
HARMFUL_PREFIXES = ("os.exec", "os.spawn", "os.posix_spawn", "sys.modules")
HARMLESS_PREFIXES = (
    "absl.logging",
    "asyncio.run",
    "asyncio.sleep",
    "jax._src.config",
    "jax._src.xla_bridge.logger",
)

# Decorators that call what they decorate with the arguments they are given.
TRANSPARENT_DECORATORS = frozenset(
    "functools.cache functools.lru_cache functools.wraps abc.abstractmethod "
    "typing.no_type_check typing.final typing.overload typing.override typing_extensions.override "
    "typing_extensions.final".split()
)

# The names under which jax itself asks. Taken from another file, a call of one is a request.
SINKS = frozenset({"get_metadata", "get_tpu_env_value_from_metadata"})

# Context managers that may swallow exceptions, by what they are told later.
HOLDERS = frozenset({"contextlib.ExitStack", "contextlib.AsyncExitStack"})
EXITS = frozenset({"sys.exit", "builtins.exit", "builtins.quit", "os._exit", "os.abort"})
_CHANGERS = CHANGING | frozenset(
    "shuffle insort insort_left insort_right setitem delitem iadd iconcat heappush".split()
)
_LOG_VERBS = frozenset("debug info warning warn error exception critical fatal log vlog".split())
_LOGGERS = frozenset("log logger logging".split())

# Bases that leave a class as it is written.
PLAIN_BASES = frozenset({"builtins.object", "abc.ABC", "typing.Protocol"})

# Built-ins whose result is a plain value, whatever they are given.
PLAIN_RESULTS = frozenset(
    f"builtins.{name}"
    for name in "str int float bool len repr print isinstance issubclass hash id callable abs "
    "format ascii ord chr open input".split()
)
# Built-ins that run a generator expression to its end, and those that may stop before it.
DRAINING = frozenset(
    f"builtins.{name}" for name in "list tuple set frozenset sorted max min sum dict".split()
)
CONSUMING = frozenset({"builtins.any", "builtins.all", "builtins.next"})
# These ask the class, which may have a metaclass.
ASKING_CLASSES = frozenset({"builtins.isinstance", "builtins.issubclass"})
# Methods after which a key still is a key, and a value a text.
SAME_KIND_METHODS = frozenset(
    "lower upper strip lstrip rstrip casefold title capitalize swapcase".split()
)
PURE_METHODS = frozenset(
    "lower upper strip lstrip rstrip casefold title capitalize swapcase startswith endswith "
    "removeprefix removesuffix isdigit isnumeric isdecimal isalpha isspace split rsplit splitlines "
    "partition replace find count join format encode decode __eq__ __ne__ __contains__ "
    "__len__".split()
)
# Methods of containers that leave them as they are.
READING_METHODS = PURE_METHODS | frozenset(
    "index copy keys values items get union intersection difference symmetric_difference issubset "
    "issuperset isdisjoint __iter__ __getitem__ __reversed__ read readline".split()
)
# Built-ins that give back what is in their argument, or a new object, and never the argument.
RETURNING_ARGUMENTS = frozenset({"builtins.max", "builtins.min"})


def asks(path: str) -> bool:
    """Whether calling this external sends a request."""
    root, _, rest = path.partition(".")
    last = path.rpartition(".")[2]
    if last in SINKS:
        return not path.startswith("?")
    if path.startswith(NETWORK_HARMLESS):
        return False
    return root in NETWORK_ROOTS and bool(rest) and last in NETWORK_VERBS


def may_ask(path: str) -> bool:
    """Whether this external, handed to somebody who calls it, may send a request."""
    return path.partition(".")[0] in NETWORK_ROOTS or path.rpartition(".")[2] in SINKS


def prepares(path: str) -> bool:
    """Whether calling this external of a network module only makes an object (`Session()`)."""
    root, _, rest = path.partition(".")
    last = path.rpartition(".")[2]
    return root in NETWORK_ROOTS and bool(rest) and (last[:1].isupper() or last == "session")


def harmless(path: str) -> bool:
    """Whether calling this external cannot ask, unless it is handed code of the file."""
    if path in HARMFUL or path.startswith(HARMFUL_PREFIXES):
        return False
    root = path.partition(".")[0]
    return root in HARMLESS_ROOTS or path.startswith((*HARMLESS_PREFIXES, *NETWORK_HARMLESS))


def logs(path: str) -> bool:
    """Whether calling this external only writes a message."""
    holder, _, verb = path.rpartition(".")
    named = holder.rpartition(".")[2].replace("_", "").lower() in _LOGGERS
    return verb in _LOG_VERBS and (named or path.startswith("logging."))


def changes(path: str) -> bool:
    """Whether calling this external changes a container that it is given (`list.append`)."""
    return path.rpartition(".")[2] in _CHANGERS


def is_builtin(name: str) -> bool:
    """Whether Python itself binds the name."""
    return hasattr(builtins, name)


def exception_class(path: str) -> type[BaseException] | None:
    """The built-in exception of that dotted path, or None."""
    name = path.removeprefix("builtins.")
    found = getattr(builtins, name, None) if name != path else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def is_own_exception(path: str) -> bool:
    """Whether an exception of that path is the library's own, and no built-in by another name."""
    root = path.partition(".")[0]
    return root in NETWORK_ROOTS and root not in ("socket", "http", "ssl")
