"""Files that break naive rewriters, each with its right outcome: every byte, or a reason."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from codemod.engine import Plan, plan
from codemod.model import Outcome, Patch, Reason, Status
from codemod.registry import load
from tests.shapes import FUNCTION, HEAD, MODULE, PATCHED, TAIL, module

PATCH = next(patch for patch in load() if patch.id == "skip_mds_env_value")
GUARD = b'os.environ.get("TPU_SKIP_MDS_QUERY")'


def treat(source: bytes, patch: Patch = PATCH) -> Plan:
    """The plan, with what must hold of every plan."""
    planned = plan(source, [patch])
    if planned.changes:
        assert planned.steps[0].outcome is Outcome.APPLIED
        again = plan(planned.after, [patch])
        assert again.steps[0].outcome is Outcome.ALREADY
        assert again.steps[0].finding.reason is Reason.PATCHED
        assert not again.changes
    else:
        assert planned.after == source
    return planned


def refusal(source: bytes) -> tuple[Reason, str, int | None]:
    planned = treat(source)
    (step,) = planned.steps
    assert step.outcome is Outcome.REFUSED
    assert step.why
    return step.finding.reason, step.why, step.line


def test_upstream_shape_gets_the_one_condition() -> None:
    assert treat(MODULE.encode()).after == PATCHED.encode()


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"], ids=["plain", "bom"])
def test_newlines_and_bom_stay(newline: str, bom: bytes) -> None:
    before = bom + MODULE.replace("\n", newline).encode()
    assert treat(before).after == bom + PATCHED.replace("\n", newline).encode()


def test_inserted_lines_take_the_newline_of_the_function() -> None:
    function = "def get_tpu_env_value(key):\n  return os.environ.get(key) or get_metadata(key)[0]\n"
    source = "# one line that ends in LF only\n" + module(function).replace("\n", "\r\n")
    after = treat(source.encode()).after
    assert after.count(b"\n") - after.count(b"\r\n") == 1
    assert after.count(b"\r\n") == source.count("\r\n") + 2


def test_no_newline_at_the_end() -> None:
    before = (HEAD + FUNCTION).rstrip("\n").encode()
    after = treat(before).after
    assert not after.endswith(b"\n")
    assert after.endswith(b"return value")


def test_latin_1_cookie() -> None:
    before = b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + MODULE.encode()
    assert treat(before).after == b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + PATCHED.encode()


@pytest.mark.parametrize(
    ("indent", "quote"), [("  ", '"'), ("    ", '"'), ("\t", '"'), ("    ", "'")]
)
def test_early_return_in_the_style_of_the_file(indent: str, quote: str) -> None:
    source = f"""import os
from somewhere import get_metadata

def get_tpu_env_value(key):
{indent}'''Look it up.'''
{indent}x = {quote}{quote}
{indent}return os.environ.get(key) or get_metadata(key)
"""
    after = treat(source.encode()).after.decode()
    guard = (
        f"{indent}if os.environ.get({quote}TPU_SKIP_MDS_QUERY{quote}) is not None:\n"
        f"{indent}{indent}return os.environ.get(key)\n"
    )
    assert after == source.replace("'''\n", f"'''\n{guard}", 1)


SHAPES = {
    "one line": "def get_tpu_env_value(key): return os.environ.get(key) or get_metadata(key)\n",
    "async": (
        "async def get_tpu_env_value(key):\n  return os.environ.get(key) or get_metadata(key)\n"
    ),
    "lambda": "get_tpu_env_value = lambda key: os.environ.get(key) or get_metadata(key)\n",
    "two definitions": (
        "import sys\nif sys.version_info > (3, 9):\n"
        "  def get_tpu_env_value(key):\n    return os.environ.get(key) or get_metadata(key)\n"
        "else:\n"
        "  def get_tpu_env_value(key):\n    return os.getenv(key) or get_metadata(key)\n"
    ),
    "a method": (
        "class Tpu:\n  @staticmethod\n  def get_tpu_env_value(key):\n"
        "    return os.environ.get(key) or get_metadata(key)\n"
    ),
    "decorated": (
        "import functools\n@functools.lru_cache\n"
        "def get_tpu_env_value(key):\n  return os.environ.get(key) or get_metadata(key)\n"
    ),
    "leading underscore": (
        "def _get_tpu_env_value(key):\n  return os.environ.get(key) or get_metadata(key)\n"
    ),
    "changed value": (
        "def get_tpu_env_value(key):\n  value = os.environ.get(key)\n"
        "  if value:\n    return value.strip()\n  return get_metadata(key)[0]\n"
    ),
    "query first": (
        "def get_tpu_env_value(key):\n  value = get_metadata(key)[0]\n"
        "  return os.environ.get(key, value)\n"
    ),
}


@pytest.mark.parametrize("function", SHAPES.values(), ids=SHAPES.keys())
def test_any_shape_is_guarded(function: str) -> None:
    assert treat(module(function).encode()).changes


@pytest.mark.parametrize(
    ("last", "none"), [("return value", "None"), ("return value or ''", "''")], ids=["none", "text"]
)
def test_callers_get_the_kind_of_nothing_that_they_know(
    last: str, none: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the server has no value either, what it gives is what the guard must give."""
    source = f"""{HEAD}
def ask(key):
  return get_metadata(key)[0] or None

def get_tpu_env_value(key):
  value = os.environ.get(key, '')
  if value == '':
    value = ask(key)
  {last}
"""
    names: dict[str, Any] = {}
    exec(treat(source.encode()).after, names)  # noqa: S102 - our own text
    monkeypatch.setenv("TPU_SKIP_MDS_QUERY", "1")
    assert repr(names["get_tpu_env_value"]("KEY")) == none
    monkeypatch.setenv("KEY", "value")
    assert names["get_tpu_env_value"]("KEY") == "value"


