"""What may stand where a file should be."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def make_fifo(path: Path) -> None:
    os.mkfifo(path)


def make_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is limited to 107 bytes
    try:
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(path.name)
    finally:
        os.chdir(here)


ODD_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "directory": (lambda path: path.mkdir(), "is a directory"),
    "fifo": (make_fifo, "is a FIFO"),
    "socket": (make_socket, "is a socket"),
    "missing": (lambda _: None, "does not exist"),
    "loop": (lambda path: path.symlink_to(path), "is a loop of links"),
}
