"""Archives, images and repositories that somebody made to hurt, or that were cut and bent."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
import zipfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codemod.audit import audit
from codemod.engine import plan
from codemod.model import Exit
from codemod.registry import load
from codemod.sources.model import Settings
from tests import archives
from tests.audits import document, run
from tests.releases import MEMBER, source
from tests.test_audit_images import BASE, oci, saved

if TYPE_CHECKING:
    from pathlib import Path

PATCHED = plan(source("0.8.0"), load()).after
PACE = 1.0 / 100_000  # seconds a byte: no input may take longer than one second for 100 kB
BOUND = settings(
    max_examples=int(os.environ.get("CODEMOD_FUZZ", "60")),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
bends = st.lists(
    st.tuples(
        st.sampled_from(["cut", "flip", "zero", "insert", "repeat"]),
        st.floats(0, 1),
        st.binary(max_size=40),
    ),
    min_size=1,
    max_size=6,
)


def bent(data: bytes, changes: list[tuple[str, float, bytes]]) -> bytes:
    for how, where, more in changes:
        at = int(where * len(data))
        if how == "cut":
            data = data[:at]
        elif how == "insert":
            data = data[:at] + more + data[at:]
        elif how == "repeat":
            data = data[:at] + data[at : at + 600] + data[at:]
        elif data[at : at + 1]:
            new = bytes([data[at] ^ 1 << len(more) % 8]) if how == "flip" else bytes(len(more) + 1)
            data = data[:at] + new + data[at + len(new) :]
    return data


def seeds(folder: Path) -> dict[str, bytes]:
    """A good one of each kind, by the name that it is to have."""
    folder.mkdir(exist_ok=True)
    wheel = archives.wheel(folder / "seed.whl", PATCHED).read_bytes()
    files = {f"jax-1/{MEMBER}": source("0.8.0"), "jax-1/PKG-INFO": archives.metadata("1")}
    image = saved(folder / "seed.tar", [BASE, {MEMBER: PATCHED}]).read_bytes()
    return {
        "jax-1-py3-none-any.whl": wheel,
        "jax-1.tar.gz": archives.tar({**files}, "w:gz"),
        "jax-1.tar.xz": archives.tar({**files}, "w:xz"),
        "jax-1.tar.bz2": archives.tar({**files}, "w:bz2"),
        "image.tar": image,
    }


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return seeds(tmp_path_factory.mktemp("seeds"))


@pytest.mark.parametrize(
    "name", ["jax-1-py3-none-any.whl", "jax-1.tar.gz", "jax-1.tar.xz", "jax-1.tar.bz2", "image.tar"]
)
@given(changes=bends)
@BOUND
def test_no_bent_archive_makes_a_traceback_or_loses_its_neighbour(
    name: str, changes: list[tuple[str, float, bytes]], good: dict[str, bytes], tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data := bent(good[name], changes))
    (tmp_path / "zz-good.whl").write_bytes(good["jax-1-py3-none-any.whl"])
    start = time.process_time()
    found = audit([str(tmp_path)], Settings())
    assert time.process_time() - start < 1 + len(data) * PACE
    assert any("zz-good" in row.file for row in found.results)
    told = {row.file for row in found.results} | {one.file for one in found.unreadable}
    bad = [file for file in told if name in file]
    if not bad:  # it is no image any more, and an sdist only by its name
        assert found.counts.seen >= 1
    assert found.exit_code in (Exit.OK, Exit.FINDINGS, Exit.REFUSED)


@given(changes=bends, which=st.integers(0, 10))
@BOUND
def test_no_bent_layout_makes_a_traceback(
    changes: list[tuple[str, float, bytes]], which: int, tmp_path: Path
) -> None:
    place = tmp_path / "oci"
    if not place.exists():
        oci(place, [BASE, {MEMBER: PATCHED}])
    files = [path for path in sorted(place.rglob("*")) if path.is_file()]
    path = files[which % len(files)]
    before = path.read_bytes()
    path.write_bytes(bent(before, changes))
    try:
        found = audit([str(place)], Settings())
    finally:
        path.write_bytes(before)
    assert found.results or found.unreadable or found.exit_code is Exit.NO_JAX
    assert audit([str(place)], Settings()).results


LINES = b"""--find-links https://example.org
jax[tpu] == 0.8.0 \\
    --hash=sha256:00  # why
