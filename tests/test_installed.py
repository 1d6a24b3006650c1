"""An installation after `apply` and after `revert`: RECORD, bytecode, receipt, locks, links."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from codemod.engine import plan
from codemod.record import Record
from codemod.registry import load
from tests.forks import SPLIT, WHOLE
from tests.installations import COMPILED, VERSION, disagreeing, info, install, listing, receipt, run
from tests.releases import MEMBER, source

if TYPE_CHECKING:
    from pathlib import Path


FIXED = plan(source(VERSION), load()).after


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site-packages"
    install(folder)
    return folder


def record(site: Path) -> list[bytes]:
    return (info(site) / "RECORD").read_bytes().splitlines(keepends=True)


def test_what_is_checked_here_would_be_noticed(site: Path) -> None:
    """The positive control: an edit by hand leaves RECORD wrong."""
    assert disagreeing(site) == []
    (site / MEMBER).write_bytes(FIXED)
    assert disagreeing(site) == [MEMBER]


def test_after_apply_the_installation_is_consistent(site: Path) -> None:
    before = record(site)
    result = run("apply", site)
    assert result.exit_code == 0, result.output
    assert (site / MEMBER).read_bytes() == FIXED
    assert disagreeing(site) == []
    assert "note" not in result.stderr
    after = record(site)
    changed = [n for n, (old, new) in enumerate(zip(before, after, strict=False)) if old != new]
    assert changed == [next(n for n, row in enumerate(before) if row.startswith(MEMBER.encode()))]
    assert [row.split(b",")[0].decode() for row in after[len(before) :]] == [
        f"{info(site).name}/codemod.json"
    ]


def test_apply_again_changes_nothing(site: Path) -> None:
    run("apply", site)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    assert run("apply", site).exit_code == 0
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before


@pytest.mark.parametrize("form", ["file", "jax"])
def test_the_file_itself_and_its_package_are_of_the_installation_too(site: Path, form: str) -> None:
    before = listing(site)
    target = {"file": site / MEMBER, "jax": site / "jax"}[form]
    assert run("apply", target).exit_code == 0
    assert disagreeing(site) == []
    assert receipt(site).exists()
    assert run("revert", target).exit_code == 0
    assert listing(site) == before


def test_the_receipt_says_what_was_done(site: Path) -> None:
    run("apply", site)
    told = json.loads(receipt(site).read_text())
    assert told["version"] == 1
    assert told["tool"].startswith("jax-codemod ")
    [(path, entry)] = told["files"].items()
    assert path == MEMBER
    [(patch, revision)] = entry["patches"].items()
    assert patch == "skip_mds_env_value"
    assert len(revision) == 12
    digests = listing(site)
    assert entry["after_sha256"] == digests[MEMBER] != entry["before_sha256"]


ODD_ROWS = (
    b"../../bin/jax,sha256=x,1\n",
    b"/usr/share/doc/jax,sha256=y,2\n",
    b'"jax/a,b.py",,\n',
    b"jax/version.py,sha256=other,3\n",
)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_rows_of_others_stay_as_they_are(site: Path, newline: bytes) -> None:
    rows = [*ODD_ROWS, *record(site), *(row for row in record(site) if MEMBER.encode() in row)]
    rows = [row.replace(b"\n", newline) for row in rows]
    (info(site) / "RECORD").write_bytes(b"".join(rows))
    assert run("apply", site).exit_code == 0
    after = record(site)
    for old, new in zip(rows, after, strict=False):
        if old.startswith(MEMBER.encode()):
            assert old != new
            assert Record(new).rows[0].agrees(FIXED)
        else:
            assert old == new
    assert len(after) == len(rows) + 1
    assert all(row.endswith(newline) for row in after)
    run("revert", site)
    assert record(site) == rows


def test_a_record_that_was_wrong_before_is_told_and_put_back_as_it_was(site: Path) -> None:
    path = info(site) / "RECORD"
    old = path.read_bytes().replace(MEMBER.encode() + b",sha256=", MEMBER.encode() + b",sha256=0")
    path.write_bytes(old)
    result = run("apply", site)
    assert result.exit_code == 0
    assert "RECORD did not agree with it before" in result.stderr
    assert disagreeing(site) == []
    run("revert", site)
    assert path.read_bytes() == old


def test_a_file_that_record_does_not_list_is_told(site: Path) -> None:
    path = info(site) / "RECORD"
    rows = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(row for row in rows if not row.startswith(MEMBER.encode())))
    result = run("apply", site)
    assert (result.exit_code, (site / MEMBER).read_bytes()) == (0, FIXED)
    assert "RECORD does not list it" in result.stderr


def test_without_record_there_is_a_receipt_and_a_note(site: Path) -> None:
    (info(site) / "RECORD").unlink()
    before = listing(site)
    result = run("apply", site)
    assert result.exit_code == 0
    assert "has no RECORD" in result.stderr
    assert run("revert", site).exit_code == 0
    assert listing(site) == before


def test_without_a_dist_info_nothing_is_kept_and_that_is_said(site: Path) -> None:
    shutil.rmtree(info(site))
    result = run("apply", site)
    assert result.exit_code == 0
    assert "nothing is kept to undo this with" in result.stderr
    result = run("revert", site)
    assert result.exit_code == 3
    assert "version control" in result.stdout


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"a,b\n", "line 1: RECORD has a row of 2 fields"), (b"\xff,,\n", "line 1: RECORD is not")],
)
def test_a_record_that_cannot_be_read_is_refused(site: Path, content: bytes, why: str) -> None:
    (info(site) / "RECORD").write_bytes(content)
    before = listing(site, bytecode=True)
    result = run("apply", site)
    assert result.exit_code == 3
    assert why in result.stdout
    assert listing(site, bytecode=True) == before


def test_of_several_dist_infos_the_one_that_tells_of_the_file_is_kept_right(site: Path) -> None:
    stale = site / "jax-0.7.0.dist-info"
    shutil.copytree(info(site), stale)
    (stale / "RECORD").write_bytes(f"{MEMBER},sha256=other,1\n".encode())
    before = listing(site)
    assert run("apply", site).exit_code == 0
    assert receipt(site).exists()
    assert not (stale / "codemod.json").exists()
    assert run("revert", site).exit_code == 0
    assert listing(site) == before


def split(site: Path) -> list[Path]:
    """A fork in several files, two of which are to be edited."""
    files = {name: text.encode() for name, text in {**SPLIT.files, MEMBER: WHOLE}.items()}
    install(site, files=files)
    return [site / MEMBER, site / MEMBER.replace("_tpu_", "_gce_")]


def test_the_files_of_a_split_copy_change_together(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    edited = split(site)
    before = listing(site)
    assert run("apply", site).exit_code == 0
    after = listing(site)
    changed = {site / path for path, digest in before.items() if after[path] != digest}
    assert changed == {*edited, info(site) / "RECORD"}
    assert disagreeing(site) == []
    assert {*json.loads(receipt(site).read_text())["files"]} == {
        path.relative_to(site).as_posix() for path in edited
    }
    assert run("revert", site).exit_code == 0
    assert listing(site) == before


def test_one_file_of_a_split_copy_that_cannot_be_written_keeps_the_others(tmp_path: Path) -> None:
    site = tmp_path / "site-packages"
    _, second = split(site)
    second.chmod(0o444)
    before = listing(site)
    result = run("apply", site)
    assert result.exit_code == 3
    assert "is read-only" in result.stdout
    assert listing(site) == before
    second.chmod(0o644)
    assert run("apply", site).exit_code == 0
    second.write_bytes(second.read_bytes() + b"# mine\n")
    before = listing(site)
    assert run("revert", site).exit_code == 3
    assert listing(site) == before


# What goes wrong while writing.


def without_space() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def codemod(*arguments: str | Path, **how: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "codemod", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **how)  # type: ignore[call-overload, no-any-return]


def test_a_full_disk_changes_nothing(site: Path) -> None:
    before = listing(site, bytecode=True)
    done = codemod("apply", site, preexec_fn=without_space)
    assert done.returncode == 3
    assert "File too large" in done.stdout
    assert listing(site, bytecode=True) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="the mode of a folder is enough for others")
def test_a_read_only_dist_info_changes_nothing(site: Path) -> None:
    before = listing(site, bytecode=True)
    (info(site) / "RECORD").chmod(0o444)
    result = run("apply", site)
    assert result.exit_code == 3
    assert "RECORD: is read-only" in result.stdout
    assert listing(site, bytecode=True) == before


def test_several_at_once_all_end_well(site: Path) -> None:
    command = [sys.executable, "-m", "codemod", "apply", str(site)]
    started = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(4)]
    assert [process.wait() for process in started] == [0] * 4
    assert (site / MEMBER).read_bytes() == FIXED
    assert disagreeing(site) == []


# Links.


def test_a_link_out_of_the_target_is_replaced_only_on_demand(site: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache" / "file.py"
    cache.parent.mkdir()
    (site / MEMBER).rename(cache)
    (site / MEMBER).symlink_to(cache)
    cache.chmod(0o444)
    result = run("apply", site)
    assert result.exit_code == 3
    assert str(cache) in result.stdout
    result = run("apply", site, "--replace-symlink")
    assert result.exit_code == 0, result.output
    assert not (site / MEMBER).is_symlink()
    assert (site / MEMBER).read_bytes() == FIXED
    assert cache.read_bytes() == source(VERSION)
    assert disagreeing(site) == []


def test_a_link_within_the_target_is_listed_and_compiled_by_its_own_name(
    site: Path, tmp_path: Path
) -> None:
    """As where an environment links into a store that lies below the same folder."""
    store = tmp_path / "store" / "abcdef.py"
    store.parent.mkdir()
    shutil.move(site / MEMBER, store)
    (site / MEMBER).symlink_to(store)
    result = run("apply", tmp_path)
    assert result.exit_code == 0, result.output
    assert store.read_bytes() == FIXED
    assert disagreeing(site) == []
    assert not (site / COMPILED).exists()
    assert json.loads(receipt(site).read_text())["files"].keys() == {MEMBER}


@pytest.mark.parametrize("form", ["absolute", "around"])
def test_a_row_that_names_the_file_in_another_way_is_its_row(site: Path, form: str) -> None:
    name = f"{site}/{MEMBER}" if form == "absolute" else f"../{site.name}/{MEMBER}"
    path = info(site) / "RECORD"
    path.write_bytes(path.read_bytes().replace(f"{MEMBER},".encode(), f"{name},".encode()))
    before = path.read_bytes()
    assert run("apply", site).exit_code == 0
    [row] = [row for row in Record(path.read_bytes()).rows if row.path == name]
    assert row.agrees(FIXED)
    assert run("revert", site).exit_code == 0
    assert path.read_bytes() == before
