"""A metadata server on loopback that counts what it is asked and misbehaves on request."""

from __future__ import annotations

import socket
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import TYPE_CHECKING, Any, Self

from codemod.verdict import Server

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "/computeMetadata/v1/instance/attributes/"
STATUS = {Server.NOT_FOUND: 404, Server.ERROR: 500}


class MetadataServer:
    """Serves `attributes` (key and text) from the moment it is made until the block ends."""

    def __init__(self, attributes: Mapping[str, str]) -> None:
        self.attributes = attributes
        self.mode = Server.UP
        self._changed = threading.Condition()
        self._connections = 0
        self._keys: list[str] = []
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
            self.mode, self._connections, self._keys = mode, 0, []

    def requests(self) -> int:
        """Return the requests since `start`; a connection that asked for nothing counts too."""
        with self._changed:
            return max(self._connections, len(self._keys))

    def keys(self) -> tuple[str, ...]:
        """Return the attributes that were asked for since `start`, in order."""
        with self._changed:
            return tuple(self._keys)

    def wait_for_request(self, seconds: float) -> None:
        """Give a request that the client has already given up on the time to arrive here."""
        with self._changed:
            self._changed.wait_for(lambda: self._connections > 0, seconds)

    def connected(self) -> None:
        """Count a connection."""
        with self._changed:
            self._connections += 1
            self._changed.notify_all()

    def answer(self, path: str) -> tuple[int, str] | None:
        """Count a request; return status and text, or None once a silent server is let go."""
        key = path.removeprefix(PREFIX)
        with self._changed:
            self._keys.append(key)
            mode, released = self.mode, self._released
        if mode is Server.SILENT:
            released.wait()
            return None
        if mode in STATUS or key not in self.attributes:
            return STATUS.get(mode, 404), "no such attribute"
        return 200, self.attributes[key]


class _Http(ThreadingMixIn, TCPServer):
    """Not `http.server.HTTPServer`: that looks up the host name of its address when it binds."""

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


class _Handler(BaseHTTPRequestHandler):
    server: _Http

    def do_GET(self) -> None:
        answer = self.server.owner.answer(self.path)
        if answer is None:
            return
        status, text = answer
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass
