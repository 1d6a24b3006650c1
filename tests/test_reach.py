"""What reach says of a file, for every spelling of the guard and every shape of the function."""

from __future__ import annotations

import ast
import codecs

import pytest

from codemod import reach
from codemod.engine import find, plan
from codemod.model import Evidence, Finding, Guard, Outcome, Reason, Status
from codemod.reach import NOT, SURE, File, judge
from codemod.reach.state import MAYBE
from codemod.reach.values import Const
from codemod.registry import load
from tests.corpus_cases import cases

PATCH = next(patch for patch in load() if patch.id == "skip_mds_env_value")
DEF = "def get_tpu_env_value(key):\n"
NAMES = ("get_tpu_env_value", "_get_tpu_env_value")
METADATA = """import contextlib
import functools
import os

def get_metadata(key):
    import requests
    return requests.get(f'http://metadata.google.internal/computeMetadata/v1/{key}').text
"""
VARIABLE = "'TPU_SKIP_MDS_QUERY'"
AFFECTED, DRIFTED = "affected unguarded", "under_investigation drifted"
PRESENCE, TRUTHY = "fixed upstream presence", "fixed upstream truthy"
SET = f"os.environ.get({VARIABLE}) is not None"


def body(text: str, before: str = "") -> str:
    """A module whose function has this body."""
    indented = "".join(f"    {line}\n" for line in text.strip().split("\n"))
    return f"{METADATA}{before}\ndef get_tpu_env_value(key):\n{indented}"


def guarded(test: str, before: str = "") -> str:
    """A module whose function asks unless `test` holds."""
    text = f"value = os.environ.get(key)\nif value is None and not ({test}):\n"
    return body(f"{text}    value = get_metadata(key)\nreturn value", before)


def said(source: str) -> str:
    """What is said of a file, in words: status, reason and guard."""
    found = find(source.encode(), PATCH)
    assert not any("itself fails" in e.text for e in found.evidence), found
    assert found.reason is Reason.NO_SUCH_CODE or _points_into(source, found), found
    return " ".join([found.status, found.reason, *([found.guard] if found.guard else [])])


def _points_into(source: str, found: Finding) -> bool:
    """Whether the evidence is of lines that are there, and of code that stands there."""
    stands = {
        (node.lineno, ast.unparse(node))
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.expr)
    }
    if found.status in (Status.AFFECTED, Status.FIXED):
        shown = [(e.line, e.text) in stands for e in found.evidence]
    else:
        shown = [bool(e.text) and 1 <= e.line <= source.count("\n") + 1 for e in found.evidence]
    return bool(shown) and all(shown)


