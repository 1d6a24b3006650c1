"""A file that the table knows is decided by its bytes as the probes decide it."""

from __future__ import annotations

import functools
import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codemod import releases
from codemod.engine import find, plan
from codemod.model import Finding, Reason, Status
from codemod.registry import load
from codemod.releases import findings, is_newer, known, newest
from codemod.textfile import LFS
from tests.releases import AFFECTED, ALL, FAMILIES, FAMILY_OF, TABLE, source
from tests.shapes import MODULE, PATCHED
from tests.tools.releases_table import generate

if TYPE_CHECKING:
    from collections.abc import Iterator

PATCHES = load()
IDS = [patch.id for patch in PATCHES]
NEWEST = {name: versions[-1] for name, versions in FAMILIES.items() if versions}
AFFECTED_FAMILIES = [name for name, version in NEWEST.items() if version in AFFECTED]


@functools.cache
def patched(version: str) -> bytes:
    """The file of a release with all patches; releases of one family share the work."""
    same = NEWEST[FAMILY_OF[version]]
    if version != same and source(version) == source(same):
        return patched(same)
    return plan(source(version), PATCHES).after


@functools.cache
def probed(data: bytes) -> dict[str, Finding]:
    """What the probes say, with the first place of each."""
    found = {patch.id: find(data, patch) for patch in PATCHES}
    return {name: replace(f, evidence=f.evidence[:1]) for name, f in found.items()}


def crlf(data: bytes) -> bytes:
    return data.replace(b"\n", b"\r\n")


def pointer(data: bytes) -> bytes:
    return b"%s\noid sha256:%s\nsize %d\n" % (LFS, digest(data), len(data))


def digest(data: bytes) -> bytes:
    return hashlib.sha256(data).hexdigest().encode()


# --- the bytes themselves -------------------------------------------------------------------


@pytest.mark.parametrize("version", ALL)
def test_a_release_is_what_its_probes_say(version: str) -> None:
    copy = known(source(version))
    assert copy is not None
    assert (copy.family, copy.patched, copy.how) == (FAMILY_OF[version], False, "exact")
    assert version in copy.releases
    assert findings(source(version), IDS) == probed(source(version))


@pytest.mark.parametrize("version", AFFECTED)
def test_a_patched_release_is_what_its_probes_say(version: str) -> None:
    copy = known(patched(version))
    assert copy is not None
    assert (copy.family, copy.patched, copy.how) == (FAMILY_OF[version], True, "exact")
    found = findings(patched(version), IDS)
    assert found == probed(patched(version))
    assert {finding.status for finding in found.values()} == {Status.FIXED}


@pytest.mark.parametrize("version", ALL)
def test_one_byte_more_or_less_or_other_is_not_known(version: str) -> None:
    for data in (source(version), patched(version)):
        middle = len(data) // 2
        other = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        for near in (other, data[:-1], data + b"\n", b"\xef\xbb\xbf" + data):
            assert known(near) is None
            assert findings(near, IDS) == {}


@pytest.mark.parametrize("data", [b"", b"def (", MODULE.encode(), PATCHED.encode(), b"\0" * 8488])
def test_what_is_no_release_is_not_known(data: bytes) -> None:
    assert known(data) is None


def test_a_patch_of_ones_own_is_decided_by_content() -> None:
    copy = known(source("0.8.0"))
    assert copy is not None
    assert copy.finding("mine") is None
    assert list(findings(source("0.8.0"), ["mine", "skip_mds_env_value"])) == ["skip_mds_env_value"]


def test_half_patched_is_decided_by_content() -> None:
    assert len(PATCHES) > 1
    half = plan(source("0.4.26"), PATCHES[:1]).after
    assert half != source("0.4.26")
    assert known(half) is None


def test_a_copy_in_words() -> None:
    words = [known(data) for data in (source("0.4.21"), patched("0.8.0"))]
    assert [copy.what for copy in words if copy] == [
        "the file of jax 0.4.21",
        "the file of jax 0.7.0 to 0.8.0 with all patches",
    ]


# --- other newlines -------------------------------------------------------------------------


