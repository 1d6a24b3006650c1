from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from codemod.errors import CodemodError, UsageError
from codemod.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

from tests.places import FILE, SITE, find, put_info, put_jax, relatives

# --- folders and files ----------------------------------------------------------------------


def test_folder(tmp_path: Path) -> None:
    put_jax(tmp_path / "third_party" / "py")
    put_jax(tmp_path / "forks", package="myjax")
    put_jax(tmp_path / "build" / ".hidden" / SITE, "0.8.0")
    target = find(tmp_path)
    assert relatives(target) == [
        f"build/.hidden/{SITE}/{FILE}",
        f"forks/my{FILE}",
        f"third_party/py/{FILE}",
    ]
    assert (target.kind, target.root, target.python) == (Kind.TREE, tmp_path, None)
    assert target.why == "a folder"
    assert [copy.jax_version for copy in target.copies] == ["0.8.0", None, None]


def test_folder_with_a_venv_below(venv: Path, tmp_path: Path) -> None:
    put_jax(venv / SITE)
    put_jax(tmp_path)
    assert relatives(find(tmp_path)) == [FILE, f"venv/{SITE}/{FILE}"]


def test_folder_without_a_copy(tmp_path: Path) -> None:
    (tmp_path / "clusters").mkdir()
    (tmp_path / "clusters" / "cloud_tpu_cluster.py").touch()
    (tmp_path / "x_src" / "clusters").mkdir(parents=True)
    (tmp_path / "x_src" / "clusters" / "cloud_tpu_cluster.py").touch()
    target = find(tmp_path)
    assert (target.kind, target.copies) == (Kind.TREE, ())


@pytest.mark.parametrize("name", [".git", ".hg", "node_modules", "__pycache__"])
def test_some_folders_are_skipped(tmp_path: Path, name: str) -> None:
    put_jax(tmp_path / name)
    assert find(tmp_path).copies == ()


def test_linked_folders_are_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    put_jax(root / "real")
    (root / "alias").symlink_to("real")
    (root / "loop").symlink_to(root)
    put_jax(tmp_path / "outside")
    (root / "outside").symlink_to(tmp_path / "outside")
    assert relatives(find(root)) == [f"real/{FILE}"]


