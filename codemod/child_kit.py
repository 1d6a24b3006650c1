"""What the scripts that run in a target's interpreter share: the channel and what watches the copy.

Standard library only, CPython 3.9 to 3.14: this file is given to an interpreter that knows
nothing of codemod.
"""

from __future__ import annotations

import errno
import importlib.machinery
import importlib.util
import json
import os
import socket
import sys
import time
from typing import Any

VARIABLE = "TPU_SKIP_MDS_QUERY"
LONGEST = 500  # characters of a value or a message that are worth sending
PATIENCE = 3600.0  # seconds that a copy may believe to have slept in one call
LOOK_UPS = {
    "socket.getaddrinfo",
    "socket.gethostbyaddr",
    "socket.gethostbyname",
    "socket.getnameinfo",
}
SENDS = {"socket.connect", "socket.sendto", "socket.sendmsg"}
STARTS = {
    "os.exec",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
    "subprocess.Popen",
}


class StillWaiting(BaseException):
    """Not an `Exception`: a copy that retries for ever must not be able to swallow it."""


class ProcessStarted(BaseException):
    """Not an `Exception`: a copy must not be able to go on after it tried to start a process."""


class Channel:
    """Commands in, replies out, on two inherited pipes that no one else knows of.

    The first line of the commands is a nonce, and each reply begins with it: text that the copy
    writes anywhere by accident is not a reply, and a process that ends early sends none.
    """

    def __init__(self, commands: int, replies: int) -> None:
        self._commands = os.fdopen(commands, encoding="utf-8")
        self._replies = replies
        self._pid = os.getpid()
        self._nonce = self._commands.readline().strip()

    def receive(self) -> dict[str, Any] | None:
        """Return the next command, None when there are no more."""
        line = self._commands.readline()
        return json.loads(line) if line else None

    def reply(self, message: dict[str, Any]) -> None:
        """Send one message; a forked twin of this process says nothing and ends."""
        if os.getpid() != self._pid:
            os._exit(70)
        data = (self._nonce + " " + json.dumps(message) + "\n").encode()
        while data:
            data = data[os.write(self._replies, data) :]


class Watch:
    """Sees each look-up, connection and new process of this interpreter, and lets none of them out.

    A name other than that of this machine does not resolve and a foreign address refuses: the
    result is the same on a laptop, in a sealed container and on a host that has a metadata server.
    """

    def __init__(self, *, stop_processes: bool) -> None:
        self.server = 0  # port on loopback whose connections the parent counts
        self.processes = stop_processes  # whether a new process is an event
        self._events: list[str] = []
        self._connected: dict[int, Any] = {}
        self._started = False
        self._stop_processes = stop_processes
        sys.addaudithook(self._hook)

    def take(self) -> dict[str, Any]:
        """Return what happened since the last call.

        `events` went elsewhere, `connections` is how many sockets the server was spoken to with,
        `started` says whether the copy tried to start a process.
        """
        taken = {
            "events": self._events,
            "connections": len(self._connected),
            "started": self._started,
        }
        self._events, self._connected, self._started = [], {}, False
        return taken

    def _hook(self, event: str, args: tuple[Any, ...]) -> None:
        if event in LOOK_UPS:
            # `getnameinfo` takes the address of a socket, the others take a host
            self._look_up(text(args[0][0] if isinstance(args[0], tuple) else args[0]))
        elif event in SENDS:
            self._send(*args[:2])
        elif event in STARTS and self.processes:
            self._started = True
            self._events.append(event)
            if self._stop_processes:
                raise ProcessStarted(event)

    def _look_up(self, host: str) -> None:
        if not is_local(host):
            self._events.append("look-up " + host)
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    def _send(self, sock: Any, address: Any) -> None:
        if address is None:  # on a socket that is connected, and so was seen before
            return
        if not isinstance(address, tuple):
            self._events.append("connect " + text(address))
            return
        host, port = text(address[0]), address[1]
        if (host, port) == ("127.0.0.1", self.server):
            self._connected[id(sock)] = sock  # kept, or the next one may have its id
            return
        self._events.append(f"connect {host}:{port}")
        if not is_local(host):
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")


