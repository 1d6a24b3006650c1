from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from codemod.model import Exit
from codemod.report.verdict import to_text
from codemod.verdict import Environment, Scenario, Server
from codemod.verify import verify_module
from tests.releases import source
from tests.verdicts import (
    ASK,
    DETECTED,
    FROM_SERVER,
    GUARD,
    HERE,
    LOOK_UP,
    RELEASE,
    SET,
    SIGNATURE,
    changed,
    first,
    patched,
    unpacked,
    verdict_on,
    wrong,
)


def test_the_patched_release_is_proved() -> None:
    verdict = verdict_on(patched())
    assert (verdict.proved, verdict.failed, verdict.exit_code) == (True, False, Exit.OK)
    assert wrong(verdict) == []
    assert verdict.summary.startswith("proved: with TPU_SKIP_MDS_QUERY set, none of 136 calls")


def test_the_release_as_it_came_is_not() -> None:
    verdict = verdict_on(source(RELEASE).decode())
    assert (verdict.proved, verdict.failed, verdict.exit_code) == (False, False, Exit.FINDINGS)
    assert verdict.summary.startswith("NOT proved: with TPU_SKIP_MDS_QUERY set, 54 of 136 calls")
    reported = [
        row.exception or "" for row in wrong(verdict) if row.scenario.server is Server.NO_SUCH_HOST
    ]
    assert all("metadata.google.internal" in text for text in reported)
    assert all(text.startswith("requests.exceptions.ConnectionError") for text in reported)
    assert reported


def test_the_requests_are_counted_by_key() -> None:
    here = Scenario(variable="true", environment=Environment.ABSENT, server=Server.UP)
    rows = [r for r in verdict_on(source("0.4.30").decode()).rows if r.scenario == here]
    asked = {row.call: row.asked for row in rows}
    assert asked["get_tpu_env_value('MEGASCALE_NUM_SLICES')"] == {"tpu-env": 1}
    assert asked["GkeTpuCluster.get_process_id()"] == {"tpu-env": 2}
    assert asked["GceTpuCluster.is_env_present()"] == {"agent-worker-number": 1}
    assert asked["GkeTpuCluster.is_env_present()"] == {}


@pytest.mark.parametrize("server", list(Server))
def test_every_server_is_asked_as_long_as_the_variable_is_unset(server: Server) -> None:
    rows = [
        row
        for row in verdict_on(patched()).rows
        if row.call.startswith("get_tpu_env_value")
        and row.scenario == Scenario(variable=None, environment=Environment.ABSENT, server=server)
    ]
    assert rows
    assert all(row.requests + len(row.other_connections) > 0 for row in rows)
    assert {row.exception is None for row in rows} == {
        server in {Server.UP, Server.NOT_FOUND, Server.ERROR}
    }


POD = f"""class PodTpuCluster(BaseTpuCluster):
  is_env_present = classmethod(lambda cls: {SET})
  _get_worker_list_in_slice = staticmethod(lambda: get_metadata('x')[0].split(','))"""


def quietly(statement: str) -> tuple[str, str]:
    return first(f"try: {statement}\n  except OSError: pass")


NAME = "'TPU_SKIP_MDS_QUERY'"
PRESENT = '    if running_in_cloud_tpu_vm and os.environ.get("TPU_WORKER_HOSTNAMES")'


def test_a_client_that_hangs_up_at_once_is_counted_with_its_own_call() -> None:
    where = "(os.environ['GCE_METADATA_IP'].split(':'))"
    hang_up = f"for _ in range(5): __import__('socket').create_connection{where}.close()"
    lines = f"try:\n    {hang_up}\n  except (OSError, KeyError): pass"
    elsewhere = (Server.REFUSED, Server.NO_SUCH_HOST)
    rows = [
        row
        for row in verdict_on(changed(*first(lines))).rows
        if row.scenario.variable == "true" and row.scenario.server not in elsewhere
    ]
    assert {row.requests for row in rows if row.call.startswith("get_tpu_env_value")} == {5}
    assert {row.requests for row in rows if row.call.endswith("is_env_present()")} == {0}


