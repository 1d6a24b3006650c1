"""`codemod wheel` as a command: what it is given, what it leaves, and what it writes where."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
import zipfile
from multiprocessing import parent_process
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator

from codemod import wheels
from codemod.engine import plan
from codemod.record import Record
from codemod.registry import load
from codemod.wheel import LABEL
from tests.installations import small_wheel
from tests.releases import NOT_AFFECTED, source, wheel
from tests.wheels import patched, run

PATCHES = load()


def schema() -> dict[str, Any]:
    import codemod

    path = Path(codemod.__file__).parent / "schema" / "wheel.schema.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the patched wheel of 0.8.0."""
    folder = tmp_path_factory.mktemp("made")
    assert run(wheel("0.8.0"), "-o", folder, "--no-verify").exit_code == 0
    return folder


def test_a_wheel_is_run_before_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run(wheel("0.8.0"), "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert patched("0.8.0", tmp_path).exists()
    patched("0.8.0", tmp_path).unlink()
    ordered = next(patch for patch in PATCHES if patch.id == "skip_mds_env_value")
    gutted = plan(source("0.8.0"), [ordered])
    wrong = gutted.after.replace(b'SKIP_MDS_QUERY") is None', b'SKIP_MDS_QUERY") is not None')
    object.__setattr__(gutted, "after", wrong)
    monkeypatch.setattr("codemod.distribution.planned", lambda *_, **__: gutted)
    result = run(wheel("0.8.0"), "-o", tmp_path)
    assert result.exit_code == 3
    assert "not proved, and not written" in result.stdout
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("version", NOT_AFFECTED[-1:])
def test_a_wheel_that_needs_no_patch_is_reported(version: str, tmp_path: Path) -> None:
    result = run(wheel(version), "-o", tmp_path, "--no-verify")
    assert result.exit_code == 0
    assert "none: has no such code" in result.stdout
    assert [*tmp_path.iterdir()] == []
    result = run(wheel(version), "-o", tmp_path, "--no-verify", "--force")
    assert patched(version, tmp_path).exists()


def test_a_patched_wheel_is_not_patched_again(made: Path, tmp_path: Path) -> None:
    result = run(patched("0.8.0", made), "-o", tmp_path)
    assert result.exit_code == 0
    assert "already: needs no patch" in result.stdout
    assert [*tmp_path.iterdir()] == []


def test_the_wheel_that_is_given_is_never_replaced(made: Path, tmp_path: Path) -> None:
    given = tmp_path / patched("0.8.0", made).name
    given.write_bytes(patched("0.8.0", made).read_bytes())
    before = given.read_bytes()
    assert run(given, "-o", tmp_path, "--force", "--no-verify").exit_code == 0
    assert given.read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {
        given.name,
        f"jax-0.8.0+{LABEL}.{LABEL}-py3-none-any.whl",
    }


def test_a_label_of_ones_own(tmp_path: Path) -> None:
    result = run(wheel("0.8.0"), "-o", tmp_path, "--no-verify", "--local-version", "team-7")
    assert result.exit_code == 0
    assert (tmp_path / "jax-0.8.0+team.7-py3-none-any.whl").exists()
    for wrong in ("", "a b", "+x", "ü", "a..b"):
        assert run(wheel("0.8.0"), "-o", tmp_path, "--local-version", wrong).exit_code == 2


def test_json_and_one_bad_wheel_among_good_ones(tmp_path: Path) -> None:
    bad = tmp_path / "jax-9.9.9-py3-none-any.whl"
    bad.write_bytes(b"PK\5\6")
    good = wheel("0.8.0")
    result = run(bad, good, "-o", tmp_path / "out", "--no-verify", "--format", "json")
    assert result.exit_code == 3
    told = json.loads(result.stdout)
    Draft202012Validator(schema()).validate(told)
    assert [each["outcome"] for each in told["wheels"]] == ["refused", "applied"]
    made = told["wheels"][1]
    assert hashlib.sha256(Path(made["file"]).read_bytes()).hexdigest() == made["sha256"]
    assert made["jax_version"] == f"0.8.0+{LABEL}"
    assert made["patches"] == ["skip_mds_env_value"]
    assert "is no archive" in result.stderr


def test_sources_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for wrong in ("jax", "jax>=0.8", "numpy==1.0", "jax @ file:///x", "?", tmp_path / "empty"):
        result = run(wrong, "-o", tmp_path)
        assert result.exit_code == 2, wrong
    result = run(tmp_path / "jax-1-py3-none-any.whl", "-o", tmp_path)
    assert result.exit_code == 3
    assert "does not exist" in result.stdout


def test_a_folder_and_a_requirement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / wheel("0.8.0").name).symlink_to(wheel("0.8.0"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel("0.4.35").parent))
    result = run(folder, "jax[tpu]==0.4.35", "-o", tmp_path / "out", "--no-verify")
    assert result.exit_code == 0, result.output
    assert {p.name for p in (tmp_path / "out").glob("*.whl")} == {
        patched(version, tmp_path).name for version in ("0.8.0", "0.4.35")
    }
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))  # it is kept, and not fetched again
    assert run("jax==0.4.35", "-o", tmp_path / "out", "--no-verify").exit_code == 0
    result = run("jax==0.4.34", "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert "jax==0.4.34: pip: No matching distribution" in result.stderr
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel("0.4.34").parent))
    assert run("jax==0.4.34", "-o", tmp_path / "out", "--no-verify").exit_code == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    result = run("jax==0.4.33", "-o", tmp_path / "out")
    assert result.exit_code == 3
    assert "pip is what fetches it, and is not here" in result.stderr


