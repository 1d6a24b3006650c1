"""Audits by several processes and by a Dask cluster: the same rows, and nothing lost with one."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codemod.audit import GROUP, audit
from codemod.executors import in_turn
from codemod.sources.model import Settings
from tests.audits import run
from tests.releases import MEMBER, source

if TYPE_CHECKING:
    from collections.abc import Iterator

COPIES = 6 * GROUP
# A patch that is slow, and that leaves behind which process asked it.
SLOW = """
import os, pathlib, time
from codemod.model import Example, Finding, Patch, Reason, Status
SEEN = pathlib.Path({folder!r})
def probe(tree):
    time.sleep(0.02)
    (SEEN / str(os.getpid())).touch()
    {more}
    return Finding(status=Status.NOT_AFFECTED, reason=Reason.NO_SUCH_CODE)
def rewrite(module):
    return module
PATCH = Patch(
    id="slow", title="slow", bug="https://example.org", origin="here", forwarded="no",
    fixed_upstream_in=None, releases=">=0", probe=probe, rewrite=rewrite, examples=(),
)
"""


@pytest.fixture
def copies(tmp_path: Path) -> Path:
    """Many copies, each of other bytes, one of which no Python reads."""
    folder = tmp_path / "copies"
    for number in range(COPIES):
        path = folder / f"{number:04}" / MEMBER
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x = %d\n" % number)
    (folder / "0000" / MEMBER).write_bytes(b"def (")
    (folder / "0001" / MEMBER).write_bytes(source("0.8.0"))
    return folder


def slow(tmp_path: Path, more: str = "pass") -> tuple[Path, Path]:
    """A folder with the slow patch, and the folder where it leaves the ids of processes."""
    seen, patches = tmp_path / "seen", tmp_path / "patches"
    seen.mkdir()
    patches.mkdir()
    (patches / "slow.py").write_text(SLOW.format(folder=str(seen), more=more))
    return patches, seen


def test_several_processes_find_the_same(copies: Path, tmp_path: Path) -> None:
    patches, seen = slow(tmp_path)
    alone = run(copies, "--format", "json")
    shared = run(copies, "--format", "json", "--jobs", "2")
    assert alone.stdout == shared.stdout
    assert alone.exit_code == shared.exit_code == 1
    assert run(copies, "--jobs", "2", "--patches", patches).exit_code == 1
    assert len(list(seen.iterdir())) == 2


def test_a_process_that_is_killed_loses_nothing(copies: Path, tmp_path: Path) -> None:
    """The first process that meets one copy dies of it; the parent does that work itself."""
    die = f"if os.getpid() != {os.getpid()}: os.kill(os.getpid(), 9)"
    patches, seen = slow(tmp_path, die)
    settings = Settings(folders=(str(patches),))
    with ProcessPoolExecutor(2) as pool:
        found = audit([str(copies)], settings, executor=pool)
    assert {path.name for path in seen.iterdir()} > {str(os.getpid())}
    assert found.results == audit([str(copies)], settings).results


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "scheduler.json"
        self._environment = {k: v for k, v in os.environ.items() if "COVERAGE" not in k}
        options = ["--scheduler-file", str(self._file), "--port", "0", "--no-dashboard"]
        self.processes = [self._start("dask_scheduler", *options)]
        self.address = self._address()
        worker = [self.address, "--no-nanny", "--nthreads", "1", "--no-dashboard"]
        worker += ["--local-directory", str(folder)]
        self.processes += [self._start("dask_worker", *worker) for _ in range(2)]

    def _start(self, module: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", "--host", "127.0.0.1"]
        return subprocess.Popen(
            [*command, *arguments],
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def _address(self) -> str:
        """Where the scheduler listens, once it has written that down as a whole."""
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            with contextlib.suppress(OSError, ValueError):
                return str(json.loads(self._file.read_text())["address"])
            time.sleep(0.05)
        self.stop()
        raise TimeoutError("no scheduler")

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed", reason="Dask is not installed")
    (tmp_path / "dask").mkdir()
    started = Cluster(tmp_path / "dask")
    yield started
    started.stop()


def test_a_cluster_finds_the_same_though_a_worker_is_killed(
    cluster: Cluster, copies: Path, tmp_path: Path
) -> None:
    patches, seen = slow(tmp_path)
    arguments = ["audit", str(copies), "--format", "json", "--patches", str(patches)]
    command = [sys.executable, "-m", "codemod", *arguments, "--dask", cluster.address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as audited:
        workers = {str(process.pid): process for process in cluster.processes[1:]}
        ends = time.monotonic() + 60
        while {path.name for path in seen.iterdir()} < {*workers} and time.monotonic() < ends:
            time.sleep(0.01)
        workers.popitem()[1].send_signal(signal.SIGKILL)
        out, err = audited.communicate(timeout=120)
    assert audited.returncode == 1, err
    assert {path.name for path in seen.iterdir()} == {
        str(process.pid) for process in cluster.processes[1:]
    }
    assert out.decode() == run(*arguments[1:]).stdout


def test_no_scheduler_is_told() -> None:
    pytest.importorskip("distributed", reason="Dask is not installed")
    result = run(Path(__file__).parent, "--dask", "nonsense://127.0.0.1:1")
    assert result.exit_code == 3
    assert "no Dask scheduler at nonsense" in result.stderr


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    result = run("--dask", "tcp://127.0.0.1:1")
    assert result.exit_code == 2
    assert "jax-codemod[dask]" in result.stderr


def test_an_executor_that_is_broken_before_all_is_handed_over() -> None:
    """Then it takes nothing more, and says so where work is given to it and not where it is due."""
    with ProcessPoolExecutor(1) as pool:
        pool.submit(os.kill, pool.submit(os.getpid).result(), signal.SIGKILL).exception()
        assert list(in_turn(pool, abs, [-1, 2, -3])) == [1, 2, 3]
