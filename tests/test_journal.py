"""The note of several changes: what it finishes, and what it leaves to others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from codemod import journal
from codemod.errors import CodemodError
from codemod.journal import NAME, Change, commit, recover

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@pytest.fixture
def changes(tmp_path: Path) -> list[Change]:
    (tmp_path / "edited.py").write_bytes(b"old")
    (tmp_path / "edited.pyc").write_bytes(b"gone")
    return [
        Change(path=tmp_path / "edited.py", before=b"old", after=b"new"),
        Change(path=tmp_path / "made.py", before=None, after=b"made"),
        Change(path=tmp_path / "edited.pyc", before=b"gone", after=None),
    ]


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


OLD = {"edited.py": b"old", "edited.pyc": b"gone"}
NEW = {"edited.py": b"new", "made.py": b"made"}


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
    (tmp_path / "made.py").write_bytes(b"theirs")
    with pytest.raises(CodemodError, match=r"made\.py: has appeared since"):
        commit(changes, tmp_path)
    assert state(tmp_path) == {**OLD, "made.py": b"theirs"}


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
    (tmp_path / "edited.py").write_bytes(b"theirs")
    (tmp_path / "made.py").write_bytes(b"theirs")
    (tmp_path / "edited.pyc").write_bytes(b"theirs")
    assert not recover(tmp_path, tmp_path)
    assert state(tmp_path) == dict.fromkeys(("edited.py", "made.py", "edited.pyc"), b"theirs")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"changes": 1}',
        b'{"changes": [{"path": "a"}]}',
        b"\xff",
        b"[" * 100_000,
        b'{"changes": [{"path": 5, "before_sha256": null, "after": "AAAA"}]}',
        b'{"changes": [{"path": "x.py", "before_sha256": null, "after": "A"}]}',
        b'{"changes": [{"path": "x\\u0000.py", "before_sha256": null, "after": "AAAA"}]}',
    ],
)
def test_a_note_that_is_none_of_ours(tmp_path: Path, content: bytes) -> None:
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(CodemodError, match="not written by codemod: remove it"):
        recover(tmp_path, tmp_path)
    assert state(tmp_path) == {NAME: content}


HERE = "site/jax/_src/clusters"


@pytest.mark.parametrize(
    ("path", "after"),
    [
        ("../other.py", "bmV3"),
        ("../../../../other.pyc", "bmV3"),
        ("../../../../other.pyc", None),
        ("notes.txt", "bmV3"),
        ("edited.pyc", "bmV3"),
        ("../../../RECORD", "bmV3"),
        ("../../../flax-1.dist-info/RECORD", "bmV3"),
        ("../../../jax-1.dist-info/METADATA", "bmV3"),
        ("../../../jax-1.dist-info/../../.bashrc", "bmV3"),
        ("../../../../jax-1.dist-info/RECORD", "bmV3"),
        ("/jax-1.dist-info/RECORD", "bmV3"),
    ],
)
def test_a_note_that_names_what_no_run_changes_is_refused(
    tmp_path: Path, path: str, after: str | None
) -> None:
    """A note may lie in a tree that somebody else made."""
    folder = tmp_path / HERE
    folder.mkdir(parents=True)
    for info in ("jax-1.dist-info", "flax-1.dist-info"):
        (tmp_path / "site" / info).mkdir()
    entries = [
        {"path": "edited.py", "before_sha256": None, "after": "bmV3"},
        {"path": path, "before_sha256": None, "after": after},
    ]
    (folder / NAME).write_text(json.dumps({"changes": entries}))
    with pytest.raises(CodemodError, match="which no run changes from here: remove the note"):
        recover(folder, tmp_path / "site")
    assert [path.name for path in folder.iterdir()] == [NAME]


def noted(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a copy with a note of a run that was killed before it changed anything."""
    folder, info = site / "jax" / "_src" / "clusters", site / "jax-1.dist-info"
    folder.mkdir(parents=True)
    info.mkdir()
    (folder / "edited.py").write_bytes(b"old")
    (info / "RECORD").write_bytes(b"rows")
    changes = [
        Change(path=folder / "edited.py", before=b"old", after=b"new"),
        Change(path=info / "RECORD", before=b"rows", after=b"new rows"),
        Change(path=info / "codemod.json", before=None, after=b"{}"),
        Change(path=folder / "edited.pyc", before=b"gone", after=None),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(journal, "_do", lambda _: None)
        patch.setattr(journal, "remove", lambda _: None)
        commit(changes, folder)
    return folder


def test_an_installation_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = noted(tmp_path, monkeypatch)
    (folder / "edited.pyc").write_bytes(b"gone")
    assert recover(folder, tmp_path)
    assert state(folder) == {"edited.py": b"new"}
    assert state(tmp_path / "jax-1.dist-info") == {"RECORD": b"new rows", "codemod.json": b"{}"}


def test_a_note_is_void_where_jax_was_installed_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file may be the same as before, in another release too; what lists it is not."""
    folder = noted(tmp_path / "again", monkeypatch)
    (tmp_path / "again" / "jax-1.dist-info" / "RECORD").write_bytes(b"other rows")
    assert not recover(folder, tmp_path)
    assert state(folder) == {"edited.py": b"old"}
    folder = noted(tmp_path / "newer", monkeypatch)
    (tmp_path / "newer" / "jax-1.dist-info").rename(tmp_path / "newer" / "jax-2.dist-info")
    assert not recover(folder, tmp_path)
    assert state(folder) == {"edited.py": b"old"}
    assert state(tmp_path / "newer" / "jax-2.dist-info") == {"RECORD": b"rows"}
