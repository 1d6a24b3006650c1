"""The cases in the text files of `corpus/`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

FOLDER = Path(__file__).parent / "corpus" / "reach"


def cases(name: str) -> list[ParameterSet]:
    """The cases of a text file: `=== what it is: what is said of it`, and the code."""
    text = (FOLDER / f"{name}.txt").read_text()
    found = []
    for case in text.split("\n=== ")[1:]:
        title, _, code = case.partition("\n")
        what, _, expected = title.rpartition(": ")
        found.append(pytest.param(code, expected, id=what.replace(" ", "-")))
    return found
