from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codemod import textfile
from codemod.errors import Refused
from codemod.model import Reason
from codemod.textfile import not_python, read_regular, show, unified_diff
from tests.odd_files import ODD_FILES

if TYPE_CHECKING:
    from collections.abc import Callable

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not here")


# --- what is no Python ----------------------------------------------------------------------

CODE = b"def f():\n    return 1\n"
NOT_PYTHON = {
    "empty": (b"", Reason.NO_SOURCE, None, "empty"),
    "lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
        Reason.LFS_POINTER,
        None,
        "git lfs pull",
    ),
    "link": (b"../../jax/cloud_tpu_cluster.py", Reason.NO_SOURCE, None, "symbolic link"),
    "link-newline": (b"other.py\n", Reason.NO_SOURCE, None, "to other.py"),
    "link-latin": (b"caf\xe9/other.py\r\n", Reason.NO_SOURCE, None, "caf\\udce9/other.py"),
    "nul": (CODE + b"x = '\0'\n", Reason.UNPARSABLE, 3, "NUL"),
    "nul-first": (b"\0" + CODE, Reason.UNPARSABLE, 1, "NUL"),
    "conflict": (
        CODE + b"<<<<<<< HEAD\na = 1\n=======\na = 2\n>>>>>>> other\n",
        Reason.UNPARSABLE,
        3,
        "merge conflict",
    ),
    "conflict-crlf": (b"a = 0\r\n<<<<<<< HEAD\r\na = 1\r\n", Reason.UNPARSABLE, 2, "merge"),
    "conflict-cr": (b"a = 0\r\r<<<<<<< HEAD\r", Reason.UNPARSABLE, 3, "merge"),
    "conflict-form-feed": (b"a = 0\n\x0c\n<<<<<<< HEAD\n", Reason.UNPARSABLE, 3, "merge"),
    "conflict-half": (CODE + b">>>>>>> other\n", Reason.UNPARSABLE, 3, "merge conflict"),
    "utf-16": (CODE.decode().encode("utf-16"), Reason.UNPARSABLE, None, "UTF-16, which"),
    "utf-16-be-bom": (b"\xfe\xff\0a\0=\x001", Reason.UNPARSABLE, None, "UTF-16, which"),
    "utf-16-le": (CODE.decode().encode("utf-16-le"), Reason.UNPARSABLE, None, "UTF-16, which"),
    "utf-16-be": (CODE.decode().encode("utf-16-be"), Reason.UNPARSABLE, None, "UTF-16, which"),
    "utf-32": (CODE.decode().encode("utf-32"), Reason.UNPARSABLE, None, "UTF-32, which"),
    "utf-32-be": (CODE.decode().encode("utf-32-be"), Reason.UNPARSABLE, None, "UTF-32, which"),
    "bom-cookie": (
        b"\xef\xbb\xbf#!/usr/bin/python\n# coding: latin-1\n",
        Reason.UNPARSABLE,
        2,
        "mark says UTF-8",
    ),
    "codec": (b"# -*- coding: klingon -*-\n", Reason.UNPARSABLE, 1, "names klingon"),
    "codec-line-2": (b"\n# vim: set fileencoding=klingon :\n", Reason.UNPARSABLE, 2, "klingon"),
    "codec-binary": (b"# coding: hex\nx = 1\n", Reason.UNPARSABLE, 1, "no encoding of text"),
    "codec-undefined": (b"# coding: undefined\nx = 1\n", Reason.UNPARSABLE, 1, "no encoding"),
    "latin-1-undeclared": (CODE + b"# caf\xe9\n", Reason.UNPARSABLE, 3, "0xe9 is not utf-8"),
    "ascii-declared": (b"# coding: ascii\n#\n# \xe9\n", Reason.UNPARSABLE, 3, "not ascii"),
}


@pytest.mark.parametrize(("data", "reason", "line", "words"), NOT_PYTHON.values(), ids=NOT_PYTHON)
def test_not_python(data: bytes, reason: Reason, line: int | None, words: str) -> None:
    found = not_python(data)
    assert found is not None
    assert (found.reason, found.line) == (reason, line)
    assert words in found.why
    assert "\n" not in found.why