def text(value: Any) -> str:
    """Return the str of a host name or path, which may be None or bytes."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def is_local(host: str) -> bool:
    """Say whether a host needs no look-up beyond this machine, and leads nowhere else."""
    return host in {"", "localhost", "::1", "::", "0.0.0.0"} or host.startswith("127.")  # noqa: S104


class Clock:
    """Time that passes at once: `sleep` returns immediately and the clocks have moved on."""

    def __init__(self) -> None:
        self._slept = 0.0
        self._real_time, self._real_monotonic = time.time, time.monotonic
        time.sleep = self._sleep  # type: ignore[assignment]
        time.time = lambda: self._real_time() + self._slept
        time.monotonic = lambda: self._real_monotonic() + self._slept

    def restart(self) -> None:
        """Forget what was slept so far."""
        self._slept = 0.0

    def _sleep(self, seconds: float) -> None:
        self._slept += max(seconds, 0.001)
        if self._slept > PATIENCE:
            raise StillWaiting("still retrying after an hour of sleep")


class SocketLimit:
    """Bounds each wait on a socket, whatever timeout the copy or its HTTP library asks for."""

    def __init__(self) -> None:
        self.seconds = 5.0
        real = socket.socket.settimeout

        def settimeout(sock: socket.socket, value: float | None) -> None:
            real(sock, self.seconds if value is None else min(value, self.seconds))

        socket.socket.settimeout = settimeout  # type: ignore[assignment,method-assign]

    def set(self, seconds: float) -> None:
        """Bound every socket made from now on."""
        self.seconds = seconds
        socket.setdefaulttimeout(seconds)


def requests_or_stand_in() -> str:
    """Make `import requests` work; return what it gives: a version, or `stand-in`.

    jax takes `requests` only with its `tpu` extra. Without it the query would die before it
    leaves, and a copy that still asks would look as if it did not.
    """
    try:
        import requests  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        stand_in = requests_stand_in()
        sys.modules["requests"] = stand_in
        sys.modules["requests.exceptions"] = stand_in.exceptions
        return "stand-in"
    return str(requests.__version__)


def requests_stand_in() -> Any:
    """Return a module with the little of `requests` that asking a metadata server takes."""
    import urllib.error
    import urllib.request

    module: Any = importlib.util.module_from_spec(importlib.machinery.ModuleSpec("requests", None))
    errors: Any = importlib.util.module_from_spec(
        importlib.machinery.ModuleSpec("requests.exceptions", None)
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    class Response:
        def __init__(self, status: int, content: bytes) -> None:
            self.status_code, self.content = status, content
            self.text, self.ok = content.decode("utf-8", "replace"), status < 400

        def raise_for_status(self) -> None:
            if not self.ok:
                raise errors.HTTPError(f"{self.status_code} Error")

    def get(url: str, headers: Any = None, timeout: Any = None, **_: Any) -> Response:
        request = urllib.request.Request(url, headers=headers or {})  # noqa: S310
        try:
            with opener.open(request, timeout=timeout) as answer:
                return Response(answer.status, answer.read())
        except urllib.error.HTTPError as error:
            return Response(error.code, error.read())
        except socket.timeout as error:  # noqa: UP041 (TimeoutError only since Python 3.10)
            raise errors.Timeout(str(error)) from error
        except OSError as error:
            raise errors.ConnectionError(f"{url}: {error}") from error

    errors.RequestException = type("RequestException", (OSError,), {"__module__": errors.__name__})
    for name in ("ConnectionError", "HTTPError", "Timeout"):
        bases = (errors.RequestException,)
        setattr(errors, name, type(name, bases, {"__module__": errors.__name__}))
    vars(module).update(
        vars(errors), exceptions=errors, get=get, Session=session(get), __name__="requests"
    )
    return module


def session(get: Any) -> type:
    """Return the class of a session whose requests are made by `get`."""

    class Session:
        def __init__(self) -> None:
            self.headers: dict[str, str] = {}
            self.trust_env = False

        def get(self, url: str, headers: Any = None, **more: Any) -> Any:
            return get(url, headers={**self.headers, **(headers or {})}, **more)

    return Session


def describe(error: BaseException) -> str:
    """Return an exception as the last line of a traceback shows it."""
    kind = type(error)
    prefix = "" if kind.__module__ == "builtins" else kind.__module__ + "."
    return f"{prefix}{kind.__qualname__}: {error}"[:LONGEST]


def set_environment(changes: dict[str, str | None]) -> None:
    """Set the variables, and remove those whose value is None."""
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