MAKERS: dict[str, Callable[[Path], Any]] = {
    "directory": lambda path: path.mkdir(),
    "fifo": os.mkfifo,
    "link": lambda path: path.symlink_to("other.py"),
    "loop": lambda path: path.symlink_to(path.name),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.parametrize("place", ["folder", "environment", "jax folder"])
def test_whatever_has_the_name_is_found(
    tmp_path: Path, place: str, make: Callable[[Path], Any]
) -> None:
    site = tmp_path / ("site-packages" if place == "environment" else "src")
    file = put_jax(site)
    file.unlink()
    make(file)
    target = find(site / "jax" if place == "jax folder" else site)
    assert [copy.path for copy in target.copies] == [file]


def test_folders_that_cannot_be_listed_are_noted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_jax(tmp_path / "open")
    put_jax(tmp_path / "closed")
    original = os.scandir

    def scandir(path: str | Path) -> Iterator[os.DirEntry[str]]:
        if os.fspath(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return original(os.fspath(path))

    monkeypatch.setattr(os, "scandir", scandir)
    target = find(tmp_path)
    assert relatives(target) == [f"open/{FILE}"]
    assert [(found.folder, found.why) for found in target.unsearched] == [
        (str(tmp_path / "closed"), "not searched: Permission denied")
    ]


NOBODY = """
import os, sys
from codemod.locate import locate
if os.geteuid() == 0:
    os.setgid(1234)
    os.setuid(1234)
print([found.folder for found in locate(sys.argv[1], environ={}).unsearched])
"""


def test_folder_without_permission() -> None:
    with tempfile.TemporaryDirectory() as top:  # tmp_path is below a folder of its owner only
        closed = Path(top) / "closed"
        closed.mkdir(mode=0)
        Path(top).chmod(0o755)
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        command = [sys.executable, "-c", NOBODY, str(closed)]
        run = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == repr([str(closed)])


def test_jax_folder(tmp_path: Path) -> None:
    put_jax(tmp_path / "third_party")
    target = find(tmp_path / "third_party" / "jax")
    assert relatives(target) == [FILE.removeprefix("jax/")]
    assert (target.kind, target.why) == (Kind.TREE, "a jax folder")
    assert target.python is None


def test_jax_folder_of_an_environment(venv: Path) -> None:
    put_jax(venv / SITE, "0.8.0")
    target = find(venv / SITE / "jax")
    assert relatives(target) == [FILE]
    assert (target.kind, target.root) == (Kind.ENVIRONMENT, venv / SITE)
    assert target.python == venv / "bin" / "python"


@pytest.mark.parametrize("below", ["_src", "_src/clusters"])
def test_folder_inside_jax(tmp_path: Path, below: str) -> None:
    file = put_jax(tmp_path)
    target = find(tmp_path / "jax" / below)
    assert [copy.path for copy in target.copies] == [file]


def test_relative_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = put_jax(tmp_path)
    monkeypatch.chdir(tmp_path / "jax" / "_src" / "clusters")
    for argument in (".", "..", "../../..", "cloud_tpu_cluster.py", "../clusters/"):
        target = find(argument)
        assert [copy.path for copy in target.copies] == [file]
        assert target.argument == argument


def test_file(tmp_path: Path) -> None:
    file = put_jax(tmp_path, "0.8.0")
    target = find(file)
    assert relatives(target) == ["cloud_tpu_cluster.py"]
    assert (target.kind, target.root, target.why) == (Kind.FILE, file.parent, "a file")
    assert (target.copies[0].jax_version, target.python) == ("0.8.0", None)


def test_file_of_an_environment(venv: Path) -> None:
    target = find(put_jax(venv / SITE))
    assert (target.kind, target.python) == (Kind.FILE, venv / "bin" / "python")


def test_file_of_any_name(tmp_path: Path) -> None:
    (tmp_path / "python_tpu.py").write_text("def get_tpu_env_value(key): pass\n")
    target = find(tmp_path / "python_tpu.py")
    assert relatives(target) == ["python_tpu.py"]
    assert target.copies[0].jax_version is None


def test_a_file_that_is_something_else_is_no_copy(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text("from setuptools import setup\n")
    assert relatives(find(tmp_path / "setup.py")) == []
    (tmp_path / "cloud_tpu_cluster.py").touch()
    assert relatives(find(tmp_path / "cloud_tpu_cluster.py")) == ["cloud_tpu_cluster.py"]


def test_fifo_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.py")
    assert relatives(find(tmp_path / "x.py")) == ["x.py"]


# --- versions -------------------------------------------------------------------------------

VERSIONS = {
    "release": ('_version = "0.8.0"\n_release_version: str = "0.8.1"\n', "0.8.0"),
    "annotated": ("_version: str = '0.8.0.dev1+g12'\n", "0.8.0.dev1+g12"),
    "old": ('import x\r\n__version__ = "0.3.25"\r\n', "0.3.25"),
    "computed": ("__version__ = _get_version_string()\n", None),
    "other": ('_minimum_jaxlib_version = "0.4.1"\n', None),
    "nothing": ("", None),
    "not-text": ("\0\udcff", None),
}


@pytest.mark.parametrize(("text", "version"), VERSIONS.values(), ids=VERSIONS)
def test_version_of_source(tmp_path: Path, text: str, version: str | None) -> None:
    put_jax(tmp_path)
    (tmp_path / "jax" / "version.py").write_bytes(text.encode("utf-8", "surrogateescape"))
    assert find(tmp_path).copies[0].jax_version == version


def test_metadata_wins_over_source(tmp_path: Path) -> None:
    put_jax(tmp_path, "0.8.0+local.1")
    (tmp_path / "jax" / "version.py").write_text('_version = "0.8.0"')
    assert find(tmp_path).copies[0].jax_version == "0.8.0+local.1"


def test_source_decides_between_two_metadata(tmp_path: Path) -> None:
    put_jax(tmp_path, "0.8.0")
    put_info(tmp_path, "0.7.0")
    assert find(tmp_path).copies[0].jax_version is None
    (tmp_path / "jax" / "version.py").write_text('_version = "0.8.0"')
    assert find(tmp_path).copies[0].jax_version == "0.8.0"


@pytest.mark.parametrize(
    "text",
    ["", "Name: jax\n", "Name: jax-other\nVersion: 1\n", "Name: jax\n\nVersion: 1\n"],
    ids=["empty", "no-version", "other-name", "in-the-text"],
)
def test_metadata_that_says_nothing(tmp_path: Path, text: str) -> None:
    put_jax(tmp_path, "0.8.0")
    (tmp_path / "jax-0.8.0.dist-info" / "METADATA").write_text(text)
    assert find(tmp_path).copies[0].jax_version is None


def test_metadata_that_cannot_be_read(tmp_path: Path) -> None:
    put_jax(tmp_path, "0.8.0")
    metadata = tmp_path / "jax-0.8.0.dist-info" / "METADATA"
    metadata.unlink()
    os.mkfifo(metadata)
    assert find(tmp_path).copies[0].jax_version is None


def test_metadata_is_not_that_of_a_fork_beside_it(tmp_path: Path) -> None:
    put_jax(tmp_path, "0.8.0", package="myjax")
    assert find(tmp_path).copies[0].jax_version is None


# --- what is wrong with an argument ---------------------------------------------------------


def test_empty_argument() -> None:
    with pytest.raises(UsageError, match="an empty string"):
        find("")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("gone", "gone: does not exist"),
        ("gone/deeper", "gone/deeper: does not exist"),
        ("README.md/x", "README.md/x: does not exist"),
        ("broken.py", "broken.py: does not exist"),
        ("nul\0.py", "nul\\x00.py: does not exist"),
        ("new\nline\udce9", "new\\nline\\udce9: does not exist"),
        ("README.md", "README.md: not an interpreter, a folder or a .py file"),
        ("jax-0.8.0-py3-none-any.whl", "any.whl: not an interpreter, a folder or a .py file"),
    ],
)
def test_wrong_argument(tmp_path: Path, name: str, why: str) -> None:
    for file in ("README.md", "jax-0.8.0-py3-none-any.whl"):
        (tmp_path / file).touch()
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    with pytest.raises(UsageError) as caught:
        find(f"{tmp_path}/{name}")
    assert str(caught.value).endswith(why)
    assert str(caught.value).isprintable()


def test_unreachable_argument(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(CodemodError, match="loop of links") as caught:
        find(tmp_path / "loop")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("raw", [b"blank and\ttab", b"new\nline", b"\xe9\xff", b"-rf"])
def test_odd_names(tmp_path: Path, raw: bytes) -> None:
    folder = tmp_path / os.fsdecode(raw)
    put_jax(folder / "a")
    target = find(folder)
    assert relatives(target) == [f"a/{FILE}"]
    assert find(folder / "a" / "jax").copies
    assert find(folder / "a" / FILE).copies


# --- start-up -------------------------------------------------------------------------------


def test_heavy_modules_are_not_imported(tmp_path: Path) -> None:
    put_jax(tmp_path)
    code = (
        "import sys, codemod.trees; from codemod.locate import locate\n"
        f"assert locate({str(tmp_path)!r}, environ={{}}).copies\n"
        "heavy = {'subprocess', 'tempfile', 'difflib', 'json', 'tokenize', 'jax', 'libcst'}\n"
        "print(*heavy & (set(sys.modules) - before))"
    )
    # What `dataclasses` itself brings along is the interpreter's business.
    code = "import sys, dataclasses; before = set(sys.modules)\n" + code
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == ""
