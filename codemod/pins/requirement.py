"""One requirement (PEP 508) or bare URL, as many kinds of pin files hold them."""

from __future__ import annotations

import re

from codemod.pins.model import Pin, Source, SourceKind, Unread

COMMIT = r"[0-9a-f]{40}|[0-9a-f]{64}"


def read(
    line: int, bare: str, *, hashes: tuple[str, ...] = (), shown: str = ""
) -> Pin | Unread | None:
    """The pin that a requirement or a bare URL is; None where it is not of jax.

    `shown` is the text as its file has it, where that differs from the requirement.
    """
    from packaging.requirements import InvalidRequirement, Requirement
    from packaging.utils import canonicalize_name

    text = " ".join((shown or bare).split())
    if re.match(r"(?:[a-z]+\+)?[a-z]+://", bare):
        return _by_url(line, text, bare, hashes)
    try:
        wanted = Requirement(bare)
    except InvalidRequirement as error:
        return Unread(line=line, why=f"not a requirement: {str(error).splitlines()[0]}")
    named = canonicalize_name(wanted.name) == "jax"
    source = source_of(wanted.url) if wanted.url else Source()
    if not named and not is_jax(source):
        return None
    return Pin(
        line=line,
        text=text,
        specifier=str(wanted.specifier),
        source=source,
        hashes=hashes,
        marker=str(wanted.marker or ""),
        remark="" if named else f"the name {wanted.name} and the URL disagree",
    )


def _by_url(line: int, text: str, url: str, hashes: tuple[str, ...]) -> Pin | None:
    from packaging.utils import canonicalize_name

    source = source_of(url)
    egg = re.search(r"[#&]egg=([A-Za-z0-9._-]+)", url)
    named = canonicalize_name(egg[1]) == "jax" if egg else is_jax(source)
    return Pin(line=line, text=text, source=source, hashes=hashes) if named else None


def is_jax(source: Source) -> bool:
    """Whether a URL is of a repository that is called jax, or of a wheel or archive of it."""
    plain = source.url.partition("#")[0].lower().removesuffix(".git")
    return re.search(r"/jax(?:$|/(?:archive|tarball|zipball|zip)/|-[0-9][^/]*$)", plain) is not None


def source_of(url: str) -> Source:
    """The place that a URL of a requirement names: `git+` with `@ref`, `file:`, else an archive."""
    plain = url.partition("#")[0]
    if plain.startswith("file:"):
        return Source(kind=SourceKind.PATH, url=plain)
    if not plain.startswith("git+"):
        return Source(kind=SourceKind.ARCHIVE, url=plain)
    head, _, last = plain.rpartition("/")
    name, _, ref = last.partition("@")
    moving = re.fullmatch(COMMIT, ref) is None
    return Source(kind=SourceKind.GIT, url=f"{head}/{name}", ref=ref, moving=moving)
