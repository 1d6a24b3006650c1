"""Runs made modules without a network, in environments that are plain dicts."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import os
import sys
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.body_pieces import KEY, OTHERS, VARIABLE

if TYPE_CHECKING:
    from collections.abc import Iterator


class Reply:
    """What the metadata server says, and how often it was asked."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.count = 0

    def get(self, url: str) -> str | None:
        self.count += 1
        if self.kind == "error":
            raise ConnectionError(url)
        return {"text": "from the server", "empty": "", "none": None}[self.kind]


@dataclass(frozen=True, slots=True)
class Run:
    """What one call did: the value or the class of the exception, and the requests it made."""

    ended: str  # `returned` or the name of an exception
    value: object
    requests: int


def environment(skip: str | None, key: str | None, *, other: str | None) -> dict[str, str]:
    held = {VARIABLE: skip, KEY: key, **dict.fromkeys(OTHERS, other)}
    return {name: value for name, value in held.items() if value is not None}


@contextlib.contextmanager
def replaced(reply: Reply, environ: dict[str, str]) -> Iterator[None]:
    """A `requests` that only counts, and an environment that is a plain dict."""
    fake = types.ModuleType("requests")
    fake.get = reply.get  # type: ignore[attr-defined]
    # A module may put something else in place of these too.
    before, getenv, found = os.environ, os.getenv, sys.modules.get("requests")
    os.environ, sys.modules["requests"] = environ, fake  # type: ignore[assignment]
    try:
        yield
    finally:
        os.environ, os.getenv = before, getenv
        sys.modules.pop("requests")
        if found is not None:
            sys.modules["requests"] = found


def run(
    code: types.CodeType,
    environ: dict[str, str],
    reply: str,
    at_import: dict[str, str] | None = None,
    *,
    calls: int = 1,
) -> Run:
    """Import the module and call its function; what is told is of the last call."""
    server = Reply(reply)
    held = environ if at_import is None else dict(at_import)
    namespace: dict[str, object] = {"__name__": __name__}
    with replaced(server, held):
        exec(code, namespace)  # noqa: S102 - running what was made is the point
        if held is not environ:
            held.clear()
            held.update(environ)
        server.count = 0
        for _ in range(calls):
            try:
                value, ended = _call(namespace), "returned"
            except Exception as error:  # noqa: BLE001 - whatever it is, it must stay the same
                value, ended = None, type(error).__name__
        return Run(ended, value, server.count)


def _call(namespace: dict[str, object]) -> object:
    names = ("get_tpu_env_value", "_get_tpu_env_value")
    holder = vars(namespace["Cluster"]) if "Cluster" in namespace else namespace
    function = next(holder[name] for name in names if name in holder)
    if isinstance(function, staticmethod):
        function = function.__func__
    result = function(KEY)  # type: ignore[operator]
    if not inspect.iscoroutine(result):
        return result
    try:
        result.send(None)
    except StopIteration as stop:
        return stop.value
    message = "the function waits for something"
    raise AssertionError(message)


SET = ("true", "1")
DOUBTFUL = ("", "false", "0")
KEYS = (None, "", "  from the environment ", "a:b")


def worlds(source: str) -> Iterator[tuple[str | None, str]]:
    """All that the assumption leaves open: another variable, and what the server says."""
    others = (None, "", "yes") if names_unknown(source) else (None,)
    return itertools.product(others, ("text", "none", "error"))


def names_unknown(source: str) -> bool:
    """Whether a module looks up a variable that nothing is known of."""
    return any(f"{name}'" in source for name in OTHERS)
