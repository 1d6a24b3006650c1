"""The note of several changes: what it finishes, and what it leaves to others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from codemod import journal
from codemod.errors import CodemodError, Refused
from codemod.journal import NAME, Change, commit, recover

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def changes(tmp_path: Path) -> list[Change]:
    (tmp_path / "edited").write_bytes(b"old")
    (tmp_path / "gone").write_bytes(b"gone")
    return [
        Change(path=tmp_path / "edited", before=b"old", after=b"new"),
        Change(path=tmp_path / "made", before=None, after=b"made"),
        Change(path=tmp_path / "gone", before=b"gone", after=None),
    ]


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OLD = {"edited": b"old", "gone": b"gone"}
NEW = {"edited": b"new", "made": b"made"}


def begin(folder: Path, changes: Sequence[Change], monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave what a run leaves that was killed as soon as the note was written."""
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_do", lambda _: None)
        patch.setattr(journal, "remove", lambda _: None)
        commit(changes, folder)
    assert {*state(folder)} == {*OLD, NAME}


def test_all_or_nothing(tmp_path: Path, changes: list[Change]) -> None:
    commit(changes, tmp_path)
    assert state(tmp_path) == NEW
    commit([change.reversed for change in changes], tmp_path)
    assert state(tmp_path) == OLD


def test_where_one_fails_the_others_are_undone(tmp_path: Path, changes: list[Change]) -> None:
    (tmp_path / "made").write_bytes(b"theirs")
    with pytest.raises(CodemodError, match="made: has appeared since"):
        commit(changes, tmp_path)
    assert state(tmp_path) == {**OLD, "made": b"theirs"}


def test_what_was_begun_is_finished(
    tmp_path: Path, changes: list[Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not recover(tmp_path, tmp_path)
    begin(tmp_path, changes, monkeypatch)
    assert recover(tmp_path, tmp_path)
    assert state(tmp_path) == NEW
    assert not recover(tmp_path, tmp_path)


def test_what_others_changed_since_is_theirs(
    tmp_path: Path, changes: list[Change], monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(tmp_path, changes, monkeypatch)
    (tmp_path / "edited").write_bytes(b"theirs")
    (tmp_path / "made").write_bytes(b"theirs")
    (tmp_path / "gone").write_bytes(b"theirs")
    assert recover(tmp_path, tmp_path)
    assert state(tmp_path) == dict.fromkeys(("edited", "made", "gone"), b"theirs")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"changes": 1}', b'{"changes": [{"path": "a"}]}', b"\xff"]
)
def test_a_note_that_is_none_of_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(CodemodError, match="not written by codemod: remove it"):
        recover(tmp_path, tmp_path)
    assert state(tmp_path) == {NAME: content}


@pytest.mark.parametrize(
    ("path", "after"), [("../other", "bmV3"), ("../other", None), ("../other.pyc", "bmV3")]
)
def test_a_note_that_leads_out_is_refused(tmp_path: Path, path: str, after: str | None) -> None:
    root = tmp_path / "root"
    root.mkdir()
    entry = {"path": path, "before_sha256": None, "after": after}
    (root / NAME).write_text(json.dumps({"changes": [entry]}))
    with pytest.raises(CodemodError, match="outside"):
        recover(root, root)
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


def test_a_note_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    entry = {"path": "nowhere/file", "before_sha256": None, "after": "bmV3"}
    (tmp_path / NAME).write_text(json.dumps({"changes": [entry]}))
    with pytest.raises(Refused, match="does not exist"):
        recover(tmp_path, tmp_path)
