"""Wheels, sdists and tar archives made in memory from names and bytes."""

from __future__ import annotations

import io
import tarfile
import zipfile
from typing import TYPE_CHECKING

from tests.releases import MEMBER

if TYPE_CHECKING:
    from pathlib import Path


def metadata(version: str) -> bytes:
    return f"Metadata-Version: 2.1\nName: jax\nVersion: {version}\n\nText\n".encode()


def wheel(
    path: Path, content: bytes, version: str = "0.8.0", more: dict[str, bytes] | None = None
) -> Path:
    """Make a wheel with this content of the file in question."""
    info = f"jax-{version}.dist-info/METADATA"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {MEMBER: content, info: metadata(version), **(more or {})}.items():
            archive.writestr(name, data)
    return path


def tar(files: dict[str, bytes | str | None], mode: str = "w") -> bytes:
    """Make a tar: bytes are files, a text is a link to it, a hard one after `=`, None a folder."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            if isinstance(content, bytes):
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
                continue
            hard = content is not None and content.startswith("=")
            member.type = tarfile.LNKTYPE if hard else tarfile.SYMTYPE
            member.type = member.type if content is not None else tarfile.DIRTYPE
            member.linkname = (content or "").removeprefix("=")
            archive.addfile(member)
    return buffer.getvalue()
