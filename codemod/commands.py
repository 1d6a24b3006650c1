"""What `apply` and `diff` do: targets and patches to a report. Prints nothing."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from codemod import releases
from codemod.engine import plan
from codemod.errors import CodemodError, NoJaxError, Refused
from codemod.locate import locate
from codemod.model import Evidence, Kind, Outcome, Reason, Report, Result, Status
from codemod.siblings import whole, with_siblings
from codemod.textfile import show, unified_diff
from codemod.trees import FolderTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from codemod.engine import Plan, Step
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
        why = "" if arguments else f" ({targets[0].why}): name a TARGET, or activate one"
        raise NoJaxError(f"no jax found in {places}{why}{notes}")
    return targets


def apply(
    targets: Sequence[Target],
    patches: Sequence[Patch],
    *,
    command: str = "apply",
    write: bool,
    check: Check | None = None,
) -> Report:
    """Apply patches to every copy; without `write`, tell what that would do, with the diff.

    One copy that cannot be treated does not keep the others from it. `check`, if given, is
    asked after each copy that was written; where it objects, the old bytes are put back.
    """

    @lru_cache(maxsize=64)
    def planned(before: bytes) -> Plan:
        """In a tree with many copies most are the same."""
        return plan(before, patches, table=True)

    results: list[Result] = []
    diffs: list[bytes] = []
    groups = list(_groups(targets))
    for target, copies in groups:
        group = _Group(target, copies, patches)
        group.read(planned)
        if write:
            group.write(check)
        results += group.rows(write=write)
        diffs += group.diffs(alone=len(groups) == 1)
    return Report(
        command=command,
        results=tuple(results),
        notes=tuple(_notes(targets, results)),
        unsearched=tuple(u for target in targets for u in target.unsearched),
        diff=b"".join(diffs),
    )


def _groups(targets: Sequence[Target]) -> Iterable[tuple[Target, list[Copy]]]:
    """The files of each copy, and each file once, though two arguments may lead to it."""
    seen: set[str] = set()
    for target in targets:
        folders: dict[str, list[Copy]] = {}
        for copy in target.copies:
            real = os.path.realpath(copy.path)
            if real not in seen:
                seen.add(real)
                folders.setdefault(os.path.dirname(real), []).append(copy)  # noqa: PTH120
        for copies in folders.values():
            yield target, copies


class _Group:
    """The files of one copy: read, planned, and written together or not at all."""

    def __init__(self, target: Target, copies: Sequence[Copy], patches: Sequence[Patch]) -> None:
        self.target, self.copies, self.patches = target, copies, patches
        self.plans: dict[Copy, Plan] = {}
        self.unread: dict[Copy, Refused] = {}
        self.ended: tuple[Outcome, str] | None = None  # how writing ended, if not well
        self._tree = FolderTree(target.root)

    def read(self, planned: Callable[[bytes], Plan]) -> None:
        """Plan each file that can be read."""
        for copy in self.copies:
            try:
                self.plans[copy] = planned(self._tree.read(copy.relative))
            except Refused as error:
                self.unread[copy] = error

    def write(self, check: Check | None) -> None:
        """Write what is to be changed; where `check` then objects, put it all back."""
        changed = {c: p for c, p in self.plans.items() if p.changes}
        try:
            for copy, planned in changed.items():
                self._tree.stage(copy.relative, planned.after)
            self._tree.commit()
            if changed and check:
                self._check(check, changed)
        except Refused as error:
            self.ended = Outcome.REFUSED, error.why
        except CodemodError as error:
            self.ended = Outcome.FAILED, str(error)

    def _check(self, check: Check, changed: dict[Copy, Plan]) -> None:
        try:
            objection = check(self.target, self.copies[0])
        except BaseException:  # an interrupt leaves nothing unproved behind
            _put_back(self.target, changed)
            raise
        if objection:
            _put_back(self.target, changed)
            raise CodemodError(objection)

    def rows(self, *, write: bool) -> Iterable[Result]:
        """A row for each file and patch, in the order of the files."""
        for copy in self.copies:
            if copy in self.unread:
                for patch in self.patches:
                    yield _unreadable(self.target, copy, patch, self.unread[copy])
                continue
            for step in self.plans[copy].steps:
                outcome, why = step.outcome, step.why
                if outcome is Outcome.APPLIED and not write:
                    outcome = Outcome.WOULD_CHANGE
                elif outcome is Outcome.APPLIED and self.ended:
                    outcome, why = self.ended
                yield _row(self.target, copy, step, outcome, why)

    def diffs(self, *, alone: bool) -> Iterable[bytes]:
        """The diff of each file that was changed or would be."""
        for copy, planned in self.plans.items():
            if planned.changes and not self.ended:
                path = _name_in_diff(self.target, copy, alone=alone)
                yield unified_diff(planned.before, planned.after, path)


def _put_back(target: Target, changed: dict[Copy, Plan]) -> None:
    tree = FolderTree(target.root)
    for copy, planned in changed.items():
        if tree.read(copy.relative) != planned.after:
            raise Refused(f"{show(copy.path)}: changed while it was being checked; left as it is")
        tree.stage(copy.relative, planned.before)
    tree.commit()


def _name_in_diff(target: Target, copy: Copy, *, alone: bool) -> str:
    """The file as seen from the working directory; of one that is not below it, from its root.

    Of several such, the whole path: those from their roots would all be the same.
    """
    real = os.path.realpath(copy.path)
    try:
        below = os.path.relpath(real)
    except (OSError, ValueError):  # the working directory is gone, or on another drive
        below = os.pardir
    if below == os.pardir or below.startswith(os.pardir + os.sep):
        below = os.path.relpath(real, os.path.realpath(target.root)) if alone else real
    return below.replace(os.sep, "/").lstrip("/")


def _row(target: Target, copy: Copy, step: Step, outcome: Outcome, why: str) -> Result:
    applied = outcome is Outcome.APPLIED
    return Result(
        target=target.argument,
        kind=target.kind,
        file=str(copy.path),
        line=step.line or next((e.line for e in step.finding.evidence), None),
        patch=step.patch.id,
        status=Status.FIXED if applied else step.finding.status,
        reason=Reason.PATCHED if applied else step.finding.reason,
        evidence=step.finding.evidence,
        outcome=outcome,
        jax_version=copy.jax_version,
        message=why,
        guard=step.finding.guard,
    )


def verify(
    targets: Sequence[Target],
    *,
    level: str,
    processes: int,
    python: str | None,
    tell: Callable[[Path], None],
) -> list[Verdict]:
    """Run every copy in its own interpreter, else in `python`, else in the running one.

    `tell` is told of each before it is run: at level `cluster` that takes a while.
    """
    from pathlib import Path

    from codemod.verify import no_cluster, verify_cluster

    verdicts: list[Verdict] = []
    for target, (copy, *_) in _groups(targets):
        tell(copy.path)
        here = target.python or Path(python or sys.executable)
        if level == "cluster" and copy.path.parts[-4:-1] != ("jax", "_src", "clusters"):
            verdicts.append(no_cluster(copy.path))
        elif level == "cluster":
            verdicts.append(verify_cluster(here, copy.path.parents[3], processes=processes))
        else:
            verdicts.append(_run_module(here, copy))
    return verdicts


def _run_module(python: Path, copy: Copy) -> Verdict:
    from codemod.verify import verify_module

    file, *beside = whole(copy.path)
    return verify_module(python, file, beside=beside)


def objection(target: Target, copy: Copy) -> str:
    """What speaks against a copy when it is run at level `module`; empty where it is proved."""
    from pathlib import Path

    verdict = _run_module(target.python or Path(sys.executable), copy)
    return "" if verdict.proved else f"put back: {verdict.summary}"


def _unreadable(target: Target, copy: Copy, patch: Patch, error: Refused) -> Result:
    return Result(
        target=target.argument,
        kind=target.kind,
        file=str(copy.path),
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
        for version in sorted({c.jax_version for c in target.copies if c.jax_version}):
            if releases.is_newer(version):
                yield (
                    f"jax {version} is newer than the table of releases, which ends with "
                    f"{releases.newest()}: decided by its code"
                )
    for file in dict.fromkeys(row.file for row in results):
        if all(row.reason is Reason.UPSTREAM for row in results if row.file == file):
            yield f"{show(file)}: upstream has all of this: the patch can be dropped here"
    environment = {
        r.file for r in results if r.outcome is Outcome.APPLIED and r.kind is Kind.ENVIRONMENT
    }
    for file in sorted(environment):
        yield f"{show(file)}: {NOT_UPDATED}"
