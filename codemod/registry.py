"""Find, load and check the patch files: every `.py` of a folder is one patch, named after it."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from codemod.errors import CodemodError, UsageError
from codemod.model import Patch
from codemod.releases import builtin_folder

if TYPE_CHECKING:
    from collections.abc import Sequence


def load(folders: Sequence[str] = ()) -> list[Patch]:
    """The patches of the tool and of these folders, each after those that it requires.

    Raises `CodemodError` for a file that does not load, a patch whose id is not its file's
    name, a name that two files share, and a patch that requires one that is not there.
    """
    found: dict[str, tuple[Patch, str]] = {}
    for folder in (builtin_folder(), *folders):
        for path in _files(folder):
            patch = _load_file(path)
            if patch.id in found:
                raise CodemodError(
                    f"{path}: there already is a patch of that name in {found[patch.id][1]}"
                )
            found[patch.id] = patch, path
    return _in_order([patch for patch, _ in found.values()])


def in_folder(folder: str) -> list[Patch]:
    """The patches of one folder; those that they require may be the tool's own.

    Raises what `load` raises, and `UsageError` for a folder without any.
    """
    own = [os.path.basename(path).removesuffix(".py") for path in _files(folder)]  # noqa: PTH119
    if not own:
        raise UsageError(f"{folder}: no patches in this folder")
    return [patch for patch in load([folder]) if patch.id in own]


def choose(patches: Sequence[Patch], ids: Sequence[str]) -> list[Patch]:
    """The patches of these ids, in the order in which they apply; all where none is given.

    Raises `UsageError` for an id that there is not, and for a patch without one that it needs.
    """
    check_ids(patches, ids)
    chosen = [patch for patch in patches if not ids or patch.id in ids]
    for patch in chosen:
        if missing := [needed for needed in patch.requires if ids and needed not in ids]:
            also = " ".join(f"--patch {needed}" for needed in missing)
            raise UsageError(f"{patch.id} needs {', '.join(missing)}: add {also}")
    return chosen


def check_ids(patches: Sequence[Patch], ids: Sequence[str]) -> None:
    """Raise `UsageError` for an id that no patch has."""
    known = [patch.id for patch in patches]
    for wanted in ids:
        if wanted not in known:
            raise UsageError(f"no patch is called {wanted!r}; there are {', '.join(known)}")


def _files(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError as error:
        raise UsageError(f"{folder!r}: not a folder of patches: {error.strerror}") from None
    return [
        os.path.join(folder, name)  # noqa: PTH118
        for name in names
        if name.endswith(".py") and not name.startswith(("_", "."))
    ]


def _load_file(path: str) -> Patch:
    name = os.path.basename(path).removesuffix(".py")  # noqa: PTH119
    if not os.path.isfile(path):  # noqa: PTH113 - a pipe would be waited for
        raise CodemodError(f"{path}: is not a regular file")
    patch = getattr(_module(path, f"codemod.patches.{name}"), "PATCH", None)
    if not isinstance(patch, Patch):
        raise CodemodError(f"{path}: defines no PATCH")
    if not (callable(patch.probe) and callable(patch.rewrite)):
        raise CodemodError(f"{path}: probe and rewrite must be functions")
    if not isinstance(patch.examples, tuple):
        raise CodemodError(f"{path}: examples must be a tuple")
    if patch.id != name:
        raise CodemodError(f"{path}: PATCH.id is {patch.id!r}, the file says {name!r}")
    return patch


def _module(path: str, name: str) -> object:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CodemodError(f"{path}: not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses of a patch look their module up
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise CodemodError(f"{path}: does not load: {type(error).__name__}: {error}") from error
    return module


def _in_order(patches: Sequence[Patch]) -> list[Patch]:
    """Each patch after those that it requires; else as found."""
    by_id = {patch.id: patch for patch in patches}
    ordered: dict[str, Patch] = {}

    def add(patch: Patch, chain: tuple[str, ...]) -> None:
        if patch.id in chain:
            raise CodemodError(f"patches require each other: {' > '.join((*chain, patch.id))}")
        for wanted in patch.requires:
            if wanted not in by_id:
                raise CodemodError(f"{patch.id} requires {wanted}, which is not there")
            add(by_id[wanted], (*chain, patch.id))
        ordered.setdefault(patch.id, patch)

    for patch in patches:
        add(patch, ())
    return list(ordered.values())
