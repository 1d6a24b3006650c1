"""Where files are read from and put back: one small protocol, and a folder that keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from codemod.errors import CodemodError, Refused
from codemod.textfile import check_replaceable, read_regular, reason, replace_atomically, show

if TYPE_CHECKING:
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
    """The files below one folder. A link is followed to its target, which must be inside too."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._seen: dict[Path, bytes] = {}
        self._staged: dict[Path, bytes] = {}

    def read(self, path: str) -> bytes:
        """Return the content of a file, at most 4 MiB; raises Refused where it cannot be read."""
        real = self._real(path)
        self._seen[real] = data = read_regular(real)
        return data

    def stage(self, path: str, data: bytes) -> None:
        """Keep new content for a file; raises Refused where it could not be put in place."""
        real = self._real(path)
        check_replaceable(real)
        current = read_regular(real)
        if self._seen.setdefault(real, current) != current:
            raise Refused(f"{show(real)}: changed while it was being edited")
        if data != current:
            self._staged[real] = data

    def commit(self) -> None:
        """Write all that was staged; where one write fails, undo the others and raise."""
        tried: list[Path] = []
        try:
            for real, data in self._staged.items():
                tried.append(real)
                replace_atomically(real, data, expect=self._seen[real])
        except CodemodError as error:
            self._put_back(tried[:-1], error)
            raise
        except BaseException as error:  # an interrupt: the last may or may not be in place
            self._put_back(tried, error)
            raise
        finally:
            self._staged.clear()
            self._seen.clear()

    def _put_back(self, written: list[Path], cause: BaseException) -> None:
        stuck: list[str] = []
        for real in reversed(written):
            try:
                if read_regular(real) == self._staged[real]:
                    replace_atomically(real, self._seen[real], expect=self._staged[real])
            except CodemodError as error:
                stuck.append(str(error))
        if stuck:
            raise CodemodError(f"{cause}; and could not be undone: {'; '.join(stuck)}") from cause

    def _real(self, path: str) -> Path:
        whole = self._root / path
        try:
            real, root = whole.resolve(strict=True), self._root.resolve(strict=True)
        except OSError as error:
            raise Refused(f"{show(whole)}: {reason(error)}") from error
        except RuntimeError as error:  # before Python 3.13
            raise Refused(f"{show(whole)}: is a loop of links") from error
        if not real.is_relative_to(root):
            raise Refused(f"{show(whole)}: is really {show(real)}, outside {show(root)}")
        return real
