"""The table of known releases: what a copy is by its bytes alone, without parsing it.

Most copies that are looked at are not in the table, or fixed already: neither may cost much, so
the table is searched as text, and only the family that is found in it is parsed.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # `typing` itself takes longer to load than this module to decide
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Literal

    from codemod.model import Evidence, Finding

    How = Literal["exact", "newlines", "lfs"]
    Row = dict[str, Any]  # a family as the table has it

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - pathlib is slow to load
LARGEST = 1 << 20  # bytes that are worth reading: every file in the table is far smaller
FAMILY = b"\n[[family]]\n"


class Known:
    """A file that is a release's, as it is or with all patches of the tool applied.

    `how` tells what was recognised: the bytes themselves, the bytes but for CRLF in place of
    LF, or a Git LFS pointer to them.
    """

    # No dataclass: to load those takes longer than all that is done here.
    __slots__ = ("_block", "_row", "how", "patched")

    def __init__(self, block: bytes, *, patched: bool, how: How) -> None:
        self._block = block
        self._row: Row = {}
        self.patched = patched
        self.how = how

    @property
    def family(self) -> str:
        """The name of the family of releases that have this file."""
        return str(self._parsed()["name"])

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that have this file, oldest first."""
        line = self._block.partition(b"\nreleases = ")[2].partition(b"\n")[0]
        return tuple(line.decode().split('"')[1::2])

    @property
    def what(self) -> str:
        """The file in words."""
        first, *_, last = self.releases * 2
        span = first if first == last else f"{first} to {last}"
        return f"the file of jax {span}{' with all patches' if self.patched else ''}"

    @property
    def fixed(self) -> int:
        """The number of patches that find it fixed, 0 where one of the tool's finds else."""
        part = b"[family.after]\n" if self.patched else b"[family.before]\n"
        rows = self._block.partition(part)[2].partition(b"\n[")[0].strip().splitlines()
        return len(rows) if all(b' = {status = "fixed",' in row for row in rows) else 0

    def _parsed(self) -> Row:
        if not self._row:
            import tomllib

            self._row = tomllib.loads(self._block.decode())["family"][0]
        return self._row

    def finding(self, patch_id: str) -> Finding | None:
        """What the probe of a patch says of the file; None for a patch that is not the tool's."""
        seen: dict[str, Row] = self._parsed()["after" if self.patched else "before"]
        if patch_id not in seen:
            return None
        from codemod.model import Finding, Guard, Reason, Status

        row = seen[patch_id]
        return Finding(
            status=Status(row["status"]),
            reason=Reason(row["reason"]),
            evidence=self._evidence(row),
            guard=Guard(row["guard"]) if "guard" in row else None,
        )

    def edited(self, source: bytes) -> dict[str, bytes]:
        """The file after each patch that it needs, by id and in their order; empty where it is
        not known to the byte, or where the result is not the one that the table was made with.
        """
        stages: dict[str, bytes] = {}
        for patch_id, hunks in self._parsed().get("edits", {}).items():
            source = _with_hunks(source, hunks)
            stages[patch_id] = source
        right = stages and self.how == "exact" and not self.patched and _by_bytes(source, "exact")
        return stages if right and right.patched and right.family == self.family else {}

    def _evidence(self, row: Row) -> tuple[Evidence, ...]:
        """What a person can check in the file, which may be a pointer with lines of its own."""
        from codemod.model import Evidence

        if self.how == "lfs":
            return (Evidence(line=2, text=f"the oid is that of {self.what}"),)
        found = (Evidence(line=row["line"], text=row["text"]),) if "line" in row else ()
        if self.how == "newlines":
            return (*found, Evidence(line=1, text=f"{self.what}, but for CRLF at ends of lines"))
        return found


def findings(source: bytes, patch_ids: Iterable[str]) -> dict[str, Finding]:
    """The findings that the table holds for a file of these bytes, by id of the patch.

    A patch that is not in the answer is to be decided by content. Each finding is of the bytes
    as they are given: where one patch is about to change them, those after it see others.
    """
    copy = known(source)
    if copy is None:
        return {}
    found = ((patch_id, copy.finding(patch_id)) for patch_id in patch_ids)
    return {patch_id: finding for patch_id, finding in found if finding is not None}


def known(source: bytes) -> Known | None:
    """What a file of these bytes is, if the table has it."""
    if source.startswith(b"version "):  # which no Python source does
        return _behind_pointer(source)
    if copy := _by_bytes(source, "exact"):
        return copy
    return _by_bytes(source.replace(b"\r\n", b"\n"), "newlines") if b"\r\n" in source else None


