from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from codemod import textfile
from codemod.errors import CodemodError, Refused
from codemod.trees import FolderTree, Tree

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for name in ("a.py", "b.py", "c.py"):
        file = folder / "jax" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"old " + name.encode())
    return folder


def contents(root: Path) -> list[bytes]:
    return [file.read_bytes() for file in sorted((root / "jax").glob("*.py"))]


OLD = [b"old a.py", b"old b.py", b"old c.py"]


def staged(root: Path) -> FolderTree:
    tree = FolderTree(root)
    for name in ("a", "b", "c"):
        assert tree.read(f"jax/{name}.py").startswith(b"old")
        tree.stage(f"jax/{name}.py", b"new " + name.encode())
    return tree


def test_a_folder_is_a_tree(root: Path) -> None:
    tree: Tree = FolderTree(root)
    assert tree.read("jax/a.py") == b"old a.py"


def test_nothing_is_written_before_commit(root: Path) -> None:
    tree = staged(root)
    assert contents(root) == OLD
    tree.commit()
    assert contents(root) == [b"new a", b"new b", b"new c"]


def test_commit_twice_writes_once(root: Path) -> None:
    tree = staged(root)
    tree.commit()
    (root / "jax" / "a.py").write_bytes(b"theirs")
    tree.commit()
    assert contents(root)[0] == b"theirs"


def test_a_tree_is_used_again(root: Path) -> None:
    tree = staged(root)
    tree.commit()
    assert tree.read("jax/a.py") == b"new a"
    tree.stage("jax/a.py", b"newer")
    tree.commit()
    assert contents(root)[0] == b"newer"
    tree.stage("jax/a.py", b"newest")  # need not be read before
    tree.commit()
    assert contents(root)[0] == b"newest"


def test_same_bytes_touch_nothing(root: Path) -> None:
    before = (root / "jax" / "a.py").stat()
    tree = FolderTree(root)
    tree.stage("jax/a.py", tree.read("jax/a.py"))
    tree.commit()
    after = (root / "jax" / "a.py").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_stage_refuses_what_changed_since_it_was_read(root: Path) -> None:
    tree = FolderTree(root)
    tree.read("jax/a.py")
    (root / "jax" / "a.py").write_bytes(b"theirs")
    with pytest.raises(Refused, match="changed while"):
        tree.stage("jax/a.py", b"new")
    tree.commit()
    assert contents(root)[0] == b"theirs"


def test_commit_refuses_what_changed_since_it_was_staged(root: Path) -> None:
    tree = staged(root)
    (root / "jax" / "c.py").write_bytes(b"theirs")
    with pytest.raises(Refused, match=r"c\.py: changed while"):
        tree.commit()
    assert contents(root) == [*OLD[:2], b"theirs"]


def test_commit_of_what_is_gone_undoes_the_others(root: Path) -> None:
    tree = staged(root)
    (root / "jax" / "c.py").unlink()
    with pytest.raises(Refused) as caught:
        tree.commit()
    assert str(caught.value) == f"{root / 'jax' / 'c.py'}: does not exist"
    assert contents(root) == OLD[:2]


@pytest.mark.parametrize("mode", [0o444, 0o555], ids=["file", "folder"])
def test_stage_refuses_read_only(root: Path, mode: int) -> None:
    place = root / "jax" / "a.py" if mode == 0o444 else root / "jax"
    place.chmod(mode)
    try:
        with pytest.raises(Refused, match="is read-only"):
            FolderTree(root).stage("jax/a.py", b"new")
    finally:
        place.chmod(0o755)
    assert contents(root) == OLD


# --- a write that fails ---------------------------------------------------------------------