# Guards: the test in `if value is None and not (test):`.
GUARDS = {
    # Presence, in every spelling.
    "get is not None": (SET, PRESENCE),
    "get with None": (f"os.environ.get({VARIABLE}, None) is not None", PRESENCE),
    "get != None": (f"os.environ.get({VARIABLE}) != None", PRESENCE),
    "get with key and default by name": (
        f"os.environ.get(key={VARIABLE}, default=None) is not None",
        PRESENCE,
    ),
    "None is not get": (f"None is not os.environ.get({VARIABLE})", PRESENCE),
    "not get is None": (f"not os.environ.get({VARIABLE}) is None", PRESENCE),
    "in environ": (f"{VARIABLE} in os.environ", PRESENCE),
    "in environ.keys()": (f"{VARIABLE} in os.environ.keys()", PRESENCE),
    "not not in environ": (f"not {VARIABLE} not in os.environ", PRESENCE),
    "__contains__": (f"os.environ.__contains__({VARIABLE})", PRESENCE),
    "getenv": (f"os.getenv({VARIABLE}) is not None", PRESENCE),
    "any of a list": (f"any([{VARIABLE} in os.environ])", PRESENCE),
    "any of a generator": (f"any(n in os.environ for n in [{VARIABLE}])", PRESENCE),
    "all": (f"all(({VARIABLE} in os.environ, True))", PRESENCE),
    "bool": (f"bool({VARIABLE} in os.environ)", PRESENCE),
    "conditional expression": (f"True if {SET} else False", PRESENCE),
    "walrus": (f"(skip := os.environ.get({VARIABLE})) is not None", PRESENCE),
    "lambda": (f"(lambda: {SET})()", PRESENCE),
    "getattr": (f"getattr(os, 'environ').get({VARIABLE}) is not None", PRESENCE),
    "getattr with a default": (f"{VARIABLE} in getattr(os, 'environ', ())", PRESENCE),
    "copy": (f"{VARIABLE} in os.environ.copy()", PRESENCE),
    "dict": (f"{VARIABLE} in dict(os.environ)", PRESENCE),
    "opened into a dict": (f"{VARIABLE} in {{**os.environ}}", PRESENCE),
    "isinstance": (f"isinstance(os.environ.get({VARIABLE}), str)", PRESENCE),
    "name put together": ("'TPU_SKIP_' + 'MDS_QUERY' in os.environ", PRESENCE),
    "name formatted": ("f\"TPU_SKIP_{'MDS'}_QUERY\" in os.environ", PRESENCE),
    "name with %": ("'TPU_SKIP_%s' % 'MDS_QUERY' in os.environ", PRESENCE),
    "name in upper case": ("'tpu_skip_mds_query'.upper() in os.environ", PRESENCE),
    "or": (f"{SET} or os.environ.get('SOMETHING')", PRESENCE),
    "in an item": (f"{{'skip': {SET}}}['skip']", PRESENCE),
    "chosen from a pair": (f"(False, True)[{VARIABLE} in os.environ]", PRESENCE),
    # Some values only.
    "truth": (f"os.environ.get({VARIABLE})", TRUTHY),
    "truth with a default": (f"os.environ.get({VARIABLE}, '')", TRUTHY),
    "lower in": (f"os.environ.get({VARIABLE}, '').lower() in ('1', 'true', 'yes')", TRUTHY),
    "not in": (f"os.environ.get({VARIABLE}, '0') not in ('', '0', 'false')", TRUTHY),
    "or empty": (f"(os.environ.get({VARIABLE}) or '0') != '0'", TRUTHY),
    "len": (f"len(os.getenv({VARIABLE}, ''))", TRUTHY),
    # Guards that do not guard.
    "none": ("False", AFFECTED),
    "zero": ("0", AFFECTED),
    "is None": (f"os.environ.get({VARIABLE}) is None", AFFECTED),
    "not": (f"not os.environ.get({VARIABLE})", AFFECTED),
    "not in environ": (f"{VARIABLE} not in os.environ", AFFECTED),
    "never equal": (f"os.environ.get({VARIABLE}) == 'never'", AFFECTED),
    "only one of the values": (f"os.environ.get({VARIABLE}) == 'true'", AFFECTED),
    "is True": (f"os.environ.get({VARIABLE}) is True", AFFECTED),
    "and False": (f"{SET} and False", AFFECTED),
    "and the value is there": (f"{SET} and value is not None", AFFECTED),
    "an empty copy": (f"{VARIABLE} in {{}}", AFFECTED),
    "any of nothing": ("any([])", AFFECTED),
    # Nobody knows.
    "another variable": ("os.environ.get('TPU_SKIP_MDS') is not None", DRIFTED),
    "wrong case": ("os.environ.get('tpu_skip_mds_query') is not None", DRIFTED),
    "and another": (f"{SET} and os.environ.get('SOMETHING')", DRIFTED),
    "the key": ("os.environ.get(key + '_SKIP')", DRIFTED),
}


@pytest.mark.parametrize(
    ("test", "expected"), GUARDS.values(), ids=[name.replace(" ", "-") for name in GUARDS]
)
def test_guard(test: str, expected: str) -> None:
    assert said(guarded(test)) == expected


@pytest.mark.parametrize(("before", "expected"), cases("helpers"))
def test_guard_with_something_before_it(before: str, expected: str) -> None:
    before, _, test = before.partition("# guard: ")
    assert said(guarded(test.strip(), before)) == expected


@pytest.mark.parametrize(("text", "expected"), cases("bodies"))
def test_body(text: str, expected: str) -> None:
    assert said(body(text)) == expected


@pytest.mark.parametrize(("text", "expected"), cases("unseen"))
def test_a_request_that_is_hard_to_see_is_never_taken_for_guarded(text: str, expected: str) -> None:
    # With a guard that only seems to be one: unset, the function asks for sure.
    assert expected == "not fixed"
    source = body(f"if os.environ.get({VARIABLE}) is None:\n    return get_metadata(key)\n{text}")
    assert said(source).split()[0] in ("affected", "under_investigation")


@pytest.mark.parametrize(("text", "expected"), cases("unseen"))
def test_the_same_behind_a_guard_is_never_called_affected(text: str, expected: str) -> None:
    assert said(body(f"if {SET}:\n    return None\n{text}")).split()[0] != "affected"


