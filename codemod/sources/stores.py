"""The documents and layers of a container image, in a folder or in a tar, read where they lie."""

from __future__ import annotations

import io
import json
import posixpath
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

from codemod.errors import Refused
from codemod.sources.tars import members
from codemod.textfile import reason, show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from tarfile import TarInfo

    from codemod.sources.tars import Member

LARGEST = 1 << 22  # bytes of one document
MEMBERS = 5_000_000  # of one layer
RATIO, FLOOR = 200, 1 << 30  # a layer may unpack to so many times its size, or to this
LINKS = 40  # as many as Linux follows
ENTRIES = 100_000  # of the archive of an image: its blobs and documents


class Store(ABC):
    """Where the parts of an image lie; `path` is told to people."""

    def __init__(self, path: str) -> None:
        self.path = path

    @abstractmethod
    def has(self, name: str) -> bool:
        """Whether there is a file of that name."""

    @abstractmethod
    def open(self, name: str) -> tuple[IO[bytes], int]:
        """A file and its size in bytes; raises Refused where it is not there."""

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def document(self, name: str) -> Any:
        """A JSON document; raises Refused where it is none."""
        file, size = self.open(name)
        with file:
            if size > LARGEST:
                raise Refused(f"{show(self.path)}: {name} is larger than {LARGEST >> 20} MiB")
            try:
                return json.loads(file.read())
            except (ValueError, RecursionError) as error:
                raise Refused(f"{show(self.path)}: {name} is not JSON: {error}") from error

    def layer(self, name: str) -> Iterator[Member]:
        """The members of a layer; raises Refused where it is no sound tar, or unpacks to much."""
        file, size = self.open(name)
        with file:
            try:
                yield from members(file, most=max(FLOOR, RATIO * size), many=MEMBERS)
            except Refused as error:
                raise Refused(f"{show(self.path)}: layer {show(name)}: {error.why}") from error


class Folder(Store):
    """An OCI image layout."""

    def close(self) -> None:
        pass  # each file is closed by who opened it

    def has(self, name: str) -> bool:
        return Path(self.path, name).is_file()

    def open(self, name: str) -> tuple[IO[bytes], int]:
        path, top = Path(self.path, name), Path(self.path).resolve()
        try:
            if not path.resolve().is_relative_to(top) or not path.is_file():
                raise Refused(f"{show(path)}: is not a file of the image")
            return path.open("rb"), path.stat().st_size
        except OSError as error:
            raise Refused(f"{show(path)}: {reason(error)}") from error


class Archive(Store):
    """A layout, or what `docker save` writes, as a tar that is not compressed as a whole."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._names: dict[str, TarInfo] = {}
        if not Path(path).is_file():  # a pipe would be waited for
            raise Refused(f"{show(path)}: is not a regular file")
        try:
            self._file = open(path, "rb")  # noqa: PTH123, SIM115 - closed by `close`
        except OSError as error:
            raise Refused(f"{show(path)}: {reason(error)}") from error
        try:
            for member, _ in members(self._file, most=1 << 50, many=ENTRIES):
                self._names[posixpath.normpath(member.name)] = member
        except Refused as error:
            self._file.close()
            raise Refused(f"{show(path)}: {error.why}") from error

    def close(self) -> None:
        self._file.close()

    def has(self, name: str) -> bool:
        return name in self._names

    def open(self, name: str) -> tuple[IO[bytes], int]:
        wanted = name
        for _ in range(LINKS):
            member = self._names.get(posixpath.normpath(wanted))
            if member is None or not (member.isreg() or member.issym()):
                break
            if member.isreg():
                section = _Section(self._file, member.offset_data, member.size)
                return io.BufferedReader(section), member.size
            wanted = posixpath.join(posixpath.dirname(wanted), member.linkname)
        raise Refused(f"{show(self.path)}: has no {show(name)}")


class _Section(io.RawIOBase):
    """A part of a file, as a file of its own; the whole stays open when it is closed."""

    def __init__(self, file: IO[bytes], start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, to: int, whence: int = 0) -> int:
        self._at = to + (0, self._at, self._size)[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._start + self._at)
        data = self._file.read(max(0, min(len(buffer), self._size - self._at)))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
