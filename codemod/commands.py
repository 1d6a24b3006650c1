"""What `apply` and `diff` do: targets and patches to a report. Prints nothing."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from codemod import releases
from codemod.engine import plan
from codemod.errors import CodemodError, NoJaxError, Refused
from codemod.journal import NAME as JOURNAL
from codemod.locate import SITES, locate, site_of
from codemod.model import Evidence, Outcome, Reason, Report, Result, Status
from codemod.siblings import whole, with_siblings
from codemod.textfile import show, unified_diff
from codemod.trees import FolderTree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from codemod.engine import Plan, Step
    from codemod.locate import Copy, Target
    from codemod.model import Patch
    from codemod.verdict import Verdict

    Check = Callable[[Target, Copy], str]  # "" where the copy was proved, else why it was not


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
    replace_links: bool = False,
) -> Report:
    """Apply patches to every copy; without `write`, tell what that would do, with the diff.

    One copy that cannot be treated does not keep the others from it. `check`, if given, is
    asked after each copy that was written; where it objects, the old bytes are put back. With
    `replace_links` a link that leads out of a target is replaced by a file.
    """

    @lru_cache(maxsize=64)
    def planned(before: bytes) -> Plan:
        """In a tree with many copies most are the same."""
        return plan(before, patches, table=True)

    results: list[Result] = []
    diffs: list[bytes] = []
    notes: list[str] = []
    details: list[str] = []
    found = list(groups(targets))
    for target, copies in found:
        group = _Group(target, copies, patches, replace_links=replace_links)
        if write:
            group.treat(planned, check)
        else:
            group.read(planned)
        results += group.rows(write=write)
        diffs += group.diffs(alone=len(found) == 1)
        notes += group.tree.notes
        details += group.tree.details
    return Report(
        command=command,
        results=tuple(results),
        notes=(*_notes(targets, results), *notes),
        details=tuple(details),
        unsearched=tuple(u for target in targets for u in target.unsearched),
        diff=b"".join(diffs),
    )


def groups(targets: Sequence[Target]) -> Iterable[tuple[Target, list[Copy]]]:
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


def tree_of(target: Target, copy: Copy, *, replace_links: bool = False) -> FolderTree:
    """The tree that a copy is in: an installation where a dist-info of jax lies beside it."""
    site = site_of(copy.path)
    if site is None:
        return FolderTree(target.root, replace_links=replace_links)
    from codemod.installed import InstalledTree

    return InstalledTree(target.root, site, replace_links=replace_links)


class _Group:
    """The files of one copy: read, planned, and written together or not at all."""

    def __init__(
        self,
        target: Target,
        copies: Sequence[Copy],
        patches: Sequence[Patch],
        *,
        replace_links: bool,
    ) -> None:
        self.target, self.copies, self.patches = target, copies, patches
        self.plans: dict[Copy, Plan] = {}
        self.unread: dict[Copy, Refused] = {}
        self.ended: tuple[Outcome, str] | None = None  # how writing ended, if not well
        self.blocked = False  # whether it ended before anything was looked at
        self.tree = tree_of(target, copies[0], replace_links=replace_links)

    def read(self, planned: Callable[[bytes], Plan]) -> None:
        """Plan each file that can be read."""
        if (self.copies[0].path.parent / JOURNAL).exists() and not self.ended:
            self.tree.notes.append(
                f"{show(self.copies[0].path.parent)}: a killed run is to be finished: codemod apply"
            )
        for copy in self.copies:
            try:
                self.plans[copy] = planned(self.tree.read(copy.relative))
            except Refused as error:
                self.unread[copy] = error

    def treat(self, planned: Callable[[bytes], Plan], check: Check | None) -> None:
        """Plan each file and write what is to be changed, while nobody else does."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self.tree.locked(self.copies[0].relative))
            except CodemodError as error:
                self.ended, self.blocked = _ending(error), True
            self.read(planned)
            if not self.ended:
                self._write(check)

    def _write(self, check: Check | None) -> None:
        """Write what is to be changed; where `check` then objects, put it all back."""
        changed = {c: p for c, p in self.plans.items() if p.changes}
        try:
            had = {copy: self.tree.patches_of(copy.relative) for copy in changed}
            for copy, planned in changed.items():
                self._stage(copy, planned.after, had[copy] | _revisions(planned))
            self.tree.commit()
            if changed and check:
                self._check(check, changed, had)
        except CodemodError as error:
            self.ended = _ending(error)
            return
        try:
            for copy, planned in self.plans.items():
                if any(step.outcome is Outcome.ALREADY for step in planned.steps):
                    self.tree.drop_unchecked(copy.relative)
        except CodemodError as error:  # what is there runs in place of the file, fixed or not
            self.ended, self.blocked = _ending(error), True

    def _stage(self, copy: Copy, content: bytes, patches: dict[str, str]) -> None:
        self.tree.stage(copy.relative, content)
        self.tree.name_patches(copy.relative, patches)

    def _check(
        self, check: Check, changed: dict[Copy, Plan], had: dict[Copy, dict[str, str]]
    ) -> None:
        try:
            objection = check(self.target, self.copies[0])
        except BaseException:  # an interrupt leaves nothing unproved behind
            self._put_back(changed, had)
            raise
        if objection:
            self._put_back(changed, had)
            raise CodemodError(objection)

    def _put_back(self, changed: dict[Copy, Plan], had: dict[Copy, dict[str, str]]) -> None:
        for copy, planned in changed.items():
            if self.tree.read(copy.relative) != planned.after:
                raise Refused(f"{show(copy.path)}: changed while it was checked; left as it is")
            self._stage(copy, planned.before, had[copy])
        self.tree.commit()

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
                elif self.ended and (outcome is Outcome.APPLIED or self.blocked):
                    outcome, why = self.ended
                yield _row(self.target, copy, step, outcome, why)

    def diffs(self, *, alone: bool) -> Iterable[bytes]:
        """The diff of each file that was changed or would be."""
        for copy, planned in self.plans.items():
            if planned.changes and not self.ended:
                path = _name_in_diff(self.target, copy, alone=alone)
                yield unified_diff(planned.before, planned.after, path)


def _ending(error: CodemodError) -> tuple[Outcome, str]:
    if isinstance(error, Refused):
        return Outcome.REFUSED, error.why
    return Outcome.FAILED, str(error)


def _revisions(planned: Plan) -> dict[str, str]:
    from codemod.receipt import revision

    applied = [step.patch for step in planned.steps if step.outcome is Outcome.APPLIED]
    return {patch.id: revision(patch) for patch in applied}


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
    from codemod.verify import no_cluster, verify_cluster

    verdicts: list[Verdict] = []
    for target, (copy, *_) in groups(targets):
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
    yield from _left_alone(results)


def _left_alone(results: Sequence[Result]) -> Iterable[str]:
    """What is not kept right, though the file was written."""
    for file in sorted({row.file for row in results if row.outcome is Outcome.APPLIED}):
        site, prefix = site_of(Path(file)), Path(file).parents
        if site is None and any(above.name in SITES for above in prefix):
            yield f"{show(file)}: no dist-info of jax beside it: nothing is kept to undo this with"
        if any((above / "conda-meta").is_dir() for above in prefix):
            yield f"{show(file)}: `conda doctor` will list it as altered"
