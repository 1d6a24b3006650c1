"""Bytes of source files: what is no Python, a unified diff, replacement that is all or nothing."""

from __future__ import annotations

import codecs
import contextlib
import errno
import os
import re
import stat
from dataclasses import dataclass
from typing import TYPE_CHECKING

from codemod.errors import CodemodError, Refused
from codemod.model import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LARGEST = 4 * 1024 * 1024  # bytes; the file in question has some 15 thousand
TEMPORARY = ".codemod-"  # what the names of our temporary files begin with
CONTEXT = 3  # lines around a hunk, as git has it
# Not on every system: a link is not followed, and a FIFO or a device is not waited for.
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NO_WAIT: int = getattr(os, "O_NONBLOCK", 0)

KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a symbolic link",
}
# The kernel signs these over the content: on another content they would lock the file.
SIGNATURES = {"security.ima", "security.evm"}

LFS = b"version https://git-lfs.github.com/spec/v1"
# Patterns are compiled where they are first needed: most runs never do.
LINK = rb"[\w.+@\x80-\xff-]+(/[\w.+@\x80-\xff-]+)*\.py(\r?\n)?"
COOKIE = rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)"
BLANK = rb"[ \t\f]*(#|\r?$)"
LATIN = ("latin-1-", "iso-8859-1-", "iso-latin-1-")
CONFLICT = rb"(<<<<<<<|>>>>>>>)( .*)?"
WIDE = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
ESCAPES = {ord(c): "\\" + e for c, e in zip('\a\b\t\n\v\f\r"\\', 'abtnvfr"\\', strict=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class NotPython:
    """Why some bytes cannot be Python source; `line` is 1-based, None for the whole file."""

    reason: Reason
    why: str
    line: int | None = None


def not_python(data: bytes) -> NotPython | None:
    """Return what these bytes are instead of Python source, None where a parser may try."""
    if not data:
        return NotPython(reason=Reason.NO_SOURCE, why="the file is empty")
    if data.startswith(LFS):
        why = "a Git LFS pointer stands for the file: run `git lfs pull`"
        return NotPython(reason=Reason.LFS_POINTER, why=why)
    if re.fullmatch(LINK, data):
        why = f"the text of a symbolic link, to {show(os.fsdecode(data.rstrip()))}"
        return NotPython(reason=Reason.NO_SOURCE, why=why)
    return _wide(data) or _conflict(data) or _undecodable(data)


def _wide(data: bytes) -> NotPython | None:
    name = next((name for bom, name in WIDE if data.startswith(bom)), None)
    if name is None and b"\0" in data:
        name = _wide_without_bom(data)
    if name is not None:
        return NotPython(reason=Reason.UNPARSABLE, why=f"{name}, which Python does not read")
    if b"\0" not in data:
        return None
    line = _line_of(data, data.index(b"\0"))
    return NotPython(reason=Reason.UNPARSABLE, why="holds a NUL byte", line=line)


def _wide_without_bom(data: bytes) -> str | None:
    """Return the encoding that NULs in most of every second or fourth byte give away."""
    for width, name in ((4, "UTF-32"), (2, "UTF-16")):
        nuls = [data[lane::width].count(0) for lane in range(width)]
        text = min(nuls)
        high = (sum(nuls) - text) / (width - 1)
        if len(data) % width == 0 and text == 0 and high * width > 0.8 * len(data):
            return name
    return None


def _conflict(data: bytes) -> NotPython | None:
    if b"<<<<<<<" not in data and b">>>>>>>" not in data:
        return None
    for number, line in enumerate(data.splitlines(), 1):
        if re.fullmatch(CONFLICT, line):
            why = "an unresolved merge conflict"
            return NotPython(reason=Reason.UNPARSABLE, why=why, line=number)
    return None


def _undecodable(data: bytes) -> NotPython | None:
    """Look at what a syntax error would report without a line, or with a wrong one."""
    name, line = _cookie(data)
    encoding = _normal(name)
    if data.startswith(codecs.BOM_UTF8) and encoding != "utf-8":
        why = f"the byte order mark says UTF-8, the coding comment {name}"
        return NotPython(reason=Reason.UNPARSABLE, why=why, line=line)
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        why = f"byte 0x{data[error.start]:02x} is not {encoding}"
        line = _line_of(data, error.start)
        return NotPython(reason=Reason.UNPARSABLE, why=why, line=line)
    except (LookupError, UnicodeError):
        why = f"the coding comment names {name}, which is no encoding of text"
        return NotPython(reason=Reason.UNPARSABLE, why=why, line=line)
    return None


def _cookie(data: bytes) -> tuple[str, int]:
    """Return the encoding that the file declares and the line of it, as in PEP 263."""
    for number, line in enumerate(data.removeprefix(codecs.BOM_UTF8).split(b"\n", 2)[:2], 1):
        if found := re.match(COOKIE, line):
            return found[1].decode(), number
        if not re.match(BLANK, line):
            break
    return "utf-8", 1


def _normal(name: str) -> str:
    """Return the codec of a cookie; Python takes `utf-8-unix` and the like, codecs do not."""
    dashed = name[:12].lower().replace("_", "-") + "-"
    if dashed.startswith("utf-8-"):
        return "utf-8"
    return "latin-1" if dashed.startswith(LATIN) else name


def _line_of(data: bytes, position: int) -> int:
    return len((data[:position] + b".").splitlines())


def show(path: Path | str) -> str:
    """Return a path as one printable line: what could break a line or a terminal is escaped."""
    text = os.fspath(path)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def unified_diff(before: bytes, after: bytes, path: str) -> bytes:
    """Return what `git apply` turns `before` into `after` with, empty where they are the same.

    `path` is relative, with slashes. Lines end at LF only, whatever else the bytes hold.
    """
    if before == after:
        return b""
    old, new = _lines(before), _lines(after)
    header = b"--- %s\n+++ %s\n" % (_git_name(b"a/", path), _git_name(b"b/", path))
    return header + b"".join(_hunks(old, new))


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _git_name(prefix: bytes, path: str) -> bytes:
    """Return a name as git writes it: quoted as in C where odd, with a tab after blanks."""
    raw = os.fsencode(path)
    text = "".join(ESCAPES.get(c) or (chr(c) if 32 <= c < 127 else f"\\{c:03o}") for c in raw)
    name = prefix + text.encode()
    if "\\" in text:
        name = b'"%s"' % name
    return name + b"\t" if b" " in raw else name


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[bytes]:
    from difflib import SequenceMatcher

    # Common ends are cut off first: the matcher takes quadratic time on many equal lines.
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    start, end = max(0, start - CONTEXT), max(0, end - CONTEXT)
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        (_, i1, _, j1, _), (_, _, i2, _, j2) = group[0], group[-1]
        yield b"@@ -%s +%s @@\n" % (_range(start + i1, i2 - i1), _range(start + j1, j2 - j1))
        for tag, a, b, c, d in group:
            if tag == "equal":
                yield from _marked(b" ", old[a:b])
            else:
                yield from _marked(b"-", old[a:b])
                yield from _marked(b"+", new[c:d])


def _common(old: list[bytes], new: list[bytes]) -> int:
    pairs = enumerate(zip(old, new, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(old), len(new)))


def _range(start: int, length: int) -> bytes:
    if length == 1:
        return b"%d" % (start + 1)
    return b"%d,%d" % (start + 1 if length else start, length)


def _marked(mark: bytes, lines: list[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield mark + line
        if not line.endswith(b"\n"):
            yield b"\n\\ No newline at end of file\n"


def read_regular(path: Path | str, largest: int = LARGEST) -> bytes:
    """Return the content of a regular file; raises Refused for anything else, and never waits."""
    try:
        _check_regular(path, os.stat(path))  # noqa: PTH116 - of a text too
        handle = os.open(path, os.O_RDONLY | NO_WAIT | getattr(os, "O_BINARY", 0))
        with os.fdopen(handle, "rb") as file:
            data = file.read(largest + 1)
    except OSError as error:
        raise Refused(f"{show(path)}: {reason(error)}") from error
    if len(data) > largest:
        raise Refused(f"{show(path)}: larger than {largest // 1024**2} MiB")
    return data


def _check_regular(path: Path | str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = KINDS.get(stat.S_IFMT(status.st_mode), "not a regular file")
        raise Refused(f"{show(path)}: is {kind}")


def reason(error: OSError) -> str:
    """Return what went wrong in a few words, without the path."""
    words = {errno.ENOENT: "does not exist", errno.ELOOP: "is a loop of links"}
    return words.get(error.errno or 0) or error.strerror or str(error)


def check_replaceable(path: Path) -> os.stat_result:
    """Return the status of a regular file that may be replaced; raises Refused where it may not.

    The mode counts for root too, whom the system lets write anywhere.
    """
    folder = path.parent
    try:
        status, above = path.lstat(), folder.stat()
    except OSError as error:
        raise Refused(f"{show(path)}: {reason(error)}") from error
    _check_regular(path, status)
    for place, mode in ((path, status.st_mode), (folder, above.st_mode)):
        if not mode & 0o222:
            raise Refused(f"{show(place)}: is read-only")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise Refused(f"{show(folder)}: no permission to write into this folder")
    if not os.access(path, os.W_OK):
        raise Refused(f"{show(path)}: no permission to write")
    if hasattr(os, "geteuid") and os.geteuid() not in (0, status.st_uid):
        raise Refused(f"{show(path)}: belongs to somebody else, and would become yours")
    return status


def replace_atomically(path: Path, data: bytes, *, expect: bytes) -> None:
    """Put a new file with this content in the place of one whose content is `expect`.

    The old inode keeps its bytes, for it may have other names: uv and conda link installed files
    to their cache. Raises Refused where the file may not be replaced or has other content, and
    CodemodError where the system fails; the file is then as it was.
    """
    old = check_replaceable(path)
    temporary = path.with_name(TEMPORARY + os.urandom(8).hex())
    try:
        _write(temporary, data, path, old)
        if read_regular(path) != expect:
            raise Refused(f"{show(path)}: changed while it was being edited")
        temporary.replace(path)
    except OSError as error:
        raise CodemodError(f"{show(path)}: {reason(error)}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    # The new file is in place, so this is no failure: at worst a crash now brings the old one back.
    with contextlib.suppress(OSError):
        _sync_folder(path.parent)


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


def _write(temporary: Path, data: bytes, like: Path, old: os.stat_result) -> None:
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_FOLLOW, 0o600)
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(handle, rest) :]
        _copy_attributes(handle, like, old)
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
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
