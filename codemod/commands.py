"""What `apply` and `diff` do: targets and patches to a report. Prints nothing."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from codemod.engine import Plan, Step, plan
from codemod.errors import CodemodError, NoJaxError, Refused
from codemod.locate import locate
from codemod.model import Evidence, Kind, Outcome, Reason, Report, Result, Status
from codemod.siblings import with_siblings
from codemod.textfile import show, unified_diff
from codemod.trees import FolderTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from codemod.locate import Copy, Target
    from codemod.model import Patch
    from codemod.verdict import Verdict

    Check = Callable[[Target, Copy], str]  # "" where the copy was proved, else why it was not

NOT_UPDATED = (
    "RECORD still lists the old hash, compiled bytecode is not removed, and no receipt is written: "
    "reinstall jax to undo"
)


def find_targets(arguments: Sequence[str]) -> list[Target]:
    """The targets of a command line; the active environment where none is given.

    Raises `UsageError` for one that does not exist, `NoJaxError` if none has a copy of jax.
    """
    named: Sequence[str | None] = arguments or [None]
    targets = [with_siblings(locate(argument, environ=os.environ)) for argument in named]
    if not any(target.copies for target in targets):
        places = ", ".join(show(target.argument) for target in targets)
        notes = "".join(f"; {note}" for target in targets for note in target.notes)
        raise NoJaxError(f"no jax found in {places}{notes}")
    return targets


def apply(
    targets: Sequence[Target],
    patches: Sequence[Patch],
    *,
    write: bool,
    check: Check | None = None,
) -> Report:
    """Apply patches to every copy; without `write`, tell what that would do, with the diff.

    One copy that cannot be treated does not keep the others from it. `check`, if given, is
    asked after each copy that was written; where it objects, the old bytes are put back.
    """
    results: list[Result] = []
    diffs: list[bytes] = []
    for target, copy in _each_copy(targets):
        rows, diff = _treat(target, copy, patches, write=write, check=check)
        results += rows
        diffs.append(diff)
    return Report(
        command="apply" if write else "diff",
        results=tuple(results),
        notes=tuple(_notes(targets, results)),
        diff=b"".join(diffs),
    )


def _each_copy(targets: Sequence[Target]) -> Iterable[tuple[Target, Copy]]:
    """Every copy once, though two arguments may lead to it."""
    seen: set[Path] = set()
    for target in targets:
        for copy in target.copies:
            if copy.path not in seen:
                seen.add(copy.path)
                yield target, copy


def _treat(
    target: Target,
    copy: Copy,
    patches: Sequence[Patch],
    *,
    write: bool,
    check: Check | None,
) -> tuple[list[Result], bytes]:
    """One copy: its rows, and the diff of what was done or would be."""
    tree = FolderTree(target.root)
    try:
        planned = plan(tree.read(copy.relative), patches)
        if planned.changes:
            tree.stage(copy.relative, planned.after)
    except Refused as error:
        return [_unreadable(target, copy, patch, error) for patch in patches], b""
    diff = _diff(copy, planned)
    if not planned.changes or not write:
        return [_row(target, copy, step, _would(step)) for step in planned.steps], diff
    try:
        tree.commit()
        objection = check(target, copy) if check else ""
        if objection:
            _put_back(target, copy, planned)
    except CodemodError as error:
        return [_row(target, copy, s, Outcome.FAILED, str(error)) for s in planned.steps], b""
    if objection:
        return [_row(target, copy, s, Outcome.FAILED, objection) for s in planned.steps], b""
    return [_row(target, copy, step, step.outcome) for step in planned.steps], diff


def _put_back(target: Target, copy: Copy, planned: Plan) -> None:
    tree = FolderTree(target.root)
    if tree.read(copy.relative) != planned.after:
        raise Refused(f"{show(copy.path)}: changed while it was being checked; left as it is")
    tree.stage(copy.relative, planned.before)
    tree.commit()


def _diff(copy: Copy, planned: Plan) -> bytes:
    """A diff with the copy's path as seen from the working directory, where it is below that."""
    if not planned.changes:
        return b""
    below = os.path.relpath(copy.path)
    path = copy.relative if below.startswith(os.pardir) else below
    return unified_diff(planned.before, planned.after, path.replace(os.sep, "/"))


def _would(step: Step) -> Outcome:
    return Outcome.WOULD_CHANGE if step.outcome is Outcome.APPLIED else step.outcome


def _row(
    target: Target, copy: Copy, step: Step, outcome: Outcome, why: str | None = None
) -> Result:
    applied = outcome is Outcome.APPLIED
    return Result(
        target=target.argument,
        kind=target.kind,
        file=show(copy.path),
        line=step.line or next((e.line for e in step.finding.evidence), None),
        patch=step.patch.id,
        status=Status.FIXED if applied else step.finding.status,
        reason=Reason.PATCHED if applied else step.finding.reason,
        evidence=step.finding.evidence,
        outcome=outcome,
        jax_version=copy.jax_version,
        message=step.why if why is None else why,
        guard=step.finding.guard,
    )


def verify(
    targets: Sequence[Target], *, level: str, processes: int, python: str | None
) -> list[Verdict]:
    """Run every copy in its own interpreter, else in `python`, else in the running one."""
    from pathlib import Path

    from codemod.verify import verify_cluster, verify_module

    verdicts: list[Verdict] = []
    for target, copy in _each_copy(targets):
        here = Path(python) if python else target.python or Path(sys.executable)
        if level == "cluster":
            verdicts.append(verify_cluster(here, copy.path.parents[3], processes=processes))
        else:
            verdicts.append(verify_module(here, copy.path))
    return verdicts


def objection(target: Target, copy: Copy) -> str:
    """What speaks against a copy when it is run at level `module`; empty where it is proved."""
    from pathlib import Path

    from codemod.verify import verify_module

    verdict = verify_module(target.python or Path(sys.executable), copy.path)
    return "" if verdict.proved else f"put back: {verdict.summary}"


def _unreadable(target: Target, copy: Copy, patch: Patch, error: Refused) -> Result:
    return Result(
        target=target.argument,
        kind=target.kind,
        file=show(copy.path),
        line=error.line,
        patch=patch.id,
        status=Status.UNDER_INVESTIGATION,
        reason=Reason.NO_SOURCE,
        evidence=(Evidence(line=error.line or 1, text=error.why),),
        outcome=Outcome.REFUSED,
        jax_version=copy.jax_version,
        message=error.why,
    )


def _notes(targets: Sequence[Target], results: Sequence[Result]) -> Iterable[str]:
    for target in targets:
        yield from target.notes
        if not target.copies:
            yield f"no jax found in {show(target.root)}"
    for file in dict.fromkeys(row.file for row in results):
        if all(row.reason is Reason.UPSTREAM for row in results if row.file == file):
            yield f"{file}: upstream has all of this: the patch can be dropped here"
    environment = {
        r.file for r in results if r.outcome is Outcome.APPLIED and r.kind is Kind.ENVIRONMENT
    }
    for file in sorted(environment):
        yield f"{file}: {NOT_UPDATED}"
