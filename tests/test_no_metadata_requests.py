"""No metadata request while TPU_SKIP_MDS_QUERY is set: tests to copy into the CI of a project.

Copied, beside a `conftest.py` that adds the option, they run over a jax of your own, as it is:

    pytest test_no_metadata_requests.py --jax path/to/venv

Without the option they run over all affected releases, patched; that takes the tests of codemod.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from codemod.locate import locate
from codemod.model import Exit
from codemod.verify import verify_module

if TYPE_CHECKING:
    from codemod.verdict import Row, Verdict

HERE = Path(sys.executable)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    named = metafunc.config.getoption("--jax", default=None)
    for fixture in ("verdict", "control"):
        jax = _affected() if not named else [named] if fixture == "verdict" else []
        if fixture in metafunc.fixturenames:
            metafunc.parametrize(fixture, jax, indirect=True, scope="module")


def _affected() -> list[str]:
    from tests.releases import AFFECTED

    return list(AFFECTED)


@pytest.fixture
def verdict(request: pytest.FixtureRequest) -> Verdict:
    """Return what `codemod verify` says about the named jax, or about a patched release."""
    if request.config.getoption("--jax", default=None):
        return verdict_on_target(request.param)
    return verdicts_on_release(request.param)[1]


@pytest.fixture
def control(request: pytest.FixtureRequest) -> Verdict:
    """Return what it says about a release as it came."""
    return verdicts_on_release(request.param)[0]


@cache
def verdict_on_target(argument: str) -> Verdict:
    target = locate(argument, environ=os.environ)
    assert target.copies, f"{argument} holds no jax"
    return verify_module(target.python or HERE, target.copies[0].path)


@cache
def verdicts_on_release(version: str) -> tuple[Verdict, Verdict]:
    """Return the verdicts on a release among its real siblings: as it came, and patched."""
    from codemod import engine, registry
    from tests.verdicts import unpacked

    with TemporaryDirectory() as folder:
        copy = unpacked(version, Path(folder))
        came = verify_module(HERE, copy)
        copy.write_bytes(engine.plan(copy.read_bytes(), registry.load()).after)
        return came, verify_module(HERE, copy)


def calls(verdict: Verdict, *variables: str | None, environment: str | None = None) -> list[Row]:
    """Return the calls of `get_tpu_env_value` with the variable at one of these values."""
    found = [
        row
        for row in verdict.rows
        if row.call.startswith("get_tpu_env_value(")
        and row.scenario.variable in variables
        and row.scenario.environment == (environment or row.scenario.environment)
    ]
    assert found, verdict.summary
    return found


def test_no_request_with_the_variable_set(verdict: Verdict) -> None:
    assert [row for row in calls(verdict, "true", "1") if row.requests] == []


def test_no_connection_to_anywhere_else_with_the_variable_set(verdict: Verdict) -> None:
    assert [row for row in calls(verdict, "true", "1") if row.other_connections] == []


def test_none_comes_back_with_the_variable_set(verdict: Verdict) -> None:
    assert {row.value for row in calls(verdict, "true", "1", environment="absent")} == {"None"}


def test_a_value_in_the_environment_wins(verdict: Verdict) -> None:
    rows = calls(verdict, "true", "1", None, environment="value")
    assert {row.value for row in rows} == {"'3'", "'2'", "'127.0.0.9:8080'"}
    assert {row.requests for row in rows} == {0}


def test_the_server_is_asked_with_the_variable_unset(verdict: Verdict) -> None:
    rows = [
        row for row in calls(verdict, None, environment="absent") if row.scenario.server == "up"
    ]
    assert {row.value for row in rows} == {"'4'", "'3'", "'127.0.0.7:8080'", "'v5litepod-8'"}
    assert min(row.requests for row in rows) >= 1


def test_it_is_proved(verdict: Verdict) -> None:
    """All of the above at once, and that detection and the callers work without an answer."""
    assert [row for row in verdict.rows if not row.ok] == []
    assert verdict.exit_code == Exit.OK, verdict.summary


def test_the_release_as_it_came_does_ask(control: Verdict) -> None:
    """The control: were this one to pass unpatched, the tests above would prove nothing."""
    rows = calls(control, "true", "1", environment="absent")
    assert min(row.requests + len(row.other_connections) for row in rows) >= 1
    assert min(row.requests for row in rows if row.scenario.server == "up") >= 1
    assert control.exit_code == Exit.FINDINGS, control.summary