PYTHON = {
    "code": CODE,
    "blank": b"\n",
    "bom": b"\xef\xbb\xbf" + CODE,
    "bom-cookie": b"\xef\xbb\xbf# coding: utf-8\n" + CODE,
    "bom-cookie-unix": b"\xef\xbb\xbf# -*- coding: UTF_8-unix -*-\n" + CODE,
    "utf-8": "# café\n".encode(),
    "latin-1": b"# coding: latin-1\n# caf\xe9\n",
    "latin-1-before-its-cookie": b"# caf\xe9\n# coding: latin-1\n",
    "latin-1-unix": b"# -*- coding: iso-8859-1-unix -*-\n# caf\xe9\n",
    "cookie-on-line-3": b"#\n#\n# coding: klingon\n",
    "cookie-after-code": b"x = 1\n# coding: klingon\n",
    "heading": b'"""Title\n=======\n"""\n',
    "doctest": b'"""\n>>> 1\n>>>>>>>>> 2\n"""\n',
    "comment-of-a-name": b"# see other.py",
    "absolute": b"/other.py",
    "two-lines": b"a.py\nb.py\n",
}


@pytest.mark.parametrize("data", PYTHON.values(), ids=PYTHON)
def test_may_be_python(data: bytes) -> None:
    assert not_python(data) is None


@pytest.mark.parametrize(
    "name", [n for n in PYTHON if n not in {"absolute", "two-lines", "comment-of-a-name"}]
)
def test_what_may_be_python_is_read_by_python(name: str) -> None:
    compile(PYTHON[name], name, "exec")


# --- unified diff ---------------------------------------------------------------------------


