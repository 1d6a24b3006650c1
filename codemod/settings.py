"""The options of an audit, checked, as what is the same for all that it looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from codemod.errors import UsageError
from codemod.sources.model import Settings
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.sources.model import Wheel


def settings(
    folders: Sequence[str], wheels: Sequence[str], clones: Sequence[str], *, fetch: bool
) -> Settings:
    """What the options say; raises UsageError where one of them names what is not there."""
    held: tuple[Wheel, ...] = ()
    if wheels:
        from codemod.sources.wheelhouse import wheels_in

        held = tuple(wheel for folder in wheels for wheel in wheels_in(folder))
    return Settings(
        folders=tuple(folders),
        wheels=held,
        repositories=tuple(_clone(clone) for clone in clones),
        fetch=fetch,
    )


def _clone(option: str) -> tuple[str, str]:
    from pathlib import Path

    from codemod.sources.urls import repository

    url, _, folder = option.rpartition("=")
    if not url or not Path(folder).is_dir():
        raise UsageError(f"--git {show(option)}: is to be URL=DIR, with a folder that exists")
    return repository(url), folder