def test_both_definitions_are_guarded() -> None:
    after = treat(module(SHAPES["two definitions"]).encode()).after
    assert after.count(b"TPU_SKIP_MDS_QUERY") == 2


def test_only_the_definition_in_force_is_edited() -> None:
    source = (MODULE + "\n" + FUNCTION).encode()
    after = treat(source).after
    assert after.startswith(MODULE.encode())
    assert after.count(b"TPU_SKIP_MDS_QUERY") == 1


@pytest.mark.parametrize(
    ("imports", "look_up", "guard"),
    [
        ("import os as _os\nimport os\n", "_os.environ.get(key)", '_os.environ.get("TPU'),
        ("import os\nfrom os import environ\n", "environ.get(key)", 'environ.get("TPU'),
        ("import os\nfrom os import getenv\n", "getenv(key)", 'getenv("TPU'),
    ],
    ids=["alias", "environ", "getenv"],
)
def test_the_environment_is_spelled_as_the_function_does(
    imports: str, look_up: str, guard: str
) -> None:
    function = f'def get_tpu_env_value(key):\n  "Look."\n  return {look_up} or get_metadata(key)\n'
    assert guard in treat(module(function, imports).encode()).after.decode()


def test_os_is_imported_where_the_file_has_not_got_it() -> None:
    source = (
        "from somewhere import get_metadata\n\n"
        "def get_tpu_env_value(key):\n  return get_metadata(key)\n"
    )
    after = treat(source.encode()).after.decode()
    assert "  import os\n  if os.environ.get(" in after
    assert after.startswith("from somewhere import get_metadata\n\ndef")


def test_the_name_in_texts_is_not_the_function() -> None:
    source = "'''get_tpu_env_value'''\n# def get_tpu_env_value(key):\nx = 'get_tpu_env_value'\n"
    (step,) = treat(source.encode()).steps
    assert step.finding.status is Status.NOT_AFFECTED
    assert step.outcome is Outcome.NONE


@pytest.mark.parametrize(
    ("source", "reason", "line"),
    [
        (MODULE.replace("\n", "\r").encode(), Reason.UNGUARDED, None),
        (MODULE.encode().replace(b"# two", b"# \xff"), Reason.UNPARSABLE, 15),
        (MODULE.encode("utf-16"), Reason.UNPARSABLE, None),
        (b"x = " + b"(" * 3000 + b")" * 3000 + b"\n" + MODULE.encode(), Reason.UNPARSABLE, 1),
        (MODULE.encode() + b"\ntry:\n  pass\nexcept E, e:\n  pass\n", Reason.UNPARSABLE, 19),
        (b"<<<<<<< ours\n" + MODULE.encode(), Reason.UNPARSABLE, 1),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 9\n",
            Reason.LFS_POINTER,
            None,
        ),
        (b"", Reason.NO_SOURCE, None),
        (MODULE.encode() + b"\0", Reason.UNPARSABLE, None),
        (b"../elsewhere/cloud_tpu_cluster.py", Reason.NO_SOURCE, None),
    ],
    ids=[
        "cr only",
        "undecodable comment",
        "utf-16",
        "parentheses",
        "python 2",
        "merge markers",
        "lfs pointer",
        "empty",
        "nul",
        "text of a link",
    ],
)
def test_refused_with_its_own_reason(source: bytes, reason: Reason, line: int | None) -> None:
    found, _, where = refusal(source)
    assert found is reason
    assert line is None or where == line


