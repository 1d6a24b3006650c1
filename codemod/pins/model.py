"""What a pin file holds: a row for each pin of jax, and what of it could not be read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class SourceKind(StrEnum):
    """Where a pin takes jax from; it decides, and never the version that stands beside it."""

    REGISTRY = "registry"  # an index or a conda channel: the version decides
    GIT = "git"
    ARCHIVE = "archive"  # a wheel, sdist or source archive by URL
    PATH = "path"
    IMAGE = "image"  # a container image that holds a jax


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The place that a pin names; `url` and `ref` as they are written.

    `ref` is a commit in hexadecimal, a tag or a branch; `moving` says that it is not a whole
    commit, so that what it stands for may change.
    """

    kind: SourceKind = SourceKind.REGISTRY
    url: str = ""
    ref: str = ""
    moving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One pin: 1-based line of the file and the text as it is written there, on one line.

    `specifier` is a PEP 440 specifier set, `==0.8.0` for an exact one and empty for none, in
    whatever way the file writes it. `hashes` are `sha256:<hex>` and the like. `remark` is what
    a person should know, such as that the name and the URL disagree; `unsure` is why it cannot
    be decided from what is written, such as an argument that has no default.
    """

    line: int
    text: str
    specifier: str = ""
    source: Source = Source()
    hashes: tuple[str, ...] = ()
    marker: str = ""
    remark: str = ""
    unsure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A part of a file that was not understood: its line, None for the whole file, and why."""

    line: int | None
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """A file that another one includes, as written: relative to it, or a URL."""

    line: int
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """All that one file gave. Nothing found in a file that was wholly read means no pin of jax."""

    rows: tuple[Pin, ...] = ()
    unread: tuple[Unread, ...] = ()
    follows: tuple[Follow, ...] = ()
