from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import environments
from tests.environments import Lacking, NotMade, _answers, _run, interpreter, wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

FAILING: list[str | Path] = [sys.executable, "-c", "import sys; sys.exit('first\\nlast')"]


class Index(BaseHTTPRequestHandler):
    """A package index with one file, which nobody fetches."""

    def do_GET(self) -> None:
        body = b'<a href="jax-0.0.1-py3-none-any.whl">jax-0.0.1-py3-none-any.whl</a>'
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@contextmanager
def index() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Index)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_command_that_fails_is_named_with_its_last_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    with index() as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        with pytest.raises(NotMade) as raised:
            _run(FAILING)
    first, *lines = str(raised.value).splitlines()
    assert first.startswith(f"status 1: {sys.executable} -c ")
    assert lines[-2:] == ["first", "last"]


def test_without_a_network_nothing_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    with index() as url:
        pass  # nobody listens there any more
    monkeypatch.setenv("PIP_INDEX_URL", url)
    with pytest.raises(Lacking, match="there is no network"):
        _run(FAILING)


def test_a_python_that_is_not_here_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(environments.PYTHONS, "0.4", "3.99")
    with pytest.raises(Lacking, match=r"jax 0\.4\.21 needs Python 3\.99, which is not here"):
        interpreter("0.4.21")


def test_a_name_is_no_proof_of_an_interpreter(tmp_path: Path) -> None:
    shim, here = tmp_path / "python3.12", "{}.{}".format(*sys.version_info)
    shim.write_text("#!/bin/sh\necho 'no such version' >&2\nexit 127\n")
    shim.chmod(0o755)
    assert not _answers(shim, "3.12")
    assert not _answers(tmp_path / "missing", "3.12")
    assert not _answers(Path(sys.executable), "3.99")
    assert _answers(Path(sys.executable), here)


@pytest.mark.parametrize(
    ("version", "python"),
    [("0.4.21", "3.11"), ("0.10.2", "3.11"), ("0.11.0", "3.12"), ("0.12.0.1", "3.12")],
)
def test_the_python_of_a_release(version: str, python: str) -> None:
    assert wanted(version) == python
