"""Which files of an archive, an image or a revision are a copy of jax: the same rule for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.locate import NAME, TRACES
from codemod.sources.model import Held, Part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

CLUSTERS = "_src/clusters"


def is_part(name: str) -> bool:
    """Whether a file, by its path with slashes, may belong to a copy."""
    folder, _, file = name.rpartition("/")
    return file.endswith(".py") and (folder == CLUSTERS or folder.endswith("/" + CLUSTERS))


def copies(
    parts: Mapping[str, bytes | str], version: Callable[[str], str | None], prefix: str
) -> Iterable[Held]:
    """The copies among files by path; instead of bytes there may be why they are missing.

    `version` is asked for what a jax says that it is, with the folder of its package. `prefix`
    is what comes before the path where a person is told of it.
    """
    folders: dict[str, list[str]] = {}
    for name in sorted(parts):
        folders.setdefault(name.rpartition("/")[0], []).append(name)
    for folder, names in folders.items():
        known = f"{folder}/{NAME}"
        if known in names:
            package = folder.removesuffix(CLUSTERS).rstrip("/")
            beside = [n for n in names if n != known and _holds_code(parts[n])]
            held = tuple(_part(prefix + name, parts[name]) for name in (known, *beside))
            yield Held(parts=held, version=version(package))


def _holds_code(content: bytes | str) -> bool:
    return isinstance(content, str) or any(trace in content for trace in TRACES)


def _part(file: str, content: bytes | str) -> Part:
    if isinstance(content, str):
        return Part(file=file, why=content)
    return Part(file=file, data=content)
