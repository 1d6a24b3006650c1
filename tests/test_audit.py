"""`codemod audit` over copies: environments, trees, files, wheels and sdists."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from codemod.engine import plan
from codemod.registry import load
from tests import archives
from tests.audits import document, rows, run
from tests.places import SITE, put_info
from tests.releases import FAMILIES, MEMBER, NEEDS, source, wheel
from tests.shapes import MODULE

PATCHED = plan(source("0.8.0"), load()).after


def put(folder: Path, content: bytes) -> Path:
    path = folder / MEMBER
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("family", [name for name in FAMILIES if FAMILIES[name]])
def test_every_family_as_a_wheel(family: str) -> None:
    version = FAMILIES[family][-1]
    found = rows(wheel(version), code=1 if NEEDS[family] else 0)
    assert [row["patch"] for row in found if row["status"] == "affected"] == NEEDS[family]
    for row in found:
        assert (row["kind"], row["jax_version"], row["pin"]) == ("wheel", version, None)
        assert row["file"] == f"{wheel(version)}!/{MEMBER}"
        assert (row["fixes"] != []) is (row["status"] == "affected")


def test_bytes_decide_and_never_the_name(tmp_path: Path) -> None:
    """A patched file under the plain version, and an unpatched one under a local label."""
    plain = archives.wheel(tmp_path / "jax-0.8.0-py3-none-any.whl", PATCHED)
    label = "0.8.0+skipmds.1"
    claimed = archives.wheel(
        tmp_path / f"jax-{label}-py3-none-any.whl", source("0.8.0"), version=label
    )
    assert {row["reason"] for row in rows(plain)} == {"patched", "upstream"}
    assert rows(claimed, code=1)[0]["status"] == "affected"
    both = document(run(tmp_path, "--format", "json"))
    assert both["summary"]["statuses"] == {
        "affected": 1,
        "under_investigation": 0,
        "fixed": 1,
        "not_affected": 0,
    }


@pytest.mark.parametrize("form", ["gz", "bz2", "xz", ""])
def test_an_sdist(tmp_path: Path, form: str) -> None:
    suffix = f".tar.{form}" if form else ".tar"
    path = tmp_path / f"jax-0.8.0{suffix}"
    files = {f"jax-0.8.0/{MEMBER}": source("0.8.0"), "jax-0.8.0/PKG-INFO": archives.metadata("1")}
    path.write_bytes(archives.tar({**files}, f"w:{form}"))
    for place in (path, tmp_path):
        (row, *_) = rows(place, code=1)
        assert (row["kind"], row["status"], row["jax_version"]) == ("sdist", "affected", "1")


def test_an_environment_a_tree_and_a_file(venv: Path, tmp_path: Path) -> None:
    installed = put(venv / SITE, source("0.8.0"))
    put_info(venv / SITE, "0.8.0")
    vendored = put(tmp_path / "repo" / "third_party", PATCHED)
    for place, kind, code in (
        (venv, "environment", 1),
        (venv / "bin" / "python", "environment", 1),
        (installed, "file", 1),
        (tmp_path / "repo", "tree", 0),
        (vendored.parents[2], "tree", 0),
    ):
        found = rows(place, code=code)
        assert {row["kind"] for row in found} == {kind}
        assert len(found) == len(load())
    assert rows(venv, code=1)[0]["fixes"] == [f"codemod apply {venv}"]


def test_all_sources_at_once_each_copy_once(venv: Path, tmp_path: Path) -> None:
    installed = put(venv / SITE, source("0.8.0"))
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "jax-1-py3-none-any.whl").symlink_to(wheel("0.8.0"))
    found = rows(venv, installed, wheel("0.8.0"), tmp_path / "link", tmp_path, code=1)
    assert len(found) == 2 * len(load())


def test_a_split_fork_is_judged_as_a_whole(tmp_path: Path) -> None:
    """The well-known file holds nothing of it: the one beside it asks."""
    path = put(tmp_path, b"class Cluster:\n  pass\n")
    path.with_name("asking.py").write_text(MODULE)
    path.with_name("other.py").write_text("x = 1\n")
    found = rows(tmp_path, code=1)
    assert {Path(row["file"]).name for row in found} == {path.name, "asking.py"}
    more = {MEMBER.replace("cloud_tpu_cluster", "asking"): MODULE.encode()}
    packed = archives.wheel(tmp_path / "a.whl", b"class Cluster:\n  pass\n", more=more)
    assert [r["status"] for r in rows(packed, code=1)] == [r["status"] for r in found]


def test_what_cannot_be_read_is_told_and_loses_nothing(tmp_path: Path) -> None:
    put(tmp_path / "good", PATCHED)
    put(tmp_path / "bad", b"def (")
    (tmp_path / "jax-1.0-py3-none-any.whl").write_bytes(b"PK no wheel")
    (tmp_path / "jax-1.0.tar.gz").write_bytes(b"\x1f\x8b\x08 no sdist")
    result = run(tmp_path, "--format", "json")
    found = document(result)
    assert result.exit_code == 3
    assert [Path(one["file"]).name for one in found["unreadable"]] == [
        "jax-1.0-py3-none-any.whl",
        "jax-1.0.tar.gz",
    ]
    assert found["summary"]["files"] == {
        "seen": 4,
        "read": 2,
        "understood": 1,
        "not_understood": 3,
    }
    assert {row["reason"] for row in found["results"]} == {"unparsable", "patched", "upstream"}
    assert "4 files seen, 2 read, 1 understood, 3 not understood" in run(tmp_path).stdout
    quiet = run(tmp_path, "-q")
    assert quiet.stdout == ""
    assert "jax-1.0.tar.gz: not a sound archive" in quiet.stderr


def test_strict_counts_what_is_not_decided(tmp_path: Path) -> None:
    put(tmp_path, b"def (")
    assert run(tmp_path).exit_code == 0
    assert run(tmp_path, "--strict").exit_code == 1


def test_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run(tmp_path / "empty").exit_code == 4
    assert run(tmp_path / "empty", "--allow-none").exit_code == 0
    assert run(tmp_path / "nowhere").exit_code == 2
    assert run("").exit_code == 2
    (tmp_path / "notes.json").touch()
    result = run(tmp_path / "notes.json")
    assert (result.exit_code, "by its name" in result.stderr) == (2, True)
    assert run(tmp_path, "--format", "nonsense").exit_code == 2


def test_output_goes_to_a_file_at_once(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    out.write_text("old")
    before = out.stat().st_ino
    result = run(wheel("0.8.0"), "--format", "json", "-o", out)
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(out.read_text())["exit_code"] == 1
    assert out.stat().st_ino != before
    assert [path.name for path in tmp_path.iterdir()] == ["report.json"]
    assert run(wheel("0.8.0"), "-o", tmp_path / "no" / "such").exit_code == 3
    assert run(wheel("0.8.0"), "-o", tmp_path).exit_code == 3
    link = tmp_path / "link"
    link.symlink_to(out)
    run(wheel("0.8.0"), "-o", link)
    assert link.is_symlink()
    assert "affected:" in out.read_text()


def test_output_to_what_is_no_file_is_written_there() -> None:
    command = [sys.executable, "-m", "codemod", "audit", str(wheel("0.8.0")), "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("affected:")


def test_hostile_wheels(tmp_path: Path) -> None:
    twice = tmp_path / "twice.whl"
    with zipfile.ZipFile(twice, "w") as archive:
        archive.writestr(MEMBER, PATCHED)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(MEMBER, source("0.8.0"))
    bomb = archives.wheel(tmp_path / "bomb.whl", b"#" * (5 << 20))
    lying = tmp_path / "lying.whl"
    good = archives.wheel(tmp_path / "good.whl", PATCHED).read_bytes()
    lying.write_bytes(good.replace(b"_cluster.py", b"_cluster.pY", 1))
    for path, words in {
        twice: "more than once",
        bomb: "larger than 4 MiB",
        lying: "not a sound archive",
    }.items():
        result = run(path)
        assert result.exit_code == 3, path
        assert words in result.stdout
    assert run(tmp_path / "good.whl").exit_code == 0


def test_an_audit_never_loads_libcst(tmp_path: Path) -> None:
    put(tmp_path, MODULE.encode())
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print('LOADED', *sys.modules, file=sys.stderr))\n"
        "from codemod.__main__ import main\nmain()\n"
    )
    command = [sys.executable, "-c", code, "audit", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ast" in done.stderr.split()
    assert "libcst" not in done.stderr.split()
