"""Runs one release of every affected family for real, before and after `codemod apply`.

`python -m tests.e2e.run` runs what has changed since it was last run, `--fresh` everything.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from codemod import registry
from tests.e2e.results import Result, Status, Store, table
from tests.environments import Lacking, NotMade, made, wanted
from tests.releases import CACHE, FAMILIES, MEMBER, ROOT, TABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

RESULTS = Path(__file__).with_name("RESULTS.md")
STORE = CACHE / "e2e" / "results.json"
REPORTED = re.compile(r"requests\.exceptions\.ConnectionError: .*metadata\.google\.internal")
# What decides the outcome beside the bytes of the copy.
MATTERS = (
    *(ROOT / "codemod" / f"{name}.py" for name in ("child_kit", "child_process", "cluster_child")),
    *(ROOT / "codemod" / f"{name}.py" for name in ("metadata_server", "scenarios", "verdict")),
    ROOT / "codemod" / "verify_cluster.py",
    Path(__file__),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family, its newest release, and the patches without which that cannot initialize."""

    name: str
    release: str
    needs: frozenset[str]

    def result(self, status: Status, why: str = "") -> Result:
        """Return the result of which no more is known than this."""
        return Result(
            family=self.name,
            release=self.release,
            python=wanted(self.release),
            status=status,
            why=why,
        )


class Failed(Exception):  # noqa: N818
    """A command of the tool did what it must not."""


def affected() -> list[Family]:
    """Return the affected families; of each, the newest release that the index has."""
    return [
        Family(
            name=each["name"], release=FAMILIES[each["name"]][-1], needs=frozenset(each["needs"])
        )
        for each in TABLE["family"]
        if each["status"] == "affected"
    ]


def settle(family: Family, store: Store) -> Result:
    """Return what comes of a family, whatever its environment does."""
    try:
        python = made(family.release)
    except Lacking as lacking:
        return family.result(Status.SKIPPED, str(lacking))
    except NotMade as not_made:
        return family.result(Status.FAILED, str(not_made))
    package = next(python.parents[1].glob(f"lib/python*/site-packages/{MEMBER}")).parents[2]
    return prove(family, python, package, store)


def prove(family: Family, python: Path, package: Path, store: Store) -> Result:
    """Return what a copy of this package of jax does in this interpreter, or did before."""
    with TemporaryDirectory(prefix="codemod-e2e-") as folder:
        came, patched = Path(folder, "came", "jax"), Path(folder, "patched", "jax")
        shutil.copytree(package, came)
        shutil.copytree(package, patched)
        try:
            _codemod("apply", "-q", patched)
            key = _key(family, patched.parent / MEMBER)
            result = store.get(key) or _judged(
                family, _verdict(python, came), _verdict(python, patched)
            )
        except Failed as failed:
            return family.result(Status.FAILED, str(failed))
    store.put(key, result)
    return result


def _judged(family: Family, before: dict[str, Any], after: dict[str, Any]) -> Result:
    status, why = Status.PROVED, ""
    missing = family.needs - {patch.id for patch in registry.load()}
    needs = f"needs {', '.join(sorted(missing))}"
    if not _shows_the_bug(before):
        status, why = Status.FAILED, f"as it came, it is not as reported: {before['summary']}"
    elif missing:
        status, why = Status.EXPECTED, needs
        if after["proved"]:
            status, why = Status.FAILED, f"proved, though the table of releases says: {needs}"
    elif not after["proved"]:
        status, why = Status.FAILED, after["summary"]
    result = family.result(status, why)
    return replace(result, before=_failure(before), after=_counts(after["rows"]))


def _shows_the_bug(before: dict[str, Any]) -> bool:
    ended = [row["exception"] or "" for row in before["rows"] if ", one slice, " in row["call"]]
    return before["exit_code"] == 1 and all(map(REPORTED.match, ended))


def _failure(verdict: dict[str, Any]) -> str:
    """Return how the first process ended that did not do what it must, without the address."""
    wrong = [row for row in verdict["rows"] if not row["ok"]]
    text = next((row["exception"] or row["broken"] or row["value"] for row in wrong), "")
    return str(text).partition(": Max retries")[0]


def _counts(rows: Iterable[dict[str, Any]]) -> str:
    """Return `one slice 2/2, …`: of how many processes of each kind how many were right."""
    right: Counter[str] = Counter()
    ran: Counter[str] = Counter()
    for row in rows:
        kind = row["call"].split(", ")[1]
        ran[kind] += 1
        right[kind] += row["ok"]
    return ", ".join(f"{kind} {right[kind]}/{ran[kind]}" for kind in ran)


def _verdict(python: Path, package: Path) -> dict[str, Any]:
    text = _codemod("verify", "--level", "cluster", "--format", "json", "--python", python, package)
    found: dict[str, Any] = json.loads(text)["results"][0]
    return found


def _codemod(command: str, *arguments: str | Path) -> str:
    """Run the tool as a user does; returns what it prints. Raises `Failed`."""
    done = subprocess.run(
        [sys.executable, "-m", "codemod", command, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode and not done.stdout:
        last = done.stderr.strip().splitlines()[-1:]
        raise Failed(f"codemod {command}: status {done.returncode}: {' '.join(last)}")
    return done.stdout


def _key(family: Family, patched: Path) -> str:
    digest = hashlib.sha256(patched.read_bytes())
    for path in MATTERS:
        digest.update(path.read_bytes())
    digest.update(" ".join(sorted(family.needs)).encode())
    return f"{family.name} {family.release} {digest.hexdigest()}"


def main() -> int:
    """Run all, say how it goes, write the table; 1 if anything failed."""
    if sys.argv[1:] not in ([], ["--fresh"]):
        sys.exit("usage: python -m tests.e2e.run [--fresh]")
    if sys.argv[1:]:
        STORE.unlink(missing_ok=True)
    store, results, families = Store(STORE), [], affected()
    for number, family in enumerate(families, 1):
        sys.stdout.write(f"[{number}/{len(families)}] {family.name}: jax {family.release} ... ")
        sys.stdout.flush()
        began = time.monotonic()
        results.append(settle(family, store))
        sys.stdout.write(f"{results[-1]} ({time.monotonic() - began:.0f} s)\n")
    RESULTS.write_text(table(results))
    ended = Counter(result.status for result in results)
    sys.stdout.write(
        ", ".join(f"{ended[s]} {s}" for s in Status if ended[s]) + f": see {RESULTS}\n"
    )
    return 1 if ended[Status.FAILED] else 0


if __name__ == "__main__":
    sys.exit(main())
