"""Verdicts on a real release, patched and then changed in one place."""

from __future__ import annotations

import sys
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codemod import engine, registry
from codemod.verify import verify_module
from tests.releases import MEMBER, source, wheel

if TYPE_CHECKING:
    from codemod.verdict import Row, Verdict

HERE = Path(sys.executable)
RELEASE = "0.8.0"
SCHEMA = Path(__file__).parents[1] / "codemod" / "schema" / "verify.schema.json"

GUARD = ' and os.environ.get("TPU_SKIP_MDS_QUERY") is None'
LOOK_UP = "  value = os.environ.get(key, None)\n"
ASK = f"  if value is None{GUARD}:\n"
FROM_SERVER = "    value = get_tpu_env_value_from_metadata(key)\n"
SET = 'os.environ.get("TPU_SKIP_MDS_QUERY") is not None'
DETECTED = '    if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:\n'
SIGNATURE = "def get_tpu_env_value(key) -> str | None:\n"


@cache
def patched(version: str = RELEASE) -> str:
    """Return the release's file as `codemod apply` leaves it."""
    planned = engine.plan(source(version), registry.load())
    assert planned.changes
    return planned.after.decode()


def changed(old: str, new: str) -> str:
    """Return the patched file with one place changed."""
    assert patched().count(old) == 1, f"{patched().count(old)} times in the file: {old}"
    return patched().replace(old, new)


def unpacked(version: str, into: Path) -> Path:
    """Unpack the clusters of a release's wheel, in their package; return the file itself."""
    with zipfile.ZipFile(wheel(version)) as archive:
        names = [name for name in archive.namelist() if name.startswith("jax/_src/clusters/")]
        archive.extractall(into, [*names, "jax/version.py"])
    return into / MEMBER


@cache
def verdict_on(text: str) -> Verdict:
    """Return the verdict on a lone file of this text."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "cloud_tpu_cluster.py")
        copy.write_text(text)
        return verify_module(HERE, copy)


def wrong(verdict: Verdict) -> list[Row]:
    return [row for row in verdict.rows if not row.ok]


def first(statement: str) -> tuple[str, str]:
    """Return the change that puts a statement at the start of the function."""
    return SIGNATURE, f"{SIGNATURE}  {statement}\n"
