"""Several files changed together: all of them or none, though the process is killed halfway.

What is to be done is written down first, in one step. Who finds that note later does what it
says, to every file that is still as it was, and takes it away.
"""

from __future__ import annotations

from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemod.errors import CodemodError, Refused
from codemod.replacing import create, remove, replace_atomically, sweep
from codemod.textfile import read_regular, reason, show

if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = ".codemod-journal"
OF_AN_INSTALLATION = ("RECORD", "codemod.json")  # what a run changes in a dist-info


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file, by its absolute path: its content before and after, None where it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def reversed(self) -> Change:
        """The change that undoes this one."""
        return Change(path=self.path, before=self.after, after=self.before)


def commit(changes: Sequence[Change], folder: Path) -> None:
    """Make all changes, in this order; where one fails, undo the others and raise.

    `folder` is where the note is kept meanwhile, which one change alone does not need. Raises
    what `replace_atomically` raises.
    """
    journal = folder / NAME
    tried: list[Change] = []
    try:
        if len(changes) > 1:
            create(journal, _note(changes, folder))
        for change in changes:
            tried.append(change)
            _do(change)
    except CodemodError as error:
        _undo(tried[:-1], error)
        remove(journal)
        raise
    except BaseException as error:  # an interrupt: the last may or may not be in place
        _undo(tried, error)
        remove(journal)
        raise
    remove(journal)


def recover(folder: Path, root: Path) -> bool:
    """Finish what a killed run has left in a folder; whether there was anything to finish.

    A file that is no longer as it was then is left alone: whoever changed it came later. Where
    nothing of the note was done yet, such a file means that jax was installed anew, and the note
    is void. Raises CodemodError for a note that is none of ours, or that names a file that a run
    never changes: a note may come with a tree that somebody else made.
    """
    journal = folder / NAME
    if not journal.exists():
        return False
    entries = _entries(journal)
    stems = {Path(e["path"]).stem for e in entries if e["path"].endswith(".py")}
    found = [_found(folder, entry, root, stems) for entry in entries]
    still = [_digest(c.before) == e["before_sha256"] for c, e in zip(found, entries, strict=True)]
    # Bytecode that is gone proves nothing: whoever installs anew removes it too.
    begun = any(
        change.after is not None and change.before == change.after and not unchanged
        for change, unchanged in zip(found, still, strict=True)
    )
    live = begun or all(still)
    for change, unchanged in zip(found, still, strict=True):
        if live and unchanged:
            sweep(change.path.parent)
            _do(change)
    remove(journal)
    return live


def _do(change: Change) -> None:
    if change.before == change.after:
        return
    if change.after is None:
        remove(change.path)
    elif change.before is None:
        create(change.path, change.after)
    else:
        link = change.path.is_symlink()  # one that was not to be replaced was followed before
        replace_atomically(change.path, change.after, expect=change.before, link=link)


def _undo(tried: Sequence[Change], cause: BaseException) -> None:
    stuck: list[str] = []
    for change in reversed(tried):
        try:
            if _current(change.path) == change.after:
                _do(change.reversed)
        except CodemodError as error:
            stuck.append(str(error))
    if stuck:  # the note stays: the next run goes on from there
        raise CodemodError(f"{cause}; and could not be undone: {'; '.join(stuck)}") from cause


def _current(path: Path) -> bytes | None:
    return read_regular(path) if path.exists() else None


def _digest(content: bytes | None) -> str | None:
    from hashlib import sha256

    return None if content is None else sha256(content).hexdigest()


def _note(changes: Sequence[Change], folder: Path) -> bytes:
    import json
    from base64 import b64encode

    entries = [
        {
            "path": Path(relpath(change.path, folder)).as_posix(),
            "before_sha256": _digest(change.before),
            "after": None if change.after is None else b64encode(change.after).decode(),
        }
        for change in changes
    ]
    return json.dumps({"version": 1, "changes": entries}).encode()


def _entries(journal: Path) -> list[dict[str, Any]]:
    import json

    try:
        entries = json.loads(read_regular(journal))["changes"]
        return [_entry(**entry) for entry in entries]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise CodemodError(f"{show(journal)}: not written by codemod: remove it") from error


def _entry(path: str, before_sha256: str | None, after: str | None) -> dict[str, Any]:
    from base64 import b64decode

    content = None if after is None else b64decode(after, validate=True)
    if "\0" in path:
        raise ValueError
    return {"path": path, "before_sha256": before_sha256, "after": content}


def _found(folder: Path, entry: dict[str, Any], root: Path, stems: set[str]) -> Change:
    """What an entry stands for now: from the content that there is to the one that was meant."""
    journal, whole = folder / NAME, folder / entry["path"]
    try:
        path: Path = whole.parent.resolve() / whole.name
        here, limit = folder.resolve(strict=True), root.resolve(strict=True)
    except (OSError, RuntimeError) as error:
        why = reason(error) if isinstance(error, OSError) else "is a loop of links"
        raise Refused(f"{show(journal)}: {show(whole)}: {why}") from error
    after = entry["after"]
    if not (_is_bytecode(path, stems) and after is None) and not _is_ours(path, here, limit):
        why = f"names {show(path)}, which no run changes from here: remove the note"
        raise CodemodError(f"{show(journal)}: {why}")
    return Change(path=path, before=_current(path), after=after)


def _is_bytecode(path: Path, stems: set[str]) -> bool:
    """Whether a file may be a compiled form of one that the note changes, wherever it is kept."""
    return path.suffix in (".pyc", ".pyo") and path.name.partition(".")[0] in stems


def _is_ours(path: Path, folder: Path, root: Path) -> bool:
    """Whether a run in a folder may write a file: a module there, or of the dist-info of jax."""
    if path.parent == folder:
        return path.suffix == ".py"
    info = path.parent
    above = folder.is_relative_to(info.parent) and info.is_relative_to(root)
    return above and info.match("jax-*.dist-info") and path.name in OF_AN_INSTALLATION
