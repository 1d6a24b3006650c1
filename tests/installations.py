"""A small installation of jax, as pip leaves one: the real file, dist-info, RECORD, bytecode."""

from __future__ import annotations

import hashlib
import re
import zipfile
from typing import TYPE_CHECKING

from click.testing import CliRunner

from codemod.cli import cli
from codemod.record import Record
from tests.releases import MEMBER, source, wheel

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from click.testing import Result

VERSION = "0.8.0"
COMPILED = "jax/_src/clusters/__pycache__/cloud_tpu_cluster.cpython-311.pyc"


def info(site: Path) -> Path:
    return site / f"jax-{VERSION}.dist-info"


def install(site: Path, *, files: Mapping[str, bytes] | None = None) -> Path:
    """Put a jax into a folder of packages; gives the path of its cloud_tpu_cluster.py."""
    name = info(site).name
    metadata = f"Metadata-Version: 2.1\nName: jax\nVersion: {VERSION}\n".encode()
    content = {
        "jax/__init__.py": b"",
        "jax/version.py": f'__version__ = "{VERSION}"\n'.encode(),
        MEMBER: source(VERSION),
        "jax/_src/clusters/cluster.py": b"class ClusterEnv: pass\n",
        f"{name}/METADATA": metadata,
        f"{name}/INSTALLER": b"pip\n",
        **(files or {}),
    }
    record = Record(b"")
    for path, data in content.items():
        place = site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        record.add(path, data)
    compiled = site / COMPILED
    compiled.parent.mkdir(exist_ok=True)
    compiled.write_bytes(b"old code")
    record.add(COMPILED, None)
    record.add(f"{name}/RECORD", None)
    (site / name / "RECORD").write_bytes(bytes(record))
    return site / MEMBER


def listing(folder: Path, *, bytecode: bool = False) -> dict[str, str]:
    """Every file below a folder, with its sha256; bytecode is only a cache of them."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (bytecode or path.suffix != ".pyc")
    }


def disagreeing(site: Path, version: str = VERSION) -> list[str]:
    """What RECORD says that is not so, as an installer that validates it would find."""
    wrong = []
    record = Record((site / f"jax-{version}.dist-info" / "RECORD").read_bytes())
    for row in record.rows:
        place = site / row.path
        true = row.agrees(place.read_bytes()) if place.is_file() else not row.hash
        wrong += [] if true else [row.path]
    listed = {row.path for row in record.rows}
    return wrong + [path for path in listing(site) if path not in listed]


def small_wheel(version: str, folder: Path) -> Path:
    """A wheel of a release with its clusters only, which any installer takes in no time."""
    kept = ("jax/__init__.py", "jax/version.py", "jax/_src/__init__.py", "jax/_src/clusters/")
    info = f"jax-{version}.dist-info/"
    made = folder / f"jax-{version}-py3-none-any.whl"
    record = Record(b"")
    with zipfile.ZipFile(wheel(version)) as old, zipfile.ZipFile(made, "w") as new:
        for name in old.namelist():
            if name.startswith((*kept, info)) and name != f"{info}RECORD":
                data = b"" if name == "jax/__init__.py" else old.read(name)
                if name == f"{info}METADATA":  # what jax needs is not there, and not needed
                    data = re.sub(rb"(?m)^Requires-Dist:.*\n", b"", data)
                new.writestr(name, data)
                record.add(name, data)
        record.add(f"{info}RECORD", None)
        new.writestr(f"{info}RECORD", bytes(record))
    return made


def run(*arguments: str | Path) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(cli, [*map(str, arguments)])


def receipt(site: Path) -> Path:
    return info(site) / "codemod.json"
