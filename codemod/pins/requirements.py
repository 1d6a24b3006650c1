"""Requirements and constraints files of pip: logical lines, and each that names jax."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codemod.pins.model import Follow, Pin, Unread
from codemod.pins.nodes import gathered
from codemod.pins.requirement import read
from codemod.pins.text import BOMS, decoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pins

COOKIE = rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)"
COMMENT = r"(?:^|[ \t]+)#.*$"
FOLLOWED = r"(?:-r|-c|--requirement|--constraint)(?:[ \t]*=[ \t]*|[ \t]*)(\S+)"
EDITABLE = r"(?:-e|--editable)(?:[ \t]*=[ \t]*|[ \t]+)"
OPTIONS = r"[ \t]+--(hash|config-settings?|global-option|install-option)[= \t]+(\S+)"
QUOTED = r"""^(["'])(.*)\1$"""  # a whole line, as copied out of a shell
NAMES_JAX = r"(?i)(?:^|[/=@ \t])jax(?:$|[^a-z0-9_-]|-[0-9])"


def collect(data: bytes) -> Pins:
    """The pins of a file. A line that may be one and is not understood is told, no other lost."""
    try:
        text = _decoded(data)
    except (UnicodeDecodeError, LookupError) as error:
        return gathered([Unread(line=None, why=f"cannot be decoded: {error}")])
    found = [one for number, line in _logical(text) for one in of_line(number, line)]
    return gathered(found)


def _decoded(data: bytes) -> str:
    """As pip does it: a byte order mark, a coding comment in the first two lines, else UTF-8."""
    marked = any(data.startswith(mark) for mark, _ in BOMS)
    for line in () if marked else data.split(b"\n")[:2]:
        if cookie := re.match(COOKIE, line):
            return data.decode(cookie[1].decode())
    return decoded(data)


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, those that go on after a backslash as one, with its number."""
    start, whole = 1, ""
    for number, line in _lines(text):
        start = start if whole else number
        comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            whole += line[:-1] + " "
            continue
        told = re.sub(COMMENT, "", whole + (" " if comment else "") + line).strip()
        whole = ""
        if told:
            yield start, told
    if whole.strip():
        yield start, whole.strip()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that pip sees, which ends some at other characters, as an editor counts them."""
    number = 1
    for line in text.splitlines(keepends=True):
        (bare,) = line.splitlines()
        yield number, bare
        number += line.endswith(("\n", "\r"))


def of_line(number: int, line: str) -> Iterator[Pin | Unread | Follow]:
    """What one logical line without comment holds of jax, or the file that it includes."""
    if found := re.fullmatch(FOLLOWED, line):
        yield Follow(line=number, target=found[1])
        return
    bare = re.sub(EDITABLE, "", line, count=1) if re.match(EDITABLE, line) else line
    if bare.startswith("-") or not re.search(NAMES_JAX, bare.strip("\"'")):
        return
    hashes = tuple(value for name, value in re.findall(OPTIONS, bare) if name == "hash")
    bare = re.sub(OPTIONS, "", bare).strip()
    bare, _, odd = bare.partition(" --")
    if odd:
        yield Unread(line=number, why=f"--{odd} is no option of a line")
    pin = read(number, re.sub(QUOTED, r"\2", bare.strip()), hashes=hashes, shown=line)
    if pin is not None:
        yield pin
