"""Makes patches/releases.toml again, from the archives of jax on the package index.

The names of the families and what is said of their shape are kept; all else is computed.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from difflib import SequenceMatcher
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from packaging.version import Version

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from codemod.engine import find, plan  # noqa: E402 - found through the line above
from codemod.model import Outcome, Status  # noqa: E402
from codemod.registry import load  # noqa: E402
from tests import releases  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from codemod.engine import Plan
    from codemod.model import Finding

    Table = dict[str, Any]

PATH = ROOT / "patches" / "releases.toml"
FIRST = Version("0.3.18")  # none before it has the file
NEW = "NEW"  # what the name of a family begins with until a person has chosen one
WORST_FIRST = (Status.AFFECTED, Status.UNDER_INVESTIGATION, Status.FIXED)
HEAD = """\
# Every jax release that holds jax/_src/clusters/cloud_tpu_cluster.py, grouped by the bytes of that file.
# Made by `make releases`: only `name` and `shape` are to be written by hand.
#
# `needs` names the patches that change the file; `patched_sha256` and `patched_size` are those of the result.
# `edits` are what each of them changes in the file after those before it: first line, how many are replaced, by which.
# `before` is what each patch finds in the file, with the first place of its evidence, `after` what it finds in the result.
# `[wheel_sha256]` is that of the wheels that the tests fetch, `[other_sha256]` that of older or withdrawn wheels and sdists.
"""  # noqa: E501 - lines of another file


# The table.


def generate(table: Table, sources: Mapping[str, bytes]) -> str:
    """The text of the table with all that these files of releases, by version, say of it.

    A release whose file is not given stays as it is in `table`.
    """
    families = list(_families(table["family"], sources))
    newest = _sorted(version for family in families for version in family["releases"])[-1]
    lines = [HEAD, f"newest = {_toml(newest)}\n"]
    for name in ("wheel_sha256", "other_sha256"):
        lines.append(f"\n[{name}]\n")
        lines += [f"{_toml(v)} = {_toml(table[name][v])}\n" for v in _sorted(table[name])]
    for family in families:
        lines.append("\n[[family]]\n")
        lines += _rows(family)
    return "".join(lines)


def _families(old: list[Table], sources: Mapping[str, bytes]) -> list[Table]:
    """The families by the bytes of their file, the one with the oldest release first."""
    members = {row["sha256"]: [v for v in row["releases"] if v not in sources] for row in old}
    for version, source in sources.items():
        members.setdefault(_sha256(source), []).append(version)
    by_digest = {row["sha256"]: row for row in old}
    families = [
        _family(by_digest.get(digest, {}), _sorted(versions), sources)
        for digest, versions in members.items()
        if versions
    ]
    return sorted(families, key=lambda family: Version(family["releases"][0]))


def _family(was: Table, versions: list[str], sources: Mapping[str, bytes]) -> Table:
    """One family: its hand-written words are kept, the rest is computed where a file is given."""
    at_hand = next((sources[version] for version in versions if version in sources), None)
    if at_hand is None:
        return {**was, "releases": versions}
    name = was.get("name", f"{NEW}-{versions[0]}")
    shape = was.get("shape", "to be described")
    return {"name": name, "shape": shape, "releases": versions, **compute(at_hand)}


def compute(source: bytes) -> Table:
    """All that follows from the file of a release."""
    patches = load()
    planned = plan(source, patches)
    before = {patch.id: find(source, patch) for patch in patches}
    found = {finding.status for finding in before.values()}
    row: Table = {
        "status": next((status for status in WORST_FIRST if status in found), Status.NOT_AFFECTED),
        "needs": [s.patch.id for s in planned.steps if s.outcome is Outcome.APPLIED],
        "sha256": _sha256(source),
        "size": len(source),
    }
    seen = {"before": {name: _seen(finding) for name, finding in before.items()}}
    if planned.changes:
        row |= {"patched_sha256": _sha256(planned.after), "patched_size": len(planned.after)}
        seen["after"] = {patch.id: _seen(find(planned.after, patch)) for patch in patches}
        seen["edits"] = _edits(source, planned)
    return row | seen


def _edits(source: bytes, planned: Plan) -> Table:
    """What each patch changes, of no use without the file: none of its lines is in it."""
    found = {}
    for step in planned.steps:
        if step.outcome is Outcome.APPLIED:
            found[step.patch.id] = _hunks(source.decode(), step.after.decode())
        source = step.after
    return found


def _hunks(before: str, after: str) -> list[list[Any]]:
    old, new = before.splitlines(), after.splitlines()
    changes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [[i + 1, j - i, new[k:n]] for tag, i, j, k, n in changes if tag != "equal"]


def _seen(finding: Finding) -> Table:
    row: Table = {"status": str(finding.status), "reason": str(finding.reason)}
    if finding.guard:
        row["guard"] = str(finding.guard)
    for evidence in finding.evidence[:1]:
        row |= {"line": evidence.line, "text": evidence.text}
    return row


def _rows(family: Table) -> Iterator[str]:
    for key, value in family.items():
        if isinstance(value, dict):
            yield f"[family.{key}]\n"
            yield from (f"{name} = {_toml(row)}\n" for name, row in value.items())
        else:
            yield f"{key} = {_toml(value)}\n"


def _toml(value: Any) -> str:
    """A value on one line; what JSON writes for a string and a number TOML reads as well."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _sorted(versions: Iterable[str]) -> list[str]:
    return sorted(versions, key=Version)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# The archives.


