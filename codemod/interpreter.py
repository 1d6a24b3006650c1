"""Asks an interpreter where it imports from, without importing anything in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from codemod.errors import CodemodError
from codemod.textfile import reason, show

if TYPE_CHECKING:
    from collections.abc import Mapping

TIMEOUT = 30.0  # seconds for an interpreter to start on a slow disk
# Nothing but `sys` is imported: a file of the current folder could be taken for any other module.
PATH_MARK = "codemod sys.path: "
PATH_SCRIPT = (
    "import sys; sys.stdout.buffer.write(('\\n' + sys.argv[1] + "
    "ascii([str(entry) for entry in sys.path if entry]) + '\\n').encode())"
)


def import_path(python: Path, environ: Mapping[str, str]) -> list[Path]:
    """Return the folders that an interpreter imports from, in its order.

    Raises CodemodError for one that does not answer as an interpreter does.
    """
    import subprocess

    command = [str(python), "-B", "-c", PATH_SCRIPT, PATH_MARK]
    try:
        run = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise CodemodError(f"{show(python)}: no answer in {TIMEOUT:g} seconds") from error
    except OSError as error:
        raise CodemodError(f"{show(python)}: cannot be run: {reason(error)}") from error
    if run.returncode:
        raise CodemodError(f"{show(python)}: exit status {run.returncode}{_last(run.stderr)}")
    return _parse_path(python, run.stdout)


def _last(output: bytes) -> str:
    lines = output.decode(errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), "")
    return f": {show(last.strip()[:200])}" if last else ""


def _parse_path(python: Path, output: bytes) -> list[Path]:
    import ast

    start = ("\n" + PATH_MARK).encode()
    _, found, rest = output.rpartition(start)
    try:
        entries = ast.literal_eval(rest.partition(b"\n")[0].decode()) if found else None
    except (ValueError, SyntaxError):
        entries = None
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise CodemodError(f"{show(python)}: does not answer as a Python interpreter does")
    return [Path(entry).absolute() for entry in dict.fromkeys(entries)]
