"""Has pip fetch one wheel, which is neither built nor run."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.textfile import reason, show

if TYPE_CHECKING:
    from pathlib import Path

TIMEOUT = 300.0  # seconds
OPTIONS = (
    *("download", "-q", "--disable-pip-version-check", "--no-input", "--no-deps"),
    # Of an sdist pip would run what is in it; a wheel may be for another Python than this one.
    *("--only-binary", ":all:", "--ignore-requires-python"),
)


def download(requirement: str, folder: Path) -> Path:
    """The wheel that pip takes for a requirement, put into a folder; raises Refused."""
    command = [*_pip(), *OPTIONS, "-d", str(folder), requirement]
    try:
        done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        why = reason(error) if isinstance(error, OSError) else f"no answer in {TIMEOUT:g} seconds"
        raise Refused(f"pip: {why}") from error
    if done.returncode:
        lines = re.findall(r"ERROR: (.*)", done.stderr.decode(errors="replace"))
        raise Refused(f"pip: {show(lines[-1]) if lines else f'exit status {done.returncode}'}")
    found = sorted(folder.glob("*.whl"))
    if not found:
        raise Refused(f"pip found no wheel for {show(requirement)}")
    return found[0]


def _pip() -> list[str]:
    """The pip of this interpreter, else the one on the PATH: uv's environments have none."""
    from importlib.util import find_spec

    if find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip") or shutil.which("pip3"):
        return [found]
    raise Refused("pip is what fetches it, and is not here: install pip, or give the file")
