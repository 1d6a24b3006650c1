"""Pins decided by content: a wheel at hand, a clone at hand, or what was fetched for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from codemod.errors import Refused
from codemod.fixes import exact
from codemod.model import Kind
from codemod.pins.model import SourceKind
from codemod.sources.model import Unit
from codemod.sources.urls import archived, repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.pins.model import Pin
    from codemod.sources.model import Held, Settings, Wheel


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """The copies that a pin stands for, and what that was seen from, for people."""

    held: tuple[Held, ...]
    origin: str
    version: str | None = None


def at_hand(pin: Pin, settings: Settings) -> Content | None:
    """What a pin stands for among the wheels and clones that were named.

    Raises Refused where the one that it stands for cannot be read.
    """
    if wheel := _wheel(pin, settings.wheels):
        return Content(held=_in_wheel(wheel.path), origin=wheel.path, version=wheel.version)
    url, ref = _revision(pin)
    for known, folder in settings.repositories:
        if url and known == repository(url):
            return _in_clone(folder, ref or "HEAD")
    return None


def fetched(pin: Pin) -> Content | None:
    """What a pin stands for, from the network; None for what is no single thing.

    Raises Refused where it cannot be fetched.
    """
    url, ref = _revision(pin)
    if url:
        return _from_repository(url, ref or "HEAD")
    if pin.source.kind is SourceKind.ARCHIVE and ".whl" in pin.source.url:
        return _from_index(f"jax @ {pin.source.url}", pin.hashes)
    if pin.source.kind is SourceKind.REGISTRY and exact(pin.specifier):
        return _from_index(f"jax{pin.specifier}", pin.hashes)
    return None


def _revision(pin: Pin) -> tuple[str, str]:
    """The repository and the revision that a pin names; empty where it names none."""
    if pin.source.kind is SourceKind.GIT:
        return pin.source.url, pin.source.ref
    if pin.source.kind is SourceKind.ARCHIVE:
        return archived(pin.source.url) or ("", "")
    return "", ""


def _wheel(pin: Pin, wheels: Sequence[Wheel]) -> Wheel | None:
    """The wheel that an installer would take for a pin if it were offered these.

    A hash in the pin allows only what has it. Of several, the highest version is taken, which a
    local label makes higher (PEP 440).
    """
    allowed = [w for w in wheels if not pin.hashes or f"sha256:{w.sha256}" in pin.hashes]
    if pin.hashes and allowed:
        return allowed[0]
    if pin.source.kind is SourceKind.ARCHIVE:
        name = pin.source.url.partition("#")[0].rpartition("/")[2].replace("%2B", "+")
        return next((w for w in allowed if w.path.rpartition("/")[2] == name), None)
    if not allowed or pin.source.kind is not SourceKind.REGISTRY or not exact(pin.specifier):
        return None
    return _highest(pin.specifier, allowed)


def _highest(specifier: str, wheels: Sequence[Wheel]) -> Wheel | None:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet
    from packaging.version import InvalidVersion, Version

    versions: dict[Version, Wheel] = {}
    for wheel in wheels:
        with suppress(InvalidVersion):  # an installer passes over such a file too
            versions[Version(wheel.version)] = wheel
    try:
        wanted = SpecifierSet(specifier)
    except InvalidSpecifier:
        return None
    fit = [version for version in versions if wanted.contains(version, prereleases=True)]
    return versions[max(fit)] if fit else None


@lru_cache(maxsize=64)
def _in_wheel(path: str) -> tuple[Held, ...]:
    from codemod.sources.archives import in_archive

    return tuple(in_archive(Unit(source=path, kind=Kind.WHEEL, path=path)))


@lru_cache(maxsize=64)
def _in_clone(folder: str, ref: str) -> Content:
    from codemod.sources.git import in_revision, revision

    try:
        tree = revision(folder, ref)
    except Refused:
        if ref == "HEAD":
            raise
        tree = revision(folder, f"origin/{ref}")  # in a clone, others' branches
    origin = f"{folder}@{tree.commit}"
    return Content(held=tuple(in_revision(tree, f"{origin}:")), origin=origin)


@lru_cache(maxsize=64)
def _from_repository(url: str, ref: str) -> Content:
    from codemod.sources.fetching import from_repository

    return Content(held=tuple(from_repository(url, ref)), origin=f"{url}@{ref}")


@lru_cache(maxsize=64)
def _from_index(requirement: str, hashes: tuple[str, ...]) -> Content:
    from codemod.sources.fetching import from_index

    name, digest, held = from_index(requirement)
    if hashes and f"sha256:{digest}" not in hashes:
        raise Refused(f"{name}: has the hash sha256:{digest}, which is none of the pin")
    return Content(held=tuple(held), origin=name, version=name.split("-")[1])
