"""What a finding means and all ways to get rid of it, for who met it in somebody else's CI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.errors import UsageError
from codemod.model import Reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.model import Patch

WAYS = """\
No release of jax has all of this, so a newer version is no way out. In the version that you have:

- an environment or a container: `codemod apply PATH`, and in a Dockerfile after jax is installed
- a vendored tree or a fork: `codemod apply PATH`, commit, and pin that commit
- a pinned release: `codemod wheel jax==VERSION -o wheels --requirements patched.txt`, serve the
  folder to pip or uv (`--find-links wheels`), and pin VERSION+skipmds.1 with its new hash
- a range, a branch or a tag: pin one version or one whole commit first, then as above

`codemod verify PATH` runs the copy and proves that nothing is asked any more. Who does not set
TPU_SKIP_MDS_QUERY, or always runs with access to the metadata server, does not meet the bug.
"""

REASONS = {
    Reason.UNGUARDED: "With TPU_SKIP_MDS_QUERY set, this code asks Google's metadata server.",
    Reason.PATCHED: "The guard of this tool is in place. Nothing is to be done.",
    Reason.UPSTREAM: "An equivalent guard in other words is in place. Nothing is to be done.",
    Reason.NO_SUCH_CODE: "The file has no such code, so it has no such bug.",
    Reason.STUB: "The function is there, and holds no code of its own that could ask.",
    Reason.OLDER_RELEASE: "The release is from before the code came, 0.4.21.",
    Reason.DRIFTED: "The code is there in a shape that cannot be proved: read the line that is\n"
    "named, or run the copy with `codemod verify`.",
    Reason.UNPARSABLE: "Python cannot read the file, so nothing is known of it.",
    Reason.NO_SOURCE: "The file is empty or could not be read: make it readable, audit again.",
    Reason.LFS_POINTER: "A Git LFS pointer stands for the file: run `git lfs pull`, audit again.",
    Reason.UNPINNED: "Any version may be taken: pin one, in a lock file, and audit that.",
    Reason.RANGE: "The range allows several versions, and not all of them have the same status.\n"
    "Audit the lock file or the environment that comes of it, or pin one version.",
    Reason.MOVING_REF: "A branch, a tag or a short commit may stand for other code tomorrow: pin\n"
    "a whole commit, or name a clone with `--git URL=DIR`, or let `--fetch` get the one file.",
    Reason.NEWER_THAN_KNOWN: "The version is newer than this tool's table of releases: update\n"
    "jax-codemod, or audit the wheel or the environment itself, which decides by its code.",
}


def explain(word: str, patches: Sequence[Patch]) -> str:
    """What the id of a patch or a reason means; raises UsageError for any other word."""
    for patch in patches:
        if patch.id == word:
            return f"{about(patch)}\n{WAYS}"
    if word in list(Reason):
        return f"{word}\n\n{REASONS[Reason(word)]}\n"
    known = ", ".join([*(patch.id for patch in patches), *map(str, Reason)])
    raise UsageError(f"nothing is called {word!r}; there are {known}")


def about(patch: Patch) -> str:
    """What a patch is for, in a few lines."""
    return (
        f"{patch.id}: {patch.title}\n\n"
        f"Affected: jax {patch.releases}. Upstream has the fix in: "
        f"{patch.fixed_upstream_in or 'no release yet'}.\nBug: {patch.bug}\n"
    )