def git(folder: Path, *arguments: str, data: bytes = b"") -> bytes:
    run = subprocess.run(
        [GIT or "", "-c", "core.autocrlf=false", *arguments],
        check=False,
        cwd=folder,
        input=data,
        capture_output=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def git_applied(folder: Path, before: bytes, after: bytes, path: str) -> bytes:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(before)
    diff = unified_diff(before, after, path)
    git(folder, "apply", "--check", "-", data=diff)
    git(folder, "apply", "-", data=diff)
    return file.read_bytes()


LONG = b"".join(b"line %d\n" % n for n in range(40))
DIFFS = {
    "lf": (LONG, LONG.replace(b"line 20\n", b"line 20\nmore\n")),
    "two-hunks": (LONG, LONG.replace(b"line 2\n", b"").replace(b"line 30\n", b"other\n")),
    "first-line": (LONG, b"first\n" + LONG),
    "last-line": (LONG, LONG + b"last\n"),
    "crlf": (LONG.replace(b"\n", b"\r\n"), LONG.replace(b"\n", b"\r\n").replace(b"20", b"x")),
    "mixed": (b"a\r\nb\nc\rd\r\ne\n", b"a\r\nb\nc\rD\r\ne\n"),
    "newline-kind": (b"a\r\nb\r\n", b"a\nb\r\n"),
    "no-final-newline": (b"a\nb", b"a\nc"),
    "final-newline-added": (b"a\nb", b"a\nb\n"),
    "final-newline-removed": (b"a\nb\n", b"a\nb"),
    "no-final-newline-far": (LONG + b"end", b"first\n" + LONG + b"end"),
    "latin-1": (b"# caf\xe9\nx\n", b"# caf\xe9\ny\n"),
    "odd-line-ends": (b"a\x0cb\x85c\x1cd\ne\n", b"a\x0cb\x85c\x1cD\ne\n"),
    "nul": (b"a\0\nb\n", b"a\0\nc\n"),
    "trailing-blanks": (b"a \nb\t\n\n\n", b"a \nc\t\n\n\n"),
    "looks-like-a-diff": (b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n", b"-- a/x\n+++ b/x\n@@ -1 +1 @@\n"),
    "from-empty": (b"", b"a\n"),
    "to-one-line": (b"a\nb\n", b"a\n"),
}


@needs_git
@pytest.mark.parametrize(("before", "after"), DIFFS.values(), ids=DIFFS)
def test_git_applies_diff(tmp_path: Path, before: bytes, after: bytes) -> None:
    assert git_applied(tmp_path, before, after, "jax/file.py") == after


NAMES = {
    "blank": "with blank.py",
    "blank-at-end": "with blank ",
    "tab": "with\ttab.py",
    "newline": "with\nnewline.py",
    "return": "with\rreturn.py",
    "bell": "with\abell.py",
    "delete": "with\x7fdelete.py",
    "quote": 'with"quote.py',
    "backslash": "with\\backslash.py",
    "quote-and-blank": 'with" both.py',
    "non-ascii": "café.py",
    "not-utf-8": os.fsdecode(b"caf\xe9.py"),
    "apostrophe": "it's.py",
    "folder": "dir with blank/file.py",
}


@needs_git
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_git_applies_diff_of_odd_name(tmp_path: Path, name: str) -> None:
    assert git_applied(tmp_path, b"a\n", b"b\n", name) == b"b\n"


@needs_git
@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_header_is_that_of_git(tmp_path: Path, name: str) -> None:
    git(tmp_path, "init", "-q")
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"a\n")
    git(tmp_path, "add", "-A")
    file.write_bytes(b"b\n")
    theirs = git(tmp_path, "diff")
    assert theirs[theirs.index(b"--- ") :] == unified_diff(b"a\n", b"b\n", name)


def test_no_diff_of_equal_bytes() -> None:
    assert unified_diff(b"a\n", b"a\n", "x") == b""


def test_diff_says_where() -> None:
    diff = unified_diff(LONG, LONG.replace(b"line 20\n", b"line 20\nmore\n"), "x.py")
    assert diff == (
        b"--- a/x.py\n+++ b/x.py\n@@ -19,6 +19,7 @@\n"
        b" line 18\n line 19\n line 20\n+more\n line 21\n line 22\n line 23\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "hunk"),
    [
        (b"", b"a\n", b"@@ -0,0 +1 @@\n+a\n"),
        (b"a\nb\n", b"", b"@@ -1,2 +0,0 @@\n-a\n-b\n"),
    ],
    ids=["from-empty", "to-empty"],
)
def test_diff_of_an_empty_side(before: bytes, after: bytes, hunk: bytes) -> None:
    assert unified_diff(before, after, "x") == b"--- a/x\n+++ b/x\n" + hunk


def test_diff_of_changes_far_apart_is_small() -> None:
    blank = b"\n" * 300
    assert len(unified_diff(b"a\n" + blank + b"b\n", b"c\n" + blank + b"d\n", "x")) < 100


def test_diff_of_many_equal_lines_is_small() -> None:
    blank = b"\n" * 200_000  # a matcher that is given all of them does not come back
    assert len(unified_diff(blank + b"a\n" + blank, blank + b"b\n" + blank, "x")) < 100


PIECES = st.lists(st.sampled_from([b"a", b"b\n", b"\n", b"c\r\n", b"\r", b"\xe9\x85\n", b" \\ \n"]))


@needs_git
@settings(max_examples=25, deadline=None)
@given(before=PIECES, after=PIECES)
def test_git_makes_after_of_before(before: list[bytes], after: list[bytes]) -> None:
    old, new = b"".join(before), b"".join(after) or b"\n"
    if old == new:
        return
    with tempfile.TemporaryDirectory() as folder:
        assert git_applied(Path(folder), old, new, "file.py") == new


# --- show -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("a b/café.py", "a b/café.py"),
        ("a\nb", "a\\nb"),
        ("a\x1b[31m", "a\\x1b[31m"),
        ("a\u2028b\udce9", "a\\u2028b\\udce9"),
    ],
    ids=["plain", "newline", "escape", "surrogate"],
)
def test_show(path: str, shown: str) -> None:
    assert show(path) == shown
    assert show(Path(path)) == shown
    shown.encode()


# --- reading --------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "why"), ODD_FILES.values(), ids=ODD_FILES)
def test_read_refuses(tmp_path: Path, make: Callable[[Path], Any], why: str) -> None:
    path = tmp_path / "file.py"
    make(path)
    with pytest.raises(Refused, match=why) as caught:
        read_regular(path)
    assert str(path) in str(caught.value)


def test_read_refuses_device() -> None:
    with pytest.raises(Refused, match="is a device"):
        read_regular(Path(os.devnull))


def test_read_does_not_wait_for_what_became_a_fifo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(tmp_path / "file.py")
    monkeypatch.setattr(textfile, "check_regular", lambda *_: None)  # as if it came too early
    assert read_regular(tmp_path / "file.py") == b""


def test_read_is_bounded(tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(b"#" * textfile.LARGEST)
    assert len(read_regular(path)) == textfile.LARGEST
    path.write_bytes(b"#" * (textfile.LARGEST + 1))
    with pytest.raises(Refused, match="larger than 4 MiB"):
        read_regular(path)
