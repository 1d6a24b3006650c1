"""Patched sdists: of real ones, of hostile ones, and what pip makes of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import subprocess
import sys
import tarfile
import zlib
from typing import TYPE_CHECKING

import pytest

from codemod.engine import plan
from codemod.errors import Refused
from codemod.registry import load
from codemod.releases import known
from codemod.sdist import BLOCK, SdistFile, build
from tests.releases import MEMBER, sdist, source
from tests.wheels import run

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


PATCHES = load()
VERSIONS = ("0.4.30", "0.8.0")
NAME = "jax-0.8.0.tar.gz"
TOP = "jax-0.8.0"
INFO = b"Metadata-Version: 2.4\nName: jax\nVersion: 0.8.0\n\nWhat it is.\nVersion: 1\n"


Row = tuple[str, bytes | None]  # a member and its content; a folder has none
GOOD: tuple[Row, ...] = (
    (TOP, None),
    (f"{TOP}/PKG-INFO", INFO),
    (f"{TOP}/{MEMBER}", source("0.8.0")),
    (f"{TOP}/jax/x.py", b""),
)


def tarred(
    rows: Sequence[Row] = GOOD, *odd: tarfile.TarInfo, form: int = tarfile.PAX_FORMAT
) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as archive:
        for name, content in rows:
            info = tarfile.TarInfo(name)
            info.size = len(content or b"")
            info.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            archive.addfile(info, io.BytesIO(content or b""))
        for info in odd:
            archive.addfile(info)
    return out.getvalue()


def packed(*rows: Row) -> bytes:
    return gzip.compress(tarred(rows or GOOD), mtime=1)


def refusal(data: bytes, name: str = NAME) -> str:
    with pytest.raises(Refused) as caught:
        build(data, name, PATCHES)
    return caught.value.why


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_lines_of_the_patches_change(version: str, tmp_path: Path) -> None:
    given = sdist(version)
    result = run(given, "-o", tmp_path)  # and it is run before it is there
    assert result.exit_code == 0, result.output
    assert "1 file: 1 made" in result.stdout
    assert "only its hash tells them apart" in result.stderr
    made = tmp_path / given.name
    assert f"sha256:{hashlib.sha256(made.read_bytes()).hexdigest()}" in result.stdout
    with tarfile.open(given) as old, tarfile.open(made) as new:
        pairs = [*zip(old.getmembers(), new.getmembers(), strict=True)]
        for was, now in pairs:
            held = ("name", "mode", "mtime", "type", "uid", "gid", "uname", "gname", "linkname")
            assert all(getattr(was, key) == getattr(now, key) for key in held)
            if was.isreg():
                a, b = old.extractfile(was), new.extractfile(now)
                assert a is not None
                assert b is not None
                same = a.read() == b.read()
                assert same is (was.name != f"jax-{version}/{MEMBER}"), was.name
    copy = known(SdistFile(made.read_bytes()).read(MEMBER))
    assert copy is not None
    assert copy.patched


def test_two_runs_give_the_same_bytes_and_a_patched_one_is_left(tmp_path: Path) -> None:
    data = sdist("0.8.0").read_bytes()
    one = build(data, NAME, PATCHES)
    assert one.data == build(data, NAME, PATCHES).data
    assert one.data[4:8] == data[4:8]
    again = build(one.data, NAME, PATCHES)
    assert (again.data, again.version) == (b"", "0.8.0")
    (tmp_path / NAME).write_bytes(one.data)
    result = run(tmp_path / NAME, "-o", tmp_path / "out")
    assert (result.exit_code, [*(tmp_path / "out").iterdir()]) == (0, [])
    assert "already: needs no patch" in result.stdout
    assert SdistFile(build(one.data, NAME, PATCHES, force=True).data).tar == SdistFile(one.data).tar


def test_what_is_given_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(packed())
    result = run(tmp_path, "-o", tmp_path, "--no-verify")
    assert result.exit_code == 3
    assert "would replace what it is made of" in result.stdout
    assert (tmp_path / NAME).read_bytes() == packed()


def test_pip_builds_and_installs_it(tmp_path: Path) -> None:
    made = build(sdist("0.8.0").read_bytes(), NAME, PATCHES)
    (tmp_path / NAME).write_bytes(made.data)
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    command += ["--no-deps", "--target", str(tmp_path / "site"), str(tmp_path / NAME)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    copy = known((tmp_path / "site" / MEMBER).read_bytes())
    assert copy is not None
    assert copy.patched
    assert (tmp_path / "site" / "jax-0.8.0.dist-info").is_dir()


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_every_format_of_tar(form: int) -> None:
    long = f"{TOP}/{'deep/' * 20}file.py"
    rows = (*GOOD[:3], (long, b"1"), (f"{TOP}/{'x' * 99}", b"3"), GOOD[3])
    made = build(gzip.compress(tarred(rows, form=form)), NAME, PATCHES)
    with tarfile.open(fileobj=io.BytesIO(made.data)) as archive:
        assert archive.getnames() == [name for name, _ in rows]
        found = archive.extractfile(f"{TOP}/{MEMBER}")
        assert found is not None
        assert found.read() == plan(source("0.8.0"), PATCHES).after


def other(name: str, **what: object) -> bytes:
    """The good one with another kind of member behind it."""
    info = tarfile.TarInfo(name)
    for key, value in what.items():
        setattr(info, key, value)
    return gzip.compress(tarred(GOOD, info))


def test_hostile_ones_are_refused_for_their_own_reason() -> None:
    assert build(packed(), NAME, PATCHES).data  # the positive control
    one, info, target, _ = GOOD
    for data, why in (
        (b"", "is no sound tar"),
        (b"no gzip", "is no compressed tar"),
        (gzip.compress(b"no tar" * 999), "is no sound tar"),
        (packed() + b"more", "is no compressed tar"),
        (gzip.compress(tarred() + b"\1" * BLOCK), "holds bytes after its end"),
        (gzip.compress(bytes(1 << 29 | 1)), "unpacks to more than 512 MiB"),
        (packed(one, info, target, ("other/x", b"")), "more than one folder at the top"),
        (packed(one, info, target, target), f"{TOP}/{MEMBER}: is there twice"),
        (packed(one, info, target, (f"{TOP}/../../x", b"")), "leads out of the sdist"),
        (packed(one, info, target, (f"/{TOP}/x", b"")), "leads out of the sdist"),
        (packed(one, info, target, (f"{TOP}//{MEMBER}", b"")), "by another name"),
        (packed(one, info, target, (f"{TOP}/./{MEMBER}", b"")), "by another name"),
        (packed(one, info, (target[0], b"#" * (1 << 22 | 1))), "is larger than 4 MiB"),
        (packed(one, info), f"has no {MEMBER}"),
        (packed(one, target), "has no regular file PKG-INFO"),
        (packed(one, (info[0], INFO.replace(b": jax", b": jaxlib")), target), "is not that of one"),
        (packed(one, (info[0], b"Version: 1\n" + INFO), target), "is not that of one"),
        (packed(one, (info[0], INFO.replace(b"0.8.0", b"0.8.1", 1)), target), "disagree"),
        (packed(one, info, (target[0], b"x = (")), "skip_mds"),
    ):
        assert why in refusal(data)
    assert "disagree" in refusal(packed(), "jax-0.8.1.tar.gz")


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_target_that_is_a_link_is_none(kind: bytes) -> None:
    link = tarfile.TarInfo(f"{TOP}/{MEMBER}")
    link.type, link.linkname = kind, f"{TOP}/jax/x.py"
    assert f"has no {MEMBER}" in refusal(gzip.compress(tarred((*GOOD[:2], GOOD[3]), link)))


def test_a_device_is_refused() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        device = tarfile.TarInfo(f"{TOP}/device")
        device.type = tarfile.CHRTYPE
        archive.addfile(device)
    assert "is a device" in refusal(gzip.compress(out.getvalue()))


def test_a_size_in_an_extended_header_is_refused() -> None:
    info = tarfile.TarInfo(f"{TOP}/{MEMBER}")
    info.size = len(source("0.8.0"))
    info.pax_headers = {"size": str(info.size)}
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name, content in GOOD[1:2]:
            plain = tarfile.TarInfo(name)
            plain.size = len(content or b"")
            archive.addfile(plain, io.BytesIO(content or b""))
        archive.addfile(info, io.BytesIO(source("0.8.0")))
    assert "its size in an extended header" in refusal(gzip.compress(out.getvalue()))


def test_truncated_anywhere_it_is_refused(tmp_path: Path) -> None:
    data = sdist("0.8.0").read_bytes()
    for end in range(0, len(data), len(data) // 40):
        refusal(data[:end])
    tar = zlib.decompress(data, wbits=31)
    last = tar.rindex(b"ustar")
    for end in range(0, last, len(tar) // 12):
        refusal(gzip.compress(tar[:end], 1))


def test_json_tells_of_it_as_of_a_wheel(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(packed())
    result = run(tmp_path, "-o", tmp_path / "out", "--no-verify", "--format", "json")
    [told] = json.loads(result.stdout)["wheels"]
    assert (told["outcome"], told["jax_version"]) == ("applied", "0.8.0")
    assert told["file"].endswith(NAME)
    assert told["patches"] == ["skip_mds_env_value"]
