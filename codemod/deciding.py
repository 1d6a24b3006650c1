"""A pin by what it says: versions by the table of releases, in the order of PEP 440."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from codemod import releases
from codemod.model import Evidence, Finding, Reason, Status
from codemod.pins.model import SourceKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packaging.version import Version

    from codemod.pins.model import Pin

FAR = "99999"  # a version that no release will have: whether a range has an end
OPEN = {
    SourceKind.GIT: "the commit decides, not a version",
    SourceKind.ARCHIVE: "the archive decides, not a version",
    SourceKind.PATH: "what lies there decides",
    SourceKind.IMAGE: "the image {} decides: it holds some jax",
}
REASONS = {
    Status.AFFECTED: Reason.UNGUARDED,
    Status.FIXED: Reason.UPSTREAM,
    Status.NOT_AFFECTED: Reason.OLDER_RELEASE,
}


def decide(pin: Pin, patch_ids: Sequence[str]) -> dict[str, Finding]:
    """What a pin says of each patch that the table of releases knows."""
    known = [name for name in patch_ids if name in releases.patch_ids()]
    if pin.unsure:
        return {name: _open(pin, Reason.UNPINNED, pin.unsure) for name in known}
    version = _version(pin)
    if pin.source.kind is not SourceKind.REGISTRY and version is None:
        reason = Reason.MOVING_REF if pin.source.moving else Reason.NO_SOURCE
        decides = OPEN[pin.source.kind].format(pin.source.url)
        return {name: _open(pin, reason, decides) for name in known}
    if version is not None:
        return {name: _exact(pin, version, name) for name in known}
    return {name: _range(pin, name) for name in known}


def wheel_version(sha256: str) -> str | None:
    """The release that a wheel or sdist with this hash is of, if the table has it."""
    return releases.of_archive(sha256)


def _version(pin: Pin) -> str | None:
    """The one version that a pin stands for: by a known hash, a wheel's name, or `==`."""
    for digest in pin.hashes:
        if found := wheel_version(digest.removeprefix("sha256:")):  # the bytes, not the name
            return found
    if pin.source.kind is SourceKind.ARCHIVE:
        wheel = re.search(r"/jax-([^/-]+)-[^/]+\.whl$", pin.source.url)
        return wheel[1].replace("%2B", "+") if wheel else None
    single = re.fullmatch(r"={2,3}\s*([^,*\s]+)", pin.specifier)
    return single[1] if pin.source.kind is SourceKind.REGISTRY and single else None


def _open(pin: Pin, reason: Reason, text: str) -> Finding:
    evidence = (Evidence(line=pin.line, text=text),)
    return Finding(status=Status.UNDER_INVESTIGATION, reason=reason, evidence=evidence)


def _exact(pin: Pin, text: str, patch: str) -> Finding:
    from packaging.version import InvalidVersion, Version

    try:
        version = Version(text)
    except InvalidVersion:
        return _open(pin, Reason.NO_SOURCE, f"{text} is no version")
    if version.local:
        return _open(pin, Reason.NO_SOURCE, f"+{version.local} says who built it, not what it has")
    table = _table()
    if version in table:
        return _settled(pin, table[version][patch], f"the file of jax {version}")
    below = max((v for v in table if v < version), default=None)
    above = min((v for v in table if v > version), default=None)
    if above is None:
        why = f"{version} is newer than the table of releases, which ends with {below}"
        return _open(pin, Reason.NEWER_THAN_KNOWN, why)
    if below is None:
        return _settled(pin, table[above][patch], f"older than jax {above}")
    if table[below][patch] == table[above][patch]:
        return _settled(pin, table[below][patch], f"jax {below} and {above} are both so")
    return _open(pin, Reason.NO_SOURCE, f"between jax {below} and {above}, which differ")


def _settled(pin: Pin, status: str, text: str) -> Finding:
    found = Status(status)
    evidence = (Evidence(line=pin.line, text=text),)
    return Finding(status=found, reason=REASONS[found], evidence=evidence)


def _range(pin: Pin, patch: str) -> Finding:
    """What holds for all known releases of a range, or which part of it is affected."""
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    if not pin.specifier:
        return _open(pin, Reason.UNPINNED, "any version may be taken")
    try:
        wanted = SpecifierSet(pin.specifier)
    except InvalidSpecifier:
        return _open(pin, Reason.RANGE, f"{pin.specifier} is not understood")
    fit = [version for version in _table() if wanted.contains(version)]
    found = {_table()[version][patch] for version in fit}
    floats = wanted.contains(FAR)
    if len(found) == 1:
        span = f"all of jax {fit[0]} to {fit[-1]}"
        settled = _settled(pin, found.pop(), span + (" and whatever is newer" if floats else ""))
        return settled.because(Reason.RANGE) if floats else settled
    affected = [str(v) for v in fit if _table()[v][patch] == Status.AFFECTED]
    span = f"{affected[0]} to {affected[-1]}" if affected else "none that is known"
    return _open(pin, Reason.RANGE, f"affected of what it allows: {span}")


@lru_cache(maxsize=1)
def _table() -> dict[Version, dict[str, str]]:
    """The known releases in the order of their versions, with the status for each patch."""
    from packaging.version import Version

    table = {Version(name): found for name, found in releases.statuses().items()}
    return dict(sorted(table.items()))
