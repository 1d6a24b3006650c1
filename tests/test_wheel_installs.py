"""Patched wheels from an index over http into fresh environments: taken, proved, gone again."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.wheel import LABEL
from tests.e2e.run import affected
from tests.environments import Lacking, interpreter, wanted
from tests.installations import disagreeing, listing
from tests.releases import wheel

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RELEASES = {family.name: family.release for family in affected()}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an index of the newest release of every affected family."""
    folder = tmp_path_factory.mktemp("served")
    some = map(str, map(wheel, RELEASES.values()))
    places = ("-o", str(folder / "wheels"), "--index", str(folder / "simple"))
    result = CliRunner().invoke(cli, ["wheel", *some, *places])
    assert result.exit_code == 0, result.output
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple/"
        server.shutdown()


def command(tool: str, verb: str, python: Path) -> list[str]:
    if tool == "uv":
        return [sys.executable, "-m", "uv", "pip", verb, "-q", "--python", str(python)]
    return [sys.executable, "-m", "pip", "--python", str(python), verb, "-q"]


def run(*arguments: str) -> None:
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "UV_"))}
    environ |= {"PIP_CONFIG_FILE": os.devnull, "UV_NO_CONFIG": "1", "UV_NO_CACHE": "1"}
    done = subprocess.run(arguments, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def fresh(folder: Path, release: str) -> Path:
    """The interpreter of an empty environment that a release may be installed into."""
    new_enough = sys.version_info[:2] >= tuple(map(int, wanted(release).split(".")))
    try:
        base = sys.executable if new_enough else interpreter(release)
    except Lacking as lacking:
        pytest.skip(str(lacking))
    run(str(base), "-m", "venv", "--without-pip", str(folder))
    return folder / "bin" / "python"


@pytest.mark.parametrize("tool", ["pip", "uv"])
@pytest.mark.parametrize("family", RELEASES)
def test_one_of_every_family(family: str, tool: str, index: str, tmp_path: Path) -> None:
    python = fresh(tmp_path, RELEASES[family])
    [site] = tmp_path.glob("lib/python*/site-packages")
    before = listing(site)
    pin = f"jax=={RELEASES[family]}"
    run(*command(tool, "install", python), "--no-deps", "--index-url", index, pin)
    assert disagreeing(site, f"{RELEASES[family]}+{LABEL}") == []
    result = CliRunner().invoke(cli, ["verify", "--format", "json", str(python)])
    assert result.exit_code == 0, result.output
    assert [each["proved"] for each in json.loads(result.stdout)["results"]] == [True]
    run(*command(tool, "uninstall", python), *(["-y"] if tool == "pip" else []), "jax")
    assert listing(site) == before


def test_what_came_unpatched_would_not_be_proved(tmp_path: Path) -> None:
    release = RELEASES[next(iter(RELEASES))]
    python = fresh(tmp_path, release)
    run(*command("uv", "install", python), "--no-deps", str(wheel(release)))
    result = CliRunner().invoke(cli, ["verify", "--format", "json", str(python)])
    assert result.exit_code == 1, result.output
