"""Which wheels `wheel -r FILE` makes: those of the pins of a file, fetched and checked."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.wheel import LABEL
from tests.releases import wheel

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture(autouse=True)
def _only_cached_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel("0.4.35").parent))


def run(tmp_path: Path, *lines: str) -> Result:
    (tmp_path / "requirements.txt").write_text("\n".join(lines))
    arguments = ["-r", str(tmp_path / "requirements.txt"), "-o", str(tmp_path / "out")]
    return CliRunner().invoke(cli, ["wheel", *arguments, "--no-verify"])


def made(tmp_path: Path) -> set[str]:
    return {path.name.split("+")[0] for path in (tmp_path / "out").glob(f"*+{LABEL}-*.whl")}


def test_every_pin_and_those_of_included_files(tmp_path: Path) -> None:
    digest = hashlib.sha256(wheel("0.8.0").read_bytes()).hexdigest()
    (tmp_path / "more.txt").write_text("jax==0.4.35\n-r requirements.txt\n")
    (tmp_path / "constraints.txt").write_text("jaxlib==0.8.0\n")
    result = run(
        tmp_path,
        "numpy==2.0",
        f"jax[tpu]==0.8.0 --hash=sha256:{'0' * 64} --hash=sha256:{digest}",
        "-r more.txt",
        "-c constraints.txt",
        "jax==0.8.0 ; python_version > '3'",
    )
    assert result.exit_code == 0, result.output
    assert made(tmp_path) == {"jax-0.8.0", "jax-0.4.35"}
    assert "2 wheels: 2 made" in result.stdout


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("jax>=0.8", 2, "requirements.txt:2: jax>=0.8: is not one version of an index"),
        ("jax", 2, "is not one version"),
        ("jax==0.8.*", 2, "is not one version"),
        ("jax @ git+https://example.org/jax@main", 2, "is not one version of an index"),
        ("jax==0.8.0 --pre", 2, "requirements.txt:2: --pre is no option of a line"),
        ("flax==0.8", 2, "requirements.txt: pins no jax"),
        ("-r gone.txt", 2, "gone.txt: does not exist"),
        ("jax==0.8.0 --hash=sha256:" + "1" * 64, 3, "has none of the hashes of the pin"),
        ("jax==0.8.0 --hash=md5:" + "1" * 32, 3, "has none of the hashes of the pin"),
        ("jax==0.0.1", 3, "requirements.txt:2: pip: No matching distribution"),
    ],
)
def test_what_names_no_one_wheel(tmp_path: Path, line: str, code: int, words: str) -> None:
    result = run(tmp_path, "numpy", line)
    assert (result.exit_code, words in result.stderr) == (code, True), result.output
    assert result.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_without_anything_to_make_one_of() -> None:
    result = CliRunner().invoke(cli, ["wheel"])
    assert result.exit_code == 2
    assert "name a SOURCE, or a file with -r" in result.stderr