@pytest.mark.parametrize(("text", "expected"), cases("not_made"))
def test_a_request_that_is_not_made_is_never_called_affected(text: str, expected: str) -> None:
    assert said(body(f"{text.rstrip()}\nreturn get_metadata(key)")) == expected


@pytest.mark.parametrize(("text", "expected"), cases("modules"))
def test_module(text: str, expected: str) -> None:
    assert said(METADATA + text) == expected


@pytest.mark.parametrize(("before", "expected"), cases("asking"))
def test_way_of_asking(before: str, expected: str) -> None:
    assert said(f"{before}\n{DEF}    return ask(key)\n") == expected


# Evidence.


def test_evidence_of_a_request_is_the_calls_that_lead_to_it() -> None:
    helper = "\ndef ask(key):\n    return get_metadata(key)\n\n"
    source = f"{METADATA}{helper}{DEF}    return ask(key)\n"
    found = find(source.encode(), PATCH)
    lines = source.split("\n")
    assert [e.text for e in found.evidence[:2]] == ["ask(key)", "get_metadata(key)"]
    assert [lines[e.line - 1].strip() for e in found.evidence] == [
        "return ask(key)",
        "return get_metadata(key)",
        "return requests.get(f'http://metadata.google.internal/computeMetadata/v1/{key}').text",
    ]


def test_evidence_of_a_guard_is_where_the_variable_is_looked_up() -> None:
    helper = f"\ndef skip():\n    return {SET}\n\n"
    source = f"{METADATA}{helper}{DEF}    return skip() or get_metadata(key)\n"
    found = find(source.encode(), PATCH)
    line = source.split("\n").index(f"    return {SET}") + 1
    assert found.evidence == (Evidence(line=line, text="os.environ.get('TPU_SKIP_MDS_QUERY')"),)
    assert found.guard is Guard.PRESENCE


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{DEF}    raise NotImplementedError\n", 1),
        (f"import os\n\n{DEF}    return os.environ.get(key)\n", 3),
        (f"from x import d\n\n\n@d\n{DEF}    return 1\n", 5),
        (f"from m import get_metadata\n{DEF}    yield get_metadata(key)\n", 2),
        ("from functools import partial\n\nget_tpu_env_value = partial(print, 1)\n", 3),
    ],
    ids=["stub", "gutted", "decorated", "generator", "partial"],
)
def test_evidence_is_never_missing(text: str, line: int) -> None:
    found = find(text.encode(), PATCH)
    assert [(e.line, bool(e.text)) for e in found.evidence] == [(line, True)]


def test_our_own_edit_is_told_from_an_equivalent_one() -> None:
    edited = plan(body("return os.environ.get(key) or get_metadata(key)").encode(), [PATCH])
    assert edited.steps[0].outcome is Outcome.APPLIED
    assert find(edited.after, PATCH).reason is Reason.PATCHED


# What the patch makes of odd ways to look things up.
EDITED = {
    "import-as": (
        "import os as _os\n",
        "return _os.environ.get(key) or get_metadata(key)",
        "_os.environ.get",
    ),
    "environ": (
        "from os import environ\n",
        "return environ.get(key) or get_metadata(key)",
        "environ.get",
    ),
    "getenv": ("from os import getenv\n", "return getenv(key) or get_metadata(key)", "getenv"),
    "imported-only": ("import os as o\n", "return get_metadata(key)", "o.environ.get"),
    "no-os": ("", "return get_metadata(key)", "os.environ.get"),
    "local-copy": (
        "import os\n",
        "environ = dict(os.environ)\n    return environ.get(key) or get_metadata(key)",
        "os.environ.get",
    ),
    "asks-for-one-value-only": (
        "import os\n",
        (
            f"if os.environ.get({VARIABLE}) == 'true':\n        return None\n"
            "    return os.environ.get(key) or get_metadata(key)"
        ),
        "os.environ.get",
    ),
}


@pytest.mark.parametrize(("imports", "text", "spelling"), EDITED.values(), ids=[*EDITED])
def test_the_edit_looks_up_the_environment_as_the_file_does(
    imports: str, text: str, spelling: str
) -> None:
    source = f"from m import get_metadata\n{imports}\n{DEF}    {text}\n"
    planned = plan(source.encode(), [PATCH])
    assert planned.steps[0].outcome is Outcome.APPLIED
    assert f"    if {spelling}({VARIABLE}) is not None:\n" in _with_quotes(planned.after)
    assert b"import os\n" in planned.after or imports


def _with_quotes(source: bytes) -> str:
    return source.decode().replace('"TPU_SKIP_MDS_QUERY"', VARIABLE)


