"""Decide and edit one file for several patches: bytes in, bytes and outcomes out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from sys import version_info
from typing import TYPE_CHECKING

from codemod import releases, syntax
from codemod.errors import Refused
from codemod.model import Evidence, Finding, Outcome, Reason, Status
from codemod.textfile import not_python

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence

    from codemod.model import Patch


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What one patch found in a file, and what became of it; `why` is for people."""

    patch: Patch
    finding: Finding
    outcome: Outcome
    after: bytes  # the file that the patches after it are given
    why: str = ""
    line: int | None = None  # of `why`, 1-based


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What applying patches to one file would do: its bytes before and after, patch by patch.

    `after` equals `before` where there is nothing to do and where any patch is refused: a file
    is changed as a whole or not at all.
    """

    before: bytes
    after: bytes
    steps: tuple[Step, ...]

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.before != self.after


def plan(source: bytes, patches: Sequence[Patch], *, table: bool = False) -> Plan:
    """What applying `patches`, in this order, does to a file of these bytes. Never raises.

    With `table`, what a patch finds in the file of a release is not asked again but taken from
    the table of releases, and so is what all patches together make of it: such a file is not
    even parsed.
    """
    steps = _by_table(source, patches) if table else []
    after = steps[-1].after if steps else source
    for patch in patches[len(steps) :]:
        steps.append(_take(patch, after, table=table))
        after = steps[-1].after
    if any(step.outcome is Outcome.REFUSED for step in steps):
        return Plan(before=source, after=source, steps=_all_or_nothing(source, steps))
    if after != source:  # what the table says is of other bytes than those that were given
        well = (Outcome.ALREADY, Outcome.NONE)
        steps = [replace(step, why="") if step.outcome in well else step for step in steps]
    return Plan(before=source, after=after, steps=tuple(steps))


SETTLED = {Status.FIXED: Outcome.ALREADY, Status.NOT_AFFECTED: Outcome.NONE}


def _by_table(source: bytes, patches: Sequence[Patch]) -> list[Step]:
    """The steps for a release's file that needs an edit; none unless the table tells all of them.

    The bytes that they lead to were proved when the table was made.
    """
    known = releases.known(source)
    stages = known.edited(source) if known else {}
    if known is None or [p.id for p in patches if p.id in stages] != [*stages]:
        return []
    steps: list[Step] = []
    for patch in patches if stages else ():
        finding = known.finding(patch.id)
        if finding is None:  # a patch of the user's
            return []
        source = stages.get(patch.id, source)
        outcome = Outcome.APPLIED if patch.id in stages else SETTLED[finding.status]
        steps.append(Step(patch=patch, finding=finding, outcome=outcome, after=source))
    return steps


def _settled(patch: Patch, source: bytes, known: releases.Known) -> Step | None:
    """The step for a file that is a release's and needs no edit, or is a pointer to one."""
    finding = known.finding(patch.id)
    if finding is None:
        return None
    if outcome := SETTLED.get(finding.status):
        return Step(patch=patch, finding=finding, outcome=outcome, after=source, why=known.what)
    if known.how == "lfs":
        why = f"a Git LFS pointer to {known.what}: run `git lfs pull` first"
        return _refused(patch, finding, source, why)
    return None


def find(source: bytes, patch: Patch) -> Finding:
    """The status of a file of these bytes for one patch."""
    tree = parse(source)
    return tree if isinstance(tree, Finding) else _probe(patch, tree)


def parse(source: bytes) -> ast.Module | Finding:
    """The syntax tree of a file, or the finding that says why there is none."""
    if (unfit := not_python(source)) is not None:
        return _unreadable(unfit.reason, unfit.why, unfit.line)
    try:
        tree = syntax.parse(source)
        syntax.check(source)
    except SyntaxError as error:
        why = f"{error.msg} (Python {version_info[0]}.{version_info[1]}, which runs codemod)"
        return _unreadable(Reason.UNPARSABLE, why, error.lineno)
    except ValueError as error:  # a NUL byte
        return _unreadable(Reason.UNPARSABLE, str(error), None)
    except (RecursionError, MemoryError):
        return _unreadable(Reason.UNPARSABLE, "nested too deeply to be parsed", None)
    return tree


def _unreadable(reason: Reason, why: str, line: int | None) -> Finding:
    evidence = (Evidence(line=line or 1, text=why),)
    return Finding(status=Status.UNDER_INVESTIGATION, reason=reason, evidence=evidence)


def _probe(patch: Patch, tree: ast.Module) -> Finding:
    try:
        finding = patch.probe(tree)
    except RecursionError:
        return _unreadable(Reason.DRIFTED, "nested too deeply to be followed", None)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a patch may be anybody's
        return _unreadable(Reason.DRIFTED, _fails(patch, "probe", error), None)
    if isinstance(finding, Finding):
        return finding
    return _unreadable(Reason.DRIFTED, f"the probe of {patch.id} gives no Finding", None)


def _fails(patch: Patch, part: str, error: BaseException) -> str:
    said = " ".join(str(error).split())
    return f"the {part} of {patch.id} itself fails: {type(error).__name__}: {said}"


def _take(patch: Patch, source: bytes, *, table: bool) -> Step:
    """One patch: what it finds in the file, and the bytes after it."""
    known = releases.known(source) if table else None
    if known and (step := _settled(patch, source, known)):
        return step
    tree = parse(source)
    finding = tree if isinstance(tree, Finding) else _probe(patch, tree)
    if outcome := SETTLED.get(finding.status):
        return Step(patch=patch, finding=finding, outcome=outcome, after=source)
    if finding.status is Status.UNDER_INVESTIGATION or isinstance(tree, Finding):
        why = next(iter(finding.evidence), Evidence(line=1, text="the patch does not say why"))
        return _refused(patch, finding, source, why.text, why.line)
    return _edit(patch, source, tree, finding)


def _edit(patch: Patch, source: bytes, tree: ast.Module, finding: Finding) -> Step:
    try:
        from codemod.rewrite import rewrite

        edited = rewrite(patch, source, tree)
    except Refused as error:
        return _refused(patch, finding, source, error.why, error.line)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a patch may be anybody's
        return _refused(patch, finding, source, _fails(patch, "rewrite", error))
    return Step(patch=patch, finding=finding, outcome=Outcome.APPLIED, after=edited)


def _refused(
    patch: Patch, finding: Finding, source: bytes, why: str, line: int | None = None
) -> Step:
    outcome = Outcome.REFUSED
    return Step(patch=patch, finding=finding, outcome=outcome, after=source, why=why, line=line)


def _all_or_nothing(source: bytes, steps: Sequence[Step]) -> tuple[Step, ...]:
    """A file with a refused patch is left alone: what the others would do is refused too."""
    cause = next(step.patch.id for step in steps if step.outcome is Outcome.REFUSED)
    why = f"left alone because {cause} is refused"
    return tuple(
        _refused(step.patch, step.finding, source, why)
        if step.outcome is Outcome.APPLIED
        else replace(step, after=source)
        for step in steps
    )
