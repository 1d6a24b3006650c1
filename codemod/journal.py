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

    A file that is no longer as it was then is left alone: whoever changed it came later.
    Raises CodemodError for a note that is none of ours, or that leads out of `root`.
    """
    journal = folder / NAME
    if not journal.exists():
        return False
    from base64 import b64decode

    for entry in _entries(journal):
        path = _inside(folder, entry, root, journal)
        after = None if entry["after"] is None else b64decode(entry["after"])
        before = _current(path)
        sweep(path.parent)
        if _digest(before) == entry["before_sha256"]:
            _do(Change(path=path, before=before, after=after))
    remove(journal)
    return True


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
        return [
            {key: entry[key] for key in ("path", "before_sha256", "after")} for entry in entries
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise CodemodError(f"{show(journal)}: not written by codemod: remove it") from error


def _inside(folder: Path, entry: dict[str, Any], root: Path, journal: Path) -> Path:
    """The file of an entry. Only bytecode, which may be kept anywhere, is removed outside."""
    whole = folder / entry["path"]
    try:
        found: Path = whole.parent.resolve(strict=True) / whole.name
        inside = found.is_relative_to(root.resolve(strict=True))
    except (OSError, RuntimeError) as error:
        why = reason(error) if isinstance(error, OSError) else "is a loop of links"
        raise Refused(f"{show(journal)}: {show(whole)}: {why}") from error
    if not inside and not (entry["after"] is None and found.suffix == ".pyc"):
        raise CodemodError(f"{show(journal)}: leads to {show(found)}, outside {show(root)}")
    return found
