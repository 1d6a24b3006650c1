"""Patches are found, loaded, checked and put in order; a bad one stops the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from codemod.errors import CodemodError, UsageError
from codemod.registry import choose, load

if TYPE_CHECKING:
    from pathlib import Path

BUILT_IN = ["skip_mds_env_value", "skip_mds_detection", "single_slice_defaults"]
OWN = """from codemod.model import Finding, Patch, Reason, Status
def probe(tree):
    return Finding(status=Status.NOT_AFFECTED, reason=Reason.NO_SUCH_CODE)
PATCH = Patch(id="{id}", title="", bug="", origin="", forwarded="", fixed_upstream_in=None,
              releases="", probe=probe, rewrite=print, examples=(), requires={requires})
"""


def write(folder: Path, name: str, requires: tuple[str, ...] = (), text: str | None = None) -> None:
    source = OWN.format(id=name, requires=requires) if text is None else text
    (folder / f"{name}.py").write_text(source)


def test_a_folder_of_ones_own(tmp_path: Path) -> None:
    write(tmp_path, "mine", ("other",))
    write(tmp_path, "other")
    write(tmp_path, "_helper", text="raise SystemExit")
    ids = [patch.id for patch in load([str(tmp_path)])]
    assert ids == [*BUILT_IN, "other", "mine"]
    assert [p.id for p in choose(load([str(tmp_path)]), ["mine", "other"])] == ["other", "mine"]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a", "x = 1", "defines no PATCH"),
        ("a", OWN.format(id="b", requires=()), "the file says 'a'"),
        ("a", "1 / 0", "ZeroDivisionError"),
        ("a", "def (", "SyntaxError"),
        ("a", OWN.format(id="a", requires=("missing",)), "requires missing"),
        ("a", OWN.format(id="a", requires=("a",)), "require each other"),
        ("skip_mds_env_value", OWN.format(id="skip_mds_env_value", requires=()), "already is"),
    ],
)
def test_a_bad_patch_stops_the_program(tmp_path: Path, name: str, text: str, words: str) -> None:
    write(tmp_path, name, text=text)
    with pytest.raises(CodemodError, match=words):
        load([str(tmp_path)])


def test_an_unknown_patch_is_wrong_usage() -> None:
    with pytest.raises(UsageError, match="nonsense"):
        choose(load(), ["nonsense"])


def test_a_patch_that_needs_another_says_so(tmp_path: Path) -> None:
    write(tmp_path, "mine", ("other",))
    write(tmp_path, "other")
    with pytest.raises(UsageError, match=r"^mine needs other: add --patch other$"):
        choose(load([str(tmp_path)]), ["mine"])
    with pytest.raises(UsageError, match="add --patch skip_mds_env_value --patch skip_mds_det"):
        choose(load(), ["single_slice_defaults"])
    assert [p.id for p in choose(load(), ["skip_mds_env_value"])] == ["skip_mds_env_value"]
