"""Proves by running it that one copy leaves the metadata server alone when it is told to."""

from __future__ import annotations

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codemod import scenarios
from codemod.child_process import Child, Gone
from codemod.errors import Refused
from codemod.metadata_server import MetadataServer
from codemod.textfile import read_regular
from codemod.verdict import Environment, Level, Row, Scenario, Server, Verdict
from codemod.verify_cluster import no_cluster, verify_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["no_cluster", "verify_cluster", "verify_module"]

SCRIPT = Path(__file__).with_name("probe_child.py")
PATIENT = 5.0  # seconds on a socket: the machine may be busy
IMPATIENT = 0.005  # seconds, where the server is known to be silent
CLEARED = (
    "GCE_METADATA_IP",
    "TPU_PROCESS_ADDRESSES",
    "TPU_PROCESS_ADDRESSES_PATH",
    scenarios.VARIABLE,
    scenarios.OTHER_KEY,
    *scenarios.KEYS,
    *scenarios.WORKERS,
)


def verify_module(
    python: Path, copy: Path, *, beside: Sequence[Path] = (), timeout: float = 30.0
) -> Verdict:
    """Return the verdict on the file `copy`, run by the interpreter `python`.

    `beside` are the files of its folder that hold a part of its code: they are run with it.
    `timeout` is in seconds and holds for the whole run. Nothing is raised for a copy that
    cannot be run: such a verdict has `failed` set.
    """
    files = [file.absolute() for file in (copy, *beside)]  # the child runs elsewhere
    run = _Run(python.absolute(), files, timeout)
    run.rows()
    return Verdict(
        level=Level.MODULE,
        target=str(copy),
        about=run.about,
        rows=tuple(run.done),
        notes=tuple(run.notes),
    )


# Before the first call and after the last there is no scenario to name.
AT_REST = Scenario(variable="true", environment=Environment.ABSENT, server=Server.UP)


class _Run:
    """One child from start to end, and what it has shown so far."""

    def __init__(self, python: Path, files: Sequence[Path], timeout: float) -> None:
        self.done: list[Row] = []
        self.notes: list[str] = []
        self.about = f"{_version(files[0])}, {python}"
        self._python, self._files = python, files
        self._deadline = time.monotonic() + timeout
        self._arguments = (json.dumps([str(file) for file in files]), str(timeout + 5))
        self._current = Row.blank(AT_REST, "start", "")

    def rows(self) -> None:
        """Make all calls; whatever ends the child early becomes the last row."""
        try:
            for file in self._files:
                read_regular(file)  # a device would be read without end
            with (
                MetadataServer(scenarios.ATTRIBUTES) as self._server,
                Child(self._python, SCRIPT, self._arguments, {}) as self._child,
            ):
                self._greet()
                for variable in scenarios.VALUES:
                    self.done.extend(self._with(variable))
                self._part()
        except (Gone, Refused, OSError, RuntimeError) as gone:  # the latter two: no resources
            at_rest = self._current.scenario is AT_REST
            scenario = "" if at_rest else f" with {self._current.scenario}"
            why = f"{gone}, in {self._current.call}{scenario}"
            self.done.append(replace(self._current, broken=why))

    def _greet(self) -> None:
        hello = self._child.receive(self._deadline)
        self.about = f"{_version(self._files[0])}, Python {hello['python']}"
        if hello["requests"] == "stand-in":
            self.notes.append("requests is not installed there: urllib stood in for it")

    def _part(self) -> None:
        self._current = Row.blank(AT_REST, "end", "")
        self._child.finish(self._deadline)
        self._child.end()
        if self._child.stdout.size:
            raise Gone(f"the copy printed: {self._child.stdout.last_line()!r}")

    def _with(self, variable: str | None) -> Iterator[Row]:
        """Load the copy afresh with this value of the variable, and yield a row for each call."""
        where = Scenario(variable=variable, environment=Environment.ABSENT, server=Server.UP)
        self._current = Row.blank(where, "import", "a module")
        loaded = self._ask(where, {"op": "load"}, {})
        if stub := loaded.get("stub"):
            note = f"jax._src.cloud_tpu_init is a stub: {stub}"
            self.notes.extend({note} - set(self.notes))
        row = self._judge_import(loaded)
        yield row
        if row.broken is None:
            for call in scenarios.calls(variable, loaded["classes"]):
                yield (row := self._row(call))
                if row.value == "True":
                    yield from map(self._row, scenarios.if_present(call))

    def _judge_import(self, loaded: dict[str, Any]) -> Row:
        why = None
        if loaded.get("exception"):
            why = f"the copy cannot be imported: {loaded['exception']}"
        elif not loaded["env_value"]:
            why = "the copy has no get_tpu_env_value"
        elif scenarios.GKE not in loaded["classes"]:
            why = f"the copy has no {scenarios.GKE}"
        row = self._observed(self._current, loaded)
        broken = row.broken or why
        quiet = not (row.requests or row.other_connections)
        return replace(
            row, ok=quiet and broken is None and not _meddled(row, loaded), broken=broken
        )

    def _row(self, call: scenarios.Call) -> Row:
        expected = ", or ".join(map(str, call.ways))
        self._current = Row.blank(call.scenario, str(call), expected)
        command = {"op": "call", "call": [call.owner, call.name, call.arguments]}
        answer = self._ask(call.scenario, command, call.environment)
        row = self._observed(self._current, answer)
        traffic = row.requests + len(row.other_connections)
        ok = any(way.holds(traffic, row.value, row.exception) for way in call.ways)
        return replace(row, ok=ok and row.broken is None and not _meddled(row, answer))

    def _ask(self, scenario: Scenario, command: Any, environment: Any) -> dict[str, Any]:
        self._server.start(scenario.server)
        silent = scenario.server is Server.SILENT
        variables = {**dict.fromkeys(CLEARED), **environment}
        variables[scenarios.VARIABLE] = scenario.variable
        variables["GCE_METADATA_IP"] = self._server.address()
        self._child.send(
            {
                **command,
                "environment": variables,
                "server": self._server.port,
                "socket_timeout": IMPATIENT if silent else PATIENT,
            }
        )
        answer = self._child.receive(self._deadline)
        self._server.wait_for(answer["connections"], 1.0)
        return answer

    def _observed(self, row: Row, answer: dict[str, Any]) -> Row:
        broken = None
        if answer["started"]:
            broken = f"the copy tried to start a process: {answer['events'][-1]}"
        elif answer.get("missing") is not None:
            broken = f"a package is missing: {answer['exception']}"
        return replace(
            row,
            requests=self._server.requests(),
            asked=self._server.asked(),
            other_connections=tuple(answer["events"]),
            value=answer.get("value"),
            exception=answer.get("exception") or _meddled(row, answer),
            seconds=round(answer["seconds"], 4),
            broken=broken,
        )


def _meddled(row: Row, answer: dict[str, Any]) -> str | None:
    """Say what became of the user's variable, where the copy did not leave it alone."""
    left = answer["variable"]
    if left == row.scenario.variable:
        return None
    return f"{scenarios.VARIABLE} was {'removed' if left is None else f'set to {left!r}'}"


def _version(copy: Path) -> str:
    """Return `jax 0.8.0` from the `version.py` of the package that the copy lies in."""
    try:
        text = (copy.parents[2] / "version.py").read_text(encoding="utf-8", errors="replace")
    except (OSError, IndexError):
        return "a lone file"
    found = re.search(r"""^_version = ["']([^"'\n]+)["']""", text, re.MULTILINE)
    return f"jax {found[1]}" if found else "jax of unknown version"