MUTANTS = {
    "guard removed": (GUARD, ""),
    "guard inverted": (GUARD, GUARD.replace("is None", "is not None")),
    "guard after the query": (ASK, f"  if value is None: get_metadata('tpu-env')\n{ASK}"),
    "guard of another variable": (GUARD, GUARD.replace("MDS", "MSD")),
    "guard for one value only": (GUARD, ' and os.environ.get("TPU_SKIP_MDS_QUERY") != "true"'),
    "environment ignored": (LOOK_UP, "  value = None\n"),
    "environment ignored where guarded": (LOOK_UP, f"  if {SET}: return None\n{LOOK_UP}"),
    "environment overruled by the server": (ASK, f"  if {GUARD.removeprefix(' and ')}:\n"),
    "gutted": first("return None"),
    "gutted but for the environment": (FROM_SERVER, "    return None\n"),
    "server's value changed": (FROM_SERVER, f"{FROM_SERVER}    value = (value or '') + '0'\n"),
    "empty string for None": (ASK, f"  if value is None and {SET}:\n    return ''\n{ASK}"),
    "error where the variable is set": (ASK, f"  if {SET}: raise ValueError(key)\n{ASK}"),
    "default number of slices": ("      return 1\n", "      return 2\n"),
    "default slice": ("      return 0\n", "      return 1\n"),
    "default coordinator": ("_get_worker_list_in_slice()[0]", "_get_worker_list_in_slice()[-1]"),
    "detection asks first": (DETECTED, f"    get_metadata('agent-worker-number')\n{DETECTED}"),
    "detection gutted": (DETECTED, f"    return False\n{DETECTED}"),
    "look-up of another name": quietly("socket.getaddrinfo('example.org', 80)"),
    "old look-up of another name": quietly("socket.gethostbyname('example.org')"),
    "connection to another address": quietly("socket.create_connection(('192.0.2.1', 80))"),
    "datagram": quietly("socket.socket(type=socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 8))"),
    "query in a thread": first(
        "import threading; threading.Thread(target=get_metadata, args=('tpu-env',)).start()"
    ),
    "query on import": (SIGNATURE, f"get_metadata('tpu-env')\n{SIGNATURE}"),
    "variable removed on import": (SIGNATURE, f"os.environ.pop({NAME}, None)\n{SIGNATURE}"),
    "variable set on import": (SIGNATURE, f"os.environ.setdefault({NAME}, '1')\n{SIGNATURE}"),
    "variable removed later": (DETECTED, f"    if os.environ.pop({NAME}, None) is not None:\n"),
    "reverse look-up": quietly("socket.getnameinfo(('192.0.2.1', 80), 0)"),
    "guard of jax's own keys only": (GUARD, f" and not (key.startswith('MEGASCALE_') and {SET})"),
    "guard lost once a slice is known": (
        GUARD,
        f" and (not {SET} or 'MEGASCALE_SLICE_ID' in os.environ)",
    ),
    "detection asks where no workers are named": (
        PRESENT,
        f"    if 'TPU_WORKER_HOSTNAMES' not in os.environ: get_metadata('tpu-env')\n{PRESENT}",
    ),
    "a class of a fork asks once it is present": ("class GceT", f"{POD}\n\nclass GceT"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_rule_of_the_verdict_has_a_mutant_that_breaks_it(name: str) -> None:
    verdict = verdict_on(changed(*MUTANTS[name]))
    assert (verdict.proved, verdict.failed, verdict.exit_code) == (False, False, Exit.FINDINGS)
    assert wrong(verdict)
    assert verdict.summary.startswith("NOT proved: ")


TRUTH = "os.environ.get('TPU_SKIP_MDS_QUERY', '').lower() not in ('1', 'true', 'y')"
EQUIVALENTS = {
    "a truth test, as upstream's pending fix": (GUARD, f" and {TRUTH}"),
    "an early return": (ASK, f"  if {SET}: return value\n  if value is None:\n"),
    "a constant read on import": (
        SIGNATURE + LOOK_UP.join(["  # First try to get the value from the environment.\n", ""]),
        f"SKIP = {SET}\n{SIGNATURE}  if SKIP: return os.environ.get(key)\n{LOOK_UP}",
    ),
    "a cache": (SIGNATURE, f"import functools\n@functools.cache\n{SIGNATURE}"),
    "a class that asks only where no workers are named and the variable is unset": (
        PRESENT,
        f"    if not ('TPU_WORKER_ID' in os.environ or {SET}): get_metadata('x')\n{PRESENT}",
    ),
    "a cache of a method": (
        "  @classmethod\n  def get_process_count",
        "  import functools\n  @classmethod\n  @functools.cache\n  def get_process_count",
    ),
}


@pytest.mark.parametrize("name", EQUIVALENTS)
def test_a_guard_in_other_words_is_proved_too(name: str) -> None:
    verdict = verdict_on(changed(*EQUIVALENTS[name]))
    assert wrong(verdict) == []
    assert verdict.proved


BAD = {
    "hangs": (first("while True: pass"), "no answer in time, in get_tpu_env_value"),
    "hangs on import": ((SIGNATURE, f"while True: pass\n{SIGNATURE}"), "no answer in time"),
    "crashes": (first("os.kill(os.getpid(), 11)"), "killed by SIGSEGV, in get_tpu_env_value"),
    "prints": (first("print('rubbish')"), "the copy printed: 'rubbish'"),
    "prints a flood": (first("print('rubbish' * 100_000)"), "the copy printed: '"),
    "writes everywhere": (
        first("[os.write(n, b'{\"end\": true}\\n') for n in range(3, 30) if is_open(n)]"),
        "rubbish on the reply channel",
    ),
    "closes everything": (first("os.closerange(3, 100)"), "ended with status 1"),
    "ends well": (first("os._exit(0)"), "ended with status 0, in get_tpu_env_value"),
    "ends well on import": (
        (SIGNATURE, f"os._exit(0)\n{SIGNATURE}"),
        "ended with status 0, in imp",
    ),
    "forks": (first("os.fork()"), "the copy tried to start a process: os.fork"),
    "starts a process": (
        first("import subprocess; subprocess.run(['true'])"),
        "the copy tried to start a process: subprocess.Popen",
    ),
    "needs a package": (first("import no_such_package"), "a package is missing: ModuleNotFound"),
    "needs a package on import": (
        (SIGNATURE, f"import no_such_package\n{SIGNATURE}"),
        "a package is missing: ModuleNotFoundError: No module named 'no_such_package'",
    ),
    "leaves on import": (
        (SIGNATURE, f"raise SystemExit(0)\n{SIGNATURE}"),
        "the copy cannot be imported: SystemExit",
    ),
    "is no Python": ((SIGNATURE, "def def\n"), "the copy cannot be imported: SyntaxError"),
    "has no such function": (
        ("def get_tpu_env_value(", "def get_value("),
        "the copy has no get_tpu_env_value",
    ),
    "has no such class": (("class GkeTpuCluster", "class Gke"), "the copy has no GkeTpuCluster"),
}
IS_OPEN = """
def is_open(number):
  try: return bool(os.fstat(number)) and os.write(number, b'') == 0
  except OSError: return False
"""


@pytest.mark.parametrize("name", BAD)
def test_a_copy_that_cannot_be_judged_never_passes(name: str, tmp_path: Path) -> None:
    change, why = BAD[name]
    copy = tmp_path / "cloud_tpu_cluster.py"
    copy.write_text(changed(*change) + IS_OPEN)
    verdict = verify_module(HERE, copy, timeout=1.5 if name.startswith("hangs") else 30)
    assert (verdict.proved, verdict.failed, verdict.exit_code) == (False, True, Exit.REFUSED)
    assert verdict.summary.startswith(f"no verdict: {why}")
    assert "got       " in to_text(verdict)


def test_a_copy_that_hangs_is_killed_with_all_that_it_started(tmp_path: Path) -> None:
    import ctypes.util

    if ctypes.util.find_library("c") is None:
        pytest.skip("no C library to fork behind Python's back with")
    started = "import ctypes; ctypes.CDLL(None).fork()"
    noted = f"open({str(tmp_path / 'pids')!r}, 'a').write(str(os.getpid()) + ' ')"
    copy = tmp_path / "cloud_tpu_cluster.py"
    copy.write_text(changed(*first(f"{started}; {noted}\n  while True: pass")))
    verdict = verify_module(HERE, copy, timeout=3)
    assert verdict.failed
    pids = {int(pid) for pid in (tmp_path / "pids").read_text().split()}
    assert len(pids) == 2
    assert not [pid for pid in pids if _is_running(pid)]


def _is_running(pid: int) -> bool:
    try:
        state = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, "python does not start: No such file or directory"),
        ("#!/bin/sh\necho lost >&2; exit 4", "ended with status 4: lost, in start"),
        ("#!/bin/sh\nexec sleep 60", "no answer in time, in start"),
        (
            f"#!{HERE}\nimport os, sys\nos.write(int(sys.argv[7]), b'hello\\n')",
            "rubbish on the reply channel, in start",
        ),
    ],
    ids=["missing", "ends", "hangs", "says something"],
)
def test_an_interpreter_that_is_none(script: str | None, why: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    if script is not None:
        python.write_text(script)
        python.chmod(0o755)
    Path(tmp_path, "cloud_tpu_cluster.py").write_text(patched())
    verdict = verify_module(python, tmp_path / "cloud_tpu_cluster.py", timeout=3)
    assert verdict.exit_code == Exit.REFUSED
    assert why in verdict.summary


def test_relative_paths_are_meant_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(tmp_path, "cloud_tpu_cluster.py").write_text(patched())
    Path(tmp_path, "python").symlink_to(HERE)
    monkeypatch.chdir(tmp_path)
    assert verify_module(Path("python"), Path("cloud_tpu_cluster.py")).proved


def test_a_missing_copy(tmp_path: Path) -> None:
    verdict = verify_module(HERE, tmp_path / "cloud_tpu_cluster.py")
    assert verdict.exit_code == Exit.REFUSED
    assert "cloud_tpu_cluster.py: does not exist" in verdict.summary


@pytest.mark.parametrize("kind", ["device", "pipe"])
def test_a_copy_that_is_no_regular_file_is_not_read(kind: str, tmp_path: Path) -> None:
    copy = tmp_path / "cloud_tpu_cluster.py"
    copy.symlink_to("/dev/zero") if kind == "device" else os.mkfifo(copy)
    verdict = verify_module(HERE, copy)
    assert verdict.exit_code == Exit.REFUSED
    assert verdict.rows[0].seconds == 0


def test_the_child_sees_a_scrubbed_environment_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unwanted = (
        "http_proxy", "HTTPS_PROXY", "ALL_PROXY", "PYTHONPATH", "PYTHONWARNINGS", "JAX_PLATFORMS",
        "SLURM_JOB_ID", "TPU_PROCESS_ADDRESSES", "MEGASCALE_NUM_SLICES", "COVERAGE_PROCESS_START",
    )  # fmt: skip
    for name in unwanted:
        monkeypatch.setenv(name, "unwanted")
    temporary, target = tmp_path / "temporary", tmp_path / "target"
    temporary.mkdir()
    target.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    copy = target / "cloud_tpu_cluster.py"
    check = f"""assert 'unwanted' not in os.environ.values(), os.environ
open('litter', 'w').close()
assert os.getcwd().startswith({str(temporary)!r})
"""
    copy.write_text(patched().replace(SIGNATURE, check + SIGNATURE))
    verdict = verify_module(HERE, copy)
    assert verdict.proved, verdict.summary
    assert list(target.iterdir()) == [copy]
    assert list(temporary.iterdir()) == []


def _interpreters() -> list[Path]:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    wanted = [f"3.{minor}" for minor in range(9, 15)]
    return [max(root.glob(f"{minor}.*/bin/python"), default=Path(minor)) for minor in wanted]


def _name(python: Path) -> str:
    return python.parts[-3] if python.is_absolute() else python.name


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the clusters of a release's wheel, patched, in their package."""
    copy = unpacked(RELEASE, tmp_path_factory.mktemp("tree"))
    copy.write_text(patched())
    return copy


@pytest.mark.parametrize("python", _interpreters(), ids=_name)
def test_every_interpreter_that_jax_ran_on(python: Path, tree: Path) -> None:
    if not python.is_file():
        pytest.skip(f"Python {python} is not here")
    verdict = verify_module(python, tree)
    assert verdict.proved, verdict.summary
    assert "jax 0.8.0, Python 3." in verdict.summary
    tree.write_text(patched().replace(GUARD, ""))
    try:
        assert verify_module(python, tree).exit_code == Exit.FINDINGS
    finally:
        tree.write_text(patched())


def test_the_sibling_modules_are_the_real_ones(tree: Path) -> None:
    copy = tree.with_name("copy.py")
    copy.write_text(
        patched().replace(SIGNATURE, f"from .cluster import ClusterEnv\n{SIGNATURE}")
        + "assert clusters.ClusterEnv is ClusterEnv\n"
        "assert ClusterEnv.auto_detect_unset_distributed_params\n"
    )
    sibling = tree.with_name("cluster.py")
    kept = sibling.read_text()
    try:
        assert verify_module(HERE, copy).proved
        sibling.write_text(kept + "raise ValueError('broken sibling')\n")
        assert "broken sibling" in verify_module(HERE, copy).summary
    finally:
        sibling.write_text(kept)
        copy.unlink()


def test_a_stale_pyc_that_wins_over_the_edited_source_is_what_is_judged(tmp_path: Path) -> None:
    import py_compile

    copy = tmp_path / "cloud_tpu_cluster.py"
    copy.write_text(source(RELEASE).decode())
    py_compile.compile(
        str(copy), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH, doraise=True
    )
    copy.write_text(patched())
    assert verify_module(HERE, copy).exit_code == Exit.FINDINGS
    shutil.rmtree(tmp_path / "__pycache__")
    assert verify_module(HERE, copy).exit_code == Exit.OK
