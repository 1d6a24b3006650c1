from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from codemod import engine, registry
from codemod import verify_cluster as verify_cluster_module
from codemod.child_process import Child, Gone
from codemod.model import Exit
from codemod.report.verdict import to_text
from codemod.verify_cluster import _exclusive_port, verify_cluster
from tests.environments import environment
from tests.releases import MEMBER
from tests.small_jax import fake

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(sys.executable)

VERSIONS = ("0.4.21", "0.4.25", "0.4.35", "0.6.0", "0.10.2", "0.12.0.1")  # of unlike families


def patched_root(version: str, folder: Path) -> tuple[Path, Path]:
    """Return an interpreter with this jax and a folder with its patched package."""
    python = environment(version)
    installed = next(python.parents[1].glob(f"lib/python*/site-packages/{MEMBER}"))
    shutil.copytree(installed.parents[2], folder / "jax")
    patches = registry.load()
    (folder / MEMBER).write_bytes(engine.plan(installed.read_bytes(), patches).after)
    return python, folder


@pytest.mark.parametrize("version", VERSIONS)
def test_a_patched_release_initializes_and_asks_no_one(version: str, tmp_path: Path) -> None:
    python, root = patched_root(version, tmp_path)
    verdict = verify_cluster(python, root)
    assert [row for row in verdict.rows if not row.ok] == []
    assert verdict.proved
    assert [row.value for row in verdict.rows] == [
        *(f"process {index} of 2, heard hello from 0, hello from 1" for index in (0, 1, 0, 1)),
        "process 0 of 1, heard hello from 0",
    ]
    assert f"jax {version}" in verdict.summary


@pytest.mark.parametrize("version", ["0.4.35", "0.10.2"])
def test_the_release_as_it_came_dies_of_the_error_of_the_report(version: str) -> None:
    verdict = verify_cluster(environment(version), None)
    assert verdict.exit_code == Exit.FINDINGS
    died = [row for row in verdict.rows if "one slice" in row.call]
    assert len(died) == 2
    for row in died:
        assert row.exception is not None
        assert row.exception.startswith(
            "requests.exceptions.ConnectionError: HTTPConnectionPool(host='metadata.google.int"
        )
        assert "look-up metadata.google.internal" in row.other_connections


def test_four_processes_in_two_slices(tmp_path: Path) -> None:
    python, root = patched_root("0.10.2", tmp_path)
    verdict = verify_cluster(python, root, processes=4)
    assert verdict.proved, to_text(verdict)
    assert len(verdict.rows) == 9


def test_the_small_jax_is_proved(tmp_path: Path) -> None:
    verdict = verify_cluster(HERE, fake(tmp_path), timeout=30)
    assert verdict.proved, to_text(verdict)


