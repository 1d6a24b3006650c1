"""Patched wheels of every release, judged by the tools that people judge wheels with."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from installer.sources import WheelFile as Installable

from codemod.engine import plan
from codemod.registry import load
from codemod.releases import known
from codemod.wheel import LABEL, build
from tests.releases import AFFECTED, FAMILIES, MEMBER, source, wheel
from tests.wheels import patched, run

PATCHES = load()


@pytest.fixture(scope="module")
def all_of_them(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the patched wheel of every affected release, made in one call."""
    folder = tmp_path_factory.mktemp("patched")
    result = run(*map(wheel, AFFECTED), "-o", folder, "--no-verify")
    assert result.exit_code == 0, result.output
    assert f"{len(AFFECTED)} wheels: {len(AFFECTED)} made" in result.stdout
    return folder


@pytest.mark.parametrize("version", AFFECTED)
def test_what_is_new_and_what_is_not(version: str, all_of_them: Path) -> None:
    old, new = zipfile.ZipFile(wheel(version)), zipfile.ZipFile(patched(version, all_of_them))
    assert new.testzip() is None
    was, now = f"jax-{version}.dist-info/", f"jax-{version}+{LABEL}.dist-info/"
    names = [name.replace(was, now) for name in old.namelist()]
    made = [name for name in new.namelist() if name not in names]
    assert made == [f"{now}sboms/codemod.cdx.json"]
    assert new.namelist()[-1] == f"{now}RECORD"
    inside = [name.startswith(now) for name in new.namelist()]
    assert inside == sorted(inside)
    assert [n for n in new.namelist() if not n.startswith(now)] == [
        n for n in names if not n.startswith(now)
    ]
    changed = {MEMBER, f"{was}METADATA", f"{was}RECORD"}
    for name in old.namelist():
        a, b = old.getinfo(name), new.getinfo(name.replace(was, now))
        assert (a.external_attr, a.date_time) == (b.external_attr, b.date_time)
        same = (a.CRC, a.compress_size, a.compress_type) == (
            b.CRC,
            b.compress_size,
            b.compress_type,
        )
        assert same == (name not in changed), name
    copy = known(new.read(MEMBER))
    assert copy is not None
    assert copy.patched
    before, after = old.read(f"{was}METADATA"), new.read(f"{now}METADATA")
    assert after == before.replace(
        f"\nVersion: {version}\n".encode(), f"\nVersion: {version}+{LABEL}\n".encode(), 1
    )
    assert after != before


@pytest.mark.parametrize("version", AFFECTED)
def test_installer_finds_record_true(version: str, all_of_them: Path) -> None:
    with Installable.open(patched(version, all_of_them)) as found:
        found.validate_record(validate_contents=True)


def test_a_record_that_lies_would_be_found(all_of_them: Path, tmp_path: Path) -> None:
    """The positive control of the judge."""
    good = patched("0.8.0", all_of_them)
    bad = tmp_path / good.name
    with zipfile.ZipFile(good) as old, zipfile.ZipFile(bad, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name) + (b"#" if name == MEMBER else b""))
    with Installable.open(bad) as found, pytest.raises(Exception, match="cloud_tpu_cluster"):
        found.validate_record(validate_contents=True)


