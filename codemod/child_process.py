"""A child that runs code which may hang, crash, print or end early, and always is ended."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

# All else is left out: proxies, PYTHON*, and what jax, its libraries and clusters listen to.
KEPT = ("DYLD_LIBRARY_PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PATH", "TZ", "USER")
LONGEST = 1 << 20  # bytes of a message: nothing that the scripts send comes near
TAIL = 4000  # bytes of output that are kept


class Gone(Exception):  # noqa: N818
    """The child sent what it may not, or ended, or was silent for too long."""


class Child:
    """One script in one interpreter, in a session and a working directory of its own.

    Replies come on a pipe of their own and begin with a nonce that only the script was told. To
    be used as a context manager: on the way out the whole session is killed.
    """

    def __init__(
        self, python: Path, script: Path, arguments: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        import secrets
        import tempfile

        self._nonce = secrets.token_hex(16)
        self._buffer = b""
        self._folder = tempfile.TemporaryDirectory(
            prefix="codemod-verify-", ignore_cleanup_errors=True
        )
        commands, self._commands = os.pipe()
        self._replies, replies = os.pipe()
        os.write(self._commands, self._nonce.encode() + b"\n")
        try:
            self._process = subprocess.Popen(
                [python, "-u", "-B", script, *arguments, str(commands), str(replies)],
                cwd=self._folder.name,
                env=_scrubbed(self._folder.name, environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(commands, replies),
                start_new_session=True,
            )
        except OSError as error:
            self._close_files()
            raise Gone(f"{python} does not start: {error.strerror}") from error
        finally:
            os.close(commands)
            os.close(replies)
        self.stdout, self.stderr = _Drain(self._process.stdout), _Drain(self._process.stderr)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()
        self._close_files()

    def fileno(self) -> int:
        """The pipe that becomes readable when the child has replied or is gone."""
        return self._replies

    @property
    def has_message(self) -> bool:
        """Whether a whole message was read already, so that the pipe may be silent."""
        return b"\n" in self._buffer

    def send(self, command: Mapping[str, Any]) -> None:
        """Send one command. Raises `Gone`."""
        self._write(json.dumps(command))

    def receive(self, deadline: float) -> dict[str, Any]:
        """Return the next message; `deadline` is one of `time.monotonic()`. Raises `Gone`."""
        with selectors.DefaultSelector() as ready:
            ready.register(self._replies, selectors.EVENT_READ)
            while not self.has_message:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    raise Gone("no answer in time")
                self._read()
        line, _, self._buffer = self._buffer.partition(b"\n")
        return self._decode(line)

    def end(self) -> None:
        """Kill the session and collect what it printed."""
        # The process is not reaped before, so that its id cannot be that of a stranger by now.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.stdout.join()
        self.stderr.join()

    def finish(self, deadline: float) -> None:
        """Send no more commands and wait for the farewell. Raises `Gone` without one."""
        os.close(self._commands)
        self._commands = -1
        if self.receive(deadline) != {"end": True}:
            raise Gone("more answers than questions")
        try:
            self.receive(deadline)
        except Gone:
            if self._ended() is None:
                raise
        else:
            raise Gone("more answers than questions")

    def _read(self) -> None:
        data = os.read(self._replies, 1 << 16)
        self._buffer += data
        if not data:
            raise Gone(self._how_it_ended())
        if len(self._buffer) > LONGEST:
            raise Gone("rubbish on the reply channel")

    def _decode(self, line: bytes) -> dict[str, Any]:
        nonce, _, message = line.partition(b" ")
        try:
            decoded = json.loads(message) if nonce == self._nonce.encode() else None
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            raise Gone("rubbish on the reply channel")
        return decoded

    def _how_it_ended(self) -> str:
        status = self._ended()
        if status is None:
            return "the reply channel was closed"
        if status < 0:
            return f"killed by {signal.Signals(-status).name}"
        last = self.stderr.last_line()
        return f"ended with status {status}" + (f": {last}" if last else "")

    def _ended(self) -> int | None:
        """Return the exit status, negative for a signal, without reaping; None while it runs."""
        flags = os.WEXITED | os.WNOWAIT | os.WNOHANG
        for _ in range(500):
            found = os.waitid(os.P_PID, self._process.pid, flags)
            if found is not None:
                return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status
            time.sleep(0.002)
        return None

    def _write(self, line: str) -> None:
        try:
            os.write(self._commands, line.encode() + b"\n")
        except BrokenPipeError:
            raise Gone(self._how_it_ended()) from None

    def _close_files(self) -> None:
        for descriptor in {self._commands, self._replies} - {-1}:
            os.close(descriptor)
        self._folder.cleanup()


class _Drain:
    """Reads a pipe to its end while the child runs, and keeps its tail."""

    def __init__(self, pipe: IO[bytes] | None) -> None:
        self.size = 0
        self.tail = b""
        self._pipe = pipe
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def join(self) -> None:
        # A process that left the session may hold the pipe open; it is not worth waiting for.
        self._thread.join(1.0)

    def last_line(self) -> str:
        self._thread.join(0.5)
        lines = self.tail.decode("utf-8", "replace").split("\n")
        return next((line.strip()[:200] for line in reversed(lines) if line.strip()), "")

    def _run(self) -> None:
        assert self._pipe is not None  # noqa: S101
        with self._pipe:
            while data := self._pipe.read1(1 << 16):  # type: ignore[attr-defined]
                self.size += len(data)
                self.tail = (self.tail + data)[-TAIL:]


def _scrubbed(folder: str, environment: Mapping[str, str]) -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": folder, **environment}
