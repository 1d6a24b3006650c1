"""A wheel member by member: what does not change is copied as it lies there, compressed.

The archive is the ZIP of PKWARE's APPNOTE, the rules for what is in it are those of the binary
distribution format (PEP 427 and what followed). What breaks them is refused: two programs might
read two different things in it.
"""

from __future__ import annotations

import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.record import Record, digest
from codemod.textfile import LARGEST as SOURCE
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LARGEST = 1 << 30  # bytes of a wheel, and of all its members unpacked
CHUNK = 1 << 20
UNICODE_PATH = 0x7075  # a field with another name, which not every program takes
MANY, FAR = 0xFFFF, 0xFFFFFFFF  # what the fields of ZIP hold at most; ZIP64 goes on from there
ENCRYPTED, DESCRIPTOR, UTF8 = 0x1, 0x8, 0x800
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
SIGNATURES = ("RECORD.jws", "RECORD.p7s")  # of RECORD, and so void once it changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member: what the directory of the archive tells of it, and its bytes as stored."""

    info: zipfile.ZipInfo
    raw: bytes | memoryview

    @property
    def name(self) -> str:
        """The path in the wheel, with slashes."""
        return self.info.filename

    def chunks(self) -> Iterator[bytes]:
        """The content in pieces; raises Refused where it is not as long as it is said to be."""
        left = self.info.file_size
        pieces = _inflated(self.raw) if self.info.compress_type else iter([bytes(self.raw)])
        try:
            for piece in pieces:
                left -= len(piece)
                if left < 0:
                    break
                yield piece
        except zlib.error as error:
            raise Refused(f"{show(self.name)}: cannot be unpacked: {error}") from error
        if left:
            raise Refused(f"{show(self.name)}: is not as large as it says")

    def content(self) -> bytes:
        """The content, of a member that is known to be small."""
        return b"".join(self.chunks())