def fail_replace(
    monkeypatch: pytest.MonkeyPatch, numbers: set[int], error: BaseException, *, late: bool = False
) -> None:
    """Let the calls of `os.replace` with these numbers (from 0) raise, after the deed if late."""
    calls = iter(range(10**6))
    original = os.replace

    def replace(*args: Any, **kwargs: Any) -> None:
        fails = next(calls) in numbers
        if late or not fails:
            original(*args, **kwargs)
        if fails:
            raise error

    monkeypatch.setattr(os, "replace", replace)


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_earlier_writes_are_undone(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    tree = staged(root)
    fail_replace(monkeypatch, {number}, FULL)
    with pytest.raises(CodemodError, match="No space left") as caught:
        tree.commit()
    assert contents(root) == OLD
    assert "could not be undone" not in str(caught.value)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_an_interrupt_undoes_all(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int, *, late: bool
) -> None:
    tree = staged(root)
    fail_replace(monkeypatch, {number}, KeyboardInterrupt(), late=late)
    with pytest.raises(KeyboardInterrupt):
        tree.commit()
    assert contents(root) == OLD
    assert not [*root.rglob(".codemod-*")]


def test_what_cannot_be_undone_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = staged(root)
    fail_replace(monkeypatch, {3, 4}, FULL)  # the first is of the note
    with pytest.raises(CodemodError, match=r"c\.py.*could not be undone: .*b\.py") as caught:
        tree.commit()
    assert contents(root) == [OLD[0], b"new b", OLD[2]]
    assert "\n" not in str(caught.value)


def test_what_others_wrote_since_is_not_undone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = staged(root)
    original = os.replace

    def replace(source: Any, target: Any) -> None:
        if Path(target).name == "b.py":
            (root / "jax" / "a.py").write_bytes(b"theirs")
            raise FULL
        original(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(CodemodError, match="No space left"):
        tree.commit()
    assert contents(root) == [b"theirs", *OLD[1:]]


KILLED = """
import os, sys
from pathlib import Path
from codemod.trees import FolderTree
name, number = sys.argv[1], int(sys.argv[2])
original, calls = getattr(os, name), iter(range(100))
def die(*args, **kwargs):
    if next(calls) == number:
        os.kill(os.getpid(), 9)
    return original(*args, **kwargs)
tree = FolderTree(Path("."))
tree.read("jax/a.py")
tree.stage("jax/a.py", b"new")
setattr(os, name, die)
tree.commit()
"""


@pytest.mark.parametrize(
    ("name", "number", "left"),
    [
        ("write", 0, OLD[0]),
        ("fsync", 0, OLD[0]),
        ("replace", 0, OLD[0]),
        ("fsync", 1, b"new"),
        ("fsync", 9, b"new"),
    ],
)
def test_killed_at_any_instant(root: Path, name: str, number: int, left: bytes) -> None:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    command = [sys.executable, "-c", KILLED, name, str(number)]
    run = subprocess.run(command, cwd=root, env=environ, check=False)
    assert run.returncode == (0 if number == 9 else -9)
    assert (root / "jax" / "a.py").read_bytes() == left


# --- links and odd files --------------------------------------------------------------------


USES: dict[str, Callable[[FolderTree, str], object]] = {
    "read": FolderTree.read,
    "stage": lambda tree, path: tree.stage(path, b"new"),
}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    file = tmp_path / "outside" / "real.py"
    file.parent.mkdir()
    file.write_bytes(b"outside")
    return file


def link_file(root: Path, outside: Path) -> str:
    (root / "link.py").symlink_to(outside)
    return "link.py"


def link_folder(root: Path, outside: Path) -> str:
    (root / "linked").symlink_to(outside.parent)
    return "linked/real.py"


def climb(root: Path, outside: Path) -> str:
    return "../outside/real.py"


def absolute(root: Path, outside: Path) -> str:
    return str(outside)


@pytest.mark.parametrize("method", USES)
@pytest.mark.parametrize("way", [link_file, link_folder, climb, absolute])
def test_what_leaves_the_root_is_refused(
    root: Path, outside: Path, way: Callable[[Path, Path], str], method: str
) -> None:
    path = way(root, outside)
    tree = FolderTree(root)
    with pytest.raises(Refused, match="outside") as caught:
        USES[method](tree, path)
    assert f"is really {outside}" in str(caught.value)
    assert outside.read_bytes() == b"outside"


def test_a_link_inside_the_root_is_followed(root: Path) -> None:
    link = root / "link.py"
    link.symlink_to("jax/a.py")
    tree = FolderTree(root)
    assert tree.read("link.py") == b"old a.py"
    tree.stage("link.py", b"new")
    tree.commit()
    assert link.is_symlink()
    assert contents(root)[0] == b"new"


def test_a_root_that_is_a_link_itself(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    tree = FolderTree(tmp_path / "alias")
    tree.stage("jax/a.py", b"new")
    tree.commit()
    assert contents(root)[0] == b"new"


def make_loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize("method", USES)
@pytest.mark.parametrize(
    ("make", "why"),
    [
        (Path.mkdir, "is a directory"),
        (os.mkfifo, "is a FIFO"),
        (make_loop, "is a loop of links"),
        (lambda path: path.symlink_to("nowhere"), "does not exist"),
        (lambda _: None, "does not exist"),
    ],
    ids=["directory", "fifo", "loop", "broken-link", "missing"],
)
def test_odd_files_are_refused(
    root: Path, make: Callable[[Path], Any], why: str, method: str
) -> None:
    make(root / "odd.py")
    tree = FolderTree(root)
    with pytest.raises(Refused, match=why) as caught:
        USES[method](tree, "odd.py")
    assert "odd.py" in str(caught.value)


def test_a_large_file_is_refused(root: Path) -> None:
    (root / "large.py").write_bytes(b"#" * (textfile.LARGEST + 1))
    with pytest.raises(Refused, match="larger than 4 MiB"):
        FolderTree(root).read("large.py")


def test_odd_names(root: Path) -> None:
    name = os.fsdecode(b"new\nline and caf\xe9.py")
    (root / name).write_bytes(b"old")
    tree = FolderTree(root)
    tree.stage(name, b"new")
    tree.commit()
    assert (root / name).read_bytes() == b"new"
    (root / name).chmod(0o444)
    with pytest.raises(Refused) as caught:
        tree.stage(name, b"newer")
    assert "new\\nline and caf\\udce9.py: is read-only" in str(caught.value)
