"""From the arguments of an audit to the single things to look at."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from codemod.errors import CodemodError, UsageError
from codemod.locate import IN_PACKAGE, NAME, SITES, SKIPPED, locate, without_search
from codemod.model import Kind
from codemod.pins import kind_of
from codemod.sources.archives import SDISTS
from codemod.sources.model import Unit, Unreadable
from codemod.textfile import reason, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.locate import Target

    Found = Iterator[Unit | Unreadable]

LAYOUT = "oci-layout"
CLUSTERS = os.sep + str(IN_PACKAGE.parent)


def units(source: str) -> Found:
    """What one argument stands for; raises UsageError where there is no such thing."""
    if source.startswith("git:"):
        return iter([_revision(source)])
    path = Path(source) if source else None
    if path is None or not _is_there(path):
        raise UsageError(
            f"{show(source)}: does not exist" if source else "an empty string is given"
        )
    if path.is_dir():
        return _folder(source)
    kind = _kind_of_file(source)
    if kind is not None:
        return iter([Unit(source=source, kind=kind, path=source, named=True)])
    if path.suffix != ".py" and not path.name.startswith("python"):
        known = "no wheel, sdist, image or pin file by its name, no interpreter and no .py file"
        raise UsageError(f"{show(source)}: {known}")
    return _copies(locate(source, environ=os.environ))


def _revision(source: str) -> Unit:
    """The unit for `git:DIR@REV`; both may hold an `@`, as `HEAD@{1}` does."""
    parts = source.removeprefix("git:").split("@")
    ways = [("@".join(parts[:n]), "@".join(parts[n:])) for n in range(1, len(parts))]
    good = [way for way in ways if all(way)]
    if not good:
        raise UsageError(f"{show(source)}: is to be git:DIR@REV")
    there = (way for way in good if os.path.isdir(way[0]))  # noqa: PTH112
    folder, revision = next(there, good[-1])
    return Unit(source=source, kind=Kind.GIT, path=folder, revision=revision)


def active() -> tuple[str, Found]:
    """What is looked at where nothing is named, in words; the copies of the environment."""
    target = locate(None, environ=os.environ)
    told = f"{show(target.root)}: {target.why}; and the pin files of this folder"
    return told, chain(_copies(target), beside(os.curdir))


def _copies(target: Target) -> Found:
    for note in target.notes:
        yield Unreadable(file=str(target.root), line=None, why=note)
    named = target.kind is Kind.FILE
    for copy in target.copies:
        yield Unit(source=target.argument, kind=target.kind, path=str(copy.path), named=named)


def beside(folder: str) -> Found:
    """The pin files of one folder, without what is below it."""
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if kind_of(name) and os.path.isfile(os.path.join(folder, name)):  # noqa: PTH113, PTH118
            path = os.path.normpath(os.path.join(folder, name))  # noqa: PTH118
            yield Unit(source=folder, kind=Kind.PIN, path=path)


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    except OSError as error:
        raise CodemodError(f"{show(path)}: {reason(error)}") from error
    return True


def _kind_of_file(path: str) -> Kind | None:
    lower = path.lower()
    if lower.endswith(".whl"):
        return Kind.WHEEL
    if lower.endswith(".tar") and _is_image(path):
        return Kind.IMAGE
    if lower.endswith(SDISTS):
        return Kind.SDIST
    return Kind.PIN if kind_of(path) else None


def _is_image(path: str) -> bool:
    from codemod.sources.images import is_image

    return is_image(path)


def _folder(source: str) -> Found:
    if os.path.isfile(os.path.join(source, LAYOUT)):  # noqa: PTH113, PTH118
        return iter([Unit(source=source, kind=Kind.IMAGE, path=source, named=True)])
    target = without_search(source)
    return _walk(source) if target is None else _copies(target)


def _walk(source: str) -> Found:
    """What lies below a folder, in the order of names; links to folders are not followed."""
    folders = [source]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(folder) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
            below = []
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry)
                elif (kind := _kind_in_folder(folder, entry)) is not None:
                    names = tuple(e.name for e in entries) if kind is Kind.TREE else ()
                    yield Unit(source=source, kind=kind, path=_short(entry.path), beside=names)
        except OSError as error:
            why = f"not searched: {reason(error)}"
            yield Unreadable(file=folder, line=None, why=why, failed=True)
            continue
        if any(entry.name == LAYOUT for entry in entries):
            yield Unit(source=source, kind=Kind.IMAGE, path=folder)
        else:
            folders += [entry.path for entry in reversed(below) if entry.name not in SKIPPED]


def _short(path: str) -> str:
    """A path below the working directory as people write it."""
    return path.removeprefix(os.curdir + os.sep)


def _kind_in_folder(folder: str, entry: os.DirEntry[str]) -> Kind | None:
    """What a file that was found is: of archives those of jax, by their names."""
    if entry.name == NAME:
        return Kind.TREE if folder.endswith(CLUSTERS) else None
    lower = entry.name.lower()
    if lower.endswith(".whl"):
        return Kind.WHEEL
    if lower.endswith(".tar") and _is_image(entry.path):
        return Kind.IMAGE
    if lower.endswith(SDISTS):
        return Kind.SDIST if lower.startswith("jax-") else None
    installed = not SITES.isdisjoint(folder.split(os.sep))  # noqa: PTH206 - what packages ship is no pin
    return Kind.PIN if kind_of(entry.path) and not installed else None