@pytest.mark.parametrize("family", NEWEST)
def test_a_release_with_crlf_is_known_and_says_so(family: str) -> None:
    data = crlf(source(NEWEST[family]))
    copy = known(data)
    assert copy is not None
    assert (copy.family, copy.patched, copy.how) == (family, False, "newlines")
    for name, finding in findings(data, IDS).items():
        assert "CRLF" in finding.evidence[-1].text
        assert replace(finding, evidence=finding.evidence[:-1]) == probed(data)[name]


@pytest.mark.parametrize("family", AFFECTED_FAMILIES)
def test_a_release_with_crlf_is_known_once_patched(family: str) -> None:
    data = plan(crlf(source(NEWEST[family])), PATCHES).after
    copy = known(data)
    assert copy is not None
    assert (copy.family, copy.patched, copy.how) == (family, True, "newlines")
    assert {f.status for f in findings(data, IDS).values()} == {Status.FIXED}


def test_a_file_with_both_newlines_is_known() -> None:
    copy = known(source("0.8.0").replace(b"\n", b"\r\n", 7))
    assert copy is not None
    assert copy.how == "newlines"


@pytest.mark.parametrize("newline", [b"\r", b"\n\r", b"\r\r\n", b"\x0b", b"\n\n"])
def test_newlines_that_are_no_crlf_are_not_known(newline: bytes) -> None:
    assert known(source("0.8.0").replace(b"\n", newline)) is None


# --- Git LFS pointers -----------------------------------------------------------------------


@pytest.mark.parametrize("family", NEWEST)
def test_a_pointer_to_a_release_is_what_the_release_is(family: str) -> None:
    data = source(NEWEST[family])
    copy = known(pointer(data))
    assert copy is not None
    assert (copy.family, copy.patched, copy.how) == (family, False, "lfs")
    for name, finding in findings(pointer(data), IDS).items():
        assert (finding.status, finding.reason, finding.guard) == (
            *(probed(data)[name].status, probed(data)[name].reason),
            probed(data)[name].guard,
        )
        assert [evidence.line for evidence in finding.evidence] == [2]
        assert copy.what in finding.evidence[0].text


@pytest.mark.parametrize("family", AFFECTED_FAMILIES)
def test_a_pointer_to_a_patched_release_is_fixed(family: str) -> None:
    found = findings(pointer(patched(NEWEST[family])), IDS)
    assert {finding.status for finding in found.values()} == {Status.FIXED}
    assert found["skip_mds_env_value"].reason is Reason.PATCHED


D2 = b"9a56c051c42321d679e1dbb9f6632aee42c34dc00e7d6fc23b9eb36b4cd724d7"
GOOD = b"%s\noid sha256:%s\nsize 8488\n" % (LFS, D2)
BAD_POINTERS = {
    "wrong-size": GOOD.replace(b"size 8488", b"size 8489"),
    "size-of-the-patched": GOOD.replace(b"8488", b"8537"),
    "padded-size": GOOD.replace(b"8488", b"08488"),
    "no-size": GOOD.partition(b"size")[0],
    "size-is-no-number": GOOD.replace(b"8488", b"many"),
    "size-of-5000-digits": GOOD.replace(b"8488", b"9" * 5000),
    "unknown-oid": pointer(b"x = 1\n"),
    "short-oid": GOOD.replace(D2, D2[:-1]),
    "no-oid": GOOD.replace(D2, b""),
    "other-hash": GOOD.replace(b"sha256", b"sha512"),
    "extension": GOOD.replace(b"oid", b"ext-0-case sha256:00\noid"),
    "order": b"%s\nsize 8488\noid sha256:%s\n" % (LFS, D2),
    "other-version": GOOD.replace(b"/v1", b"/v2"),
    "only-the-version": LFS,
    "more": GOOD + b"x = 1\n",
    "wheel": GOOD.replace(D2, TABLE["wheel_sha256"]["0.8.0"].encode()),
}


def test_the_pointer_that_the_bad_ones_are_made_of_is_good() -> None:
    assert pointer(source("0.8.0")) == GOOD
    assert len(patched("0.8.0")) == 8537
    assert known(GOOD) is not None
    assert known(GOOD.replace(b"\n", b"\r\n")) is not None


