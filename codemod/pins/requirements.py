"""Requirements and constraints files of pip: logical lines, and each that names jax."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

from codemod.pins.model import Follow, Pin, Pins, Source, SourceKind, Unread

if TYPE_CHECKING:
    from collections.abc import Iterator

BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
COOKIE = rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)"
COMMENT = r"(?:^|[ \t]+)#.*$"
FOLLOWED = r"(?:-r|-c|--requirement|--constraint)(?:[ \t]*=[ \t]*|[ \t]*)(\S+)"
EDITABLE = r"(?:-e|--editable)(?:[ \t]*=[ \t]*|[ \t]+)"
OPTIONS = r"[ \t]+--(hash|config-settings?|global-option|install-option)[= \t]+(\S+)"
COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"
NAMES_JAX = r"(?i)(?:^|[/=@ \t])jax(?:$|[^a-z0-9_-]|-[0-9])"


def collect(data: bytes) -> Pins:
    """The pins of a file. A line that may be one and is not understood is told, no other lost."""
    try:
        text = _decoded(data)
    except (UnicodeDecodeError, LookupError) as error:
        return Pins(unread=(Unread(line=None, why=f"cannot be decoded: {error}"),))
    found = [one for number, line in _logical(text) for one in _read(number, line)]
    return Pins(
        rows=tuple(one for one in found if isinstance(one, Pin)),
        unread=tuple(one for one in found if isinstance(one, Unread)),
        follows=tuple(one for one in found if isinstance(one, Follow)),
    )


def _decoded(data: bytes) -> str:
    """As pip does it: a byte order mark, a coding comment in the first two lines, else UTF-8."""
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return data.decode(encoding)
    for line in data.split(b"\n")[:2]:
        if cookie := re.match(COOKIE, line):
            return data.decode(cookie[1].decode())
    return data.decode("utf-8")


def _logical(text: str) -> Iterator[tuple[int, str]]:
    """The lines without comments, those that go on after a backslash as one, with its number."""
    start, whole = 1, ""
    for number, line in _lines(text):
        start = start if whole else number
        comment = line.lstrip().startswith("#")
        if line.endswith("\\") and not comment:
            whole += line[:-1] + " "
            continue
        told = re.sub(COMMENT, "", whole + (" " if comment else "") + line).strip()
        whole = ""
        if told:
            yield start, told
    if whole.strip():
        yield start, whole.strip()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that pip sees, which ends some at other characters, as an editor counts them."""
    number = 1
    for line in text.splitlines(keepends=True):
        (bare,) = line.splitlines()
        yield number, bare
        number += line.endswith(("\n", "\r"))


def _read(number: int, line: str) -> Iterator[Pin | Unread | Follow]:
    if found := re.fullmatch(FOLLOWED, line):
        yield Follow(line=number, target=found[1])
        return
    bare = re.sub(EDITABLE, "", line, count=1) if re.match(EDITABLE, line) else line
    if bare.startswith("-") or not re.search(NAMES_JAX, bare.strip("\"'")):
        return
    hashes = tuple(value for name, value in re.findall(OPTIONS, bare) if name == "hash")
    bare = re.sub(OPTIONS, "", bare).strip()
    bare, _, odd = bare.partition(" --")
    if odd:
        yield Unread(line=number, why=f"--{odd} is no option of a line")
    pin = _pin(number, " ".join(line.split()), bare.strip().strip("\"'"), hashes)
    if pin is not None:
        yield pin


def _pin(number: int, text: str, bare: str, hashes: tuple[str, ...]) -> Pin | Unread | None:
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    if re.match(r"(?:[a-z]+\+)?[a-z]+://", bare):
        return _by_url(number, text, bare, hashes)
    try:
        wanted = Requirement(bare)
    except InvalidRequirement as error:
        return Unread(line=number, why=f"not a requirement: {str(error).splitlines()[0]}")
    named = canonicalize_name(wanted.name) == "jax"
    source = _source(wanted.url) if wanted.url else Source()
    if not named and not _is_jax(source):
        return None
    return Pin(
        line=number,
        text=text,
        specifier=str(wanted.specifier),
        source=source,
        hashes=hashes,
        marker=str(wanted.marker or ""),
        remark="" if named else f"the name {wanted.name} and the URL disagree",
    )


def _by_url(number: int, text: str, url: str, hashes: tuple[str, ...]) -> Pin | None:
    source = _source(url)
    egg = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", url)
    is_jax = egg[1].lower() == "jax" if egg else _is_jax(source)
    return Pin(line=number, text=text, source=source, hashes=hashes) if is_jax else None


def _is_jax(source: Source) -> bool:
    """Whether a URL is of a repository that is called jax, or of a wheel or archive of it."""
    plain = source.url.partition("#")[0].lower().removesuffix(".git")
    return re.search(r"/jax(?:$|/(?:archive|tarball|zipball|zip)/|-[0-9][^/]*$)", plain) is not None


def _source(url: str) -> Source:
    plain = url.partition("#")[0]
    if plain.startswith("file:"):
        return Source(kind=SourceKind.PATH, url=plain)
    if not plain.startswith("git+"):
        return Source(kind=SourceKind.ARCHIVE, url=plain)
    head, _, last = plain.rpartition("/")
    name, _, ref = last.partition("@")
    moving = re.fullmatch(COMMIT, ref) is None
    return Source(kind=SourceKind.GIT, url=f"{head}/{name}", ref=ref, moving=moving)