@pytest.mark.parametrize(
    ("text", "added"),
    [
        (
            (
                "while True:\n    value = os.environ.get(key)\n    if value is None:\n"
                "        return get_metadata(key)"
            ),
            f"    if {SET}:\n        return os.environ.get(key)\n    while True:\n",
        ),
        ("value = os.environ.get(key.lower())\nreturn value or get_metadata(key)", None),
        (
            "return (os.environ.get(key) or get_metadata(key)).strip()",
            f"    if {SET} and not os.environ.get(key):\n        return os.environ.get(key)\n",
        ),
        ("from x import y\nreturn get_metadata(key)", f"    if {SET}:\n"),
    ],
    ids=["no-endless-loop", "no-other-key", "no-lost-strip", "import-in-the-function"],
)
def test_the_edit_keeps_what_the_environment_gives(text: str, added: str | None) -> None:
    planned = plan(body(text).encode(), [PATCH])
    assert planned.steps[0].outcome is (Outcome.APPLIED if added else Outcome.REFUSED)
    assert (added or "") in planned.after.decode()


# Too much to walk.


def test_more_paths_than_can_be_walked_end_in_drifted() -> None:
    tests = "".join(f"if os.environ.get('V{n}'):\n    v{n} = 1\n" for n in range(20))
    found = find(body(f"{tests}return None").encode(), PATCH)
    assert (found.status, found.reason) == (Status.UNDER_INVESTIGATION, Reason.DRIFTED)
    assert (found.evidence[0].line, "more paths" in found.evidence[0].text) == (1, True)


@pytest.mark.parametrize(
    "text",
    [
        "x = 'a'\nfor _ in range(60):\n    x = x + x\nreturn x",
        "return '%999999999999d' % 1",
        "return '{:>999999999999}'.format(1)",
        "return get_tpu_env_value(key)",
        "return " + "+".join(["key"] * 300),
        "f = lambda g: g(g)\nreturn f(f)",
        "a = []\na.append(a)\na = (a, a)\nreturn a",
        "while True:\n    pass",
    ],
    ids="doubling wide formatted recursive sum applied-to-itself cycle endless".split(),
)
def test_odd_code_ends_and_raises_nothing(text: str) -> None:
    assert said(body(text)).startswith("under_investigation")


@pytest.mark.parametrize(
    "text",
    ["'x'.encode('of_this_test')", "b'x'.decode('of_this_test')", "str(b'x', 'of_this_test')"],
)
def test_no_codec_is_run(text: str) -> None:
    asked: list[str] = []
    codecs.register(asked.append)
    try:
        assert (
            said(body(f"if {SET}:\n    return None\n{text}\nreturn get_metadata(key)")) == PRESENCE
        )
    finally:
        codecs.unregister(asked.append)
    assert "of_this_test" not in asked


# Questions to a file.


def test_all_that_is_named_is_there() -> None:
    assert all(hasattr(reach, name) for name in reach.__all__)


def test_what_a_function_is_known_to_return() -> None:
    tree = ast.parse(body("return get_metadata(key)"))
    answer = next(iter(File(tree, results={"get_metadata": "x"}).ask(NAMES, None).values()))
    assert [value.value for value in answer.returns if isinstance(value, Const)] == ["x"]
    assert answer.possible == NOT


def ask(text: str, skip: str | None, key: str = "absent") -> tuple[int, int]:
    answer = next(iter(File(ast.parse(body(text))).ask(NAMES, skip, key=key).values()))
    return answer.reach, answer.possible


@pytest.mark.parametrize(
    ("key", "expected"), [("absent", SURE), ("empty", SURE), ("present", NOT)], ids=str
)
def test_key_in_the_environment(key: str, expected: int) -> None:
    assert ask("return os.environ.get(key) or get_metadata(key)", "true", key) == (
        expected,
        expected,
    )


def test_reach_is_what_every_path_does_and_possible_what_any_does() -> None:
    assert ask("if os.environ.get('X'):\n    return get_metadata(key)", "1") == (MAYBE, SURE)


def test_values_that_are_known_of_other_names() -> None:
    tree = ast.parse(
        f"from x import on_tpu\n{METADATA}\n{DEF}    return on_tpu and get_metadata(key)\n"
    )
    assert judge(tree, NAMES).finding.reason is Reason.DRIFTED
    assert judge(tree, NAMES, names={"on_tpu": True}).finding.status is Status.AFFECTED
    assert judge(tree, NAMES, names={"on_tpu": False}).finding.reason is Reason.DRIFTED