def main() -> None:
    table: Table = {"wheel_sha256": {}, "other_sha256": {}, **releases.TABLE}
    known = {version for family in table["family"] for version in family["releases"]}
    sources: dict[str, bytes] = {}
    for version in _sorted(known | on_index()):
        fetched_by_tests = version in releases.ALL or version not in known
        hashes = table["wheel_sha256" if fetched_by_tests else "other_sha256"]
        try:
            archive = fetch(version, hashes.get(version))
            sources[version] = read(archive, version)
        except LookupError as why:
            say(f"jax {version}: left as it is in the table: {why}")
            continue
        hashes[version] = _sha256(archive.read_bytes())
    PATH.write_text(generate(table, sources), "utf-8", newline="\n")
    for version in _sorted(sources.keys() - known):
        say(f"jax {version} is new in the table")
    for family in tomllib.loads(PATH.read_text("utf-8"))["family"]:
        if family["name"].startswith(NEW):
            say(f"{PATH}: choose a name and a shape for {family['name']}: {family['status']}")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")


def on_index() -> set[str]:
    """The releases that the package index offers, from the first that has the file.

    Withdrawn ones are not among them. Raises `RuntimeError` where they cannot be listed.
    """
    done = _pip("index", "versions", "jax", "--json", "--ignore-requires-python")
    if done.returncode:
        raise RuntimeError(f"the releases of jax cannot be listed: {_last_line(done.stderr)}")
    return {v for v in json.loads(done.stdout)["versions"] if Version(v) >= FIRST}


def fetch(version: str, wanted: str | None) -> Path:
    """The archive of a release, in the cache; `wanted` is its hash, where that is known.

    Raises `LookupError` where it cannot be had, `RuntimeError` where it is another.
    """
    if version in releases.ALL:
        return releases.wheel(version)
    folder = releases.CACHE / "wheels"
    for path in (folder / f"jax-{version}-py3-none-any.whl", folder / f"jax-{version}.tar.gz"):
        if path.exists() and wanted in (None, _sha256(path.read_bytes())):
            return path
    path = _download(version, folder)
    if wanted not in (None, _sha256(path.read_bytes())):
        raise RuntimeError(f"{path}: not the archive whose hash the table has")
    return path


def _download(version: str, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as temporary:
        options = ("-q", "--no-deps", "--ignore-requires-python", "-d", temporary)
        done = _pip("download", *options, f"jax=={version}")
        found = list(Path(temporary).iterdir())
        if not found:
            raise LookupError(f"not fetched: {_last_line(done.stderr)}")
        return found[0].replace(folder / found[0].name)


def _pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments)
    release = {"JAX_RELEASE": "1"}  # else the sdist of 0.4.15 gives itself another version
    return subprocess.run(
        command, env={**os.environ, **release}, capture_output=True, text=True, check=False
    )


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2]


def read(archive: Path, version: str) -> bytes:
    """The file in a wheel or an sdist; raises `LookupError` where there is none."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(releases.MEMBER)
    with tarfile.open(archive) as sdist:
        member = sdist.extractfile(f"jax-{version}/{releases.MEMBER}")
        if member is None:
            raise LookupError(f"{archive}: {releases.MEMBER} is no file")
        return member.read()


if __name__ == "__main__":
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
