"""The values that cross modules: what a patch is, what was found, what was done."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Sequence


class Status(StrEnum):
    """Status of a copy or a pin for one patch, in OpenVEX's words."""

    AFFECTED = "affected"
    FIXED = "fixed"
    NOT_AFFECTED = "not_affected"
    UNDER_INVESTIGATION = "under_investigation"


class Reason(StrEnum):
    """Why a status was given, in one word."""

    UNGUARDED = "unguarded"  # affected: the metadata server is asked with the variable set
    PATCHED = "patched"  # fixed: by our edit
    UPSTREAM = "upstream"  # fixed: by an equivalent guard in other words
    NO_SUCH_CODE = "no-such-code"  # not_affected
    STUB = "stub"  # not_affected: the function holds no code of its own
    OLDER_RELEASE = "older-release"  # not_affected: from before the code came
    DRIFTED = "drifted"  # under_investigation: a shape that cannot be proved
    UNPARSABLE = "unparsable"
    NO_SOURCE = "no-source"
    LFS_POINTER = "lfs-pointer"
    UNPINNED = "unpinned"  # under_investigation: any version may be taken
    RANGE = "range"  # several versions, of which some are affected
    MOVING_REF = "moving-ref"  # a branch or a tag
    NEWER_THAN_KNOWN = "newer-than-known"  # than the table of releases


class Outcome(StrEnum):
    """What an action did to one copy for one patch."""

    APPLIED = "applied"
    ALREADY = "already"
    REVERTED = "reverted"
    WOULD_CHANGE = "would-change"
    REFUSED = "refused"
    FAILED = "failed"
    NONE = "none"


class Kind(StrEnum):
    """What a copy was found in."""

    ENVIRONMENT = "environment"
    TREE = "tree"
    FILE = "file"
    WHEEL = "wheel"
    SDIST = "sdist"
    GIT = "git"
    IMAGE = "image"
    PIN = "pin"


class Exit(IntEnum):
    """Exit codes; the highest that applies is used."""

    OK = 0
    FINDINGS = 1
    USAGE = 2
    REFUSED = 3
    NO_JAX = 4


class Guard(StrEnum):
    """Which values of the variable a guard takes for set."""

    PRESENCE = "presence"  # any value, empty and `false` too
    TRUTHY = "truthy"  # some values, such as `false`, still ask


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A place that a person can look at: 1-based line of the file and what is there."""

    line: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The status of one source file for one patch."""

    status: Status
    reason: Reason
    evidence: tuple[Evidence, ...] = ()
    guard: Guard | None = None  # only where fixed

    def because(self, reason: Reason) -> Finding:
        """The same finding with a better reason."""
        return replace(self, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A source file and what the patch makes of it; `after` is None where it stays as it is."""

    name: str
    before: str
    after: str | None
    status: Status = Status.AFFECTED  # of `before`


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """One edit, as one file of the patches folder declares it; the words follow DEP-3.

    `probe` decides from a syntax tree and never imports libcst. `rewrite` takes a
    `libcst.Module` and returns an edited one; it raises `errors.Refused` where it cannot.
    """

    id: str
    title: str
    bug: str  # URL
    origin: str
    forwarded: str
    fixed_upstream_in: str | None
    releases: str  # the releases that need it, as a PEP 440 specifier set
    probe: Callable[[ast.Module], Finding]
    rewrite: Callable[[Any], Any]
    examples: tuple[Example, ...]
    requires: tuple[str, ...] = ()  # ids of patches that must be applied with it


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row of a report: a copy and a patch; `line` is the place that a person should see."""

    target: str
    kind: Kind
    file: str
    patch: str
    status: Status
    reason: Reason
    line: int | None = None
    evidence: tuple[Evidence, ...] = ()
    outcome: Outcome = Outcome.NONE
    jax_version: str | None = None
    message: str = ""  # for people: why refused, what is left to do
    guard: Guard | None = None
    pin: str | None = None  # the text of a pin as it is written; `line` is its line
    fixes: tuple[str, ...] = ()  # ways to get rid of a finding, the best first


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsearched:
    """A folder that could not be looked into, and why: there may be copies in it."""

    folder: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All that one command found and did."""

    command: str
    results: Sequence[Result]
    notes: Sequence[str] = ()
    details: Sequence[str] = ()  # notes for who asks for more
    unsearched: Sequence[Unsearched] = ()
    diff: bytes = field(default=b"", repr=False)

    @property
    def exit_code(self) -> Exit:
        """The highest exit code that applies; a folder that was not searched is a failure."""
        found = max(map(_exit_of, self.results), default=Exit.NO_JAX)
        return max(found, Exit.REFUSED) if self.unsearched else found


def _exit_of(row: Result) -> Exit:
    if row.outcome in (Outcome.REFUSED, Outcome.FAILED):
        return Exit.REFUSED
    return Exit.FINDINGS if row.outcome is Outcome.WOULD_CHANGE else Exit.OK
