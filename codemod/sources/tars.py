"""Tar archives, compressed or not, read forward only and never by more than a bound."""

from __future__ import annotations

import io
from functools import partial
from typing import IO, TYPE_CHECKING, cast

from codemod.errors import Refused
from codemod.textfile import LARGEST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from tarfile import TarFile, TarInfo

    Member = tuple[TarInfo, Callable[[], bytes | str]]

AT_ONCE = 1 << 26  # bytes of one read: a header may claim any length
MAGIC = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}


def members(file: IO[bytes], *, most: int, many: int) -> Iterator[Member]:
    """Each member of a tar, and a function that gives its content while it is the present one.

    Raises Refused past `most` bytes unpacked or `many` members, and what tarfile and the
    decompressors raise for what is none of theirs.
    """
    import tarfile

    stream = _Forward(file, most)
    with tarfile.open(fileobj=stream, mode="r:") as archive:
        for count, member in enumerate(iter(archive.next, None)):
            if count >= many:
                raise Refused(f"holds more than {many} files")
            archive.members = []  # type: ignore[attr-defined]  # else all headers stay in memory
            yield member, partial(_content, archive, member)


def _content(archive: TarFile, member: TarInfo) -> bytes | str:
    if member.size > LARGEST:
        return f"larger than {LARGEST // 1024**2} MiB"
    file = archive.extractfile(member)
    return file.read() if file else "is no regular file in the archive"


def opened(file: IO[bytes]) -> IO[bytes]:
    """What a file holds, decompressed by what its first bytes say; as it is if they say nothing."""
    start = file.read(6)
    file.seek(-len(start), 1)
    kind = next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")
    if kind == "gzip":
        import gzip

        return cast("IO[bytes]", gzip.GzipFile(fileobj=file))
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(file)
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(file)
    return _zstd(file) if kind else file


def _zstd(file: IO[bytes]) -> IO[bytes]:
    import sys

    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile
    else:
        from backports.zstd import ZstdFile
    return cast("IO[bytes]", ZstdFile(file))


class _Forward(io.RawIOBase):
    """A stream that tarfile takes for a file: it can be skipped in, but never gone back in."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._stream = opened(file)
        self._skips = self._stream is file
        self._start = file.tell() if self._skips else 0
        self._most, self._at = most, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0 or size > AT_ONCE:
            raise Refused("has a header of a length that is not credible")
        data = self._stream.read(size)
        self._at += len(data)
        if self._at > self._most:
            raise Refused(f"unpacks to more than {self._most >> 20} MiB")
        return data

    def seek(self, to: int, whence: int = 0) -> int:
        if whence or to < self._at:
            raise Refused("has members in an order that is not credible")
        if self._skips:
            self._at = self._stream.seek(to - self._at, 1) - self._start
        while self._at < to and self.read(min(to - self._at, 1 << 20)):
            pass
        return self._at
