"""The wheels that were made, for people and for programs."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from codemod.model import Outcome
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.wheels import Made

WORDS = {
    Outcome.APPLIED: "made",
    Outcome.ALREADY: "needed no patch",
    Outcome.NONE: "without such code",
    Outcome.REFUSED: "refused",
    Outcome.FAILED: "failed",
}


def to_text(made: Sequence[Made]) -> str:
    """A block for each wheel: its path and sha256, or why there is none; a summary at the end."""
    lines: list[str] = []
    for each in made:
        if each.file:
            patches = ", ".join(each.patches) or "no patch"
            lines += [show(each.file), f"  sha256:{each.sha256}", f"  {patches}"]
        else:
            lines += [show(each.source), f"  {each.outcome}: {each.message}"]
    counted = Counter(each.outcome for each in made)
    parts = ", ".join(f"{counted[o]} {words}" for o, words in WORDS.items() if counted[o])
    what = "wheel" if all(each.source.endswith(".whl") for each in made) else "file"
    return "\n".join([*lines, f"{len(made)} {what}{'s' * (len(made) > 1)}: {parts}"]) + "\n"


def to_json(made: Sequence[Made]) -> str:
    """The same as one JSON document, by `codemod/schema/wheel.schema.json`."""
    document = {
        "version": 1,
        "command": "wheel",
        "wheels": [
            {
                "source": each.source,
                "outcome": each.outcome,
                "jax_version": each.version or None,
                "file": each.file or None,
                "sha256": each.sha256 or None,
                "patches": list(each.patches),
                "message": each.message,
                "notes": list(each.notes),
            }
            for each in made
        ],
        "exit_code": max(int(each.exit_code) for each in made),
    }
    return json.dumps(document, indent=2) + "\n"
