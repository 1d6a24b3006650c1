from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from codemod.model import Exit
from codemod.report.jsonreport import verdicts_json
from codemod.report.verdict import to_text
from codemod.verdict import Environment, Level, Row, Scenario, Server, Verdict
from tests.verdicts import GUARD, SCHEMA, changed, first, patched, verdict_on

if TYPE_CHECKING:
    from collections.abc import Callable

KINDS: dict[str, Callable[[], str]] = {
    "proved": patched,
    "not proved": lambda: patched().replace(GUARD, ""),
    "failed": lambda: changed(*first("os._exit(0)")),
}


@cache
def validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def document(*kinds: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(verdicts_json([verdict_on(KINDS[kind]()) for kind in kinds]))
    validator().validate(found)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_keeps_the_schema(kind: str) -> None:
    data = document(kind)
    result = data["results"][0]
    for wrong in (
        {**data, "exit_code": 2},
        {**data, "exit_code": 1 - (data["exit_code"] & 1)},
        {**data, "results": []},
        {**data, "results": result},
        {**data, "results": [{**result, "exit_code": 2}]},
        {**data, "results": [{**result, "proved": not result["proved"]}]},
    ):
        assert not validator().is_valid(wrong)


@pytest.mark.parametrize("kinds", list(permutations(KINDS, 2)), ids=" and ".join)
def test_several_copies_give_the_same_shape_and_the_highest_exit_code(
    kinds: tuple[str, str],
) -> None:
    data = document(*kinds)
    codes = [result["exit_code"] for result in data["results"]]
    assert data["exit_code"] == max(codes)
    assert data["results"] == [document(kind)["results"][0] for kind in kinds]
    assert not validator().is_valid({**data, "exit_code": min(codes)})


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_fits_a_terminal_and_ends_in_the_summary(kind: str) -> None:
    verdict = verdict_on(KINDS[kind]())
    first_line, *lines, summary, end = to_text(verdict).split("\n")
    assert first_line == f"verify {verdict.target}"
    assert max(map(len, lines)) <= 80
    assert (summary, end) == (verdict.summary, "")


def test_the_text_shows_each_kind_of_failure_once() -> None:
    text = to_text(verdict_on(patched().replace(GUARD, "")))
    assert text.count("get_tpu_env_value('") == 1
    assert "    expected  no request and None\n    got       1 request (tpu-env) and '4'\n" in text
    assert "and 50 more like these; the JSON has them all" in text
    assert "more like these" not in to_text(verdict_on(patched()))


ROW = Row(
    scenario=Scenario(variable="true", environment=Environment.ABSENT, server=Server.UP),
    call="f()",
    requests=0,
    other_connections=(),
    value="None",
    exception=None,
    seconds=0.0,
    ok=True,
    expected="no request and None",
)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ((ROW,), Exit.OK),
        ((ROW, replace(ROW, ok=False)), Exit.FINDINGS),
        ((ROW, replace(ROW, broken="it broke")), Exit.REFUSED),
        ((replace(ROW, ok=False), replace(ROW, broken="it broke")), Exit.REFUSED),
        ((), Exit.REFUSED),
    ],
    ids=["all right", "one wrong", "one broken", "wrong and broken", "nothing"],
)
def test_what_the_rows_add_up_to(rows: tuple[Row, ...], code: Exit) -> None:
    verdict = Verdict(level=Level.MODULE, target="a", about="jax 1", rows=rows)
    assert verdict.exit_code == code
    assert verdict.proved is (code == Exit.OK)
    assert verdict.failed is (code == Exit.REFUSED)
    assert "\n" not in verdict.summary
