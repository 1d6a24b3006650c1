"""What `revert` does: the exact bytes from before, by the receipt of the installation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.commands import groups, tree_of
from codemod.engine import plan
from codemod.errors import CodemodError, Refused
from codemod.installed import InstalledTree
from codemod.model import Outcome, Reason, Report, Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from codemod.locate import Copy, Target
    from codemod.model import Patch
    from codemod.receipt import Entry
    from codemod.trees import FolderTree

PLAIN = "no receipt is kept for files that are not installed: version control has the old ones"
NO_RECEIPT = "patched, but no receipt tells what was there before: reinstall jax to undo"
NOTHING = "nothing to undo"
CHANGED = "changed since it was patched: reinstall jax, or undo that change first"


def revert(targets: Sequence[Target], patches: Sequence[Patch], ids: Sequence[str]) -> Report:
    """Take these patches out of every copy again, all that the receipt names where none is given.

    `patches` are all that are known: those that stay are put in anew. One copy that cannot be
    treated does not keep the others from it.
    """
    results: list[Result] = []
    notes = [note for target in targets for note in target.notes]
    for target, copies in groups(targets):
        tree = tree_of(target, copies[0], replace_links=True)
        results += _rows(target, copies, _Undoing(tree, patches, ids), patches)
        notes += tree.notes
    return Report(
        command="revert",
        results=tuple(results),
        notes=tuple(notes),
        unsearched=tuple(u for target in targets for u in target.unsearched),
    )


class _Undoing:
    """The files of one copy, all put back or none; `undone` are the patches taken out of each."""

    def __init__(self, tree: FolderTree, patches: Sequence[Patch], ids: Sequence[str]) -> None:
        self._tree, self._patches, self._ids = tree, patches, ids
        self.undone: dict[Copy, set[str]] = {}
        self.before: dict[Copy, bytes] = {}
        self.after: dict[Copy, bytes] = {}

    def run(self, copies: Sequence[Copy]) -> None:
        """Put the files back; raises CodemodError, and has then changed nothing."""
        with self._tree.locked(copies[0].relative):
            for copy in copies:
                self.before[copy] = self.after[copy] = self._tree.read(copy.relative)
            for copy in copies:
                if entry := self._entry(copy):
                    self._stage(copy, entry)
            self._tree.commit()

    def _entry(self, copy: Copy) -> Entry | None:
        """The entry of a file that is to be put back, None where there is nothing to undo."""
        content = self.before[copy]
        if not isinstance(self._tree, InstalledTree):
            raise Refused(PLAIN)
        entry = self._tree.entry_of(copy.relative)
        if entry is not None and entry.is_of(content):
            return entry
        steps = plan(content, self._patches, table=True).steps
        if any(step.finding.reason is Reason.PATCHED for step in steps):
            raise Refused(CHANGED if entry else NO_RECEIPT)
        return None

    def _stage(self, copy: Copy, entry: Entry) -> None:
        gone = {*entry.patches} & {*(self._ids or entry.patches)}
        rest = {name: rev for name, rev in entry.patches.items() if name not in gone}
        content = self._with(entry.original, rest, gone)
        self._tree.stage(copy.relative, content)
        self._tree.name_patches(copy.relative, rest)
        self.after[copy], self.undone[copy] = content, gone

    def _with(self, original: bytes, rest: Iterable[str], gone: set[str]) -> bytes:
        """The original with the patches that stay."""
        known = {patch.id: patch for patch in self._patches}
        if unknown := [name for name in rest if name not in known]:
            raise Refused(f"{unknown[0]} is in it too, and not known here: add its --patches DIR")
        chosen = [patch for patch in self._patches if patch.id in {*rest}]
        for patch in chosen:
            if needed := gone & {*patch.requires}:
                raise Refused(f"{patch.id} needs {min(needed)}: revert both")
        planned = plan(original, chosen, table=True)
        for step in planned.steps:
            if step.outcome is not Outcome.APPLIED:
                raise Refused(f"{step.patch.id} alone does not apply to what was there before")
        return planned.after


def _rows(
    target: Target, copies: Sequence[Copy], undoing: _Undoing, patches: Sequence[Patch]
) -> Iterable[Result]:
    """A row for each file and patch, in the order of the files."""
    ended: tuple[Outcome, str] | None = None
    try:
        undoing.run(copies)
    except Refused as error:
        ended = Outcome.REFUSED, error.why
    except CodemodError as error:
        ended = Outcome.FAILED, str(error)
    for copy in copies:
        content = (undoing.before if ended else undoing.after).get(copy, b"")
        for step in plan(content, patches, table=True).steps:
            undone = step.patch.id in undoing.undone.get(copy, ())
            outcome = Outcome.REVERTED if undone else Outcome.NONE
            yield Result(
                target=target.argument,
                kind=target.kind,
                file=str(copy.path),
                patch=step.patch.id,
                status=step.finding.status,
                reason=step.finding.reason,
                evidence=step.finding.evidence,
                outcome=ended[0] if ended else outcome,
                jax_version=copy.jax_version,
                message=ended[1] if ended else "" if undone else NOTHING,
                guard=step.finding.guard,
            )
