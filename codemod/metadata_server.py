"""A metadata server on loopback that counts what it is asked and misbehaves on request."""

from __future__ import annotations

import socket
import threading
from collections import Counter
from socketserver import StreamRequestHandler, TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any, Self

from codemod.verdict import Server

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "/computeMetadata/v1/instance/attributes/"
STATUS = {Server.NOT_FOUND: b"404 Not Found", Server.ERROR: b"500 Internal Server Error"}
LONGEST = 1 << 16  # bytes of a line of a request


class MetadataServer:
    """Serves `attributes` (key and text) from the moment it is made until the block ends."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.attributes = attributes
        self.mode = Server.UP
        self._changed = threading.Condition()
        self._connections = 0
        self._asked: Counter[str] = Counter()
        self._released = threading.Event()
        self._http = _Http(self)
        self._closed_port = socket.socket()
        self._closed_port.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1 that counts."""
        return int(self._http.server_address[1])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._closed_port.close()
        self._thread.join()

    def address(self) -> str | None:
        """Return the value of GCE_METADATA_IP for the present mode, None to leave it unset."""
        if self.mode is Server.NO_SUCH_HOST:
            return None
        refused = self.mode is Server.REFUSED
        port = self._closed_port.getsockname()[1] if refused else self.port
        return f"127.0.0.1:{port}"

    def start(self, mode: Server) -> None:
        """Count from zero, and behave like this from now on."""
        with self._changed:
            self._released.set()
            self._released = threading.Event()
            self.mode, self._connections, self._asked = mode, 0, Counter()

    def requests(self) -> int:
        """Return the connections since `start`, of which each takes one request or none."""
        with self._changed:
            return self._connections

    def asked(self) -> dict[str, int]:
        """Return how often each key was asked for; one that hung up first may have named none."""
        with self._changed:
            return dict(self._asked)

    def wait_for(self, connections: int, seconds: float) -> None:
        """Give those that the client has already given up on the time to arrive here."""
        with self._changed:
            self._changed.wait_for(lambda: self._connections >= connections, seconds)

    def connected(self) -> None:
        """Count a connection."""
        with self._changed:
            self._connections += 1
            self._changed.notify_all()

    def answer(self, path: str) -> tuple[bytes, str] | None:
        """Return status and text, or None once a silent server is let go."""
        with self._changed:
            mode, released = self.mode, self._released
            self._asked[path.removeprefix(PREFIX)] += 1
        if mode is Server.SILENT:
            released.wait()
            return None
        text = self.attributes.get(path.removeprefix(PREFIX))
        if mode in STATUS or text is None:
            return STATUS.get(mode, STATUS[Server.NOT_FOUND]), "no such attribute"
        return b"200 OK", text


class _Http(ThreadingMixIn, TCPServer):
    """Not `http.server`: loading it, and its parsing, take longer than all that is asked here."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, owner: MetadataServer) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:  # noqa: ARG002
        self.owner.connected()
        return True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients that hang up early are part of the scenarios."""


class _Handler(StreamRequestHandler):
    server: _Http

    def handle(self) -> None:
        """Answer one request as HTTP/1.0 does, which ends with the connection."""
        words = self.rfile.readline(LONGEST).decode("latin-1").split()
        while self.rfile.readline(LONGEST).strip():
            pass
        answer = self.server.owner.answer(words[1]) if words[:1] == ["GET"] else None
        if answer is None:
            return
        status, text = answer
        length = str(len(text.encode())).encode()
        head = b"HTTP/1.0 " + status + b"\r\nContent-Length: " + length + b"\r\n\r\n"
        self.wfile.write(head + text.encode())
