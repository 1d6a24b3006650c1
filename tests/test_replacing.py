from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from codemod import replacing
from codemod.errors import CodemodError, Refused
from codemod.replacing import replace_atomically
from tests.odd_files import ODD_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not here")


# --- replacing ------------------------------------------------------------------------------


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "file.py"
    path.write_bytes(b"old")
    return path


def only(path: Path, content: bytes) -> bool:
    """Say whether the file has this content and nothing else is in its folder."""
    return [p.name for p in path.parent.iterdir()] == [path.name] and path.read_bytes() == content


def test_replace(target: Path) -> None:
    replace_atomically(target, b"new", expect=b"old")
    assert only(target, b"new")


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o755, 0o4755, 0o200 | 0o444])
def test_replace_keeps_mode(target: Path, mode: int) -> None:
    target.chmod(mode)
    replace_atomically(target, b"new", expect=b"old")
    assert stat.S_IMODE(target.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_replace_keeps_owner(target: Path) -> None:
    os.chown(target, 1234, 4321)
    target.chmod(0o6750)
    replace_atomically(target, b"new", expect=b"old")
    status = target.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o6750)


def test_replace_without_right_to_give_away(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fchown", fails(errno.EPERM))
    replace_atomically(target, b"new", expect=b"old")
    assert only(target, b"new")


def test_replace_keeps_attributes(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        os.setxattr(target, "user.colour", b"red")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    monkeypatch.setattr(replacing, "SIGNATURES", {"user.signature"})
    os.setxattr(target, "user.signature", b"over the old content")
    replace_atomically(target, b"new", expect=b"old")
    assert os.getxattr(target, "user.colour") == b"red"
    assert os.listxattr(target) == ["user.colour"]


@pytest.mark.parametrize("name", ["listxattr", "setxattr"])
def test_replace_where_attributes_are_unsupported(
    target: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(os, "listxattr", lambda _: ["user.colour"], raising=False)
    monkeypatch.setattr(os, "getxattr", lambda *_: b"red", raising=False)
    monkeypatch.setattr(os, name, fails(errno.ENOTSUP), raising=False)
    replace_atomically(target, b"new", expect=b"old")
    assert only(target, b"new")


def test_hard_link_keeps_old_bytes(target: Path) -> None:
    cache = target.with_name("cache")
    os.link(target, cache)
    replace_atomically(target, b"new", expect=b"old")
    assert (target.read_bytes(), cache.read_bytes()) == (b"new", b"old")
    assert target.stat().st_nlink == 1


def test_same_size_gets_another_second(target: Path) -> None:
    now = int(target.stat().st_mtime) + 1000
    original = os.fstat

    def in_that_second(handle: int) -> os.stat_result:
        if stat.S_ISREG(original(handle).st_mode):
            os.utime(handle, (now, now))
        return original(handle)

    os.utime(target, ns=(now * 10**9, now * 10**9 + 5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fstat", in_that_second)
        replace_atomically(target, b"new", expect=b"old")
    assert int(target.stat().st_mtime) == now + 1


def test_other_size_keeps_its_time(target: Path) -> None:
    old = target.stat().st_mtime_ns
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "utime", fails(errno.EPERM))
        replace_atomically(target, b"longer", expect=b"old")
    assert target.stat().st_mtime_ns >= old


def test_stale_bytecode_does_not_win(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_bytes(b"print(1)")
    run = [sys.executable, "-c", "import module"]
    environ = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}

    def printed() -> bytes:
        return subprocess.run(
            run, cwd=tmp_path, env=environ, capture_output=True, check=True
        ).stdout.strip()

    assert printed() == b"1"
    assert list(tmp_path.glob("__pycache__/*.pyc"))
    replace_atomically(module, b"print(2)", expect=b"print(1)")
    assert printed() == b"2"


def test_replace_refuses_changed_file(target: Path) -> None:
    with pytest.raises(Refused, match=r"file\.py: changed while"):
        replace_atomically(target, b"new", expect=b"older")
    assert only(target, b"old")


def test_replace_refuses_file_that_changes_meanwhile(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = os.fsync

    def another_writer(handle: int) -> None:
        target.write_bytes(b"theirs")
        original(handle)

    monkeypatch.setattr(os, "fsync", another_writer)
    with pytest.raises(Refused, match="changed while"):
        replace_atomically(target, b"new", expect=b"old")
    assert only(target, b"theirs")


def test_replace_refuses_read_only_file(target: Path) -> None:
    target.chmod(0o444)
    with pytest.raises(Refused, match=r"file\.py: is read-only"):
        replace_atomically(target, b"new", expect=b"old")
    assert only(target, b"old")
    assert stat.S_IMODE(target.stat().st_mode) == 0o444


def test_replace_refuses_read_only_folder(target: Path) -> None:
    target.parent.chmod(0o555)
    try:
        with pytest.raises(Refused, match="is read-only") as caught:
            replace_atomically(target, b"new", expect=b"old")
    finally:
        target.parent.chmod(0o755)
    assert str(target.parent) in str(caught.value)
    assert only(target, b"old")


@pytest.mark.parametrize("forbidden", ["file", "folder"])
def test_replace_needs_permission(
    target: Path, monkeypatch: pytest.MonkeyPatch, forbidden: str
) -> None:
    place = target if forbidden == "file" else target.parent
    monkeypatch.setattr(os, "access", lambda path, _: path != place)
    with pytest.raises(Refused, match="no permission to write") as caught:
        replace_atomically(target, b"new", expect=b"old")
    assert str(caught.value).startswith(f"{place}: ")
    assert only(target, b"old")


@pytest.mark.skipif(os.geteuid() != 0, reason="root changes into somebody else")
@pytest.mark.parametrize("foreign", ["file", "folder"])
def test_replace_as_somebody_else(target: Path, foreign: str) -> None:
    os.chown(target if foreign == "folder" else target.parent, 1234, 1234)
    target.parent.chmod(0o755)
    script = (
        "import os, sys; from pathlib import Path; from codemod import replacing, errors\n"
        "os.setgid(1234); os.setuid(1234)\n"
        "try: replacing.check_replaceable(Path('file.py'))\n"
        "except errors.Refused as error: print(error)\n"
    )
    root = str(Path(__file__).parents[1])
    run = subprocess.run(
        [sys.executable, "-c", script],
        cwd=target.parent,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        check=True,
    )
    assert b"no permission to write" in run.stdout


@pytest.mark.parametrize("name", ["directory", "fifo", "socket", "missing"])
def test_replace_refuses_odd_files(tmp_path: Path, name: str) -> None:
    make, why = ODD_FILES[name]
    path = tmp_path / "file.py"
    make(path)
    with pytest.raises(Refused, match=why):
        replace_atomically(path, b"new", expect=b"")


def test_replace_refuses_link(target: Path) -> None:
    link = target.with_name("link.py")
    link.symlink_to(target)
    with pytest.raises(Refused, match="is a symbolic link"):
        replace_atomically(link, b"new", expect=b"old")
    assert link.is_symlink()
    assert target.read_bytes() == b"old"


def fails(code: int) -> Callable[..., Any]:
    def call(*_: object, **__: object) -> Any:
        raise OSError(code, os.strerror(code))

    return call


def fails_at(number: int, function: Callable[..., Any], error: BaseException) -> Callable[..., Any]:
    """Return the function, but its call of this number (from 0) raises."""
    calls = iter(range(10**6))

    def call(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == number:
            raise error
        return function(*args, **kwargs)

    return call


FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def writes_little(handle: int, data: memoryview) -> int:
    return REAL_WRITE(handle, bytes(data[:1]))


REAL_WRITE = os.write


@pytest.mark.parametrize("error", [FULL, KeyboardInterrupt()], ids=["full", "interrupt"])
@pytest.mark.parametrize(
    ("name", "number"),
    [("write", 0), ("write", 2), ("fsync", 0), ("replace", 0), ("open", 0), ("fchmod", 0)],
)
def test_fault_leaves_old_file_and_nothing_else(
    target: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, error: BaseException
) -> None:
    monkeypatch.setattr(os, "write", writes_little)
    monkeypatch.setattr(os, name, fails_at(number, getattr(os, name), error))
    expected = CodemodError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as caught:
        replace_atomically(target, b"new", expect=b"old")
    monkeypatch.undo()
    assert only(target, b"old")
    if expected is CodemodError:
        assert str(caught.value) == f"{target}: No space left on device"


def test_partial_writes_are_continued(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "write", writes_little)
    replace_atomically(target, b"newer", expect=b"old")
    assert only(target, b"newer")


def test_fault_after_replacement_is_none(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", fails_at(1, os.fsync, FULL))  # that of the folder
    replace_atomically(target, b"new", expect=b"old")
    assert only(target, b"new")


def test_file_and_folder_are_synced_around_replacement(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, move = os.fsync, os.replace

    def fsync(handle: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(handle).st_mode) else "file")
        sync(handle)

    def replace(*args: Any, **kwargs: Any) -> None:
        done.append("replace")
        move(*args, **kwargs)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    replace_atomically(target, b"new", expect=b"old")
    assert done == ["file", "replace", "folder"]


def test_temporary_file_is_hidden_and_new(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, int]] = []
    original = os.open

    def spy(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        if flags & os.O_CREAT:
            opened.append((os.fspath(path), flags))
        return original(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", spy)
    replace_atomically(target, b"new", expect=b"old")
    ((path, flags),) = opened
    assert Path(path).parent == target.parent
    assert Path(path).name.startswith(".")
    assert not path.endswith(".py")
    assert flags & os.O_EXCL
    assert flags & os.O_NOFOLLOW
