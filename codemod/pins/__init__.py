"""Pin files: one module for each family of them, and the pins that they all give."""

from __future__ import annotations

import os
import re
from importlib import import_module

TYPE_CHECKING = False  # as in `releases`: what a file is called is asked of every file of a tree
if TYPE_CHECKING:
    from codemod.pins.model import Pins

# The module of each family and what its files are called; the first that fits is taken.
FAMILIES = {
    "requirements": r"(?i:.*(?:requirements|constraints).*\.(?:txt|in))",
    "uv": r"uv\.lock",
    "poetry": r"poetry\.lock",
    "pdm": r"pdm\.lock",
    "pylock": r"pylock(?:\.[^.]+)?\.toml",
    "pipenv": r"Pipfile(?:\.lock)?",
    "pyproject": r"pyproject\.toml",
    "setuptools": r"setup\.(?:cfg|py)",
    "conda": r"(?i:.*(?:environment|conda-lock).*\.ya?ml|conda-.*\.lock)",
    "pixi": r"pixi\.(?:toml|lock)",
    "docker": r"(?i:(?:.+\.)?(?:Dockerfile|Containerfile)(?:[.-](?!dockerignore).+)?)",
    "starlark": r"MODULE\.bazel|WORKSPACE(?:\.bazel)?|.+\.bzl",
    "submodules": r"\.gitmodules",
    "toolbox": r"manifest\.ya?ml",
}
NAMES = re.compile("|".join(f"(?P<{family}>{names})" for family, names in FAMILIES.items()))


def kind_of(path: str) -> str | None:
    """The family of pin files that a file is of by its name; None where it is no pin file."""
    folder, name = os.path.split(path)
    if match := NAMES.fullmatch(name):
        return match.lastgroup
    inside = os.path.basename(folder) in ("requirements", "constraints")  # noqa: PTH119
    return "requirements" if inside and name.endswith((".txt", ".in")) else None


def collect(data: bytes, path: str) -> Pins:
    """The pins of a file of that name and what was not understood of it. Never raises."""
    from codemod.pins.model import Pins, Unread

    family = kind_of(path)
    if family is None:
        return Pins(unread=(Unread(line=None, why="not a pin file that is known"),))
    found: Pins = import_module(f"codemod.pins.{family}").collect(data)
    return found
