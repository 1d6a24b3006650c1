"""Measures start-up, and how many releases each way of patching reaches; prints Markdown."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from codemod.engine import plan  # noqa: E402 - found through the line above
from codemod.registry import choose, load  # noqa: E402
from codemod.textfile import unified_diff  # noqa: E402
from codemod.verify import verify_module  # noqa: E402
from tests.releases import AFFECTED, ALL, NOT_AFFECTED, source  # noqa: E402
from tests.tools.bench_audit import audits  # noqa: E402
from tests.tools.bench_wheels import wheels  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 21
TOOL = ROOT / ".cache" / "bench"
NEWEST = ALL[-1]
PATCHES = choose(load(), ["skip_mds_env_value"])
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
PATTERN = "$VALUE = get_tpu_env_value_from_metadata($KEY)"
REWRITE = f'{PATTERN} if os.environ.get("TPU_SKIP_MDS_QUERY") is None else None'


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def run(*command: str | Path) -> int:
    return subprocess.run(
        command,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def install() -> Path:
    """Install the tool as users get it, compiled; gives the folder of its commands."""
    setup: list[str | Path] = ["sh", ROOT / "tests" / "tools" / "setup.sh", TOOL, "runtime"]
    environment = {**ENVIRONMENT, "PYTHON": sys.executable}
    subprocess.run(setup, env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return TOOL / "bin"


def medians(jobs: dict[str, Callable[[], int]]) -> dict[str, float]:
    """Give the seconds that each takes, measured in turns so that noise hits all alike."""
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(ROUNDS + 1):  # the first fills caches
        for name, job in jobs.items():
            start = time.perf_counter()
            code = job()
            times[name].append(time.perf_counter() - start)
            if code:
                raise SystemExit(f"bench: {name}: exit {code}")
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def start_up(folder: Path) -> None:
    bin_ = install()
    python, codemod = bin_ / "python", bin_ / "codemod"
    affected = folder / "affected" / "cloud_tpu_cluster.py"
    fixed = folder / "fixed" / "cloud_tpu_cluster.py"
    for path in (affected, fixed):
        path.parent.mkdir()
    fixed.write_bytes(plan(source(NEWEST), PATCHES).after)

    def apply() -> int:
        affected.write_bytes(source(NEWEST))
        return run(codemod, "apply", affected)

    taken = medians(
        {
            "python -c pass": lambda: run(python, "-c", "pass"),
            "python -c 'import libcst, click'": lambda: run(python, "-c", "import libcst, click"),
            "codemod --help": lambda: run(codemod, "--help"),
            "codemod apply (already fixed)": lambda: run(codemod, "apply", fixed),
            "codemod apply (edits)": apply,
        }
    )
    say("| command | median, ms | against | ratio | at most |")
    say("|---|---|---|---|---|")
    nothing, libraries, *rest = taken
    for name in (nothing, libraries):
        say(f"| `{name}` | {taken[name] * 1000:.0f} | | | |")
    for name in rest:
        base, most = (libraries, 1.3) if name.endswith("(edits)") else (nothing, 5.0)
        ratio = taken[name] / taken[base]
        row = (f"`{name}`", f"{taken[name] * 1000:.0f}", f"`{base}`", f"{ratio:.2f}", str(most))
        say(f"| {' | '.join(row)} |")


def by_gnu_patch(before: bytes, folder: Path) -> bytes:
    path, diff = folder / "cloud_tpu_cluster.py", folder / "newest.diff"
    path.write_bytes(before)
    planned = plan(source(NEWEST), PATCHES)
    diff.write_bytes(unified_diff(planned.before, planned.after, path.name))
    done = run("patch", "--force", "--silent", "--reject-file=-", path, diff)
    return before if done else path.read_bytes()


def by_ast_grep(before: bytes, folder: Path) -> bytes:
    path = folder / "cloud_tpu_cluster.py"
    path.write_bytes(before)
    program = Path(sys.executable).with_name("ast-grep")
    run(program, "run", "-l", "python", "-p", PATTERN, "-r", REWRITE, "-U", path)
    return path.read_bytes()


def by_codemod(before: bytes, folder: Path) -> bytes:
    del folder
    return plan(before, PATCHES).after


@cache
def is_right(after: bytes) -> bool:
    """Whether get_tpu_env_value, run with the variable set and unset, does what it must."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "cloud_tpu_cluster.py")
        path.write_bytes(after)
        verdict = verify_module(Path(sys.executable), path)
    rows = [row for row in verdict.rows if row.call.startswith("get_tpu_env_value(")]
    return bool(rows) and all(row.ok for row in rows)


def reach(folder: Path) -> None:
    if any(is_right(source(version)) for version in AFFECTED):
        raise SystemExit("bench: an affected release passes as it came: the judge is broken")
    head = f"right, of {len(AFFECTED)} affected", f"left alone, of {len(NOT_AFFECTED)} others"
    say(f"| made for jax {NEWEST} | {' | '.join(head)} |")
    say("|---|---|---|")
    ways = {"GNU patch": by_gnu_patch, "ast-grep": by_ast_grep, "codemod": by_codemod}
    for name, way in ways.items():
        right = sum(is_right(way(source(version), folder)) for version in AFFECTED)
        alone = sum(way(source(version), folder) == source(version) for version in NOT_AFFECTED)
        say(f"| {name} | {right} | {alone} |")


if __name__ == "__main__":
    with TemporaryDirectory() as temporary:
        start_up(Path(temporary))
        say()
        reach(Path(temporary))
    say()
    audits(TOOL / "bin")
    say()
    wheels(TOOL / "bin")
