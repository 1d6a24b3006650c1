"""Environments and locks of conda: environment.yml, conda-lock.yml and lists of `@EXPLICIT`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codemod.pins import tables
from codemod.pins.model import Pin, Source
from codemod.pins.nodes import Node, collected, lines, yaml
from codemod.pins.requirement import source_of
from codemod.pins.requirements import of_line
from codemod.pins.versions import of_conda

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from codemod.pins.model import Follow, Pins, Unread

# channel::name, then a version with or without an operator, then a build.
SPECIFICATION = re.compile(
    r"(?:[^\s\[=<>!~]*::)?(?P<name>[A-Za-z0-9_.-]+)"
    r"(?P<rest>\s*[=<>!~|*0-9][^\[]*)?\s*(?:\[(?P<inside>[^\]]*)\])?",
)
PACKAGE = re.compile(r"[/\\]jax-(?P<version>[^-/\\]+)-[^-/\\]+\.(?:conda|tar\.bz2)$")


def collect(data: bytes) -> Pins:
    """The packages called jax, those that pip installs too."""
    if b"@EXPLICIT" in data.replace(b"\0", b""):
        return collected(data, lines, _explicit)
    return collected(data, yaml, _read)


def _read(root: Node) -> Iterator[Pin | Unread | Follow | None]:
    for document in root.array():
        yield from _locked(document.at("package"))
        for one in document.at("dependencies").array():
            yield from _wanted(one)


def _wanted(one: Node) -> Iterator[Pin | Unread | Follow | None]:
    """A dependency, or a table of others: by pip, or for a platform (`sel(linux)`)."""
    if text := one.text():
        yield specified(text, one)
        return
    for key, value in one.table().items():
        for each in value.several():
            if key == "pip":
                yield from of_line(each.line, each.text())
            else:
                yield specified(each.text(), each, marker=key)


def specified(text: str, at: Node, *, marker: str = "") -> Pin | None:
    """The pin that a match specification is; None where it is not of jax."""
    match = SPECIFICATION.fullmatch(text)
    if match is None or not tables.named(match["name"]):
        return None
    inside = re.search(r"version\s*=\s*([\"']?)(.+?)\1\s*(?:,\s*\w+\s*=|$)", match["inside"] or "")
    version = inside[2] if inside else _version(match["rest"] or "")
    specifier = of_conda(version)
    return Pin(
        line=at.line,
        text=text,
        specifier=specifier or "",
        marker=marker,
        unsure=f"{version} is not understood" if specifier is None else "",
    )


def _version(rest: str) -> str:
    """The version before a build, if there is one; with a build it is the whole version."""
    bare = re.sub(r"\s*([=<>!~,|]+)\s*", r"\1", rest.strip()).partition(" ")[0]
    built = re.fullmatch(r"={1,2}([^=<>,|]+)=[^=]+", bare)
    return built[1] if built else bare


def _locked(packages: Node) -> Iterator[Pin | None]:
    """A package is written once for each platform, and is one pin where all of that is the same."""
    seen: set[tuple[str, str]] = set()
    for package in packages.array():
        name, version, url = (package.at(key) for key in ("name", "version", "url"))
        identity = (version.text(), url.text())
        if tables.named(name.text()) and identity not in seen:
            seen.add(identity)
            yield by_url(name.text(), name, url, version)


def by_url(label: str, at: Node, url: Node, version: Node) -> Pin | None:
    """The pin of a package that a lock file names with a URL; a version that it names decides."""
    found = packaged(url.text())
    place = Source() if found or not url.there else source_of(url.text())
    shown = Node(found or version.text() or None, at.line, at.document)
    return tables.pin(label, at, place, version, specifier=tables.exact(shown))


def packaged(url: str) -> str | None:
    """The version in the name of a package of conda, if it is one of jax."""
    match = PACKAGE.search(url.partition("#")[0])
    return match["version"] if match else None


def _explicit(root: Node) -> Iterable[Pin | None]:
    for line in root.array():
        if version := packaged(line.text()):
            yield Pin(line=line.line, text=line.text(), specifier=f"=={version}")
