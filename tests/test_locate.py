from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from codemod import locate as module
from codemod.errors import CodemodError, UsageError
from codemod.locate import Target, locate
from codemod.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TAG = f"python{sys.version_info[0]}.{sys.version_info[1]}"
SITE = f"lib/{TAG}/site-packages"
FILE = "jax/_src/clusters/cloud_tpu_cluster.py"


def put_jax(site: Path, version: str | None = None, package: str = "jax") -> Path:
    """Make a jax in a folder, with a dist-info if there is a version; return its file."""
    file = site / package / FILE.removeprefix("jax/")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"x = 1\n")
    (site / package / "__init__.py").touch()
    if version:
        put_info(site, version)
    return file


def put_info(site: Path, version: str, name: str = "jax") -> Path:
    info = site / f"jax-{version}.dist-info"
    info.mkdir(parents=True)
    text = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\nVersion: 9 of the text\n"
    (info / "METADATA").write_text(text)
    return info


def find(argument: Path | str | None, **environ: str) -> Target:
    text = None if argument is None else str(argument)
    return locate(text, environ={"PATH": os.environ["PATH"], **environ})


def relatives(target: Target) -> list[str]:
    for copy in target.copies:
        assert copy.path == target.root / copy.relative
    return [copy.relative for copy in target.copies]


@pytest.fixture(scope="session")
def pristine_venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder


