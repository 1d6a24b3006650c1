"""Runs the tests on mutants of the patches and of `reach`, and writes tests/MUTATION.md.

`python -m tests.mutation.run`: what was run before on the same mutant is not run again.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import signal
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis  # noqa: F401 - loaded once, not once a mutant
import pytest

from tests.mutation.mutants import Mutant, sample
from tests.mutation.page import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ROOT = Path(__file__).parents[2]
KEPT = ROOT / ".cache" / "mutation"
JOBS = 2
CPU, WALL = 60, 300  # seconds; a mutant that runs for longer is one that never ends
MEMORY = 3 << 30
OF_A_PATCH, OF_A_MODULE = 60, 24  # mutants taken
# The likeliest to notice come first.
REACH, EXAMPLES, REWRITE = (f"tests/test_{name}.py" for name in ("reach", "examples", "rewrite"))
DETECTION, DEFAULTS = "tests/test_skip_mds_detection.py", "tests/test_single_slice_defaults.py"
TESTS: dict[str, tuple[str, ...]] = {
    "patches/skip_mds_env_value.py": (REWRITE, EXAMPLES, REACH),
    "patches/skip_mds_detection.py": (DETECTION, EXAMPLES),
    "patches/single_slice_defaults.py": (DEFAULTS, EXAMPLES),
}
ODD = "tests/test_reach_properties.py::test_what_reach_says_of_an_odd_body_is_what_the_body_does"
OF_REACH = (REACH, REWRITE, DEFAULTS, ODD)
# These start processes.
SLOW = "not (own_driver or contributing)"


def main() -> None:
    files = [
        *TESTS,
        *(p.relative_to(ROOT).as_posix() for p in sorted(ROOT.glob("codemod/reach/*.py"))),
    ]
    samples = [sample(ROOT, f, OF_A_PATCH if f in TESTS else OF_A_MODULE) for f in files]
    # One of each file, then another: a run that is cut off has seen all of them.
    chosen = [m for turn in zip_longest(*samples) for m in turn if m is not None]
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:  # two runs would mutate the same copies
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _go_on(chosen)


def _go_on(chosen: Sequence[Mutant]) -> None:
    copies = [_copy(KEPT / f"tree-{number}") for number in range(JOBS)]
    _check_the_tests_pass(copies[0])
    results = _known()
    _run([m for m in chosen if m.name not in results], copies, results)
    (ROOT / "tests" / "MUTATION.md").write_text(write(chosen, results))


def _known() -> dict[str, str]:
    try:
        lines = (KEPT / "results.jsonl").read_text().splitlines()
    except FileNotFoundError:
        return {}
    return dict(json.loads(line) for line in lines)


def _run(todo: Sequence[Mutant], copies: Sequence[Path], results: dict[str, str]) -> None:
    context = get_context("fork")
    free = context.Queue()
    for copy in copies:
        free.put(copy)
    started = time.monotonic()
    pool = ProcessPoolExecutor(JOBS, context, _take, (free,))
    with (KEPT / "results.jsonl").open("a") as kept, pool:
        for done, (mutant, result) in enumerate(zip(todo, pool.map(_tried, todo), strict=True), 1):
            results[mutant.name] = result
            kept.write(json.dumps([mutant.name, result]) + "\n")
            kept.flush()
            took = time.monotonic() - started
            sys.stderr.write(f"{done}/{len(todo)} {took:.0f}s {result} {mutant.name}\n")


def _copy(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns(".*", "__pycache__", "MUTATION.md")
    shutil.copytree(ROOT, folder, ignore=left_out)
    (folder / ".cache").symlink_to(ROOT / ".cache")
    return folder


def _check_the_tests_pass(copy: Path) -> None:
    """A test that fails anyway would kill every mutant."""
    tests = dict.fromkeys([*OF_REACH, *(test for tests in TESTS.values() for test in tests)])
    if (result := _judged(copy, tests)) != "survived":
        sys.exit(f"the tests do not pass on the tree as it is: {result}")


_place = Path()


def _take(free: object) -> None:
    """Give this process of the pool a copy of the tree for itself."""
    global _place  # noqa: PLW0603
    _place = free.get()  # type: ignore[attr-defined]


def _tried(mutant: Mutant) -> str:
    """Put a mutant into the copy, run the tests there, and put the file back."""
    (_place / mutant.file).write_text(mutant.source)
    try:
        return _judged(_place, TESTS.get(mutant.file, OF_REACH))
    finally:
        shutil.copy(ROOT / mutant.file, _place / mutant.file)


def _judged(copy: Path, tests: Iterable[str]) -> str:
    """What became of the tests, run in a fork of this process: it has loaded what they need."""
    child = os.fork()
    if not child:
        _test(copy, tests)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "timeout"
    return "killed" if os.waitstatus_to_exitcode(status) else "survived"


def _test(copy: Path, tests: Iterable[str]) -> None:
    signal.alarm(WALL)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU, CPU))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.chdir(copy)
    os.environ.update(PYTHONPATH=str(copy), PYTHONDONTWRITEBYTECODE="1")
    sys.dont_write_bytecode = True
    sys.path[:] = [str(copy), *(p for p in sys.path if p not in {"", str(ROOT)})]
    for name in [n for n in sys.modules if n.partition(".")[0] in {"tests", "codemod"}]:
        del sys.modules[name]
    for stream in (1, 2):
        os.dup2(os.open(KEPT / f"{copy.name}.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    options = ["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # of what is loaded already
    os._exit(pytest.main([*options, "-k", SLOW, *tests]))


if __name__ == "__main__":
    main()
