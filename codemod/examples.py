"""Run the examples that patches declare: they are the tests of a patch, its author's own too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemod.engine import plan
from codemod.model import Exit, Outcome, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.model import Example, Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One example of one patch, and why it does not hold; empty where it does."""

    patch: str
    example: str
    why: str = ""


def check_examples(patches: Sequence[Patch]) -> list[Check]:
    """Every example of every patch: the status, the edit, that it parses and is made only once.

    A patch without an example that it changes has not been shown to do anything: that is a
    check which does not hold.
    """
    checks: list[Check] = []
    for patch in patches:
        if not any(example.after is not None for example in patch.examples):
            checks.append(Check(patch=patch.id, example="", why="no example is changed"))
        checks += [
            Check(patch=patch.id, example=example.name, why=_why(patch, example))
            for example in patch.examples
        ]
    return checks


def exit_code(checks: Sequence[Check]) -> Exit:
    """Findings if an example does not hold."""
    return Exit.FINDINGS if any(check.why for check in checks) else Exit.OK


def _why(patch: Patch, example: Example) -> str:
    before = example.before.encode()
    planned = plan(before, [patch])
    (step,) = planned.steps
    if step.finding.status is not example.status:
        return f"is {step.finding.status}, not {example.status}"
    if step.outcome is not _expected(example):
        return f"is {step.outcome}, not {_expected(example)}{step.why and ': '}{step.why}"
    after = example.before if example.after is None else example.after
    if planned.after != after.encode():
        return f"becomes other than it says, from line {_first_change(planned.after, after)} on"
    if example.after is not None and plan(planned.after, [patch]).steps[0].outcome is not (
        Outcome.ALREADY
    ):
        return "would be changed again"
    return ""


def _expected(example: Example) -> Outcome:
    """What becomes of an example: a copy that needs the patch and stays as it is, is refused."""
    if example.after is not None:
        return Outcome.APPLIED
    left = {Status.FIXED: Outcome.ALREADY, Status.NOT_AFFECTED: Outcome.NONE}
    return left.get(example.status, Outcome.REFUSED)


def _first_change(found: bytes, wanted: str) -> int:
    lines = zip(found.decode().splitlines(), wanted.splitlines(), strict=False)
    same = next((n for n, (a, b) in enumerate(lines) if a != b), None)
    return 1 + (min(found.count(b"\n"), wanted.count("\n")) if same is None else same)