class WheelFile:
    """The members of a wheel in their order, checked. Raises Refused for what is no good wheel."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        archive = _opened(data)
        self.comment = archive.comment
        self.members = [_member(data, info) for info in archive.infolist()]
        _check_whole(data, archive, self.members)
        _check_names([member.name for member in self.members])
        if sum(member.info.file_size for member in self.members) > LARGEST:
            raise Refused(f"holds more than {LARGEST >> 30} GiB when unpacked")
        self.by_name = {member.name: member for member in self.members}
        self.dist_info = _dist_info(self.by_name)
        self.record = self._checked_record()

    def read(self, name: str) -> bytes:
        """The content of a member; raises Refused where there is none, or it is a link."""
        if name not in self.by_name:
            raise Refused(f"has no {show(name)}")
        member = self.by_name[name]
        if stat.S_ISLNK(member.info.external_attr >> 16):
            raise Refused(f"{show(name)}: is a symbolic link")
        if member.info.file_size > SOURCE:
            raise Refused(f"{show(name)}: is larger than {SOURCE >> 20} MiB")
        return member.content()

    def _checked_record(self) -> Record:
        """RECORD, if it tells the truth of every member and of nothing else."""
        name = f"{self.dist_info}/RECORD"
        record = Record(self.read(name))
        unlisted = {name, *(f"{self.dist_info}/{end}" for end in SIGNATURES)}
        for member in self.members:
            if member.info.is_dir() or member.name in unlisted:
                continue
            rows = record.of(member.name)
            if not rows or not all(row.hash for row in rows):
                raise Refused(f"{show(member.name)}: RECORD has no hash of it")
            hashed, size = _digest(member, rows[0].hash.partition("=")[0])
            if any((row.hash, row.size) not in ((hashed, size), (hashed, "")) for row in rows):
                raise Refused(f"{show(member.name)}: RECORD tells of another content")
        for row in record.rows:
            if row.path not in self.by_name and row.path not in unlisted:
                raise Refused(f"RECORD lists {show(row.path)}, which is not there")
        return record


def member(
    name: str, content: bytes, like: zipfile.ZipInfo, time: tuple[int, ...] | None
) -> Member:
    """A member of new content with the mode and time of another, or a time of its own.

    It is stored: what a compressor makes of it differs from one version of zlib to the next.
    """
    info = zipfile.ZipInfo(name, like.date_time)
    if time is not None:
        info = zipfile.ZipInfo(name, (time[0], time[1], time[2], time[3], time[4], time[5]))
    info.external_attr, info.create_system = like.external_attr, like.create_system
    info.file_size = info.compress_size = len(content)
    info.CRC = zlib.crc32(content)
    return Member(info=info, raw=content)


def renamed(old: Member, name: str) -> Member:
    """The same member under another name."""
    info = zipfile.ZipInfo(name, old.info.date_time)
    for field in (
        "external_attr",
        "create_system",
        "create_version",
        "extract_version",
        "internal_attr",
        "compress_type",
        "compress_size",
        "file_size",
        "CRC",
        "flag_bits",
        "comment",
        "extra",
    ):
        setattr(info, field, getattr(old.info, field))
    return replace(old, info=info)


def written(members: Iterable[Member], comment: bytes) -> bytes:
    """The archive of these members, in this order."""
    out, directory = io.BytesIO(), []
    for each in members:
        directory.append(_central(each.info, out.tell()))
        out.write(_local(each.info))
        out.write(each.raw)
    start = out.tell()
    out.write(b"".join(directory))
    out.write(_end(len(directory), start, out.tell() - start, comment))
    return out.getvalue()


# Reading.


def _opened(data: bytes) -> zipfile.ZipFile:
    if len(data) > LARGEST:
        raise Refused(f"is larger than {LARGEST >> 30} GiB")
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error) as error:
        raise Refused(f"is no archive that can be read: {error}") from error


def _member(data: bytes, info: zipfile.ZipInfo) -> Member:
    """A member by the directory, if its own header tells the same of it."""
    name = show(info.filename)
    start = info.header_offset
    if data[start : start + 4] != b"PK\3\4" or len(data) < start + 30:
        raise Refused(f"{name}: has no header where the directory says")
    _, flags, method, *_, length, extra = struct.unpack("<4xHHHHHLLLHH", data[start : start + 30])
    own = data[start + 30 : start + 30 + length]
    if "\0" in info.orig_filename or UNICODE_PATH in _kinds(info.extra):
        raise Refused(f"{name}: has another name for some programs")
    if own != info.orig_filename.encode("utf-8" if flags & UTF8 else "cp437", "replace"):
        raise Refused(f"{name}: is called otherwise in its own header")
    if flags & (ENCRYPTED | 0x40 | 0x2000) or info.flag_bits & ENCRYPTED:
        raise Refused(f"{name}: is encrypted")
    if info.compress_type not in METHODS or method != info.compress_type:
        raise Refused(f"{name}: is compressed in a way that wheels are not")
    told = struct.unpack("<LLL", data[start + 14 : start + 26])
    meant = (info.CRC, info.compress_size, info.file_size)
    if not flags & DESCRIPTOR and any(a not in (b, FAR) for a, b in zip(told, meant, strict=True)):
        raise Refused(f"{name}: its own header tells of another content")
    if info.is_dir() and info.file_size:
        raise Refused(f"{name}: is a folder with content")
    begin = start + 30 + length + extra
    raw = memoryview(data)[begin : begin + info.compress_size]
    if len(raw) < info.compress_size:
        raise Refused(f"{name}: ends before its end")
    return Member(info=info, raw=raw)


def _check_whole(data: bytes, archive: zipfile.ZipFile, members: list[Member]) -> None:
    """Refuse bytes that belong to no member: before the first, between two, after the last."""
    place = 0
    for each in sorted(members, key=lambda m: m.info.header_offset):
        info = each.info
        if info.header_offset != place:
            raise Refused("holds bytes that belong to no member, or to two")
        length, extra = struct.unpack("<HH", data[place + 26 : place + 30])
        place += 30 + length + extra + info.compress_size
        if info.flag_bits & DESCRIPTOR:
            place += _descriptor(data, place, info)
    if place != archive.start_dir or not data.endswith(archive.comment):
        raise Refused("holds bytes that belong to no member, or to two")
    end = data[len(data) - 22 - len(archive.comment) :][:12]
    if end[:4] != b"PK\5\6":
        raise Refused("goes on after its end")
    disk, first, here, count = struct.unpack("<4H", end[4:])
    if disk or first or here != count or count not in (len(members), MANY):
        raise Refused("its end tells of another number of members")


def _kinds(extra: bytes) -> Iterator[int]:
    """The kinds of the extra fields."""
    while len(extra) >= 4:
        kind, length = struct.unpack("<HH", extra[:4])
        yield kind
        extra = extra[4 + length :]


def _descriptor(data: bytes, place: int, info: zipfile.ZipInfo) -> int:
    """The length of the descriptor after a member: with or without signature, 32 or 64 bits."""
    for head in (b"PK\7\x08", b""):
        for form in ("<LQQ", "<LLL"):  # the second can look like the start of the first
            told = head + struct.pack(form, info.CRC, info.compress_size, info.file_size)
            if data[place : place + len(told)] == told:
                return len(told)
    raise Refused(f"{show(info.filename)}: what follows it tells of another content")


def _check_names(names: list[str]) -> None:
    if len({*names}) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise Refused(f"{show(twice)}: is there twice")
    for name in names:
        parts = name.rstrip("/").split("/")
        if {"", ".", ".."} & {*parts} or "\\" in name or ":" in parts[0] or "\0" in name:
            raise Refused(f"{show(name)}: is no name for a member of a wheel")


def _dist_info(names: Iterable[str]) -> str:
    folders = {name.partition("/")[0] for name in names}
    found = sorted(folder for folder in folders if folder.endswith(".dist-info"))
    if len(found) != 1:
        raise Refused(f"has {len(found) or 'no'} dist-info folders and not one")
    return found[0]


def _inflated(raw: bytes | memoryview) -> Iterator[bytes]:
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    rest: bytes | memoryview = raw
    while rest and not unpacker.eof:
        yield unpacker.decompress(rest, CHUNK)
        rest = unpacker.unconsumed_tail
    yield unpacker.flush()
    if unpacker.unused_data or not unpacker.eof:
        raise zlib.error("its end is not where it should be")


def _digest(each: Member, name: str) -> tuple[str, str]:
    """The hash field and the size field of RECORD for a member."""
    digest(b"", name)  # raises Refused for a hash that nobody knows
    made, size, crc = hashlib.new(name, usedforsecurity=False), 0, 0
    for piece in each.chunks():
        made.update(piece)
        size += len(piece)
        crc = zlib.crc32(piece, crc)
    if crc != each.info.CRC:
        raise Refused(f"{show(each.name)}: is damaged")
    from base64 import urlsafe_b64encode

    return f"{name}={urlsafe_b64encode(made.digest()).decode().rstrip('=')}", str(size)


# Writing.


def _encoded(info: zipfile.ZipInfo) -> tuple[bytes, int]:
    """The name and the flags: sizes stand in the header, so that no descriptor follows."""
    flags = info.flag_bits & ~DESCRIPTOR & ~UTF8
    try:
        return info.filename.encode("ascii"), flags
    except UnicodeEncodeError:
        return info.filename.encode(), flags | UTF8


def _times(info: zipfile.ZipInfo) -> tuple[int, int]:
    year, month, day, hour, minute, second = info.date_time
    return hour << 11 | minute << 5 | second // 2, (year - 1980) << 9 | month << 5 | day


def _extra(info: zipfile.ZipInfo) -> bytes:
    """The extra fields without that of ZIP64, which is made anew where it is needed."""
    kept, rest = b"", info.extra
    while len(rest) >= 4:
        kind, length = struct.unpack("<HH", rest[:4])
        kept += rest[: 4 + length] if kind != 1 else b""
        rest = rest[4 + length :]
    return kept


def _local(info: zipfile.ZipInfo) -> bytes:
    name, flags = _encoded(info)
    sizes = (info.CRC, info.compress_size, info.file_size)  # never past LARGEST
    head = (info.extract_version, flags, info.compress_type, *_times(info), *sizes)
    extra = _extra(info)
    return struct.pack("<4s5H3L2H", b"PK\3\4", *head, len(name), len(extra)) + name + extra


def _central(info: zipfile.ZipInfo, offset: int) -> bytes:
    name, flags = _encoded(info)
    versions = (info.create_version, info.create_system, info.extract_version)
    sizes = (info.CRC, info.compress_size, info.file_size)
    extra = _extra(info)
    lengths = (len(name), len(extra), len(info.comment))
    rest = (0, info.internal_attr, info.external_attr, offset)
    times = _times(info)
    head = struct.pack(
        "<4s2B5H3L3H2H2L",
        b"PK\1\2",
        *versions[:2],
        versions[2],
        flags,
        info.compress_type,
        *times,
        *sizes,
        *lengths,
        *rest,
    )
    return head + name + extra + info.comment


def _end(count: int, start: int, size: int, comment: bytes) -> bytes:
    many = min(count, MANY)
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, many, many, size, start, len(comment)) + comment
    if count < MANY:
        return end
    large = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, start + size, 1)
    return large + locator + end