def needing(patch_id: str) -> list[tuple[str, tuple[str, ...]]]:
    """The families that need a patch, oldest first: the name of each and its releases."""
    import tomllib

    families = tomllib.loads(_text().decode())["family"]
    return [(f["name"], tuple(f["releases"])) for f in families if patch_id in f["needs"]]


def of_archive(sha256: str) -> str | None:
    """The release of a wheel or sdist with this hash, in hexadecimal; None for any other."""
    row = b' = "%s"\n' % sha256.lower().encode(errors="replace")
    head = _text().partition(FAMILY)[0]
    at = head.find(row) if len(sha256) == 64 and sha256.isalnum() else -1
    return head[head.rindex(b"\n", 0, at) + 2 : at - 1].decode() if at >= 0 else None


def patch_ids() -> tuple[str, ...]:
    """The ids of the patches that the table knows, in the order in which they apply."""
    rows = _text().partition(b"[family.before]\n")[2].partition(b"\n\n")[0]
    return tuple(row.partition(b" = ")[0].decode() for row in rows.splitlines())


def statuses() -> dict[str, dict[str, str]]:
    """All releases of the table, oldest first, and the status of each for each patch."""
    if not _statuses:
        import tomllib

        for family in tomllib.loads(_text().decode())["family"]:
            found = {patch: str(row["status"]) for patch, row in family["before"].items()}
            _statuses.update(dict.fromkeys(family["releases"], found))
    return _statuses


def newest() -> str:
    """The newest release that the table has, in the order of PEP 440."""
    import tomllib

    head = _text().partition(b"\n[")[0]
    return str(tomllib.loads(head.decode())["newest"])


def is_newer(version: str) -> bool:
    """Whether a version is one that came after the table was made; not, where it is no version."""
    if b'"%s"' % version.encode(errors="replace") in _text():
        return False  # without the slow import
    from packaging.version import Version

    try:
        public = Version(version).public  # a local label is ours, or that of a fork
    except ValueError:
        return False
    return Version(public) > Version(newest())


def _by_bytes(data: bytes, how: How) -> Known | None:
    size = b"%d" % len(data)
    if b"size = %s\n" % size not in _text():  # OpenSSL is slow to load
        return None
    from hashlib import sha256

    return _by_digest(sha256(data).hexdigest().encode(), size, how)


def _with_hunks(source: bytes, hunks: list[list[Any]]) -> bytes:
    """Put lines in place of others: of each hunk the first line, their number, and the new ones."""
    lines = source.splitlines(keepends=True)
    for first, count, new in reversed(hunks):
        lines[first - 1 : first - 1 + count] = [line.encode() + b"\n" for line in new]
    return b"".join(lines)


def _behind_pointer(source: bytes) -> Known | None:
    """The file that a Git LFS pointer stands for.

    One with extensions is no such: they change the file between the pointer and the checkout.
    """
    from codemod.textfile import LFS

    lines = source.splitlines()
    if len(lines) != 3 or lines[0] != LFS:
        return None
    (oid_key, _, oid), (size_key, _, size) = (line.partition(b" ") for line in lines[1:])
    kind, _, digest = oid.partition(b":")
    if (oid_key, kind, size_key) != (b"oid", b"sha256", b"size"):
        return None
    return _by_digest(digest, size, "lfs")


def _by_digest(digest: bytes, size: bytes, how: How) -> Known | None:
    """A release's own file before a patched one: upstream may come to the very bytes of ours."""
    for prefix in (b"", b"patched_"):
        at = _text().find(b'\n%ssha256 = "%s"\n' % (prefix, digest))
        if at >= 0:
            block = _block_at(at)
            if b"\n%ssize = %s\n" % (prefix, size) in block:
                return Known(block, patched=bool(prefix), how=how)
    return None


def _block_at(place: int) -> bytes:
    """The family that the text has there: `[[family]]` and all up to the next one."""
    start, end = _text().rindex(FAMILY, 0, place), _text().find(FAMILY, place)
    return _text()[start:] if end < 0 else _text()[start:end]


def builtin_folder() -> str:
    """The folder of the patches that come with the tool: in the package, else in the checkout."""
    inside = os.path.join(HERE, "patches")  # noqa: PTH118
    beside = os.path.join(os.path.dirname(HERE), "patches")  # noqa: PTH118, PTH120
    return inside if os.path.isdir(inside) else beside  # noqa: PTH112


_statuses: dict[str, dict[str, str]] = {}
_read: list[bytes] = []  # the table, once it was needed


def _text() -> bytes:
    if not _read:
        with open(os.path.join(builtin_folder(), "releases.toml"), "rb") as file:  # noqa: PTH118, PTH123
            _read.append(file.read())
    return _read[0]
