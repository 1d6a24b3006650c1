"""Pin files: one module for each family of them, and the pins that they all give."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False  # as in `releases`: what a file is called is asked of every file of a tree
if TYPE_CHECKING:
    from codemod.pins.model import Pins

REQUIREMENTS = r"(?i).*(requirements|constraints).*\.(txt|in)"


def kind_of(path: str) -> str | None:
    """The family of pin files that a file is of by its name; None where it is no pin file."""
    folder, name = os.path.split(path)
    if not name.endswith((".txt", ".in")):
        return None
    inside = os.path.basename(folder) in ("requirements", "constraints")  # noqa: PTH119
    return "requirements" if inside or re.fullmatch(REQUIREMENTS, name) else None


def collect(data: bytes, path: str) -> Pins:
    """The pins of a file of that name and what was not understood of it. Never raises."""
    from codemod.pins.model import Pins, Unread
    from codemod.pins.requirements import collect as requirements

    if kind_of(path) is None:
        return Pins(unread=(Unread(line=None, why="not a pin file that is known"),))
    return requirements(data)
