"""Archives that are odd, which are kept as they are, and no sound wheels, which are refused."""

from __future__ import annotations

import io
import re
import stat
import struct
import time
import tracemalloc
import zipfile
import zlib
from typing import TYPE_CHECKING

import pytest

from codemod.errors import Refused
from codemod.record import Record
from codemod.registry import load
from codemod.wheel import LABEL, build
from codemod.wheelfile import FAR, Member, WheelFile, renamed, written
from tests.installations import small_wheel
from tests.releases import MEMBER

if TYPE_CHECKING:
    from collections.abc import Callable

NAME = "jax-0.8.0-py3-none-any.whl"
INFO = "jax-0.8.0.dist-info"
PATCHES = load()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return small_wheel("0.8.0", tmp_path_factory.mktemp("wheels")).read_bytes()


def contents(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def recorded(files: dict[str, bytes]) -> dict[str, bytes]:
    """The same files with a RECORD that is true of them."""
    record = Record(b"")
    for name, content in files.items():
        if name != f"{INFO}/RECORD":
            record.add(name, content)
    record.add(f"{INFO}/RECORD", None)
    return {**files, f"{INFO}/RECORD": bytes(record)}


def packed(files: dict[str, bytes], comment: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def make(data: bytes) -> bytes:
    return build(data, NAME, PATCHES).data


def why(data: bytes) -> str:
    with pytest.raises(Refused) as caught:
        make(data)
    assert "\n" not in caught.value.why
    return caught.value.why


# What is odd, and sound.


def test_members_that_are_not_touched_stay_to_the_bit(good: bytes) -> None:
    """Modes, links, times, methods, descriptors, ZIP64, names of any language, comments."""
    files = contents(good)
    odd = {
        "jax/é ü 漢.py": (0o755, zipfile.ZIP_DEFLATED, b"x" * 5000),
        "jax/secret": (0o600, zipfile.ZIP_STORED, b"s"),
        "jax/link": (stat.S_IFLNK | 0o777, zipfile.ZIP_STORED, b"secret"),
        "jax/empty": (0o644, zipfile.ZIP_DEFLATED, b""),
    }
    whole = recorded({**files, **{name: content for name, (_, _, content) in odd.items()}})
    raw = io.BytesIO()
    with zipfile.ZipFile(_NotSeekable(raw), "w") as archive:  # which makes descriptors
        archive.comment = b"a comment"
        for number, (name, content) in enumerate(whole.items()):
            info = zipfile.ZipInfo(name, (1980 + number % 100, 2, 3, 4, 5, 6))
            mode, info.compress_type, _ = odd.get(name, (0o644, zipfile.ZIP_DEFLATED, b""))
            info.external_attr, info.comment = mode << 16, b"of a member"
            with archive.open(info, "w", force_zip64=number % 2 == 0) as file:
                file.write(content)
    data = raw.getvalue()
    assert any(i.flag_bits & 8 for i in zipfile.ZipFile(io.BytesIO(data)).infolist())
    new = make(data)
    assert zipfile.ZipFile(io.BytesIO(new)).testzip() is None
    assert zipfile.ZipFile(io.BytesIO(new)).comment == b"a comment"
    before, after = WheelFile(data).by_name, WheelFile(new).by_name
    for name in odd:
        old, now = before[name], after[name]
        assert bytes(old.raw) == bytes(now.raw)
        for field in ("date_time", "external_attr", "compress_type", "CRC", "comment"):
            assert getattr(old.info, field) == getattr(now.info, field)


class _NotSeekable(io.RawIOBase):
    def __init__(self, out: io.BytesIO) -> None:
        self._out = out

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        return self._out.write(data)


def test_more_members_than_plain_zip_can_count(good: bytes) -> None:
    members = WheelFile(good).members
    many = [renamed(members[0], f"jax/{number}") for number in range(70_000)]
    data = written(many, b"")
    assert len(zipfile.ZipFile(io.BytesIO(data)).namelist()) == 70_000


def test_signatures_are_void_and_said_so(good: bytes) -> None:
    files = contents(good)
    data = packed({**files, f"{INFO}/RECORD.jws": b"{}", f"{INFO}/RECORD.p7s": b"x"})
    made = build(data, NAME, PATCHES)
    assert [note.partition(": ")[2] for note in made.notes] == [
        "RECORD.jws is void now, and left out",
        "RECORD.p7s is void now, and left out",
    ]
    assert not [name for name in contents(made.data) if "jws" in name or "p7s" in name]


def test_data_folder_and_crlf_metadata(good: bytes) -> None:
    files = contents(good)
    metadata = files[f"{INFO}/METADATA"].replace(b"\n", b"\r\n")
    files |= {f"{INFO}/METADATA": metadata, "jax-0.8.0.data/scripts/x": b"#!python\n"}
    made = contents(make(packed(recorded(files))))
    assert made[f"jax-0.8.0+{LABEL}.data/scripts/x"] == b"#!python\n"
    new = made[f"jax-0.8.0+{LABEL}.dist-info/METADATA"]
    assert new == metadata.replace(b"Version: 0.8.0\r\n", b"Version: 0.8.0+%s\r\n" % LABEL.encode())


# What is refused.


HOSTILE: dict[str, tuple[Callable[[dict[str, bytes]], dict[str, bytes]], str]] = {
    "a hash that is wrong in another file": (
        lambda f: {**f, "jax/version.py": b"other"},
        "jax/version.py: RECORD tells of another content",
    ),
    "no RECORD": (
        lambda f: {n: c for n, c in f.items() if n != f"{INFO}/RECORD"},
        "has no jax-0.8.0.dist-info/RECORD",
    ),
    "a member that RECORD does not list": (
        lambda f: {**f, "jax/extra.py": b""},
        "jax/extra.py: RECORD has no hash of it",
    ),
    "a row of what is not there": (
        lambda f: {n: c for n, c in f.items() if n != "jax/version.py"},
        "RECORD lists jax/version.py, which is not there",
    ),
    "two dist-infos": (
        lambda f: recorded({**f, "jax-0.7.0.dist-info/METADATA": b""}),
        "has 2 dist-info folders and not one",
    ),
    "no dist-info": (
        lambda f: {n: c for n, c in f.items() if INFO not in n},
        "has no dist-info folders and not one",
    ),
    "an absolute name": (lambda f: recorded({**f, "/etc/x": b""}), "/etc/x: is no name"),
    "a name that leads out": (lambda f: recorded({**f, "../x": b""}), "../x: is no name"),
    "a drive": (lambda f: recorded({**f, "C:/x": b""}), "C:/x: is no name"),
    "another project": (
        lambda f: recorded(
            {**f, f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: jaxlib\nVersion: 0.8.0\n"}
        ),
        "METADATA is not that of one version of jax",
    ),
    "another version": (
        lambda f: recorded(
            {**f, f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: jax\nVersion: 0.8.1\n"}
        ),
        r"name, jax-0\.8\.0\.dist-info and METADATA \(0\.8\.1\) disagree",
    ),
    "no such file in it": (
        lambda f: recorded({n: c for n, c in f.items() if n != MEMBER}),
        f"has no {MEMBER}",
    ),
    "a RECORD that is none": (
        lambda f: {**f, f"{INFO}/RECORD": b"a,b\n"},
        "RECORD has a row of 2 fields",
    ),
    "a drifted file": (
        lambda f: recorded(
            {**f, MEMBER: f[MEMBER].replace(b"os.environ.get(key, None)", b"x(key)")}
        ),
        f"{MEMBER}: .*skip_mds_env_value",
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_what_is_no_sound_wheel(good: bytes, case: str) -> None:
    change, reason = HOSTILE[case]
    assert re.match(reason, why(packed(change(contents(good)))))


def test_a_member_that_is_there_twice(good: bytes) -> None:
    out = io.BytesIO(good)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(out, "a") as archive:
        archive.writestr(MEMBER, "other")
    assert "is there twice" in why(out.getvalue())


def test_a_name_that_differs_in_the_two_headers(good: bytes) -> None:
    place = good.index(b"jax/version.py")
    data = good[:place] + b"jax/versioN.py" + good[place + 14 :]
    assert "is called otherwise in its own header" in why(data)


def test_bytes_that_belong_to_no_member(good: bytes) -> None:
    assert "belong to no member" in why(b"#!/bin/sh\n" + good)
    assert why(good + b"more")
    second = WheelFile(good).members[1].info.header_offset
    directory = zipfile.ZipFile(io.BytesIO(good)).start_dir
    assert why(good[:second] + b"gap" + good[second:directory] + good[directory:])


def test_an_encrypted_member(good: bytes) -> None:
    info = zipfile.ZipFile(io.BytesIO(good)).getinfo("jax/version.py")
    data = bytearray(good)
    data[info.header_offset + 6] |= 1
    assert "is encrypted" in why(bytes(data))


def test_another_compression(good: bytes) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in contents(good).items():
            archive.writestr(name, content)
    assert "compressed in a way that wheels are not" in why(out.getvalue())


def test_the_file_itself_is_a_link(good: bytes) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in contents(good).items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777 if name == MEMBER else 0o644) << 16
            archive.writestr(info, content)
    assert f"{MEMBER}: is a symbolic link" in why(out.getvalue())


def test_a_damaged_member(good: bytes) -> None:
    info = zipfile.ZipFile(io.BytesIO(good)).getinfo(MEMBER)
    place = info.header_offset + 30 + len(MEMBER) + 100
    data = bytearray(good)
    data[place] ^= 0xFF
    assert MEMBER in why(bytes(data))


def test_truncated_anywhere(good: bytes) -> None:
    for end in range(0, len(good), 1000):
        assert why(good[:end])


def test_a_bomb_takes_neither_memory_nor_time(good: bytes) -> None:
    """A member of 10 GB that says so, and one that says that it is small."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    bomb = b"".join(packer.compress(bytes(1 << 20)) for _ in range(200)) + packer.flush()
    members = WheelFile(packed(recorded({**contents(good), "jax/bomb": b"#"}))).members
    started = time.process_time()
    for size, reason in ((FAR, "holds more than 1 GiB"), (10, "jax/bomb: is not as large")):
        info = zipfile.ZipInfo("jax/bomb")
        info.compress_type, info.compress_size = zipfile.ZIP_DEFLATED, len(bomb)
        info.file_size, info.CRC = size, 0
        new = Member(info=info, raw=bomb)
        data = written([new if each.name == "jax/bomb" else each for each in members], b"")
        tracemalloc.start()
        assert reason in why(data)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 64 << 20
    assert time.process_time() - started < 20


def test_a_count_of_members_that_is_no_number() -> None:
    assert "no archive" in why(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, 9, 9, 0))
    assert "no archive" in why(b"")


# What two programs, or an installer and we, would read in two ways.


def with_member(good: bytes, name: str, content: bytes = b"") -> bytes:
    return packed(recorded({**contents(good), name: content}))


@pytest.mark.parametrize(
    "name",
    [
        f"jax-0.8.0.data/purelib/{MEMBER}",
        f"jax-0.9.0.data/platlib/{MEMBER}",
        "jax/_src/clusters/__pycache__/cloud_tpu_cluster.cpython-312.pyc",
        "jax/_src/clusters/cloud_tpu_cluster.pyc",
    ],
)
def test_what_would_lie_over_the_file_or_run_in_its_place(name: str, good: bytes) -> None:
    assert "would lie over what is patched" in why(with_member(good, name, b"x"))
    beside = name.replace("cloud_tpu_cluster", "slurm_cluster")
    assert make(with_member(good, beside, b"x"))


def test_names_that_programs_read_in_two_ways(good: bytes) -> None:
    cut = with_member(good, "jax/evil_x.py").replace(b"jax/evil_x.py", b"jax/evil\0x.py")
    assert "another name for some programs" in why(cut)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in recorded({**contents(good), "jax/odd.py": b""}).items():
            info = zipfile.ZipInfo(name)
            if name == "jax/odd.py":
                path = b"\1" + struct.pack("<L", zlib.crc32(b"jax/odd.py")) + b"jax/evil.py"
                info.extra = struct.pack("<HH", 0x7075, len(path)) + path
            archive.writestr(info, content)
    assert "another name for some programs" in why(out.getvalue())


def test_headers_that_disagree_on_sizes_and_numbers(good: bytes) -> None:
    bent = bytearray(good)
    bent[14] ^= 1  # the checksum in the header of the first member
    assert "its own header tells of another content" in why(bytes(bent))
    bent = bytearray(good)
    bent[-12] -= 1  # the number of members, on this disk and in all, by the end of the archive
    bent[-14] -= 1
    assert "another number of members" in why(bytes(bent))
    assert "folder with content" in why(with_member(good, "jax/folder/", b"x"))


def test_what_is_read_is_bounded(good: bytes) -> None:
    large = {**contents(good), MEMBER: b"x = 1\n" * 1_000_000}
    assert "is larger than 4 MiB" in why(packed(recorded(large)))


def test_a_time_that_is_none_and_one_past_the_end(good: bytes) -> None:
    """Some archivers write month 0; an archive ends in 2107."""
    zero = bytearray(good)
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        at = archive.getinfo(f"{INFO}/METADATA").header_offset
    zero[at + 12 : at + 14] = b"\0\0"
    central = good.rindex(f"{INFO}/METADATA".encode()) - 46
    zero[central + 14 : central + 16] = b"\0\0"
    assert make(bytes(zero))
    late = build(good, NAME, PATCHES, epoch=10**20).data
    with zipfile.ZipFile(io.BytesIO(late)) as archive:
        times = {info.date_time[0] for info in archive.infolist()}
    assert 2107 in times


def test_what_was_patched_before_has_one_bill_of_materials(good: bytes) -> None:
    first = build(good, NAME, PATCHES[:1])
    second = build(first.data, first.name, PATCHES, force=True)
    names = [member.name for member in WheelFile(second.data).members]
    assert [name for name in names if "sboms/" in name] == [
        f"jax-0.8.0+{LABEL}.{LABEL}.dist-info/sboms/codemod.cdx.json"
    ]