@pytest.mark.parametrize("data", BAD_POINTERS.values(), ids=BAD_POINTERS)
def test_a_pointer_to_something_else_is_not_known(data: bytes) -> None:
    assert data != GOOD
    assert known(data) is None


# --- versions -------------------------------------------------------------------------------


def test_the_newest_is_the_last() -> None:
    assert newest() == ALL[-1]


@pytest.mark.parametrize(
    ("version", "newer"),
    {
        "0.12.0.1": False,
        "0.8.0": False,
        "0.3.18": False,
        "0.12.0": False,
        "0.12.0.1+skipmds.1": False,
        "0.8.0+fork": False,
        "0.12.0.1.dev20270101": False,
        "0.4.39.dev1": False,
        "0.12.0.1.post1": True,
        "0.12.0.2": True,
        "0.12.1.dev20270101": True,
        "0.13.0rc1+fork": True,
        "0.100.0": True,
        "1.0": True,
        "": False,
        "unknown": False,
        "fixed": False,
        "9\udc80": False,
        "9" * 5000: False,
    }.items(),
    ids=lambda value: repr(value)[:24],
)
def test_newer_than_the_table(version: str, newer: bool) -> None:  # noqa: FBT001
    assert is_newer(version) is newer


# --- the table as text ----------------------------------------------------------------------


@pytest.fixture
def other_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a path beside a checkout whose table is read from there."""
    monkeypatch.setattr(releases, "HERE", str(tmp_path / "codemod"))
    releases._read.clear()
    (tmp_path / "patches").mkdir()
    yield tmp_path / "patches" / "releases.toml"
    releases._read.clear()


def test_each_family_is_cut_out_as_a_whole() -> None:
    for family in TABLE["family"]:
        place = releases._text().index(f'\nsha256 = "{family["sha256"]}"'.encode())
        assert (
            releases.Known(releases._block_at(place), patched=False, how="exact")._parsed()
            == family
        )


def test_a_release_that_is_as_we_patch_the_one_before_is_that_release(other_table: Path) -> None:
    other_table.write_text(generate(TABLE, {"99.0": patched("0.12.0")}), "utf-8")
    copy = known(patched("0.12.0"))
    assert copy is not None
    assert (copy.releases, copy.patched) == (("99.0",), False)
    assert newest() == "99.0"
    assert not is_newer("98.0")


def test_the_table_in_the_package_goes_first(other_table: Path) -> None:
    other_table.write_text('newest = "2"\n')
    inside = Path(releases.HERE, "patches")
    inside.mkdir(parents=True)
    (inside / "releases.toml").write_text('newest = "1"\n')
    assert newest() == "1"


# --- start-up -------------------------------------------------------------------------------

HEAVY = {"tomllib", "packaging", "ast", "dataclasses", "hashlib", "pathlib", "codemod.model"}


def loaded(code: str, data: bytes = b"") -> set[str]:
    """What of `HEAVY` a bare interpreter loads for some code that is given bytes on stdin."""
    end = "\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys\nimport codemod.releases as r\n{code}{end}"],
        input=data,
        capture_output=True,
        check=True,
        env={"PYTHONPATH": str(Path(releases.HERE).parent)},
    )
    return HEAVY & set(done.stdout.decode().split())


KNOWN = "assert r.known(sys.stdin.buffer.read())"
NOT_KNOWN = "assert not r.known(sys.stdin.buffer.read())"


def test_a_file_that_is_not_known_costs_no_import() -> None:
    assert loaded("") == set()
    assert loaded(NOT_KNOWN, MODULE.encode()) == set()
    assert loaded(NOT_KNOWN, crlf(MODULE.encode())) == set()
    assert loaded(NOT_KNOWN, b"#" * len(source("0.8.0"))) == {"hashlib"}


def test_a_known_file_is_decided_without_a_syntax_tree() -> None:
    assert loaded(KNOWN, patched("0.8.0")) == {"hashlib"}


def test_a_known_version_is_not_newer_without_an_import() -> None:
    assert loaded("assert not r.is_newer('0.8.0')") == set()
