"""What is looked at in an audit, and what it gave: values that may go to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from codemod.model import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Unit:
    """One thing to look at: the argument that led to it, what it is, and where it lies.

    `path` is a file, or of a git repository its folder, with `revision` beside it. `named`: the
    user asked for this very thing, so that it must be what it is taken for.
    """

    source: str
    kind: Kind
    path: str
    revision: str = ""
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A file, or one line of it, that was not understood, and why.

    `failed`: it could not be read at all, which the exit code tells in any case.
    """

    file: str
    line: int | None
    why: str
    failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One file of a copy: its name for people, and its bytes, or why there are none."""

    file: str
    data: bytes = b""
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """One copy of jax: the file in question, and those beside it that hold a part of its code."""

    parts: tuple[Part, ...]
    version: str | None = None
