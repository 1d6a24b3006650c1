"""Files replaced, made and removed in one step each: a file is wholly old or wholly new."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import TYPE_CHECKING

from codemod.errors import CodemodError, Refused
from codemod.textfile import NO_FOLLOW, check_regular, read_regular, reason, show

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEMPORARY = ".codemod-"  # what the names of our temporary files begin with
# The kernel signs these over the content: on another content they would lock the file.
SIGNATURES = {"security.ima", "security.evm"}


def check_replaceable(path: Path, *, link: bool = False) -> os.stat_result:
    """Return the status of a regular file that may be replaced; raises Refused where it may not.

    The mode counts for root too, whom the system lets write anywhere. With `link` the path is a
    link that is to be replaced itself, whatever may be done to the file that it leads to.
    """
    folder = path.parent
    try:
        status, above = path.stat() if link else path.lstat(), folder.stat()
    except OSError as error:
        raise Refused(f"{show(path)}: {reason(error)}") from error
    check_regular(path, status)
    for place, mode in ((path, status.st_mode), (folder, above.st_mode))[link:]:
        if not mode & 0o222:
            raise Refused(f"{show(place)}: is read-only")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Refused(f"{show(folder)}: no permission to write into this folder")
    if link:
        return status
    if not os.access(path, os.W_OK):
        raise Refused(f"{show(path)}: no permission to write")
    if hasattr(os, "geteuid") and os.geteuid() not in (0, status.st_uid):
        raise Refused(f"{show(path)}: belongs to somebody else, and would become yours")
    return status


def replace_atomically(path: Path, data: bytes, *, expect: bytes, link: bool = False) -> None:
    """Put a new file with this content in the place of one whose content is `expect`.

    The old inode keeps its bytes, for it may have other names: uv and conda link installed files
    to their cache. With `link` the path is a link, and replaced itself. Raises Refused where the
    file may not be replaced or has other content, and CodemodError where the system fails; the
    file is then as it was.
    """
    old = check_replaceable(path, link=link)
    with _temporary(path) as temporary:
        _write(temporary, data, None if link else path, old)
        if read_regular(path) != expect:
            raise Refused(f"{show(path)}: changed while it was being edited")
        temporary.replace(path)
    _sync_folder(path.parent)


def create(path: Path, data: bytes) -> None:
    """Put a new file with this content where none is, in one step; raises CodemodError.

    Not every file system has links, which never replace anything: so who calls this keeps
    others from the folder.
    """
    if os.path.lexists(path):
        raise CodemodError(f"{show(path)}: has appeared since")
    with _temporary(path) as temporary:
        _write(temporary, data, None, None)
        temporary.replace(path)
    _sync_folder(path.parent)


def remove(path: Path) -> None:
    """Remove a file, or the link of that name; one that is not there is no error."""
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise CodemodError(f"{show(path)}: {reason(error)}") from error


def sweep(folder: Path) -> None:
    """Remove what killed runs have left in a folder; only while no other run can be at work."""
    for left in folder.glob(f"{TEMPORARY}{'[0-9a-f]' * 16}"):
        remove(left)


@contextlib.contextmanager
def _temporary(path: Path) -> Iterator[Path]:
    """A name beside a file, free for a new one, which is gone in the end."""
    temporary = path.with_name(TEMPORARY + os.urandom(8).hex())
    try:
        yield temporary
    except OSError as error:
        raise CodemodError(f"{show(path)}: {reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_atomically(path: str, data: bytes) -> None:
    """Write a file of results: it is there as a whole or as it was. Raises CodemodError.

    What is no regular file, such as a pipe or /dev/stdout, is written to.
    """
    special = os.path.exists(path) and not os.path.isfile(path)  # noqa: PTH110, PTH113
    real = path if special else os.path.realpath(path)
    folder, _ = os.path.split(real)
    beside = os.path.join(folder, TEMPORARY + os.urandom(8).hex())  # noqa: PTH118
    temporary = real if special else beside
    try:
        with open(temporary, "wb") as file:  # noqa: PTH123
            file.write(data)
        if not special:
            os.replace(temporary, real)  # noqa: PTH105
    except OSError as error:
        raise CodemodError(f"{show(path)}: {reason(error)}") from error
    finally:
        if not special:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108


def _write(temporary: Path, data: bytes, like: Path | None, old: os.stat_result | None) -> None:
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if like is not None and old is not None:
            _copy_attributes(handle, like, old)
        else:  # as the folder's owner would have made it
            above = temporary.parent.stat()
            with contextlib.suppress(OSError):
                os.fchown(handle, above.st_uid, above.st_gid)
            os.fchmod(handle, stat.S_IMODE(old.st_mode) | stat.S_IWUSR if old else 0o644)
        os.fsync(handle)
    finally:
        os.close(handle)


def _copy_attributes(handle: int, like: Path, old: os.stat_result) -> None:
    with contextlib.suppress(OSError):
        os.fchown(handle, -1, old.st_gid)
    with contextlib.suppress(OSError):
        os.fchown(handle, old.st_uid, -1)
    os.fchmod(handle, stat.S_IMODE(old.st_mode))  # after the owner: that clears bits of the mode
    for name in _attribute_names(like):
        with contextlib.suppress(OSError):
            os.setxattr(handle, name, os.getxattr(like, name))
    new = os.fstat(handle)
    if (new.st_size, int(new.st_mtime)) == (old.st_size, int(old.st_mtime)):
        # A .pyc names its source by these two, and a stale one would win over the new source.
        os.utime(handle, ns=(new.st_atime_ns, (old.st_mtime_ns // 10**9 + 1) * 10**9))


def _attribute_names(path: Path) -> set[str]:
    try:
        return set(os.listxattr(path)) - SIGNATURES
    except (OSError, AttributeError):  # only Linux has them in `os`
        return set()


def _sync_folder(folder: Path) -> None:
    """The change is made, so no failure: at worst a crash now brings the old state back."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
