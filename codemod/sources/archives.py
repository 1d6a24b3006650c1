"""Copies in wheels and sdists: the members in question are read, and nothing is unpacked.

An archive may be anybody's. What it says of itself is not believed: each read has a bound, and
what does not fit, or is told in two ways, is refused.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.locate import METADATA_FIELD
from codemod.sources.parts import copies, is_part
from codemod.textfile import LARGEST, reason, show

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from zipfile import ZipFile, ZipInfo

    from codemod.sources.model import Held, Unit

    Files = dict[str, bytes | str]

MEMBERS = 500_000  # of one archive
METADATA = r"(?:[^/]+\.dist-info/METADATA|[^/]+/PKG-INFO)"
SDISTS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar", ".zip")
# What zipfile raises for an unknown way to compress, an encrypted member, a bad name or size.
ODD = (NotImplementedError, RuntimeError, ValueError, OverflowError, LookupError)
IMAGES = ("oci-layout", "manifest.json")  # at the top of an image, and of no sdist
MOST = 1 << 32  # bytes that an sdist may unpack to


def in_archive(unit: Unit) -> Iterable[Held]:
    """The copies in a wheel or an sdist; raises Refused where it is no such archive."""
    path = unit.path
    is_zip = path.lower().endswith((".whl", ".zip"))
    files = _contained(path, _zip_files if is_zip else _tar_files)
    metadata = [n for n in sorted(files, key=len) if re.fullmatch(METADATA, n)]
    said = _said(files.pop(metadata[0])) if metadata else None
    parts = {name: content for name, content in files.items() if is_part(name)}
    return copies(parts, lambda _: said, f"{path}!/")


def _contained(path: str, read: Callable[[str], Files]) -> Files:
    """The members in question by name; raises Refused, with the path, where that fails."""
    import lzma
    import zipfile
    import zlib

    if not os.path.isfile(path):  # noqa: PTH113 - a pipe would be waited for
        raise Refused(f"{show(path)}: is not a regular file")
    broken = (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError)
    try:
        return read(path)
    except Refused as error:
        raise Refused(f"{show(path)}: {error.why}") from error
    except OSError as error:
        raise Refused(f"{show(path)}: {reason(error)}") from error
    except (*broken, *ODD) as error:
        raise Refused(f"{show(path)}: not a sound archive: {error}") from error


def _wanted(name: str) -> bool:
    return is_part(name) or re.fullmatch(METADATA, name) is not None


def _said(content: bytes | str) -> str | None:
    head = b"" if isinstance(content, str) else re.split(rb"\r?\n\r?\n", content, maxsplit=1)[0]
    version = dict(re.findall(METADATA_FIELD, head)).get(b"Version")
    return str(version, "utf-8", "replace") if version else None


def _zip_files(path: str) -> Files:
    from zipfile import ZipFile

    files: Files = {}
    with ZipFile(path) as archive:
        for member in archive.infolist():
            if _wanted(member.filename):
                if member.filename in files:
                    raise Refused(f"has {show(member.filename)} more than once")
                files[member.filename] = _member(archive, member)
    return files


def _member(archive: ZipFile, member: ZipInfo) -> bytes | str:
    with archive.open(member) as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        return f"larger than {LARGEST // 1024**2} MiB"
    if len(data) != member.file_size:  # zipfile checks the content only if it ends where it says
        raise Refused(f"not a sound archive: {show(member.filename)} has not the size that it says")
    return data


def _tar_files(path: str) -> Files:
    from codemod.sources.tars import members

    files: Files = {}
    with open(path, "rb") as file:  # noqa: PTH123
        for member, read in members(file, most=MOST, many=MEMBERS):
            if member.name in IMAGES:
                raise Refused("is a compressed image: decompress the archive first")
            if member.isreg() and _wanted(member.name):
                files[member.name] = read()  # what comes later wins, as where it is unpacked
            elif _wanted(member.name) and not member.isdir():
                files[member.name] = "is no regular file in the archive"
    return files