def test_a_form_feed_elsewhere_is_named_by_its_line() -> None:
    source = MODULE.replace("  value = os", "\f  value = os").encode()
    ast.parse(source)  # Python reads it
    _, why, line = refusal(source)
    assert "libcst" in why
    assert line == 9


def test_a_sum_of_a_thousand_terms() -> None:
    source = MODULE + "x = " + " + ".join(["1"] * 1000) + "\n"
    _, why, _ = refusal(source.encode())
    assert "nested too deeply" in why


def test_a_second_guard_is_never_put_in() -> None:
    source = module(
        "def get_tpu_env_value(key):\n"
        "  if key in os.environ:\n    return os.environ[key]\n"
        "  if os.getenv('TPU_SKIP_MDS_QUERY'):\n    return None\n"
        "  return get_metadata(key)[0]\n"
    )
    (step,) = treat(source.encode()).steps
    assert step.outcome is Outcome.ALREADY
    assert step.finding.reason is Reason.UPSTREAM


@pytest.mark.parametrize(
    "function",
    [
        "  if os.environ.get('TPU_SKIP_MDS_QUERY') is not None:\n    return None\n",
        (
            "  if key in os.environ:\n    return os.environ.get(key)\n"
            "  if 'TPU_SKIP_MDS_QUERY' in os.environ:\n    return None\n"
        ),
        "  if os.environ.get('TPU_SKIP_MDS_QUERY') is not None:\n    return str()\n",
    ],
    ids=["our test, another answer", "our answer, another test", "our test, another call"],
)
def test_a_guard_that_only_resembles_ours_is_not_called_ours(function: str) -> None:
    source = module(f"def get_tpu_env_value(key):\n{function}  return get_metadata(key)[0]\n")
    finding = PATCH.probe(ast.parse(source))
    assert (finding.status, finding.reason) == (Status.FIXED, Reason.UPSTREAM)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        ("def get_tpu_env_value(*keys):\n  return get_metadata(*keys)[0]\n", "get_tpu_env_value"),
        ("get_tpu_env_value = lambda *keys: get_metadata(*keys)[0]\n", "the lambda"),
    ],
)
def test_what_cannot_be_guarded_is_named_with_the_reason(function: str, name: str) -> None:
    found = refusal(module(function).encode())
    why = f"{name} cannot be guarded: its parameters are not just the key"
    assert found == (Reason.UNGUARDED, why, 8)


def test_a_guard_the_wrong_way_round_is_named() -> None:
    source = PATCHED.replace(") is None:", ") is not None:")
    planned = plan(source.encode(), [PATCH])
    (step,) = planned.steps
    assert step.finding.status is Status.AFFECTED
    assert (step.outcome, step.line) == (Outcome.REFUSED, 11)
    assert "wrong way round" in step.why


# The conditions of acceptance, each tripped by a patch that breaks it.


def broken(edit: object) -> Patch:
    """The real patch with another rewrite."""
    from dataclasses import replace

    return replace(PATCH, rewrite=edit)  # type: ignore[arg-type]


def edited_text(old: str, new: str) -> object:
    import libcst as cst

    return lambda module: cst.parse_module(module.code.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("value is None:", "value is None :", "could not be proved"),
        (FUNCTION, PATCHED[len(HEAD) : -len(TAIL)] + "x = 1\n", "add or remove"),
        ("two blanks", "two spaces", "could not be proved"),
    ],
    ids=["no guard", "something added", "a comment elsewhere"],
)
def test_a_wrong_edit_is_refused(old: str, new: str, why: str) -> None:
    planned = plan(MODULE.encode(), [broken(edited_text(old, new))])
    (step,) = planned.steps
    assert step.outcome is Outcome.REFUSED
    assert why in step.why
    assert not planned.changes


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("two blanks", "two spaces", "no business"),
        ("def get_metadata(key)", "def get_metadata(key, x=1)", "how get_metadata is used"),
        ("'metadata.google.internal'", "'elsewhere'", "drop a text"),
    ],
    ids=["another line", "a signature", "a message"],
)
def test_a_guard_with_side_effects_is_refused(old: str, new: str, why: str) -> None:
    import libcst as cst

    def edit(module: cst.Module) -> cst.Module:
        return cst.parse_module(PATCH.rewrite(module).code.replace(old, new, 1))

    (step,) = plan(MODULE.encode(), [broken(edit)]).steps
    assert step.outcome is Outcome.REFUSED
    assert why in step.why


def test_a_patch_that_gives_no_python_is_refused() -> None:
    class Rubbish:
        bytes = b"def ("

    (step,) = plan(MODULE.encode(), [broken(lambda _: Rubbish())]).steps
    assert step.outcome is Outcome.REFUSED
    assert "would not parse" in step.why