jax @ git+https://github.com/jax-ml/jax@main#egg=jax ; python_version >= "3.10"
-r other.txt
-e git+https://github.com/jax-ml/jax#egg=jax
jax>=0.4,!=0.7.1
"""
pieces = st.sampled_from(
    [b"jax", b"==", b" @ ", b"\\\n", b"#", b"--hash=", b"\xff\xfe", b"[", b";"]
)


@given(changes=bends, more=st.lists(pieces, max_size=12), where=st.floats(0, 1))
@BOUND
def test_no_bent_pin_file_makes_a_traceback_or_loses_its_neighbour(
    changes: list[tuple[str, float, bytes]], more: list[bytes], where: float, tmp_path: Path
) -> None:
    at = int(where * len(LINES))
    data = bent(LINES[:at] + b"".join(more) + LINES[at:], changes)
    (tmp_path / "requirements.txt").write_bytes(data)
    (tmp_path / "zz-requirements.txt").write_text("jax==0.8.0\n")
    start = time.process_time()
    found = audit([str(tmp_path)], Settings())
    assert time.process_time() - start < 1 + len(data) * PACE
    assert [row.status for row in found.results if "zz" in row.file][:1] == ["affected"]
    lines = len(data.splitlines()) + 1
    assert all(row.line is not None and 1 <= row.line <= lines for row in found.results)


def test_members_that_a_wheel_can_lie_with(tmp_path: Path) -> None:
    """Encrypted, compressed in an unknown way, or with a size that is not that of its content."""
    good = archives.wheel(tmp_path / "good.whl", PATCHED).read_bytes()
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        entry = archive.getinfo(MEMBER)
    central = good.rindex(MEMBER.encode()) - 46
    for offset, value in ((8, b"\x01\x00"), (10, b"\x63\x00"), (24, b"\xff\xff\xff\x7f")):
        path = tmp_path / f"lying{offset}.whl"
        path.write_bytes(good[: central + offset] + value + good[central + offset + len(value) :])
        result = run(path)
        assert result.exit_code == 3, (offset, result.output)
        assert "not a sound archive" in result.stdout
    assert entry.compress_size < entry.file_size


def test_an_sdist_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemod.sources.archives.MOST", 1 << 16)
    path = tmp_path / "jax-1.tar.gz"
    path.write_bytes(archives.tar({"big": bytes(1 << 20), f"jax-1/{MEMBER}": PATCHED}, "w:gz"))
    result = run(path)
    assert result.exit_code == 3
    assert "unpacks to more than" in result.stdout


def test_an_sdist_of_too_many_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codemod.sources.archives.MEMBERS", 3)
    path = tmp_path / "jax-1.tar"
    path.write_bytes(archives.tar({str(n): b"" for n in range(5)}))
    assert "holds more than 3 files" in run(path).stdout


def test_a_copy_that_is_no_regular_file(tmp_path: Path) -> None:
    path = tmp_path / "jax-1.tar"
    path.write_bytes(archives.tar({f"jax-1/{MEMBER}": "/etc/passwd"}))
    found = document(run(path, "--format", "json"))
    assert found["exit_code"] == 3
    assert found["unreadable"][0]["why"] == "is no regular file in the archive"
    folder = tmp_path / "tree" / MEMBER
    folder.mkdir(parents=True)
    assert run(tmp_path / "tree").exit_code in (3, 4)
    os.mkfifo(folder.with_name("asking.py"))
    assert run(tmp_path / "tree").exit_code in (3, 4)


@pytest.mark.parametrize(
    "name", ["a.whl", "jax-1.tar.gz", "jax-1.tar", "requirements.txt", MEMBER, "jax-1-x.whl"]
)
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / "tree" / name
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    pins = tmp_path / "requirements.txt"
    pins.write_text("jax==0.4.20\n")
    result = run(tmp_path / "tree", pins, "--wheels", tmp_path / "tree")
    assert result.exit_code == 3
    assert "regular file" in result.stdout or "a FIFO" in result.stdout


def test_a_sparse_member_of_any_size_is_not_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        member = tarfile.TarInfo(f"jax-1/{MEMBER}")
        member.size = 5 << 20
        archive.addfile(member, io.BytesIO(bytes(5 << 20)))
    path = tmp_path / "jax-1.tar.gz"
    path.write_bytes(gzip.compress(buffer.getvalue()))
    found = document(run(path, "--format", "json"))
    assert found["unreadable"][0]["why"] == "larger than 4 MiB"


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_nobody_may_list(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0)
    assert run(tmp_path).exit_code == 3
