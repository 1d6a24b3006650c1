"""What is looked at in an audit, and what it gave: values that may go to another process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemod.model import Outcome, Reason

if TYPE_CHECKING:
    from codemod.model import Kind, Result


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
    beside: tuple[str, ...] = ()  # the names of all files of its folder, where they are known


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A wheel of jax at hand: its file, its version, and its SHA-256 in hexadecimal."""

    path: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What is the same for all units of one audit."""

    folders: tuple[str, ...] = ()  # of patches
    wheels: tuple[Wheel, ...] = ()  # that pins may stand for
    repositories: tuple[tuple[str, str], ...] = ()  # pairs of a URL and the folder of a clone
    fetch: bool = False  # whether what only a network can tell is to be asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one unit gave; `follows` are to be looked at as well."""

    rows: tuple[Result, ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    follows: tuple[Unit, ...] = ()

    @property
    def read(self) -> bool:
        """Whether its bytes were had at all."""
        failed = any(one.failed for one in self.unreadable)
        return not failed and all(row.outcome is not Outcome.FAILED for row in self.rows)

    @property
    def understood(self) -> bool:
        """Whether nothing in it was left that may be a jax and is not told of."""
        unfit = (Reason.UNPARSABLE, Reason.NO_SOURCE, Reason.LFS_POINTER)
        return not self.unreadable and all(row.reason not in unfit for row in self.rows)
