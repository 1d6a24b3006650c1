"""How the tests run `codemod wheel`, and where they find what it made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from click.testing import CliRunner

from codemod.cli import cli
from codemod.wheel import LABEL

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, ["wheel", *map(str, arguments)])


def patched(version: str, folder: Path) -> Path:
    return folder / f"jax-{version}+{LABEL}-py3-none-any.whl"
