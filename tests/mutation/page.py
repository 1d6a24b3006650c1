"""tests/MUTATION.md: how many mutants each file had, and why the survivors survive."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutation.mutants import SEED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.mutation.mutants import Mutant

REASONS = Path(__file__).with_name("reasons.toml")
HEAD = """\
# Mutation run

Made by `make mutation`: the operators of mutmut on the patches and on `codemod/reach`, mutants
taken from each file at random with the seed {seed}. Sentences for people, lists of words and the
examples of the patches are not mutated. Killed are those that a test notices, timed out those that
run for longer than all tests; both count. Only quick tests are run (`TESTS` in
`tests/mutation/run.py`): slower ones, such as the made bodies of `tests/test_reach_properties.py`,
may notice what survives them. The reasons are kept in `tests/mutation/reasons.toml`.

Cases were written for what survived of this very sample: the shares tell how far that has come, and
not which share of any other changes would be noticed.

| file | taken | not run yet | killed | timed out | survived | killed, % of those run |
|---|---|---|---|---|---|---|
"""


def write(chosen: Sequence[Mutant], results: dict[str, str]) -> str:
    """The page, in Markdown."""
    rows: dict[str, Counter[str]] = {}
    for mutant in chosen:
        rows.setdefault(mutant.file, Counter())[results.get(mutant.name, "left")] += 1
    total = sum(rows.values(), Counter())
    lines = [_row(f"`{file}`", counts) for file, counts in rows.items()]
    page = HEAD.format(seed=SEED) + "".join([*lines, _row("all", total)])
    survivors = [m for m in chosen if results.get(m.name) == "survived"]
    survivors.sort(key=lambda mutant: (mutant.file, mutant.line))
    return page + "\n## Survivors\n\n" + "".join(map(_survivor, survivors))


def _row(name: str, counts: Counter[str]) -> str:
    dead = counts["killed"] + counts["timeout"]
    kinds = ("left", "killed", "timeout", "survived")
    cells = " | ".join(str(n) for n in (counts.total(), *(counts[kind] for kind in kinds)))
    share = 100 * dead / max(1, counts.total() - counts["left"])
    return f"| {name} | {cells} | {share:.1f} |\n"


def _survivor(mutant: Mutant) -> str:
    reasons: dict[str, str] = tomllib.loads(REASONS.read_text())
    key = f"{mutant.file}: {mutant.before} -> {mutant.after}"
    why = reasons.get(key, "not explained yet")
    return (
        f"- `{mutant.file}:{mutant.line}`  \n  `{mutant.before}`  \n  `{mutant.after}`  \n  {why}\n"
    )
