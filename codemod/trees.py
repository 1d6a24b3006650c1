"""Where files are read from and put back: one small protocol, and a folder that keeps it."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Protocol

from codemod.bytecode import compiled, unchecked
from codemod.errors import Refused
from codemod.journal import Change, commit, recover
from codemod.replacing import check_replaceable, remove, sweep
from codemod.textfile import read_regular, reason, show

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


class Tree(Protocol):
    """Files by relative path, with slashes. What is staged is written by `commit`, all or nothing.

    What else must change with a file (rows that list it, bytecode made of it) is staged by the
    tree itself: who stages a file need not know what kind of tree it is in.
    """

    def read(self, path: str) -> bytes:
        """Return the content as it is stored now; raises Refused where it cannot be read."""
        ...

    def stage(self, path: str, data: bytes) -> None:
        """Keep new content for a file that was read, after each check that can be made before."""
        ...

    def commit(self) -> None:
        """Write all that was staged; where one write fails, undo the others and raise."""
        ...


class FolderTree:
    """The files below one folder. A link is followed to its target, which must be inside too.

    With `replace_links` one that leads out of it is not followed but replaced by a file.
    """

    def __init__(self, root: Path, *, replace_links: bool = False) -> None:
        self._root = self._limit = root  # where paths start, and what nothing may lead out of
        self._replace_links = replace_links
        self._located: dict[Path, Path] = {}  # where a file was found, by its real path
        self._asked: dict[Path, Path] = {}  # as it was called then
        self._seen: dict[Path, bytes] = {}
        self._staged: dict[Path, bytes] = {}
        self._patches: dict[Path, dict[str, str]] = {}
        self.notes: list[str] = []  # what a person should know of what was done
        self.details: list[str] = []  # the same, for who wants to know it all

    @contextlib.contextmanager
    def locked(self, path: str) -> Iterator[None]:
        """Keep others from the folder of a file, after waiting for those who are at work in it.

        What a killed run has left there is finished first.
        """
        folder = self._real(path).parent
        with _lock(folder):
            if recover(folder, self._limit):
                self.notes.append(f"{show(folder)}: finished what a killed run had begun")
            sweep(folder)
            yield

    def read(self, path: str) -> bytes:
        """Return the content of a file, at most 4 MiB; raises Refused where it cannot be read."""
        real = self._real(path)
        self._seen[real] = data = read_regular(real)
        return data

    def stage(self, path: str, data: bytes) -> None:
        """Keep new content for a file; raises Refused where it could not be put in place."""
        real = self._real(path)
        names = check_replaceable(real, link=real.is_symlink()).st_nlink
        if names > 1:
            self.details.append(f"{show(real)}: had {names} names; the others keep the old content")
        current = read_regular(real)
        if self._seen.setdefault(real, current) != current:
            raise Refused(f"{show(real)}: changed while it was being edited")
        if data != current:
            self._staged[real] = data

    def patches_of(self, path: str) -> dict[str, str]:  # noqa: ARG002 - of a plain folder, none
        """Return the patches with their revisions that a file is known to have been given here."""
        return {}

    def name_patches(self, path: str, patches: dict[str, str]) -> None:
        """Tell which patches are in what is staged for a file, for whoever keeps account of it."""
        self._patches[self._real(path)] = patches

    def commit(self) -> None:
        """Write all that was staged; where one write fails, undo the others and raise."""
        try:
            changes = [
                Change(path=real, before=self._seen[real], after=data)
                for real, data in self._staged.items()
            ]
            if changes:
                commit([*changes, *self._companions(changes)], changes[0].path.parent)
        finally:
            self._staged.clear()
            self._seen.clear()

    def drop_unchecked(self, path: str) -> None:
        """Remove bytecode of another source that Python would run in place of a file as it is."""
        real = self._real(path)
        content = read_regular(real)
        for name in self._names(real):
            for stale in unchecked(name, content):
                remove(stale)
                self.notes.append(f"{show(stale)}: was of other code than the file; removed")

    def _companions(self, changes: Sequence[Change]) -> list[Change]:
        """What else has to change with these files."""
        return [
            Change(path=path, before=read_regular(path), after=None)
            for change in changes
            for path in sorted({p for name in self._names(change.path) for p in compiled(name)})
        ]

    def _names(self, real: Path) -> set[Path]:
        """Bytecode lies beside the name by which Python finds a file, which may be a link."""
        return {real, self._located.get(real, real), self._asked.get(real, real)}

    def _real(self, path: str) -> Path:
        whole = self._root / path
        try:
            real, limit = whole.resolve(strict=True), self._limit.resolve(strict=True)
            above = whole.parent.resolve(strict=True)
        except OSError as error:
            raise Refused(f"{show(whole)}: {reason(error)}") from error
        except RuntimeError as error:  # before Python 3.13
            raise Refused(f"{show(whole)}: is a loop of links") from error
        if real.is_relative_to(limit):
            self._located[real], self._asked[real] = above / whole.name, whole.absolute()
            return real
        if self._replace_links and whole.is_symlink() and above.is_relative_to(limit):
            return above / whole.name
        raise Refused(f"{show(whole)}: is really {show(real)}, outside {show(limit)}")


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Hold the folder itself locked: a lock file would be left in somebody's site-packages.

    Where the system or the file system has no such locks, runs are not kept apart.
    """
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
