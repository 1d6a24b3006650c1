"""Bytecode of a file: what Python would run in place of it is removed, and nothing else."""

from __future__ import annotations

import os
import py_compile
import subprocess
import sys
from pathlib import Path

import pytest

from codemod import trees
from codemod.engine import plan
from codemod.errors import Refused
from codemod.record import Record
from codemod.registry import load
from tests.installations import COMPILED, VERSION, info, install, run
from tests.releases import MEMBER, source

FIXED = plan(source(VERSION), load()).after


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    install(folder)
    return folder


FORMS = (
    *(
        f"__pycache__/cloud_tpu_cluster.{tag}.pyc"
        for tag in ("cpython-39", "cpython-313", "pypy310")
    ),
    "__pycache__/cloud_tpu_cluster.cpython-311.opt-1.pyc",
    "__pycache__/cloud_tpu_cluster.cpython-311.opt-2.pyc",
    "cloud_tpu_cluster.pyc",
)
OTHERS = ("__pycache__/cluster.cpython-311.pyc", "__pycache__/cloud_tpu_cluster_2.cpython-311.pyc")


def test_every_compiled_form_of_the_file_is_removed_and_no_other(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = (site / MEMBER).parent
    prefix = tmp_path / "prefix"
    elsewhere = prefix.joinpath(*clusters.parts[1:]) / "cloud_tpu_cluster.cpython-311.pyc"
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(prefix))
    forms, others = [clusters / f for f in FORMS], [clusters / f for f in OTHERS]
    for path in (*forms, *others, elsewhere):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"compiled")
    assert run("apply", site).exit_code == 0
    assert not any(path.exists() for path in (*forms, elsewhere, site / COMPILED))
    assert all(path.exists() for path in others)


def test_the_row_of_bytecode_stays_for_uninstall_without_the_hash_of_what_is_gone(
    site: Path,
) -> None:
    path = info(site) / "RECORD"
    before = path.read_bytes().replace(
        COMPILED.encode() + b",,", COMPILED.encode() + b",sha256=x,8"
    )
    path.write_bytes(before)
    run("apply", site)
    [row] = Record(path.read_bytes()).of(COMPILED)
    assert (row.hash, row.size) == ("", "")


LOADER = """
import sys, importlib.util
sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("m", sys.argv[1])
code = spec.loader.get_code("m")
print("TPU_SKIP_MDS_QUERY\\") is None" in repr(code.co_consts) or any(
    "TPU_SKIP_MDS_QUERY" in getattr(c, "co_consts", ()) and c.co_name == "get_tpu_env_value"
    for c in code.co_consts))
"""


def is_guarded_when_loaded(path: Path) -> bool:
    command = [sys.executable, "-c", LOADER, str(path)]
    return subprocess.check_output(command, text=True).strip() == "True"


@pytest.mark.parametrize("kind", ["unchecked", "same size and second"])
def test_stale_bytecode_does_not_win(site: Path, kind: str) -> None:
    path = site / MEMBER
    mode = py_compile.PycInvalidationMode
    chosen = mode.UNCHECKED_HASH if kind == "unchecked" else mode.TIMESTAMP
    if kind != "unchecked":  # what a copy to a file system without a sense of time may leave
        status = path.stat()
        path.write_bytes(source(VERSION).ljust(len(FIXED), b"\n"))
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    py_compile.compile(str(path), invalidation_mode=chosen, doraise=True)
    old, times = path.read_bytes(), path.stat()
    path.write_bytes(FIXED)  # the control: written by hand, the old code runs
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert not is_guarded_when_loaded(path)
    path.write_bytes(old)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run("apply", site).exit_code == 0
    assert is_guarded_when_loaded(path)


def test_bytecode_of_any_optimisation_and_by_a_linked_prefix(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "link"
    link.symlink_to(site)
    cache = tmp_path / "cache"
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(cache))
    folder = cache.joinpath(*link.parts[1:], *MEMBER.split("/")[:-1])
    folder.mkdir(parents=True)
    odd = [
        (site / COMPILED).with_name("cloud_tpu_cluster.cpython-311.opt-3.pyc"),
        folder / "cloud_tpu_cluster.cpython-312.opt-x.pyc",
    ]
    for path in odd:
        path.write_bytes(b"old code")
    assert run("apply", link).exit_code == 0
    assert not any(path.exists() for path in odd)


def compiled_unchecked(path: Path) -> Path:
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    return Path(py_compile.compile(str(path), invalidation_mode=mode, doraise=True) or "")


@pytest.mark.parametrize("form", ["site", "file"])
def test_a_file_that_is_fixed_already_is_what_runs(site: Path, form: str) -> None:
    """As where somebody patched it by hand: Python goes on with what it compiled before."""
    path = site / MEMBER
    stale = compiled_unchecked(path)
    path.write_bytes(FIXED)
    assert not is_guarded_when_loaded(path)
    result = run("apply", site if form == "site" else path)
    assert result.exit_code == 0
    assert "was of other code than the file; removed" in result.stderr
    assert not stale.exists()
    assert is_guarded_when_loaded(path)


def test_bytecode_of_the_file_as_it_is_stays(site: Path) -> None:
    path = site / MEMBER
    run("apply", site)
    kept = compiled_unchecked(path)
    result = run("apply", site)
    assert (result.exit_code, kept.exists()) == (0, True)
    assert "removed" not in result.stderr
    other = kept.with_name("cloud_tpu_cluster.cpython-39.pyc")  # whose hashes are not known here
    other.write_bytes(b"????" + kept.read_bytes()[4:])
    assert "removed" in run("apply", site).stderr
    assert (kept.exists(), other.exists()) == (True, False)


def test_what_cannot_be_removed_and_would_run_is_no_success(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled_unchecked(site / MEMBER)
    (site / MEMBER).write_bytes(FIXED)

    def refused(path: Path) -> None:
        raise Refused(f"{path}: is immutable")

    monkeypatch.setattr(trees, "remove", refused)
    result = run("apply", site)
    assert result.exit_code == 3
    assert "is immutable" in result.stdout
