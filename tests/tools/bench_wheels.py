"""Measures patched wheels against other ways to make them, and the least there is to do.

Wall time, since several processes are used: on a quiet machine only. Peers make the wheels one
at a time, with the one diff that fits; they need a diff for each family, which is not counted.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from codemod.engine import plan  # noqa: E402
from codemod.registry import load  # noqa: E402
from codemod.textfile import unified_diff  # noqa: E402
from tests.releases import AFFECTED, MEMBER, source, wheel  # noqa: E402
from tests.tools.bench_audit import ENVIRONMENT, Measured, row, say  # noqa: E402

ROUNDS = 5
PEERS = Path(sys.executable).parent
Way = dict[str, str]  # names and commands; in those `$W` is the wheel and `$P` a diff


def ways(codemod: Path) -> Way:
    """The commands for one wheel."""
    tool = shlex.quote(str(PEERS))
    pack = f"{tool}/wheel unpack -d u $W && patch -s -p1 -d u/* < $P && {tool}/wheel pack u/*"
    return {
        "cp and sha256sum": "cp $W new.whl && sha256sum new.whl",
        "codemod wheel --no-verify": f"{shlex.quote(str(codemod))} wheel $W --no-verify",
        "codemod wheel": f"{shlex.quote(str(codemod))} wheel $W",
        "wheel unpack, patch, wheel pack": pack,
        "delocate-patch": f"{tool}/delocate-patch -w . $W $P",
        "change_wheel_version (no patch)": (
            f"cp $W . && {tool}/change_wheel_version --local-version x *.whl"
        ),
    }


def once(script: str, environment: dict[str, str]) -> Measured:
    """Run a script in a folder of its own: seconds, and MiB of memory of its largest process."""
    with TemporaryDirectory() as folder:
        start = time.perf_counter()
        process = subprocess.Popen(
            ["sh", "-ec", script],
            cwd=folder,
            env={**ENVIRONMENT, **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"bench: {script}: exit {process.returncode}")
    return taken, used.ru_maxrss / 1024


def measured(scripts: Way, environment: dict[str, str], rounds: int) -> dict[str, Measured]:
    """Medians, taken in turns so that noise hits all alike."""
    found: dict[str, list[Measured]] = {name: [] for name in scripts}
    for _ in range(rounds):
        for name, script in scripts.items():
            found[name].append(once(script, environment))
    return {
        name: (statistics.median(t for t, _ in each), max(memory for _, memory in each))
        for name, each in found.items()
    }


def table(title: str, found: dict[str, Measured]) -> None:
    fastest = min(found[name][0] for name in found if "codemod" not in name and "cp" not in name)
    row(title, "median, s", "fastest peer / it", "peak, MiB")
    row("---", "---", "---", "---")
    for name, (seconds, memory) in found.items():
        row(name, seconds, fastest / seconds, round(memory))


def wheels(bin_: Path) -> None:
    """One wheel, and all affected releases in one call."""
    codemod = bin_ / "codemod"
    with TemporaryDirectory() as name:
        diff, version = Path(name, "fix.diff"), AFFECTED[-1]
        planned = plan(source(version), load())
        diff.write_bytes(unified_diff(planned.before, planned.after, MEMBER))
        one = {"W": str(wheel(version)), "P": str(diff)}
        found = measured(ways(codemod), one, ROUNDS)
        table("one wheel", found)
        say()
        every = [str(wheel(each)) for each in AFFECTED]
        numbers = " ".join(map(str, range(len(every))))
        each = {  # of the peers, that one wheel as often: their own diffs would be as large
            name: f"for n in {numbers}; do (mkdir d$n; cd d$n; {way}); done"
            for name, way in ways(codemod).items()
            if "codemod" not in name
        }
        told = " ".join(map(shlex.quote, every))
        for option in (" --no-verify", ""):
            each[f"codemod wheel{option}"] = f"{shlex.quote(str(codemod))} wheel {told}{option}"
        table(f"all {len(every)} wheels", measured(each, one, 1))


if __name__ == "__main__":
    wheels(ROOT / ".venv" / "bin")
