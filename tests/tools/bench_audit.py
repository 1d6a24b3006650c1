"""Measures audits against other tools and against what any tool must do; prints Markdown.

Times are of the processor, of user and system together: other work on the machine counts least
in those.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from codemod.pins import kind_of  # noqa: E402
from tests.releases import ALL, MEMBER, source  # noqa: E402

ROUNDS = 3
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
Measured = tuple[float, float]  # seconds of processor, MiB of memory at most


def say(text: str = "") -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def once(*command: str | Path) -> Measured:
    """Run a command, which may find something, and give what it took."""
    process = subprocess.Popen(
        [str(part) for part in command],
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"bench: {command[0]}: exit {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def measured(*command: str | Path, rounds: int = ROUNDS) -> Measured:
    once(*command)  # fills caches
    found = [once(*command) for _ in range(rounds)]
    return statistics.median(t for t, _ in found), max(memory for _, memory in found)


def row(*cells: object) -> None:
    say(f"| {' | '.join(f'{c:.2f}' if isinstance(c, float) else str(c) for c in cells)} |")


def start_up(bin_: Path, folder: Path) -> None:
    """The time of an audit of one file, as a multiple of an interpreter that does nothing."""
    pins, copy = folder / "requirements.txt", put(folder / "one", source(ALL[-1]))
    pins.write_text("jax==0.8.0\n")
    base, _ = measured(bin_ / "python", "-c", "pass", rounds=15)
    row("an audit of one file", "seconds", "of `python -c pass`", "at most")
    row(*["---"] * 4)
    for name, path in (("requirements.txt", pins), ("cloud_tpu_cluster.py", copy)):
        taken, _ = measured(bin_ / "codemod", "audit", path, rounds=15)
        row(name, taken, taken / base, 5)
    say()


def put(folder: Path, content: bytes) -> Path:
    path = folder / MEMBER
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def requirements(folder: Path, count: int) -> Path:
    for number in range(count):
        path = folder / f"{number:05}" / "requirements.txt"
        path.parent.mkdir(parents=True)
        lines = [f"package-{n}=={n}.{number % 7}.1" for n in range(30)]
        path.write_text("\n".join([*lines, f"jax=={ALL[number % len(ALL)]}"]) + "\n")
    return folder


def locks(folder: Path, count: int) -> Path:
    entry = '[[package]]\nname = "p{0}"\nversion = "1.{0}"\nsource = {{ registry = "x" }}\n'
    entry += 'wheels = [\n    { url = "x/p{0}.whl", hash = "sha256:%s" },\n]\n\n' % ("0" * 64)
    body = "".join(
        entry.replace("{ url", "{{ url").replace('" },', '" }},').format(n) for n in range(5600)
    )
    jax = '[[package]]\nname = "jax"\nversion = "0.8.0"\nsource = { registry = "x" }\n'
    for number in range(count):
        path = folder / f"{number:05}" / "uv.lock"
        path.parent.mkdir(parents=True)
        path.write_text(f"version = 1\n\n{body}{jax}")
    return folder


def copies(folder: Path, count: int, *, known: bool) -> Path:
    """Copies of all releases in turn, or of one fork of each with bytes that no table has."""
    for number in range(count):
        content = source(ALL[number % len(ALL)])
        put(folder / f"{number % 100:03}" / f"{number:05}", content if known else b"#\n" + content)
    return folder


def growth(bin_: Path, folder: Path) -> None:
    """What ten times as much costs, in time and in memory."""
    row("audit of", "files", "seconds", "a second", "MiB", "10 times as many: time", "memory")
    row(*["---"] * 7)
    kinds = {
        "requirements files": (requirements, 100),
        "copies of releases": (lambda f, n: copies(f, n, known=True), 1000),
        "copies that no table has": (lambda f, n: copies(f, n, known=False), 1000),
    }
    if kind_of("uv.lock"):
        kinds["uv.lock of 1 MB"] = (locks, 20)
    for name, (make, few) in kinds.items():
        small, large = (make(folder / f"{name} {n}", n) for n in (few, 10 * few))
        one, ten = (measured(bin_ / "codemod", "audit", place) for place in (small, large))
        row(
            name,
            10 * few,
            ten[0],
            f"{10 * few / ten[0]:.0f}",
            ten[1],
            ten[0] / one[0],
            ten[1] / one[1],
        )
    say()


def peers(bin_: Path, folder: Path) -> None:
    """Others on the same files; `grep` and `sha256sum` only read them, which all must do."""
    files, tree = folder / "requirements files 1000", folder / "copies of releases 10000"
    audit = bin_ / "codemod"
    row("on the same files", "seconds", "of the floor")
    row(*["---"] * 3)
    floor, _ = measured("grep", "-r", "jax", files)
    row("`grep -r jax`, 1,000 requirements files", floor, 1.0)
    taken, _ = measured(audit, "audit", files)
    row("`codemod audit`", taken, taken / floor)
    program = Path(sys.executable).with_name("pip-audit")
    given = [part for path in sorted(files.rglob("*.txt")) for part in ("-r", path)]
    offline = ("--dry-run", "--no-deps", "--disable-pip", "--progress-spinner", "off")
    # Two versions of one package are an error to it: a file at a time, of which 20 are enough.
    each = [measured(program, *offline, *given[n : n + 2], rounds=1)[0] for n in range(0, 40, 2)]
    taken = sum(each) / len(each) * len(given) / 2
    row("`pip-audit --dry-run --no-deps -r`, a process each, by 20 of them", taken, taken / floor)
    command = f"find '{tree}' -name '*.py' -print0 | xargs -0 sha256sum"
    floor, _ = measured("sh", "-c", command)
    row("`sha256sum`, 10,000 copies of releases", floor, 1.0)
    taken, _ = measured(audit, "audit", tree)
    row("`codemod audit` (aim: 3)", taken, taken / floor)


def audits(bin_: Path) -> None:
    """All of it, with the tool as it is installed in a folder of commands."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        start_up(bin_, folder)
        growth(bin_, folder)
        peers(bin_, folder)


if __name__ == "__main__":
    audits(Path(sys.executable).parent)
