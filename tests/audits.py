"""How the tests run `codemod audit`, and what they read of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
from click.testing import CliRunner, Result

from codemod.cli import cli

SCHEMA = Path(__file__).parent.parent / "codemod" / "schema" / "audit.schema.json"


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(cli, ["audit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result


def document(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    jsonschema.validate(found, json.loads(SCHEMA.read_text()))
    assert found["exit_code"] == result.exit_code
    return found


def rows(*arguments: str | Path, code: int = 0) -> list[dict[str, Any]]:
    """The rows of an audit that ends with this code."""
    result = run(*arguments, "--format", "json")
    assert result.exit_code == code, result.output
    found: list[dict[str, Any]] = document(result)["results"]
    return found


def audited(tmp_path: Path, text: str, *options: str | Path) -> list[dict[str, Any]]:
    """What the rows for the reported bug say of the pins of one requirements file."""
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    found = document(run(path, "--format", "json", *options))
    return [row for row in found["results"] if row["patch"] == "skip_mds_env_value"]


def said(found: list[dict[str, Any]]) -> list[tuple[int, str, str]]:
    return [(row["line"], row["status"], row["reason"]) for row in found]
