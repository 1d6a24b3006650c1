"""The commonest calls, answered before click is loaded.

`codemod apply` on files that are fixed: a hook runs it over the same vendored file at every
commit. To load click takes longer than to decide such a file, so where every argument is a
release's file with all patches in it, that is said here, in the very words of the command.
`codemod audit` without any option: the command's own functions, without its options.
"""

from __future__ import annotations

import os
import sys

from codemod import releases

TYPE_CHECKING = False  # as in `releases`
if TYPE_CHECKING:
    from collections.abc import Sequence

NAME = "cloud_tpu_cluster.py"
STEM = "cloud_tpu_cluster."
UNCHECKED = b"\1\0\0\0"  # as in `bytecode`
JOURNAL = ".codemod-journal"  # the note of a run to finish: `journal` is slow to load


def answered(arguments: Sequence[str]) -> bool:
    """Whether the command line was answered, with exit code 0; if not, nothing was printed."""
    command, *files = arguments or [""]
    if command == "audit" and files and not any(file.startswith("-") for file in files):
        return _audited(files)
    known = [releases.known(_content(file)) for file in files]
    good = [found for found in known if found and found.patched and found.fixed]
    if command != "apply" or not files or len(good) < len(files):
        return False
    lines = []
    for file, found in zip(files, good, strict=True):
        lines += [os.path.abspath(file), f"  already      every patch            {found.what}"]  # noqa: PTH100
    copies = "copy" if len(files) == 1 else "copies"
    count = sum(found.fixed for found in good)
    lines.append(f"{len(files)} {copies} of jax; patches: {count} already there\n")
    try:
        sys.stdout.write("\n".join(lines))
        sys.stdout.flush()
    except (OSError, AttributeError):  # the command will tell what is wrong with it
        return False
    return True


def _audited(sources: Sequence[str]) -> bool:
    """Whether an audit was told of, and its exit code given; errors are left to the command."""
    from codemod.audit import audit
    from codemod.errors import CodemodError
    from codemod.report.audit_text import to_text
    from codemod.sources.model import Settings

    try:
        found = audit(sources, Settings())
        text = to_text(found).encode(sys.stdout.encoding, "backslashreplace")
        sys.stdout.buffer.write(text)
        sys.stdout.flush()
    except (CodemodError, OSError, AttributeError):
        return False
    except KeyboardInterrupt:
        sys.stderr.write("codemod: interrupted\n")
        sys.exit(130)  # 128 + SIGINT
    if found.exit_code:
        sys.exit(int(found.exit_code))
    return True


def _content(path: str) -> bytes:
    """The content of a regular file of the well-known name; nothing where the command may differ.

    Such are options, links, and names that it shows in another way than they are written.
    """
    name = os.path.basename(path)  # noqa: PTH119
    plain = path.isascii() and path.isprintable() and ".." not in path and path[:1] != "-"
    if name != NAME or not plain or os.path.islink(path) or not os.path.isfile(path):  # noqa: PTH113, PTH114
        return b""
    folder = os.path.dirname(path)  # noqa: PTH120
    if os.path.lexists(os.path.join(folder, JOURNAL)) or _has_unchecked(folder):  # noqa: PTH118
        return b""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to load
            return file.read(releases.LARGEST)
    except OSError:
        return b""


def _has_unchecked(folder: str) -> bool:
    """Whether Python may run bytecode of the file without a look at it: the command decides."""
    if "PYTHONPYCACHEPREFIX" in os.environ:
        return True
    below = os.path.join(folder, "__pycache__")  # noqa: PTH118
    try:
        names = [name for name in os.listdir(below) if name.startswith(STEM)]  # noqa: PTH208
        for name in names:
            with open(os.path.join(below, name), "rb") as file:  # noqa: PTH118, PTH123
                if file.read(8)[4:] == UNCHECKED:
                    return True
    except OSError:  # there is no such folder, as a rule; of the rest, the command tells
        return os.path.lexists(below)
    return False
