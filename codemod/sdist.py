"""A patched sdist of an sdist: the lines that change, and to the bit all else that is in it.

An sdist is a compressed tar (PEP 625, PEP 721). Its name and version stay: the version of what is
built of it comes from `jax/version.py`, and an installer refuses one that says otherwise.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from typing import TYPE_CHECKING

from codemod.distribution import Built, plans_of
from codemod.errors import Refused
from codemod.textfile import LARGEST, show

if TYPE_CHECKING:
    from collections.abc import Sequence
    from tarfile import TarInfo

    from codemod.model import Patch

MOST = 1 << 29  # bytes unpacked: a jax has some ten million
BLOCK = 512
SIZE, CHECKSUM = slice(124, 136), slice(148, 156)  # in the header of a member (POSIX ustar)
SAID = rb"(?mi)^(Name|Version):[ \t]*(\S+)[ \t]*\r?$"


class SdistFile:
    """The regular files of an sdist of jax, checked. Raises Refused for what is no good one."""

    def __init__(self, data: bytes) -> None:
        self.tar = _unpacked(data)
        self._members = _members(self.tar)
        tops = {name.partition("/")[0] for name in self._members}
        if len(tops) != 1:
            raise Refused("has more than one folder at the top, or none")
        self.top = f"{tops.pop()}/"
        self.names = [name.removeprefix(self.top) for name, m in self._members.items() if m.isreg()]

    def read(self, name: str) -> bytes:
        """The content of a file by its path below the folder at the top; raises Refused."""
        member = self._members.get(self.top + name)
        if member is None or not member.isreg() or member.issparse():
            raise Refused(f"has no regular file {show(name)}")
        if member.size > LARGEST:
            raise Refused(f"{show(name)}: is larger than {LARGEST >> 20} MiB")
        return self.tar[member.offset_data : member.offset_data + member.size]

    def replaced(self, contents: dict[str, bytes]) -> bytes:
        """The tar with other contents for these files; modes, times and order stay."""
        tar = self.tar
        old = {name: self._members[self.top + name] for name in contents}
        for name in sorted(old, key=lambda name: -old[name].offset_data):
            tar = _spliced(tar, old[name], contents[name])
        return tar


def build(data: bytes, name: str, patches: Sequence[Patch], *, force: bool = False) -> Built:
    """The patched sdist of an sdist of jax, whose file is called `name` and will be again.

    Raises Refused for what is no sound sdist of jax, and where a patch cannot be applied or
    proved.
    """
    sdist = SdistFile(data)
    version = _checked_version(sdist, name)
    plans = plans_of(sdist.names, sdist.read, patches)
    changed = {path: each.after for path, each in plans.items() if each.changes}
    made = _packed(sdist.replaced(changed), data) if changed or force else b""
    notes = (f"{name}: has the name and version of upstream's: only its hash tells them apart",)
    return Built(name=name, version=version, data=made, plans=plans, notes=notes if made else ())


def _unpacked(data: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            tar = file.read(MOST + 1)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise Refused(f"is no compressed tar: {error}") from error
    if len(tar) > MOST:
        raise Refused(f"unpacks to more than {MOST >> 20} MiB")
    return tar


def _members(tar: bytes) -> dict[str, TarInfo]:
    try:
        with tarfile.open(fileobj=io.BytesIO(tar), mode="r:") as archive:
            members = archive.getmembers()
            end = archive.offset
    except (tarfile.TarError, ValueError, OverflowError) as error:
        raise Refused(f"is no sound tar: {error}") from error
    if tar[end:].strip(b"\0"):
        raise Refused("holds bytes after its end")
    found: dict[str, TarInfo] = {}
    for member in members:
        name = member.name
        if name in found:
            raise Refused(f"{show(name)}: is there twice")
        if {"", ".", ".."} & {*name.split("/")}:
            raise Refused(f"{show(name)}: leads out of the sdist, or to a file by another name")
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise Refused(f"{show(name)}: is a device")
        found[name] = member
    return found


def _spliced(tar: bytes, member: TarInfo, content: bytes) -> bytes:
    """The tar with another content for a member: its header is the block before its data."""
    start = member.offset_data
    header = bytearray(tar[start - BLOCK : start])
    if "size" in member.pax_headers:
        raise Refused(f"{show(member.name)}: has its size in an extended header")
    header[SIZE] = b"%011o\0" % len(content)
    header[CHECKSUM] = b" " * 8
    header[CHECKSUM] = b"%06o\0 " % sum(header)
    end = start + _padded(member.size)
    padding = bytes(_padded(len(content)) - len(content))
    return tar[: start - BLOCK] + header + content + padding + tar[end:]


def _padded(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def _packed(tar: bytes, like: bytes) -> bytes:
    """The compressed tar, with the time that the sdist which was given has in its first bytes."""
    out = io.BytesIO()
    when = int.from_bytes(like[4:8], "little")
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=when) as file:
        file.write(tar)
    return out.getvalue()


def _checked_version(sdist: SdistFile, name: str) -> str:
    """The version of an sdist of jax, which its name, its folder and PKG-INFO agree on."""
    head = re.split(rb"\r?\n\r?\n", sdist.read("PKG-INFO"), maxsplit=1)[0]
    said = [(key.lower(), value) for key, value in re.findall(SAID, head)]
    names, versions = ([v for k, v in said if k == key] for key in (b"name", b"version"))
    if [each.lower() for each in names] != [b"jax"] or len(versions) != 1:
        raise Refused("PKG-INFO is not that of one version of jax")
    version = str(versions[0], "ascii", "replace")
    if sdist.top != f"jax-{version}/" or name != f"jax-{version}.tar.gz":
        raise Refused(f"name, {show(sdist.top)} and PKG-INFO ({version}) disagree")
    return version