@pytest.fixture
def venv(pristine_venv: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "venv"
    shutil.copytree(pristine_venv, folder, symlinks=True)
    return folder


@pytest.fixture
def conda(tmp_path: Path) -> Path:
    folder = tmp_path / "conda"
    (folder / "conda-meta").mkdir(parents=True)
    (folder / "bin").mkdir()
    (folder / "bin" / "python").symlink_to(sys.executable)
    put_jax(folder / "lib" / "python3.12" / "site-packages", "0.5.0")
    return folder


# --- environments ---------------------------------------------------------------------------


def test_venv(venv: Path) -> None:
    put_jax(venv / SITE, "0.8.0")
    target = find(venv)
    assert relatives(target) == [f"{SITE}/{FILE}"]
    assert (target.argument, target.kind, target.root) == (str(venv), Kind.ENVIRONMENT, venv)
    assert target.why == "an environment"
    assert target.python == venv / "bin" / "python"
    assert target.copies[0].jax_version == "0.8.0"
    assert target.notes == ()


def test_link_between_library_folders_is_no_second_copy(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    put_jax(tmp_path / "lib" / "python3.11" / "site-packages")
    (tmp_path / "lib64").symlink_to("lib")
    target = find(tmp_path)
    assert relatives(target) == [f"lib/python3.11/site-packages/{FILE}"]
    assert target.notes == ()


def test_second_library_folder_of_a_version_is_noted(tmp_path: Path) -> None:
    (tmp_path / "pyvenv.cfg").touch()
    put_jax(tmp_path / "lib" / "python3.11" / "site-packages")
    put_jax(tmp_path / "lib64" / "python3.11" / "site-packages")
    target = find(tmp_path)
    assert relatives(target) == [f"lib/python3.11/site-packages/{FILE}"]
    (note,) = target.notes
    assert "lib64/python3.11/site-packages/jax: left alone" in note


def test_conda(conda: Path) -> None:
    target = find(conda)
    assert relatives(target) == [f"lib/python3.12/site-packages/{FILE}"]
    assert (target.kind, target.python) == (Kind.ENVIRONMENT, conda / "bin" / "python")
    assert target.copies[0].jax_version == "0.5.0"


def test_two_pythons_in_a_prefix_have_a_copy_each(conda: Path) -> None:
    put_jax(conda / "lib" / "python3.11" / "site-packages", "0.4.30")
    target = find(conda)
    assert [copy.jax_version for copy in target.copies] == ["0.4.30", "0.5.0"]
    assert target.notes == ()


@pytest.mark.parametrize("python", ["Scripts/python.exe", "python.exe"], ids=["venv", "conda"])
def test_windows(tmp_path: Path, python: str) -> None:
    (tmp_path / python).parent.mkdir(exist_ok=True)
    (tmp_path / python).touch()
    put_jax(tmp_path / "Lib" / "site-packages", "0.8.0")
    target = find(tmp_path)
    assert relatives(target) == [f"Lib/site-packages/{FILE}"]
    assert (target.kind, target.python) == (Kind.ENVIRONMENT, tmp_path / python)
    assert find(tmp_path / "Lib" / "site-packages").python == tmp_path / python


def test_debian(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    put_jax(tmp_path / "lib" / "python3" / "dist-packages")
    target = find(tmp_path)
    assert relatives(target) == [f"lib/python3/dist-packages/{FILE}"]
    assert target.python == tmp_path / "bin" / "python3"


def test_only_the_imported_jax_of_an_environment(venv: Path) -> None:
    put_jax(venv / SITE)
    put_jax(venv / SITE / "other" / "vendored")
    assert relatives(find(venv)) == [f"{SITE}/{FILE}"]


def test_environment_without_jax(venv: Path) -> None:
    target = find(venv)
    assert (target.kind, target.copies, target.notes) == (Kind.ENVIRONMENT, (), ())


def test_environment_with_the_jax_of_its_base(venv: Path) -> None:
    config = venv / "pyvenv.cfg"
    config.write_text(config.read_text().replace("packages = false", "packages = true"))
    (note,) = find(venv).notes
    assert note.startswith(f"{venv / 'bin' / 'python'}: may import the jax of its base")
    put_jax(venv / SITE)
    assert find(venv).notes == ()


def test_environment_with_jax_installed_editable(venv: Path) -> None:
    info = put_info(venv / SITE, "0.8.0")
    target = find(venv)
    assert target.copies == ()
    (note,) = target.notes
    assert note.startswith(f"{info}: ")
    assert "editable" in note


def test_root_file_system_is_searched(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").touch()
    put_jax(tmp_path / "usr" / "local" / "lib" / "python3.11" / "site-packages")
    target = find(tmp_path)
    assert relatives(target) == [f"usr/local/lib/python3.11/site-packages/{FILE}"]
    assert target.kind is Kind.TREE


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_site_packages(tmp_path: Path, name: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").touch()
    site = tmp_path / "lib" / "python3.11" / name
    put_jax(site, "0.8.0")
    put_jax(site / "other" / "vendored")
    target = find(site)
    assert relatives(target) == [FILE]
    assert (target.kind, target.root) == (Kind.ENVIRONMENT, site)
    assert target.why == f"a {name} folder"
    assert target.python == tmp_path / "bin" / "python"


def test_site_packages_without_interpreter(tmp_path: Path) -> None:
    put_jax(tmp_path / "site-packages")
    assert find(tmp_path / "site-packages").python is None


# --- interpreters ---------------------------------------------------------------------------


def test_interpreter(venv: Path) -> None:
    put_jax(venv / SITE, "0.8.0")
    python = venv / "bin" / "python"
    target = find(python)
    assert relatives(target) == [FILE]
    assert (target.kind, target.root) == (Kind.ENVIRONMENT, venv / SITE)
    assert (target.why, target.python) == ("an interpreter", python)
    assert target.copies[0].jax_version == "0.8.0"


def test_interpreter_without_jax(venv: Path) -> None:
    target = find(venv / "bin" / "python")
    assert (target.copies, target.python) == ((), venv / "bin" / "python")


def test_interpreter_takes_the_first_jax(venv: Path, tmp_path: Path) -> None:
    put_jax(venv / SITE)
    first = put_jax(tmp_path / "first")
    target = find(venv / "bin" / "python", PYTHONPATH=str(tmp_path / "first"))
    assert [copy.path for copy in target.copies] == [first]
    (note,) = target.notes
    assert note == (
        f"{venv / SITE / 'jax'}: left alone, {tmp_path / 'first' / 'jax'} is imported before it"
    )


def test_interpreter_that_takes_a_jax_without_the_file(venv: Path, tmp_path: Path) -> None:
    put_jax(venv / SITE)
    (tmp_path / "first" / "jax").mkdir(parents=True)
    (tmp_path / "first" / "jax" / "__init__.py").touch()
    target = find(venv / "bin" / "python", PYTHONPATH=str(tmp_path / "first"))
    assert target.copies == ()
    assert len(target.notes) == 1


def test_interpreter_follows_path_files(venv: Path, tmp_path: Path) -> None:
    file = put_jax(tmp_path / "checkout")
    (venv / SITE / "jax.pth").write_text(str(tmp_path / "checkout"))
    target = find(venv / "bin" / "python")
    assert [copy.path for copy in target.copies] == [file]
    assert target.root == tmp_path / "checkout"


def test_interpreter_ignores_current_folder(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    put_jax(here)
    for name in ("json", "ast", "os", "site", "encodings"):
        (here / f"{name}.py").write_text("raise SystemExit('imported from the current folder')")
    monkeypatch.chdir(here)
    assert find(venv / "bin" / "python").copies == ()


def test_interpreter_in_a_folder_with_an_odd_name(pristine_venv: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"blank and\nnewline \xe9")
    shutil.copytree(pristine_venv, folder, symlinks=True)
    put_jax(folder / SITE)
    target = find(folder / "bin" / "python")
    assert [copy.path for copy in target.copies] == [folder / SITE / FILE]


def test_interpreter_that_says_more(venv: Path) -> None:
    put_jax(venv / SITE)
    (venv / SITE / "noise.pth").write_text("import sys; print('hello', end=''); sys.stdout.flush()")
    assert relatives(find(venv / "bin" / "python")) == [FILE]


def test_interpreter_leaves_no_bytecode(venv: Path) -> None:
    (venv / SITE / "of_the_site.py").touch()
    (venv / SITE / "some.pth").write_text("import of_the_site")
    find(venv / "bin" / "python")
    assert not list((venv / SITE).rglob("*.pyc"))


def script(tmp_path: Path, text: str, mode: int = 0o755) -> Path:
    path = tmp_path / "python3"
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(mode)
    return path


MARKED = "printf '\\ncodemod sys.path: %s\\n'"
BROKEN = {
    "silent": ("true", "does not answer as a Python interpreter"),
    "rubbish": ("echo hello", "does not answer as a Python interpreter"),
    "bytes": ("printf '\\377\\376'", "does not answer as a Python interpreter"),
    "rubbish-marked": (f"{MARKED} '[1 2'", "does not answer as a Python interpreter"),
    "bytes-marked": (f"{MARKED} '\\377'", "does not answer as a Python interpreter"),
    "other-marked": (f"{MARKED} 7", "does not answer as a Python interpreter"),
    "numbers-marked": (f"{MARKED} '[7]'", "does not answer as a Python interpreter"),
    "fails": ("echo first >&2; printf 'no \\033[1m such\\n\\n' >&2; exit 3", "exit status 3: no "),
    "fails-silently": ("exit 3", "exit status 3$"),
    "hangs": ("exec sleep 600", "no answer in 0.5 seconds"),
}


@pytest.mark.parametrize(("text", "why"), BROKEN.values(), ids=BROKEN)
def test_broken_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    if "hangs" not in why:
        monkeypatch.setattr(module, "TIMEOUT", 0.5 if "no answer" in why else 60)
    path = script(tmp_path, text)
    with pytest.raises(CodemodError, match=why) as caught:
        find(path)
    assert caught.value.exit_code == 3
    assert str(caught.value).startswith(f"{path}: ")
    assert str(caught.value).isprintable()


def test_interpreter_that_is_not_executable(tmp_path: Path) -> None:
    with pytest.raises(CodemodError, match=r"python3: cannot be run: Permission denied"):
        find(script(tmp_path, "", mode=0o644))


# --- the active environment -----------------------------------------------------------------


def test_active_venv_comes_first(venv: Path, conda: Path) -> None:
    put_jax(venv / SITE)
    target = find(None, VIRTUAL_ENV=str(venv), CONDA_PREFIX=str(conda))
    assert (target.argument, target.root) == (str(venv), venv)
    assert target.why == f"VIRTUAL_ENV is set to {venv}"
    assert len(target.copies) == 1


def test_active_conda(conda: Path) -> None:
    target = find(None, VIRTUAL_ENV="", CONDA_PREFIX=str(conda))
    assert target.root == conda
    assert target.why == f"CONDA_PREFIX is set to {conda}"


def test_running_interpreter(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_jax(venv / SITE)
    python = str(venv / "bin" / "python")
    monkeypatch.setattr(sys, "executable", python)
    target = find(None)
    assert relatives(target) == [FILE]
    assert (target.argument, target.why) == (python, f"the running interpreter, {python}")


@pytest.mark.parametrize("executable", ["", None])
def test_running_interpreter_is_unknown(
    monkeypatch: pytest.MonkeyPatch, executable: str | None
) -> None:
    monkeypatch.setattr(sys, "executable", executable)
    with pytest.raises(UsageError, match="running interpreter is unknown"):
        find(None)


def test_active_environment_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    with pytest.raises(UsageError) as caught:
        find(None, VIRTUAL_ENV=str(gone))
    assert str(caught.value) == f"VIRTUAL_ENV is set to {gone}: does not exist"


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
    assert target.notes == (f"{tmp_path / 'closed'}: not searched: Permission denied",)


NOBODY = """
import os, sys
from codemod.locate import locate
if os.geteuid() == 0:
    os.setgid(1234)
    os.setuid(1234)
print(locate(sys.argv[1], environ={}).notes)
"""


def test_folder_without_permission() -> None:
    with tempfile.TemporaryDirectory() as top:  # tmp_path is below a folder of its owner only
        closed = Path(top) / "closed"
        closed.mkdir(mode=0)
        Path(top).chmod(0o755)
        environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
        command = [sys.executable, "-c", NOBODY, str(closed)]
        run = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == repr((f"{closed}: not searched: Permission denied",))


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
    (tmp_path / "python_tpu.py").touch()
    target = find(tmp_path / "python_tpu.py")
    assert relatives(target) == ["python_tpu.py"]
    assert target.copies[0].jax_version is None


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