def test_a_relative_folder_is_meant_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = fake(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert verify_cluster(HERE, root.relative_to(tmp_path), timeout=30).proved


def test_another_jax_than_that_of_the_folder_is_not_taken_for_it(tmp_path: Path) -> None:
    elsewhere = fake(tmp_path)
    empty = tmp_path / "empty"
    (empty / "jax").mkdir(parents=True)
    moved = f"import sys; sys.path.insert(0, {str(elsewhere)!r}); del sys.modules['jax']\n"
    (empty / "jax" / "__init__.py").write_text(f"{moved}import jax\n")
    verdict = verify_cluster(HERE, empty, timeout=30)
    assert verdict.failed
    assert "was imported, and not that of" in verdict.summary


START = "def initialize():\n"
MUTANTS = {
    "asks though the variable is set": (" is None:\n", " is not False:\n"),
    "asks something else": (START, f"{START}    look_up()\n"),
    "lets another process ask": (
        START,
        f"{START}    import subprocess; subprocess.run(['true'])\n",
    ),
    "removes the variable on import": (
        START,
        f"os.environ.pop('TPU_SKIP_MDS_QUERY', None)\n{START}",
    ),
    "never asks": ("        asked()", "        pass"),
    "all have one index": ('int(os.environ["TPU_WORKER_ID"])', "0"),
    "counts one too many": ("workers * slices", "max(workers * slices, 2)"),
    "slices ignored": ('int(os.environ.get("MEGASCALE_NUM_SLICES", "1"))', "1"),
    "slice ignored": ('int(os.environ.get("MEGASCALE_SLICE_ID", "0"))', "0"),
    "asks though the variable is set, and hangs": (
        START,
        f"{START}    if 'MEGASCALE_SLICE_ID' in os.environ: asked(); time.sleep(60)\n",
    ),
    "hears nothing": ("return name(key).read_text()", "return ''"),
    "one dies, the others wait": (
        START,
        f"{START}    if os.environ['TPU_WORKER_ID'] == '1': raise ValueError('one died')\n",
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_each_rule_of_the_verdict_has_a_mutant_that_breaks_it(name: str, tmp_path: Path) -> None:
    verdict = verify_cluster(HERE, fake(tmp_path, *MUTANTS[name]), timeout=30)
    assert verdict.exit_code == Exit.FINDINGS, to_text(verdict)


BAD = {
    "hangs": (
        (START, f"{START}    time.sleep(60)\n"),
        "no answer in time, at: jax.distributed.initialize()",
    ),
    "hangs on import": (("__version__", "time.sleep(60)\n__version__"), "at: import jax"),
    "crashes": ((START, f"{START}    os.kill(os.getpid(), 6)\n"), "killed by SIGABRT, at: jax.d"),
    "ends well": ((START, f"{START}    os._exit(0)\n"), "ended with status 0, at: jax.distributed"),
    "needs a package": (
        (START, f"{START}    import no_such_package\n"),
        "a package is missing: ModuleNotFoundError: No module named 'no_such_package'",
    ),
    "needs a package on import": (
        ("__version__", "import no_such_package\n__version__"),
        "jax cannot be imported: ModuleNotFoundError: No module named 'no_such_package'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_jax_that_cannot_be_judged_never_passes(name: str, tmp_path: Path) -> None:
    change, why = BAD[name]
    limit = 3 if name.startswith("hangs") else 30
    verdict = verify_cluster(HERE, fake(tmp_path, *change), timeout=limit)
    assert verdict.exit_code == Exit.REFUSED
    assert why in verdict.summary


def test_an_interpreter_without_jax() -> None:
    verdict = verify_cluster(Path(sys.base_prefix, "bin", "python3"), None, timeout=30)
    if not verdict.failed:
        pytest.skip("there is a jax in the base interpreter")
    assert "jax cannot be imported: ModuleNotFoundError: No module named 'jax'" in verdict.summary


def test_an_interpreter_that_is_none(tmp_path: Path) -> None:
    verdict = verify_cluster(tmp_path / "python", None)
    assert verdict.exit_code == Exit.REFUSED
    assert "does not start: No such file or directory" in verdict.summary


def test_one_run_waits_for_the_other_where_the_port_is_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with (
        _exclusive_port(time.monotonic()),
        pytest.raises(Gone, match="another run holds port 8476"),
        _exclusive_port(time.monotonic()),
    ):
        pass
    with _exclusive_port(time.monotonic()):
        pass


def test_the_fixed_port_is_kept_until_every_process_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    class Noted(Child):
        def __exit__(self, *raised: object) -> None:
            super().__exit__(*raised)
            ended.append("process")

    @contextmanager
    def port(deadline: float) -> Iterator[None]:
        yield
        ended.append("port")

    monkeypatch.setattr(verify_cluster_module, "Child", Noted)
    monkeypatch.setattr(verify_cluster_module, "_exclusive_port", port)
    root = fake(tmp_path)
    (root / MEMBER).write_text("")  # no `coordinator_port`, as in 0.4.21
    assert verify_cluster(HERE, root, timeout=30).proved
    assert ended == ["process", "process", "port"] * 2 + ["process", "port"]
