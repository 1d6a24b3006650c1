"""`codemod test`: every example of every patch holds, and one that does not is named."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.engine import plan
from codemod.examples import check_examples
from codemod.model import Example, Finding, Outcome, Patch, Reason, Status
from codemod.registry import load
from tests.releases import source
from tests.shapes import MODULE, PATCHED

ROOT = Path(__file__).parents[1]
PATCH = next(patch for patch in load() if patch.id == "skip_mds_env_value")


@pytest.mark.parametrize("check", check_examples(load()), ids=lambda c: f"{c.patch}: {c.example}")
def test_every_example_of_the_tool_s_own_patches_holds(check: object) -> None:
    assert getattr(check, "why") == ""  # noqa: B009 - pytest gives an object


@pytest.mark.parametrize("patch", load(), ids=lambda patch: patch.id)
def test_each_patch_shows_what_it_changes_what_it_leaves_and_what_it_refuses(patch: Patch) -> None:
    shown = {
        (e.after is not None, e.status is Status.FIXED, e.status is Status.NOT_AFFECTED)
        for e in patch.examples
    }
    changed, fixed, not_ours = (True, False, False), (False, True, False), (False, False, True)
    assert shown == {changed, fixed, not_ours, (False, False, False)}


def example(**changed: object) -> Example:
    held = {"name": "x", "before": MODULE, "after": PATCHED, **changed}
    return Example(**held)  # type: ignore[arg-type]


WRONG = {
    "other status": (example(status=Status.FIXED), "is affected, not fixed"),
    "other result": (example(after=PATCHED + "\n"), "becomes other than it says, from line 16 on"),
    "other line": (
        example(after=PATCHED.replace("is None and", "is None  and")),
        "becomes other than it says, from line 10 on",
    ),
    "not refused": (example(after=None), "is applied, not refused"),
    "not changed": (
        example(before=PATCHED, status=Status.FIXED),
        "is already, not applied",
    ),
    "not Python": (example(before="def ("), "is under_investigation, not affected"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_an_example_that_does_not_hold_is_told(kind: str) -> None:
    wrong, why = WRONG[kind]
    patch = replaced(examples=(wrong, example()))
    assert [check.why for check in check_examples([patch])] == [why, ""]


def replaced(**changed: object) -> Patch:
    held = {name: getattr(PATCH, name) for name in Patch.__slots__}
    return Patch(**{**held, **changed})


def test_a_patch_that_is_applied_twice_does_not_hold() -> None:
    def probe(_tree: object) -> Finding:
        return next(answers)

    affected = PATCH.probe(ast.parse(MODULE))
    fixed = PATCH.probe(ast.parse(PATCHED))
    answers = iter([affected, fixed, affected, affected])
    patch = replaced(probe=probe, rewrite=PATCH.rewrite, examples=(example(),))
    assert [check.why for check in check_examples([patch])] == ["would be changed again"]


def test_a_patch_without_a_changed_example_has_shown_nothing() -> None:
    patch = replaced(examples=(example(before=PATCHED, after=None, status=Status.FIXED),))
    assert [check.why for check in check_examples([patch])] == ["no example is changed", ""]


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["test", *map(str, arguments)])
    return result.exit_code, result.output


def document(output: str) -> dict[str, object]:
    schema = json.loads((ROOT / "codemod" / "schema" / "test.schema.json").read_text())
    found: dict[str, object] = json.loads(output)
    jsonschema.validate(found, schema)
    return found


def tutorial() -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.partition("```python\n")[2].partition("```\n")[0]


def test_the_patch_that_contributing_shows_works(tmp_path: Path) -> None:
    (tmp_path / "metadata_timeout.py").write_text(tutorial())
    code, output = run(tmp_path)
    assert (code, output.splitlines()[-1]) == (0, "3 of 3 examples hold")
    assert document(run(tmp_path, "--format", "json")[1])["exit_code"] == 0
    (patch,) = [p for p in load([str(tmp_path)]) if p.id == "metadata_timeout"]
    (step,) = plan(source("0.4.21"), [patch]).steps
    assert step.outcome is Outcome.APPLIED
    (step,) = plan(source("0.12.0.1"), [patch]).steps
    assert (step.outcome, step.finding.reason) == (Outcome.ALREADY, Reason.UPSTREAM)


def test_the_command_names_what_does_not_hold(tmp_path: Path) -> None:
    wrong = tutorial().replace('"timeout" in given', "False").replace("timeout=60)\\n", "t=1)\\n")
    (tmp_path / "metadata_timeout.py").write_text(wrong)
    code, output = run(tmp_path, "-q")
    assert code == 1
    assert output.splitlines() == [
        "metadata_timeout: no timeout: becomes other than it says, from line 4 on",
        "2 of 3 examples hold",
    ]
    assert document(run(tmp_path, "--format", "json")[1])["exit_code"] == 1


def test_a_folder_without_patches_is_wrong_usage(tmp_path: Path) -> None:
    code, output = run(tmp_path)
    assert code == 2
    assert "no patches in this folder" in output


FAILING = {
    "the probe raises": ("def probe(tree):\n    raise KeyError('x')", "the probe of mine itself"),
    "the probe gives rubbish": ("def probe(tree):\n    return 7", "gives no Finding"),
    "the rewrite raises": (
        (
            "from codemod.model import Finding, Status, Reason, Evidence\n"
            "def probe(tree):\n"
            "    return Finding(status=Status.AFFECTED, reason=Reason.UNGUARDED)\n"
            "def rewrite(module):\n    raise ZeroDivisionError('one\\ntwo')\n"
        ),
        "the rewrite of mine itself fails: ZeroDivisionError: one two",
    ),
    "the rewrite gives rubbish": (
        (
            "from codemod.model import Finding, Status, Reason, Evidence\n"
            "def probe(tree):\n"
            "    return Finding(status=Status.AFFECTED, reason=Reason.UNGUARDED)\n"
            "def rewrite(module):\n    return 'text'\n"
        ),
        "the rewrite of mine itself fails: AttributeError",
    ),
    "no reason": (
        (
            "from codemod.model import Finding, Status, Reason\n"
            "def probe(tree):\n"
            "    return Finding(status=Status.UNDER_INVESTIGATION, reason=Reason.DRIFTED)\n"
        ),
        "the patch does not say why",
    ),
}


@pytest.mark.parametrize("kind", FAILING)
def test_somebody_s_failing_patch_refuses_the_copy(kind: str, tmp_path: Path) -> None:
    text, why = FAILING[kind]
    (tmp_path / "mine.py").write_text(
        "rewrite = print\n" + text + "\nfrom codemod.model import Patch\n"
        "PATCH = Patch(id='mine', title='', bug='', origin='', forwarded='',\n"
        "    fixed_upstream_in=None, releases='', probe=probe, rewrite=rewrite, examples=())\n"
    )
    copy = tmp_path / "copy" / "cloud_tpu_cluster.py"
    copy.parent.mkdir()
    copy.write_text(MODULE)
    result = CliRunner().invoke(cli, ["apply", str(copy), "--patches", str(tmp_path)])
    assert result.exit_code == 3
    assert why in result.output
    assert "Traceback" not in result.output
    assert copy.read_text() == MODULE


def test_libcst_s_own_driver_gives_the_same_bytes(tmp_path: Path) -> None:
    before, refused = tmp_path / "before.py", tmp_path / "refused.py"
    before.write_bytes(source("0.4.21"))
    refused.write_text(MODULE.replace("value is None", "'TPU_SKIP_MDS_QUERY' in os.environ"))
    left = refused.read_text()
    driver = [sys.executable, "-m", "libcst.tool", "codemod", "-x", "--no-format", "-j1"]
    said = ""
    for name in ("SkipMdsEnvValue", "SkipMdsDetection", "SingleSliceDefaults"):
        command: list[str | Path] = [*driver, f"codemod.libcst_commands.{name}", before, refused]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        said += done.stderr + done.stdout
    assert before.read_bytes() == plan(source("0.4.21"), load()).after
    assert refused.read_text() == left
    assert "a guard the wrong way round" in said