def test_twine_and_check_wheel_contents_find_nothing_new(all_of_them: Path) -> None:
    files = [str(patched(version, all_of_them)) for version in AFFECTED]
    twine = [sys.executable, "-m", "twine", "--no-color", "check", "--strict", *files]
    done = subprocess.run(twine, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("PASSED") == len(AFFECTED)

    def findings(version: str, path: Path) -> str:
        command = [sys.executable, "-m", "check_wheel_contents", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.replace(str(path), version)

    for version in ("0.4.21", "0.8.0", AFFECTED[-1]):
        assert findings(version, patched(version, all_of_them)) == findings(version, wheel(version))


def test_wheel_unpacks_them(all_of_them: Path, tmp_path: Path) -> None:
    for versions in FAMILIES.values():
        if versions and versions[-1] in AFFECTED:
            path = patched(versions[-1], all_of_them)
            command = [sys.executable, "-m", "wheel", "unpack", "-d", str(tmp_path), str(path)]
            subprocess.run(command, capture_output=True, check=True)


@pytest.mark.parametrize("version", ["0.4.21", "0.4.30", "0.8.0"])
def test_the_bill_of_materials(version: str, all_of_them: Path) -> None:
    info = f"jax-{version}+{LABEL}.dist-info"
    with zipfile.ZipFile(patched(version, all_of_them)) as archive:
        text = archive.read(f"{info}/sboms/codemod.cdx.json").decode()
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    made = json.loads(text)["metadata"]["component"]
    assert made["version"] == f"{version}+{LABEL}"
    [ancestor] = made["pedigree"]["ancestors"]
    digest = hashlib.sha256(wheel(version).read_bytes()).hexdigest()
    assert ancestor["hashes"] == [{"alg": "SHA-256", "content": digest}]
    steps = plan(source(version), PATCHES).steps
    applied = {step.patch.id for step in steps if step.outcome == "applied"}
    found = made["pedigree"]["patches"]
    assert {patch["resolves"][0]["id"] for patch in found} == applied
    assert all("+++ b/" + MEMBER in patch["diff"]["text"]["content"] for patch in found)
    assert len({patch["diff"]["text"]["content"] for patch in found}) == len(found)


def test_a_changed_bill_would_be_found() -> None:
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str('{"bomFormat": "other"}')


def digests(folder: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob("*.whl")}


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_same_bytes_everywhere(jobs: str, all_of_them: Path, tmp_path: Path) -> None:
    """In another folder, by as many processes, with another umask and another hash seed."""
    some = ("0.4.21", "0.4.35", "0.8.0", AFFECTED[-1])
    arguments = [*map(str, map(wheel, some)), "-o", str(tmp_path / "again"), "--no-verify"]
    command = [sys.executable, "-m", "codemod", "wheel", *arguments, "--jobs", jobs]
    environ = {**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo"}
    old = os.umask(0o77)
    try:
        subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL)
    finally:
        os.umask(old)
    again, first = digests(tmp_path / "again"), digests(all_of_them)
    assert len(again) == len(some)
    assert all(first[name] == digest for name, digest in again.items())


OTHER = Path.home() / ".pyenv" / "versions"
PYTHONS = sorted(OTHER.glob("3.1[23]*/bin/python"))


@pytest.mark.skipif(not PYTHONS, reason="no other Python is here")
def test_the_same_bytes_by_another_python(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    needs = ["click", "packaging", "libcst", "cyclonedx-python-lib"]
    uv = [sys.executable, "-m", "uv"]
    venv, there = ["venv", "-q", "--python", str(PYTHONS[0])], ["pip", "install", "-q", "--python"]
    subprocess.run([*uv, *venv, str(tmp_path / "venv")], check=True)
    subprocess.run([*uv, *there, str(python), *needs], check=True)
    root = Path(__file__).parent.parent
    command = f"{python} -m codemod wheel {wheel('0.8.0')} -o {tmp_path / 'o'} --no-verify".split()
    environ = {**os.environ, "PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    subprocess.run(command, env=environ, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    name = wheel("0.8.0").name
    ours = build(wheel("0.8.0").read_bytes(), name, PATCHES)
    assert digests(tmp_path / "o") == {ours.name: ours.sha256}


def test_source_date_epoch_is_the_time_of_what_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert run(wheel("0.8.0"), "-o", tmp_path, "--no-verify").exit_code == 0
    with zipfile.ZipFile(patched("0.8.0", tmp_path)) as new, zipfile.ZipFile(wheel("0.8.0")) as old:
        assert new.getinfo(MEMBER).date_time == (2023, 11, 14, 22, 13, 20)
        name = "jax/version.py"
        assert new.getinfo(name).date_time == old.getinfo(name).date_time
        info = f"jax-0.8.0+{LABEL}.dist-info"
        assert b"2023-11-14T22:13:20" in new.read(f"{info}/sboms/codemod.cdx.json")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert run(wheel("0.8.0"), "-o", tmp_path).exit_code == 2


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_installers_take_them_with_hashes(tool: str, all_of_them: Path, tmp_path: Path) -> None:
    """By `--require-hashes`, from the folder and from the index; upstream's hash is refused."""
    lines, index = tmp_path / "requirements.txt", tmp_path / "index"
    out = tmp_path / "out"
    made = run(wheel("0.8.0"), "-o", out, "--no-verify", "--requirements", lines, "--index", index)
    assert made.exit_code == 0, made.output
    assert "--require" in made.stderr
    [line] = lines.read_text().splitlines()
    assert re.fullmatch(rf"jax==0\.8\.0\+{re.escape(LABEL)} --hash=sha256:[0-9a-f]{{64}}", line)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "v"], check=True)
    python = tmp_path / "v" / "bin" / "python"
    [site] = (tmp_path / "v").glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q"]
    uv = [sys.executable, "-m", "uv", "pip", "install", "-q", "--python", str(python), "--no-cache"]
    base: list[str | Path] = [*(pip if tool == "pip" else uv), "--no-deps"]

    def install(*arguments: str | Path) -> int:
        environ = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
        return subprocess.run(
            [*base, *arguments], env=environ, capture_output=True, check=False
        ).returncode

    assert install("--index-url", index.as_uri(), "--require-hashes", "-r", lines) == 0
    copy = known((site / MEMBER).read_bytes())
    assert copy is not None
    assert copy.patched
    assert (site / f"jax-0.8.0+{LABEL}.dist-info" / "sboms" / "codemod.cdx.json").exists()
    again = "--reinstall" if tool == "uv" else "--force-reinstall"
    found = ("--no-index", "--find-links", out, again)
    assert install(*found, "jax==0.8.0") == 0
    assert install(*found, "jax===0.8.0") != 0
    upstream = hashlib.sha256(wheel("0.8.0").read_bytes()).hexdigest()
    lines.write_text(f"jax==0.8.0 --hash=sha256:{upstream}\n")
    assert install(*found, "--require-hashes", "-r", lines) != 0


def test_the_index_is_one_by_the_standards(tmp_path: Path) -> None:
    arguments = (wheel("0.8.0"), wheel("0.4.30"), "-o", tmp_path / "out", "--no-verify")
    run(*arguments, "--index", tmp_path / "index")
    told = json.loads((tmp_path / "index" / "jax" / "index.json").read_text())
    assert told["meta"]["api-version"] == "1.0"
    page = (tmp_path / "index" / "jax" / "index.html").read_text()
    for file in told["files"]:
        path = tmp_path / "out" / file["filename"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file["hashes"]["sha256"]
        assert f"{file['url']}#sha256={file['hashes']['sha256']}" in page
    root = json.loads((tmp_path / "index" / "index.json").read_text())
    assert root["projects"] == [{"name": "jax"}]
    assert 'href="jax/"' in (tmp_path / "index" / "index.html").read_text()


def rows(path: Path) -> list[list[str]]:
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/RECORD"))
        return [*csv.reader(archive.read(name).decode().splitlines())]


def test_record_keeps_its_order(all_of_them: Path) -> None:
    old, new = rows(wheel("0.8.0")), rows(patched("0.8.0", all_of_them))
    plain = [row[0].replace(f"+{LABEL}", "") for row in new if "sboms" not in row[0]]
    assert plain == [row[0] for row in old]
    digest = {row[0]: row[1] for row in new}[MEMBER].partition("=")[2]
    made = hashlib.sha256(plan(source("0.8.0"), PATCHES).after).digest()
    assert base64.urlsafe_b64decode(digest + "=") == made
