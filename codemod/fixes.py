"""Ways to get rid of a finding, as commands where there is one; the jax keeps its version."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from codemod.model import Kind, Reason, Status

if TYPE_CHECKING:
    from codemod.bybytes import Content
    from codemod.model import Finding
    from codemod.pins.model import Pin
    from codemod.sources.model import Unit

LABEL = "skipmds.1"  # what `codemod wheel` adds to a version

LOOK = {
    Reason.LFS_POINTER: "git lfs pull, and audit again",
    Reason.DRIFTED: "read the line: no other code can tell whether it asks",
    Reason.UNPARSABLE: "look at the file: Python does not read it",
    Reason.NO_SOURCE: "make the file readable, and audit again",
}


def of_pin(pin: Pin, finding: Finding, content: Content | None) -> tuple[str, ...]:
    """What to do about a finding in a pin: patch the same version, or make it decidable."""
    if finding.status is Status.AFFECTED:
        return _patched(pin, content)
    if finding.status is not Status.UNDER_INVESTIGATION:
        return ()
    if content is not None:
        return (LOOK[finding.reason],) if finding.reason in LOOK else ()
    return _decided(pin)


def _patched(pin: Pin, content: Content | None) -> tuple[str, ...]:
    from codemod.pins.model import SourceKind

    version = (content and content.version) or exact(pin.specifier)
    if pin.source.kind is SourceKind.GIT:
        return (f"in a clone of {pin.source.url}: codemod apply, commit, and pin that commit",)
    if version is None:
        return (
            "pin one version, patched: codemod wheel jax==VERSION -o wheels --requirements FILE",
        )
    public = version.partition("+")[0]
    made = f"codemod wheel jax=={public} -o wheels --requirements patched.txt"
    ways = [f"{made}, and pin jax=={public}+{LABEL} from there"]
    if pin.hashes:
        ways.append("take its --hash from patched.txt too: under the old one pip and uv refuse it")
    return (*ways, "leave the pin, and after each install: codemod apply ENVIRONMENT")


def _decided(pin: Pin) -> tuple[str, ...]:
    """What would decide a pin that does not say enough."""
    from codemod.pins.model import SourceKind

    url = pin.source.url
    if pin.source.kind is SourceKind.GIT and not url:
        return (f"in a clone of the repository: codemod audit git:.@{quote(pin.source.ref)}",)
    if pin.source.kind is SourceKind.GIT:
        return (f"codemod audit --git {quote(url)}=CLONE, or --fetch",)
    if pin.source.kind is SourceKind.ARCHIVE:
        return ("codemod audit --wheels DIR with this file in DIR, or --fetch",)
    if pin.source.kind is SourceKind.PATH:
        return (f"codemod audit {quote(url)}",) if url else ("audit that folder",)
    if pin.source.kind is SourceKind.IMAGE:
        return (f"docker save {quote(url)} -o image.tar, and codemod audit image.tar",)
    if exact(pin.specifier):
        return ("codemod audit --wheels DIR with the wheel in DIR, or --fetch",)
    return ("pin one version, or audit the lock file or the environment that comes of it",)


def exact(specifier: str) -> str | None:
    """The version that a specifier set asks for, if it is a single one."""
    version = specifier.lstrip("=").strip()
    single = specifier.startswith("==") and "," not in specifier and "*" not in specifier
    return version if single else None


def of_copy(unit: Unit, file: str, finding: Finding) -> tuple[str, ...]:
    """What to do about a finding in a copy; nothing where there is nothing to do."""
    if finding.status is Status.UNDER_INVESTIGATION:
        return (LOOK[finding.reason],) if finding.reason in LOOK else ()
    if finding.status is not Status.AFFECTED:
        return ()
    if unit.kind is Kind.ENVIRONMENT:
        return (f"codemod apply {quote(unit.source)}",)
    if unit.kind in (Kind.WHEEL, Kind.SDIST):
        return (f"codemod wheel {quote(unit.path)}",)
    if unit.kind is Kind.GIT:
        revision = f"{unit.revision} of {quote(unit.path)}"
        return (f"check {revision} out, codemod apply there, commit, and use that commit",)
    if unit.kind is Kind.IMAGE:
        path = quote("/" + file.rpartition("!/")[2])
        return (f"in its Dockerfile, after jax is installed: RUN codemod apply {path}",)
    return (f"codemod apply {quote(file)}",)
