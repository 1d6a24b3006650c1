"""What a proof is made of: the calls that were made, what each did, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from codemod.model import Exit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Level(StrEnum):
    """How much of jax was run."""

    MODULE = "module"  # the file and its sibling modules
    CLUSTER = "cluster"  # real processes that call `jax.distributed.initialize()`


class Server(StrEnum):
    """What the metadata server does in a scenario."""

    UP = "up"
    NOT_FOUND = "404"
    ERROR = "500"
    REFUSED = "refused"  # nothing listens
    NO_SUCH_HOST = "no such host"  # `metadata.google.internal`, which does not resolve
    SILENT = "silent"  # accepts and never answers


class Environment(StrEnum):
    """What the environment says about the value asked for."""

    ABSENT = "absent"
    EMPTY = "empty"
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The circumstances of a call; `variable` is that of TPU_SKIP_MDS_QUERY, None where unset."""

    variable: str | None
    environment: Environment
    server: Server

    def __str__(self) -> str:
        variable = "unset" if self.variable is None else f"set to {self.variable!r}"
        return f"variable {variable}, environment {self.environment}, server {self.server}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One call: `value` is its repr, `exception` the last line of its traceback, else None.

    `requests` were counted by the metadata server, `asked` says how many there were for each key.
    `other_connections` are the look-ups and connections to anywhere else, and the processes that
    were started. `broken` says why nothing could be judged, where that is so.
    """

    scenario: Scenario
    call: str
    requests: int
    other_connections: tuple[str, ...]
    value: str | None
    exception: str | None
    seconds: float
    ok: bool
    expected: str
    broken: str | None = None
    asked: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def blank(cls, scenario: Scenario, call: str, expected: str) -> Row:
        """The row of a call of which nothing is known yet."""
        return cls(
            scenario=scenario,
            call=call,
            requests=0,
            other_connections=(),
            value=None,
            exception=None,
            seconds=0.0,
            ok=False,
            expected=expected,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the rows prove about one target.

    `target` names the file or the environment, `about` the interpreter and what runs in it.
    `failed` is set where the probe itself could not run: such a verdict never proves anything.
    """

    level: Level
    target: str
    about: str
    rows: Sequence[Row]
    notes: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        """Whether nothing can be said, because a call could not be made or observed."""
        return not self.rows or any(row.broken is not None for row in self.rows)

    @property
    def proved(self) -> bool:
        """Whether every call was made and each did what it should."""
        return not self.failed and all(row.ok for row in self.rows)

    @property
    def exit_code(self) -> Exit:
        """0 proved, 1 not proved, 3 no verdict."""
        if self.failed:
            return Exit.REFUSED
        return Exit.OK if self.proved else Exit.FINDINGS

    @property
    def summary(self) -> str:
        """One line that can be pasted into a ticket."""
        where = f"{self.level} level, {self.about}"
        if self.failed:
            why = next((row.broken for row in self.rows if row.broken), "no call was made")
            return f"no verdict: {why} ({where})"
        asked = sum(bool(_traffic(row)) for row in self.rows if is_set(row.scenario))
        calls = sum(is_set(row.scenario) for row in self.rows)
        seen = f"with TPU_SKIP_MDS_QUERY set, {asked or 'none'} of {calls} calls left the process"
        if self.proved:
            control = sum(_traffic(row) for row in self.rows if row.scenario.variable is None)
            return f"proved: {seen}; unset, {control} requests were seen ({where})"
        wrong = sum(not row.ok for row in self.rows)
        return f"NOT proved: {seen}; {wrong} of {len(self.rows)} results are wrong ({where})"


def is_set(scenario: Scenario) -> bool:
    """Say whether the variable has a value that every reading of it takes for set."""
    return scenario.variable in {"true", "1"}


def _traffic(row: Row) -> int:
    return row.requests + len(row.other_connections)
