"""An installed jax: RECORD, bytecode and the receipt change together with the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod import receipt
from codemod.errors import Refused
from codemod.journal import Change
from codemod.record import Record
from codemod.textfile import read_regular, show
from codemod.trees import FolderTree

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class InstalledTree(FolderTree):
    """A folder of packages. What was done to which file is in `entries`, by path from there."""

    def __init__(self, root: Path, site: Path, *, replace_links: bool = False) -> None:
        super().__init__(root, replace_links=replace_links)
        self._site = site.resolve()
        if not self._site.is_relative_to(root.resolve()):  # of one file, say
            self._limit = site
        self._infos = sorted(self._site.glob("jax-*.dist-info"))

    def entry_of(self, path: str) -> receipt.Entry | None:
        """Return what the receipt tells of a file, whether or not it still is as it tells."""
        name = self._name(self._real(path))
        found = [entries[name] for info in self._infos if name in (entries := self._entries(info))]
        return found[0] if found else None

    def patches_of(self, path: str) -> dict[str, str]:
        """Return the patches in a file by the receipt, if it still tells of the file as it is."""
        entry = self.entry_of(path)
        return entry.patches if entry and entry.is_of(read_regular(self._real(path))) else {}

    def _companions(self, changes: Sequence[Change]) -> list[Change]:
        made = super()._companions(changes)
        owners = [info for info in self._infos if self._lists(info, changes)]
        for info in owners or self._infos[-1:]:
            made += self._of_info(info, changes, made)
        return made

    def _lists(self, info: Path, changes: Sequence[Change]) -> bool:
        """Whether RECORD of a dist-info is true of one of the files as they are."""
        record = self._record(info)
        return record is not None and any(
            change.before is not None and row.agrees(change.before)
            for change in changes
            for row in record.of(self._name(change.path))
        )

    def _of_info(
        self, info: Path, changes: Sequence[Change], bytecode: Sequence[Change]
    ) -> list[Change]:
        """The changes of RECORD and of the receipt in one dist-info."""
        entries, record = self._entries(info), self._record(info)
        for change in changes:
            self._enter(change, entries, record)
        place = info / receipt.NAME
        old = read_regular(place) if place.exists() else None
        new = receipt.dumps(entries) if entries else None
        made = [Change(path=place, before=old, after=new)]
        if record is None:
            self.notes.append(f"{show(info)}: has no RECORD: uninstall may leave files behind")
            return made
        for change in bytecode:
            _blank(record, self._name(change.path))
        listed = self._name(place)
        record.drop(listed) if new is None else record.add(listed, new)
        path = info / "RECORD"
        return [Change(path=path, before=read_regular(path), after=bytes(record)), *made]

    def _enter(
        self, change: Change, entries: dict[str, receipt.Entry], record: Record | None
    ) -> None:
        """Bring a file's entry and its rows up to date with what is about to be written."""
        if change.before is None or change.after is None:
            return
        path = self._name(change.path)
        known = entries.pop(path, None)
        if known is not None and not known.is_of(change.before):
            known = None  # the file was changed since by somebody else: it tells of another one
        rows = record.of(path) if record else []
        if record and not rows:
            self.notes.append(f"{show(change.path)}: RECORD does not list it")
        if not all(row.agrees(change.before) for row in rows):
            self.notes.append(f"{show(change.path)}: RECORD did not agree with it before")
        original = known.original if known else change.before
        raw = known.rows if known else tuple(row.raw.decode() for row in rows)
        if change.after == original:
            if record:
                record.restore(path, raw)
            return
        if record:
            record.update(path, change.after)
        patches = self._patches.get(change.path, {})
        entries[path] = receipt.entry(patches, original, change.after, raw)

    def _record(self, info: Path) -> Record | None:
        path = info / "RECORD"
        if not path.exists():
            return None
        try:
            return Record(read_regular(path), self._site.as_posix())
        except Refused as error:
            place = f"line {error.line}: " if error.line else ""
            raise Refused(f"{show(path)}: {place}{error.why}") from error

    def _entries(self, info: Path) -> dict[str, receipt.Entry]:
        place = info / receipt.NAME
        try:
            return receipt.loads(read_regular(place)) if place.exists() else {}
        except Refused as error:
            raise Refused(f"{show(place)}: {error.why}") from error

    def _name(self, path: Path) -> str:
        """A file as RECORD names it: from the folder of packages, with slashes.

        A link is listed by its own name, and not by that of the file that it leads to.
        """
        path = self._located.get(path, path)
        inside = path.is_relative_to(self._site)
        return (path.relative_to(self._site) if inside else path).as_posix()


def _blank(record: Record, path: str) -> None:
    """Keep a row of bytecode, which Python may make again, without the hash of what is gone."""
    if any(row.hash or row.size for row in record.of(path)):
        record.blank(path)
