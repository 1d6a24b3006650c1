from __future__ import annotations

import json
import os
import shutil
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from codemod import interpreter as module
from codemod.errors import CodemodError, UsageError
from codemod.locate import locate
from codemod.model import Kind
from tests.places import FILE, SITE, find, put_info, put_jax, relatives

if TYPE_CHECKING:
    from pathlib import Path

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


@pytest.mark.parametrize("layout", ["", "src"])
def test_the_sources_of_an_editable_install(venv: Path, tmp_path: Path, layout: str) -> None:
    project = tmp_path / "my jax"
    source = put_jax(project / layout)
    (project / layout / "jax" / "__init__.py").touch()
    info = put_info(venv / SITE, "0.8.0")
    (venv / SITE / "__editable___jax_0_8_0_finder.py").write_text("MAPPING = {}")
    told = {"url": project.as_uri(), "dir_info": {"editable": True}}
    (info / "direct_url.json").write_text(json.dumps(told))
    target = find(venv)
    assert [copy.path for copy in target.copies] == [source]
    (note,) = target.notes
    assert note == (
        f"{project / layout}: the sources of an editable install, by {info / 'direct_url.json'}"
    )


@pytest.mark.parametrize(
    "told",
    [
        '{"url": "file:///nowhere", "dir_info": {"editable": true}}',
        '{"url": "file:///", "dir_info": {}}',
        '{"url": "https://example.org/jax", "vcs_info": {}}',
        "[]",
        "{",
    ],
)
def test_what_tells_of_no_editable_install(venv: Path, told: str) -> None:
    info = put_info(venv / SITE, "0.8.0")
    (info / "direct_url.json").write_text(told)
    target = find(venv)
    assert target.copies == ()
    assert "its folder" in target.notes[0]


def test_a_folder_that_a_pth_file_adds(venv: Path, tmp_path: Path) -> None:
    source = put_jax(tmp_path / "more")
    text = f"# a comment\nimport sys\n\n/nowhere\n.\n{tmp_path / 'more'}\n"
    (venv / SITE / "more.pth").write_text(text)
    assert [copy.path for copy in find(venv).copies] == [source]
    assert [copy.path for copy in find(venv / "bin" / "python").copies] == [source]
    put_jax(venv / SITE)  # which comes first
    target = find(venv)
    assert [copy.path for copy in target.copies] == [venv / SITE / FILE]
    assert f"{tmp_path / 'more' / 'jax'}: left alone" in target.notes[0]


def test_a_jax_in_an_archive_is_told(venv: Path, tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    with zipfile.ZipFile(archive, "w") as made:
        made.writestr(FILE, "")
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(other, "w") as made:
        made.writestr("a.py", "")
    (tmp_path / "broken.zip").write_bytes(archive.read_bytes()[:-10])
    path = os.pathsep.join(map(str, (archive, other, tmp_path / "broken.zip")))
    target = locate(str(venv / "bin" / "python"), environ={**os.environ, "PYTHONPATH": path})
    assert target.copies == ()
    assert [n for n in target.notes if "unpack it" in n] == [
        f"{archive}: holds a jax that cannot be edited in place: unpack it"
    ]


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