def test_nothing_that_is_read_is_written_over(tmp_path: Path) -> None:
    given = tmp_path / wheel("0.8.0").name
    given.write_bytes(wheel("0.8.0").read_bytes())
    result = run(given, "-o", tmp_path / "new", "--no-verify", "--requirements", given)
    assert result.exit_code == 2
    assert "would replace what is read" in result.stderr
    assert given.read_bytes() == wheel("0.8.0").read_bytes()
    assert not (tmp_path / "new").exists()


def test_one_file_once_and_two_of_one_name_not_at_all(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / wheel("0.8.0").name).write_bytes(wheel("0.8.0").read_bytes())
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "a")
    result = run(tmp_path / "a", link, "-o", tmp_path / "new", "--no-verify")
    assert (result.exit_code, "1 wheel: 1 made" in result.stdout) == (0, True), result.stdout
    result = run(tmp_path / "a", tmp_path / "b", "-o", tmp_path / "new", "--no-verify")
    assert result.exit_code == 2
    assert "are called the same" in result.stderr


def test_where_nothing_is_new_pins_and_index_stay(made: Path, tmp_path: Path) -> None:
    pins = tmp_path / "jax.txt"
    pins.write_text("jax==0.8.0 # mine\n")
    result = run(patched("0.8.0", made), "-o", tmp_path, "--requirements", pins)
    assert result.exit_code == 0
    assert "nothing new" in result.stderr
    assert pins.read_text() == "jax==0.8.0 # mine\n"


def killed(path: Path, order: wheels.Order) -> wheels.Made:
    """Make a wheel, but in a process of its own be killed, as where memory runs out."""
    if parent_process():
        os.kill(os.getpid(), signal.SIGKILL)
    return wheels._made(path, order)


def test_a_killed_process_loses_no_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order = wheels.Order(
        folder=str(tmp_path),
        label=LABEL,
        ids=(),
        patch_folders=(),
        force=False,
        verify=False,
        epoch=None,
    )
    monkeypatch.setattr(wheels, "_make", killed)
    made = wheels.make([wheel("0.8.0"), wheel("0.7.2")], order, jobs=2)
    assert [each.version for each in made] == [f"0.8.0+{LABEL}", f"0.7.2+{LABEL}"]
    assert all(Path(each.file).exists() for each in made)


def test_one_that_cannot_be_laid_out_does_not_stop_the_others(tmp_path: Path) -> None:
    """A name that is both a file and a folder: pip could not unpack it either."""
    odd = small_wheel("0.8.0", tmp_path)
    with zipfile.ZipFile(odd) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["jax/_src/clusters/cloud_tpu_cluster.py/x.py"] = b""
    record = Record(files["jax-0.8.0.dist-info/RECORD"])
    record.insert("jax/_src/clusters/cloud_tpu_cluster.py/x.py", b"")
    files["jax-0.8.0.dist-info/RECORD"] = bytes(record)
    with zipfile.ZipFile(odd, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    result = run(odd, wheel("0.7.2"), "-o", tmp_path / "new")
    assert result.exit_code == 3
    assert "cannot be laid out to be run" in result.stdout
    assert [path.name for path in (tmp_path / "new").iterdir()] == [patched("0.7.2", tmp_path).name]


def test_an_output_that_is_a_file_is_named_and_what_was_made_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    result = run(wheel("0.8.0"), "-o", file, "--no-verify")
    assert (result.exit_code, f"{file}: " in result.stderr) == (3, True)
    result = run(wheel("0.8.0"), "-o", tmp_path / "new", "--no-verify", "--index", file)
    assert (result.exit_code, f"{file}: " in result.stderr) == (3, True)
    assert "1 wheel: 1 made" in result.stdout


def test_the_links_of_an_index_lead_from_where_it_really_is(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "a" / "b")
    arguments = ("-o", tmp_path / "new", "--no-verify", "--index", tmp_path / "link" / "simple")
    assert run(wheel("0.8.0"), *arguments).exit_code == 0
    folder = tmp_path / "a" / "b" / "simple" / "jax"
    [file] = json.loads((folder / "index.json").read_text())["files"]
    assert (folder / unquote(file["url"])).exists()
