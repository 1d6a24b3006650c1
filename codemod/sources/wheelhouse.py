"""Folders of wheels that pins may stand for."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path

from codemod.errors import CodemodError, UsageError
from codemod.sources.model import Wheel
from codemod.textfile import reason, show


def wheels_in(folder: str) -> list[Wheel]:
    """The wheels of jax in a folder; raises UsageError where there is no such folder."""
    place = Path(folder)
    if not place.is_dir():
        raise UsageError(f"{show(folder)}: not a folder of wheels")
    return [_wheel(path) for path in sorted(place.glob("jax-*.whl")) if path.is_file()]


def _wheel(path: Path) -> Wheel:
    try:
        with path.open("rb") as file:
            digest = file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise CodemodError(f"{show(path)}: {reason(error)}") from error
    return Wheel(path=str(path), version=path.name.split("-")[1], sha256=digest)
