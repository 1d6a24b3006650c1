"""What came of each family: as a table for people, and as a store that spares a second run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Status(StrEnum):
    """How it ended; all but `FAILED` are as they should be."""

    PROVED = "proved"
    EXPECTED = "expected failure"  # a patch that the family needs is not written yet
    SKIPPED = "skipped"  # the machine has no such interpreter, or no network
    FAILED = "FAILED"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One family: `before` and `after` say what the copy did as it came and once patched."""

    family: str
    release: str
    python: str
    status: Status
    before: str = ""
    after: str = ""
    why: str = ""

    def __str__(self) -> str:
        return f"{self.status}: {self.why}" if self.why else str(self.status)


HEAD = """\
# One release of every affected family, initialized for real

Written by `make e2e`; the same outcome gives the same text. For each family, the `jax` package of
an environment with its newest release is copied; `codemod verify --level cluster` is run on the
copy as it came and on one that `codemod apply` has patched. Three clusters are run, and the column
says how many of their processes did what they must:

* *one slice*: two processes; `TPU_SKIP_MDS_QUERY` and the workers are in the environment, and there
  is no metadata server to be found;
* *two slices*: two processes; the environment names both slices, a server would name others, and
  is not asked;
* *control*: one process, the variable unset; a server as on Google Cloud is asked and believed.

| family | release | Python | the copy as it came | the patched copy | outcome |
|---|---|---|---|---|---|
"""


def table(results: Iterable[Result]) -> str:
    """Return the results as Markdown: no seconds, no dates, no addresses."""
    return HEAD + "".join(map(_row, results))


def _row(result: Result) -> str:
    cells = (result.family, result.release, result.python, result.before, result.after, str(result))
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", "<br>") or "-"


class Store:
    """The proofs that need no second run, each under a key that tells what was run."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = json.loads(path.read_text()) if path.exists() else {}

    def get(self, key: str) -> Result | None:
        """Return what came of it, None where it was not proved yet."""
        known = self._known.get(key)
        return Result(**{**known, "status": Status(known["status"])}) if known else None

    def put(self, key: str, result: Result) -> None:
        """Keep a proof; all else is tried again."""
        if result.status is not Status.PROVED:
            return
        self._known[key] = asdict(result)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(self._known, indent=1))
        new.replace(self._path)
