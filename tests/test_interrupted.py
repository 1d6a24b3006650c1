"""Killed at any write, fsync, rename or unlink: nothing is lost, and the next run finishes."""

from __future__ import annotations

import os
import shutil
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.engine import plan
from codemod.registry import load
from tests.installations import VERSION, disagreeing, install, listing
from tests.releases import MEMBER, source

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    When = Literal["before", "after", "halfway"]

CALLS = ("open", "write", "fsync", "replace", "unlink", "fchmod", "fchown")
KILLED = 77
FIXED = plan(source(VERSION), load()).after


class Killer:
    """Counts the calls that change something, and ends the process at one of them."""

    def __init__(self, number: int, when: When) -> None:
        self.number, self.when, self.count = number, when, 0

    def __enter__(self) -> Self:
        self._old = {name: getattr(os, name) for name in CALLS}
        for name, call in self._old.items():
            setattr(os, name, partial(self._called, name, call))
        return self

    def __exit__(self, *_: object) -> None:
        for name, call in self._old.items():
            setattr(os, name, call)

    def _called(self, name: str, call: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if name == "open" and not given[1] & os.O_CREAT:
            return call(*given, **named)
        self.count += 1
        if self.count != self.number:
            return call(*given, **named)
        try:
            if self.when == "halfway" and name == "write":
                call(given[0], bytes(given[1])[: len(given[1]) // 2])
            elif self.when == "after":
                call(*given, **named)
        finally:
            os._exit(KILLED)


def codemod(command: str, site: Path) -> int:
    return CliRunner().invoke(cli, [command, str(site)]).exit_code


def killed(command: str, site: Path, number: int, when: When) -> bool:
    """Run a command in a process that is killed at one call; whether it came so far."""
    child = os.fork()
    if not child:
        with Killer(number, when):
            code = codemod(command, site)
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, KILLED)
    return code == KILLED


@pytest.mark.parametrize("when", ["before", "after", "halfway"])
@pytest.mark.parametrize("command", ["apply", "revert"])
def test_at_every_call(tmp_path: Path, command: str, when: When) -> None:
    start, end = tmp_path / "start", tmp_path / "end"
    install(start)
    if command == "revert":
        codemod("apply", start)
    shutil.copytree(start, end)
    assert codemod(command, end) == 0
    number, states = 0, set()
    while True:
        number += 1
        site = tmp_path / "site-packages"
        shutil.rmtree(site, ignore_errors=True)
        shutil.copytree(start, site)
        if not killed(command, site, number, when):
            break
        content = (site / MEMBER).read_bytes()
        states.add(content)
        assert content in (source(VERSION), FIXED)
        assert codemod(command, site) == 0
        assert listing(site, bytecode=True) == listing(end, bytecode=True), number
        assert disagreeing(site) == []
    assert number > 15
    assert states == {source(VERSION), FIXED}


def test_what_is_checked_here_would_be_noticed(tmp_path: Path) -> None:
    """The positive control: without a note of what is to be done, RECORD would stay wrong."""
    site = tmp_path / "site-packages"
    install(site)
    number = 0
    while (site / MEMBER).read_bytes() != FIXED:
        number += 1
        shutil.rmtree(site)
        install(site)
        assert killed("apply", site, number, "after")
    assert disagreeing(site)
    for note in site.rglob(".codemod-*"):
        note.unlink()
    assert codemod("apply", site) == 0
    assert disagreeing(site)
