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

    Raises Refused for what is no sound archive, and past `most` bytes unpacked or `many` members.
    """
    import tarfile

    try:
        with tarfile.open(fileobj=_Forward(file, most), mode="r:") as archive:
            for count, member in enumerate(iter(archive.next, None)):
                if count >= many:
                    raise Refused(f"holds more than {many} files")
                archive.members = []  # type: ignore[attr-defined]  # else all headers are kept
                yield member, partial(_content, archive, member)
    except (tarfile.TarError, ValueError, OverflowError, LookupError, OSError) as error:
        raise Refused(f"not a sound archive: {error}") from error


def _content(archive: TarFile, member: TarInfo) -> bytes | str:
    import tarfile

    if member.size > LARGEST:
        return f"larger than {LARGEST // 1024**2} MiB"
    try:
        file = archive.extractfile(member)
        return file.read() if file else "is no regular file in the archive"
    except tarfile.TarError as error:
        raise Refused(f"not a sound archive: {error}") from error


def opened(file: IO[bytes]) -> tuple[IO[bytes], type[Exception]]:
    """What a file holds, decompressed by what its first bytes say, as it is if they say nothing.

    Beside it the error that tells of data that is damaged; there may be OSError and EOFError too.
    """
    start = file.read(6)
    file.seek(-len(start), 1)
    kind = next((name for magic, name in MAGIC.items() if start.startswith(magic)), "")
    if kind == "gzip":
        import gzip
        import zlib

        return cast("IO[bytes]", gzip.GzipFile(fileobj=file)), zlib.error
    if kind == "bzip2":
        import bz2

        return bz2.BZ2File(file), ValueError
    if kind == "xz":
        import lzma

        return lzma.LZMAFile(file), lzma.LZMAError
    return _zstd(file) if kind else (file, ValueError)


def _zstd(file: IO[bytes]) -> tuple[IO[bytes], type[Exception]]:
    import sys

    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdError, ZstdFile
    else:
        from backports.zstd import ZstdError, ZstdFile
    return cast("IO[bytes]", ZstdFile(file)), ZstdError


class _Forward(io.RawIOBase):
    """A stream that tarfile takes for a file: it can be skipped in, but never gone back in."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._stream, self._fault = opened(file)
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
        try:
            data = self._stream.read(size)
        except (self._fault, OSError, EOFError) as error:
            raise Refused(f"not a sound archive: {error}") from error
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
