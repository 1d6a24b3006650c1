"""RECORD: the rows of one file change, and no other byte."""

from __future__ import annotations

import csv
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codemod.errors import Refused
from codemod.record import Record, digest

OLD, NEW = b"old\n", b"new and longer\n"
# `printf 'old\n' | openssl dgst -sha256 -binary | basenc --base64url`, without the padding
OLD_SHA256 = "sha256=AdCdGcITmkauv7V3eA0SPXOW6XIBvH6tIQouv_gjne4"


def test_the_hash_is_that_of_the_standard() -> None:
    assert digest(OLD) == OLD_SHA256


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_row_of_the_file_changes(newline: str) -> None:
    before = newline.join(
        ["a.py,sha256=x,1", f"jax/b.py,{OLD_SHA256},4", "../../bin/c,,", "D/RECORD,,", ""]
    )
    record = Record(before.encode())
    assert record.of("jax/b.py")[0].agrees(OLD)
    record.update("jax/b.py", NEW)
    row = f"jax/b.py,{digest(NEW)},{len(NEW)}"
    assert bytes(record).decode() == before.replace(f"jax/b.py,{OLD_SHA256},4", row)
    assert record.of("jax/b.py")[0].agrees(NEW)
    assert not record.of("jax/b.py")[0].agrees(OLD)


@pytest.mark.parametrize(
    ("row", "after"),
    [
        ("b.py,,", "b.py,,"),
        ("b.py,,4", f"b.py,,{len(NEW)}"),
        (f"b.py,{OLD_SHA256},", f"b.py,{digest(NEW)},"),
        (f'"b.py",{OLD_SHA256},4', f"b.py,{digest(NEW)},{len(NEW)}"),
        (f"./b.py,{OLD_SHA256},4", f"./b.py,{digest(NEW)},{len(NEW)}"),
        ("b.py,md5=x,4", f"b.py,{digest(NEW, 'md5')},{len(NEW)}"),
    ],
)
def test_a_row_stays_as_full_as_it_was(row: str, after: str) -> None:
    record = Record(row.encode())  # and it has no final newline
    record.update("b.py", NEW)
    assert bytes(record).decode() == after


def test_both_rows_of_a_file_that_is_listed_twice_change() -> None:
    record = Record(b"b.py,sha256=x,1\nc.py,,\nb.py,,\n")
    record.update("b.py", NEW)
    assert bytes(record) == f"b.py,{digest(NEW)},{len(NEW)}\nc.py,,\nb.py,,\n".encode()


def test_what_agrees_is_not_written_in_another_way() -> None:
    before = f'"b.py","{digest(NEW)}","{len(NEW)}"\r\n'.encode()
    record = Record(before)
    record.update("b.py", NEW)
    record.update("absent.py", NEW)
    assert bytes(record) == before


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_row_is_added_and_dropped(end: str) -> None:
    record = Record(f"a.py,,\r\nb.py,,{end}".encode())
    record.add("d/é,1", NEW)
    newline = end or "\r\n"  # as other rows have it, where the last one has none
    assert bytes(record).decode().endswith(f'b.py,,{newline}"d/é,1",{digest(NEW)},{len(NEW)}{end}')
    record.add("d/é,1", None)
    assert bytes(record).decode().endswith(f'b.py,,{newline}"d/é,1",,{end}')
    record.drop("d/é,1")
    assert bytes(record).decode() == f"a.py,,\r\nb.py,,{end}"


def test_hash_and_size_are_taken_from_a_row_in_its_place() -> None:
    record = Record(b"a.pyc,sha256=x,1\r\nb.py,,\n")
    record.blank("./a.pyc")
    assert bytes(record) == b"a.pyc,,\r\nb.py,,\n"


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"a,,\nb,c\n", 2, "2 fields"),
        (b"a,,\n\xff,,\n", 2, "UTF-8"),
        (b'a,,\n"b\n",x,1\n"c', 4, "comma"),
        (b'"a"b,,\n', 1, "comma"),
    ],
)
def test_what_is_no_row_is_refused_with_its_line(data: bytes, line: int, why: str) -> None:
    with pytest.raises(Refused, match=why) as caught:
        Record(data)
    assert caught.value.line == line


def test_an_unknown_hash_is_refused() -> None:
    record = Record(b"b.py,sha0=x,1\n")
    with pytest.raises(Refused, match="sha0"):
        record.update("b.py", NEW)


fields = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n\0\v\f\x1c\x1d\x1e\x85"), min_size=1
)


@given(st.lists(fields), fields, st.binary())
def test_other_rows_are_kept_byte_for_byte(others: list[str], path: str, content: bytes) -> None:
    record = Record(b"")
    for other in others:
        record.add(other, None)
    before = bytes(record)
    record.add(path, content)
    assert bytes(Record(bytes(record))) == bytes(record)
    read = list(csv.reader(bytes(record).decode().splitlines()))
    assert read[-1][0] == path
    assert read[-1][2] == str(len(content))
    assert hashlib.sha256(content).hexdigest() in _hex(read[-1][1])
    record.drop(path)
    if path not in others:
        assert bytes(record).startswith(before[:-1])


def _hex(field: str) -> str:
    from base64 import urlsafe_b64decode

    return urlsafe_b64decode(field.partition("=")[2] + "==").hex()
