"""Ways to get rid of a finding, as commands where there is one; the jax keeps its version."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from codemod.model import Kind, Reason, Status

if TYPE_CHECKING:
    from codemod.model import Finding
    from codemod.sources.model import Unit

LABEL = "skipmds.1"  # what `codemod wheel` adds to a version

LOOK = {
    Reason.LFS_POINTER: "git lfs pull, and audit again",
    Reason.DRIFTED: "read the line: no other code can tell whether it asks",
    Reason.UNPARSABLE: "look at the file: Python does not read it",
    Reason.NO_SOURCE: "make the file readable, and audit again",
}


def of_copy(unit: Unit, file: str, finding: Finding) -> tuple[str, ...]:
    """What to do about a finding in a copy; nothing where there is nothing to do."""
    if finding.status is Status.UNDER_INVESTIGATION:
        return (LOOK[finding.reason],) if finding.reason in LOOK else ()
    if finding.status is not Status.AFFECTED:
        return ()
    path = quote(unit.path)
    return {
        Kind.ENVIRONMENT: (f"codemod apply {quote(unit.source)}",),
        Kind.WHEEL: (f"codemod wheel {path}",),
        Kind.SDIST: (f"codemod wheel {path}",),
        Kind.GIT: (f"check {unit.revision} of {path} out, then codemod apply there, and commit",),
        Kind.IMAGE: (
            "in its Dockerfile, after jax is installed: RUN codemod apply "
            + quote("/" + file.partition("!/")[2]),
        ),
    }.get(unit.kind, (f"codemod apply {quote(file)}",))
