"""From what a user names, or from the active environment, to the copies in it; imports no jax."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from codemod import linked
from codemod.errors import CodemodError, Refused, UsageError
from codemod.interpreter import import_path
from codemod.model import Kind, Unsearched
from codemod.textfile import read_regular, reason, show

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

NAME = "cloud_tpu_cluster.py"
IN_PACKAGE = Path("_src", "clusters", NAME)
IN_SITE = "jax" / IN_PACKAGE
SKIPPED = {".git", ".hg", "node_modules", "__pycache__"}
SITES = {"site-packages", "dist-packages"}
LAYOUTS = (
    "lib*/python3*/site-packages",
    "lib*/python3*/dist-packages",
    "Lib/site-packages",  # Windows
)
MARKS = ("pyvenv.cfg", "conda-meta")
PYTHONS = ("bin/python", "bin/python3", "Scripts/python.exe", "python.exe")
# What a file of any name says that holds a part of this code: forks split it, or rename it.
TRACES = (b"get_tpu_env_value", b"get_metadata", b"computeMetadata", b"metadata.google")

SHARES_BASE = rb"(?mi)^include-system-site-packages[ \t]*=[ \t]*true[ \t]*\r?$"

METADATA_FIELD = rb"(?m)^(Name|Version):[ \t]*(\S+)[ \t]*\r?$"
VERSION = rb"(?m)^(?:_version|__version__)[ \t]*(?::[^=\n]*)?=[ \t]*[\"']([\w.+!-]+)[\"']"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """One `cloud_tpu_cluster.py`; `relative` is its path from the target's root, with slashes."""

    path: Path
    relative: str
    jax_version: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What an argument stands for: the copies in it, and the interpreter that imports them.

    `why` says what the argument was taken for, or where it came from. `notes` are things left
    out that a person should know of.
    """

    argument: str
    kind: Kind
    root: Path
    why: str
    copies: tuple[Copy, ...]
    python: Path | None
    notes: tuple[str, ...] = ()
    unsearched: tuple[Unsearched, ...] = ()  # folders that may hold more


def locate(argument: str | None, *, environ: Mapping[str, str]) -> Target:
    """Return what `argument` names, or the active environment for None; it may hold no copy.

    Raises UsageError for what does not exist or cannot hold a copy, and CodemodError for an
    interpreter that does not answer.
    """
    if argument is None:
        argument, origin = _active(environ)
        return _located(argument, origin, environ)
    if not argument:
        raise UsageError("an empty string is given as the target")
    return _located(argument, "", environ)


def _active(environ: Mapping[str, str]) -> tuple[str, str]:
    import sys

    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if value := environ.get(name):
            return value, f"{name} is set to {show(value)}"
    if not sys.executable:
        raise UsageError("no environment is active and the running interpreter is unknown")
    return sys.executable, f"the running interpreter, {show(sys.executable)}"


def _located(argument: str, origin: str, environ: Mapping[str, str]) -> Target:
    path = _existing(argument, origin)
    if path.is_dir():
        return _directory(argument, path, origin)
    if path.suffix == ".py":
        is_copy = path.name == NAME or holds_such_code(path)
        return Target(
            argument=argument,
            kind=Kind.FILE,
            root=path.parent,
            why=origin or "a file",
            copies=(_copy(path, path.parent),) if is_copy else (),
            python=_python_around(path.parents[3]) if _is_installed(path) else None,
        )
    if not path.name.startswith("python"):
        raise UsageError(f"{show(argument)}: not an interpreter, a folder or a .py file")
    sites = import_path(path, environ)
    return _environment(argument, path.parent, origin or "an interpreter", path, [sites])


def holds_such_code(path: Path) -> bool:
    """Whether a file says what code says that looks a value up or asks the server.

    Whether it does is for `reach`. A file that cannot be read is not told to be none.
    """
    try:
        content = read_regular(path)
    except Refused:
        return True
    return any(trace in content for trace in TRACES)


def _is_installed(path: Path) -> bool:
    return path.parts[-len(IN_SITE.parts) - 1 : -len(IN_SITE.parts)] in {(n,) for n in SITES}


def site_of(file: Path) -> Path | None:
    """The folder that a file of a copy is installed in: the one with the dist-info of jax."""
    depth = len(IN_SITE.parts)
    if len(file.parts) <= depth or file.parts[-depth:-1] != IN_SITE.parts[:-1]:
        return None
    site = file.parents[depth - 1]
    return site if any(site.glob("jax-*.dist-info")) else None


def _existing(argument: str, origin: str) -> Path:
    path = Path(argument)
    prefix = f"{origin}: " if origin else f"{show(argument)}: "
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError, ValueError) as error:
        raise UsageError(prefix + "does not exist") from error
    except OSError as error:
        raise CodemodError(prefix + reason(error)) from error
    return path.resolve() if ".." in path.parts else path.absolute()


def without_search(argument: str) -> Target | None:
    """Return what a folder stands for if that needs no search: an environment or a jax folder."""
    return _at_once(argument, _existing(argument, ""), "")


def _directory(argument: str, path: Path, origin: str) -> Target:
    return _at_once(argument, path, origin) or _folder(argument, path, origin)


def _at_once(argument: str, path: Path, origin: str) -> Target | None:
    if os.path.lexists(path / IN_PACKAGE):
        return _package(argument, path, origin)
    if path.name in SITES:
        why = origin or f"a {path.name} folder"
        return _environment(argument, path, why, _python_around(path), [[path]])
    python = _python_in(path)
    marked = any(_is_there(path / mark) for mark in MARKS)
    if python or marked:
        found = _environment(argument, path, origin or "an environment", python, _sites(path))
        # A root file system or a checkout may have a bin/python as well.
        if found.copies or marked:
            return replace(found, notes=(*found.notes, *_base_note(found)))
    return None


def _base_note(found: Target) -> Iterator[str]:
    """Say that an environment without a jax of its own may import that of its base."""
    config = _content(found.root / "pyvenv.cfg")
    if not found.copies and re.search(SHARES_BASE, config):
        place = show(found.python or found.root)
        yield f"{place}: may import the jax of its base: name this interpreter to look there"


def _package(argument: str, path: Path, origin: str) -> Target:
    """Return the target for a jax folder itself."""
    installed = path.parent.name in SITES
    root = path.parent if installed else path
    return Target(
        argument=argument,
        kind=Kind.ENVIRONMENT if installed else Kind.TREE,
        root=root,
        why=origin or "a jax folder",
        copies=(_copy(path / IN_PACKAGE, root),),
        python=_python_around(root) if installed else None,
    )


def _folder(argument: str, path: Path, origin: str) -> Target:
    unsearched: list[Unsearched] = []
    copies = [_copy(found, path) for found in _search(path, unsearched)]
    return Target(
        argument=argument,
        kind=Kind.TREE,
        root=path,
        why=origin or "a folder",
        copies=tuple(sorted(copies, key=lambda copy: copy.relative)),
        python=None,
        unsearched=tuple(unsearched),
    )


def _search(top: Path, unsearched: list[Unsearched]) -> Iterator[Path]:
    """Yield the copies below a folder; what cannot be listed goes to `unsearched`."""
    wanted = str(IN_PACKAGE.parent)
    folders = [str(top)]
    while folders:
        folder = folders.pop()
        is_clusters = folder.endswith(os.sep + wanted)
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if is_clusters and entry.name == NAME:
                        yield Path(entry.path)
                    elif entry.name not in SKIPPED and entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
        except OSError as error:
            unsearched.append(Unsearched(folder=folder, why=f"not searched: {reason(error)}"))


def _environment(
    argument: str, prefix: Path, why: str, python: Path | None, importers: Sequence[Sequence[Path]]
) -> Target:
    """Return the target for site-packages folders, one sequence for each interpreter.

    An interpreter takes the first jax on its path: any other is only noted.
    """
    notes: list[str] = []
    files: list[Path] = []
    for sites in importers:
        sources = {source: named for site in sites for source, named in linked.editable(site)}
        holders = [site for site in (*sites, *sources) if _has_jax(site)]
        notes += [
            f"{show(source)}: the sources of an editable install, by {show(named)}"
            for source, named in sources.items()
        ]
        notes += filter(None, map(linked.archived, sites))
        files += [site / IN_SITE for site in holders[:1] if os.path.lexists(site / IN_SITE)]
        notes += [
            f"{show(site / 'jax')}: left alone, {show(holders[0] / 'jax')} is imported before it"
            for site in holders[1:]
        ]
        if not holders:
            notes += _source_elsewhere(sites)
    roots = [file.parents[len(IN_SITE.parts) - 1] for file in files]
    inside = all(root.is_relative_to(prefix) for root in roots)
    root = prefix if inside else Path(os.path.commonpath(roots))
    return Target(
        argument=argument,
        kind=Kind.ENVIRONMENT,
        root=root,
        why=why,
        copies=tuple(_copy(file, root) for file in files),
        python=python,
        notes=tuple(notes),
    )


def _has_jax(site: Path) -> bool:
    return os.path.lexists(site / IN_SITE) or _is_there(site / "jax" / "__init__.py")


def _source_elsewhere(sites: Iterable[Path]) -> list[str]:
    return [
        f"{show(info)}: the jax of this is elsewhere (an editable install?): name its folder"
        for site in sites
        for info in _dist_infos(site)
    ]


def _sites(prefix: Path) -> list[list[Path]]:
    """Return the site-packages folders of a prefix, one list for each Python version in it."""
    versions: dict[str, list[Path]] = {}
    seen: set[Path] = set()
    for layout in LAYOUTS:
        for site in sorted(prefix.glob(layout)):
            real = site.resolve()
            if real not in seen:  # lib64 is often a link to lib
                seen.add(real)
                versions.setdefault(site.parent.name, []).append(site)
    return [[*sites, *_added(sites)] for sites in versions.values()]


def _added(sites: Sequence[Path]) -> Iterator[Path]:
    """Yield the folders that `.pth` files add, but for those that are there anyhow."""
    for site in sites:
        for folder in linked.added_to(site):
            if folder.resolve() not in {known.resolve() for known in sites}:
                yield Path(os.path.normpath(folder))


def _python_in(prefix: Path) -> Path | None:
    return next((prefix / name for name in PYTHONS if _is_there(prefix / name)), None)


def _python_around(site: Path) -> Path | None:
    """Return the interpreter of a site-packages folder, from where it lies."""
    prefixes = list(site.parents)[1:3]  # of Lib/site-packages, of lib/python3.11/site-packages
    return next((python for prefix in prefixes if (python := _python_in(prefix))), None)


def _copy(path: Path, root: Path) -> Copy:
    relative = path.relative_to(root).as_posix()
    return Copy(path=path, relative=relative, jax_version=jax_version(path))


def jax_version(path: Path) -> str | None:
    """Return what the installation, else the source, says; a hint only, for people."""
    if path.parts[-len(IN_PACKAGE.parts) :] != IN_PACKAGE.parts:
        return None
    package = path.parents[2]
    installed = set()
    if package.name == "jax":
        installed = {_metadata_version(info) for info in _dist_infos(package.parent)} - {None}
    if len(installed) == 1:
        return installed.pop()
    found = re.search(VERSION, _content(package / "version.py"))
    return found[1].decode() if found else None


def _dist_infos(site: Path) -> list[Path]:
    try:
        names = sorted(os.listdir(site))  # noqa: PTH208 - faster by far than a glob
    except OSError:
        return []
    return [site / n for n in names if n.startswith("jax-") and n.endswith(".dist-info")]


def _metadata_version(info: Path) -> str | None:
    head = re.split(rb"\r?\n\r?\n", _content(info / "METADATA"), maxsplit=1)[0]
    fields = dict(re.findall(METADATA_FIELD, head))
    if fields.get(b"Name", b"").lower() != b"jax" or b"Version" not in fields:
        return None
    return str(fields[b"Version"], "utf-8", "replace")


def _is_there(path: Path) -> bool:
    try:
        path.stat()
    except OSError:  # `Path.exists` lets a missing permission through
        return False
    return True


def _content(path: Path) -> bytes:
    try:
        return read_regular(path)
    except Refused:
        return b""
