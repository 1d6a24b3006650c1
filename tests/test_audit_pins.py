"""Audits of pin files: rows at their lines, decided by content where that is at hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from codemod.deciding import decide
from codemod.engine import plan
from codemod.fixes import of_pin
from codemod.pins.model import Pin, Source, SourceKind
from codemod.registry import load
from tests.audits import audited, document, rows, run, said
from tests.releases import source
from tests.repositories import commit, repository

if TYPE_CHECKING:
    from pathlib import Path

OLD = source("0.8.0")
PATCHED = plan(OLD, load()).after
SHA = "0123456789" * 4


@pytest.mark.parametrize(
    ("pin", "status", "reason"),
    [
        ("jax==0.4.20", "not_affected", "older-release"),
        ("jax[tpu, k8s] == 0.4.30", "affected", "unguarded"),
        ("jax", "under_investigation", "unpinned"),
        ("jax==0.4.30 ; python_version > '3.9'", "affected", "unguarded"),
        ('"jax[tpu]==0.4.30"', "affected", "unguarded"),
        ("jax>=0.10.0", "affected", "range"),
        ("jax>=0.4.1,<=0.4.30", "under_investigation", "range"),
        ("jax~=0.4.30", "affected", "unguarded"),
        ("jax==99.0", "under_investigation", "newer-than-known"),
        ("jax==0.8.0+skipmds.1", "under_investigation", "no-source"),
        (f"jax @ git+https://github.com/jax-ml/jax@{SHA}", "under_investigation", "no-source"),
        ("jax @ git+https://github.com/jax-ml/jax@main", "under_investigation", "moving-ref"),
        ("https://example.org/jax-0.4.29-py3-none-any.whl", "affected", "unguarded"),
    ],
)
def test_a_pin_by_what_it_says(tmp_path: Path, pin: str, status: str, reason: str) -> None:
    (row,) = audited(tmp_path, f"numpy\n{pin}\n")
    assert said([row]) == [(2, status, reason)]
    assert (row["pin"], row["kind"]) == (pin, "pin")
    assert row["evidence"][0]["line"] == 2
    assert bool(row["fixes"]) is (status in ("affected", "under_investigation"))
    if status == "affected" and "==" in pin:
        assert row["fixes"][0].startswith("codemod wheel jax==0.4.30 ")


@pytest.mark.parametrize(
    ("version", "env_value", "detection"),
    [
        ("0.1.5", "not_affected", "not_affected"),
        ("0.4.39", "affected", "fixed"),  # there never was one: its neighbours agree
        ("0.4.36.dev20241101", "affected", "under_investigation"),
        ("0.4.21.dev20231201", "under_investigation", "under_investigation"),
        ("0.12.0.1", "affected", "fixed"),
        ("0.12.0.2", "under_investigation", "under_investigation"),
    ],
)
def test_a_version_that_the_table_lacks_is_as_its_neighbours(
    version: str, env_value: str, detection: str, tmp_path: Path
) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(f"jax=={version}\n")
    found = document(run(path, "--format", "json"))["results"]
    assert [row["status"] for row in found[:2]] == [env_value, detection]


def test_what_no_version_decides_says_what_would() -> None:
    """Kinds of pins that requirements files do not have, and texts that are no versions."""
    ids = [patch.id for patch in load()]
    for pin, status, words in (
        (Pin(line=1, text="x", unsure="the argument has no default"), "under", "no default"),
        (Pin(line=1, text="x", specifier="===what is this"), "under", "not understood"),
        (Pin(line=1, text="x", specifier="==what"), "under", "no version"),
        (Pin(line=1, text="x", specifier="~~1"), "under", "not understood"),
        (Pin(line=1, text="x", source=Source(kind=SourceKind.PATH, url="a b")), "under", "lies"),
        (Pin(line=1, text="x", source=Source(kind=SourceKind.IMAGE, url="i")), "under", "image"),
        (Pin(line=1, text="x", specifier=">1000"), "under", "none that is known"),
    ):
        finding = decide(pin, ids)[ids[0]]
        assert finding.status.startswith(status)
        assert words in finding.evidence[0].text
        assert of_pin(pin, finding, None)
    path = Pin(line=1, text="x", source=Source(kind=SourceKind.PATH, url="a b"))
    assert of_pin(path, decide(path, ids)[ids[0]], None) == ("codemod audit 'a b'",)


def test_encodings_that_pip_reads(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    for data in (
        "jax==0.8.0\n".encode("utf-16"),
        "jax==0.8.0\n".encode("utf-8-sig"),
        "# coding: latin-1\n# caf\xe9\njax==0.8.0\n".encode("latin-1"),
        b"numpy\njax==0.8.0 \\",
    ):
        path.write_bytes(data)
        assert run(path).exit_code == 1, data
    for data in (b"jax==0.8.0 # caf\xe9\n", b"# coding: nonsense\njax==0.8.0\n"):
        path.write_bytes(data)
        result = run(path, "--strict", "--format", "json")
        assert result.exit_code == 1
        assert "cannot be decoded" in document(result)["unreadable"][0]["why"]


def test_urls_and_names_that_disagree(tmp_path: Path) -> None:
    text = (
        "numpyro @ git+https://github.com/google/jax.git@f2aefcf\n"
        "-e git+https://github.com/jax-ml/jax@v1#egg=jax\n"
        "https://example.org/jaxlib-0.4.29-py3-none-any.whl\n"
        "git+https://github.com/jax-ml/jaxtyping#egg=jaxtyping\n"
        "jax @ file:///opt/jax\n"
        "jax[tpu]==0.4.36 --pre\n"
    )
    found = audited(tmp_path, text)
    assert [row["line"] for row in found] == [1, 2, 5, 6]
    assert "disagree" in found[0]["message"]
    assert found[3]["status"] == "affected"
    unread = document(run(tmp_path / "requirements.txt", "--format", "json"))["unreadable"]
    assert unread == [
        {
            "file": str(tmp_path / "requirements.txt"),
            "line": 6,
            "why": "--pre is no option of a line",
        }
    ]


def test_only_jax_is_a_pin_of_jax(tmp_path: Path) -> None:
    others = "blackjax==1.0\njaxtyping\njax-md\njax_metal\nflax\nkfac_jax\njaxlib==0.4.30\n"
    assert audited(tmp_path, others) == []
    assert run(tmp_path / "requirements.txt").exit_code == 4


def test_all_that_is_included_once_and_what_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "base").write_text("-r ../requirements.txt\njax==0.4.20\n")
    text = "-r more/base\n-c nowhere.txt\n-r https://example.org/r.txt\njax==0.8.0\njax==???\n"
    found = audited(tmp_path, text)
    assert said(found) == [(4, "affected", "unguarded"), (2, "not_affected", "older-release")]
    whole = document(run(tmp_path / "requirements.txt", "--format", "json"))
    assert [(one["line"], one["why"].split(":")[0]) for one in whole["unreadable"]] == [
        (5, "not a requirement"),
        (2, "includes nowhere.txt, which does not exist"),
        (3, "includes https"),
    ]
    assert whole["summary"]["files"] == {
        "seen": 2,
        "read": 2,
        "understood": 1,
        "not_understood": 1,
    }


def test_a_line_that_is_not_understood_counts_when_strict(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("jax==0.4.20\njax===\n")
    assert run(path).exit_code == 0
    assert run(path, "--strict").exit_code == 1
    path.write_text("jax==0.4.20\n")
    assert run(path, "--strict").exit_code == 0
    path.write_text("jax>=0.4\n")
    assert (run(path).exit_code, run(path, "--strict").exit_code) == (0, 1)


def test_without_a_source_the_folder_and_the_active_environment(
    tmp_path: Path, venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VIRTUAL_ENV", str(venv))
    (tmp_path / "requirements.txt").write_text("jax==0.8.0\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "requirements.txt").write_text("jax==0.8.0\n")
    result = run("--format", "json")
    assert result.exit_code == 1
    assert {row["file"] for row in document(result)["results"]} == {"requirements.txt"}
    assert f"VIRTUAL_ENV is set to {venv}; and the pin files of this folder" in result.stderr
    assert len(rows(".", code=1)) == 2 * len(load())


def test_what_installed_packages_ship_is_no_pin(venv: Path) -> None:
    site = next(venv.glob("lib/python*/site-packages"))
    (site / "requirements.txt").write_text("jax==0.8.0\n")
    (venv / "pyvenv.cfg").unlink()
    (venv / "bin" / "python").unlink()
    assert run(venv).exit_code == 4


def test_pins_of_a_revision(tmp_path: Path) -> None:
    fork = repository(tmp_path / "fork", PATCHED)
    commit(
        fork,
        {
            "requirements.txt": b"-r deps/base.in\n-r nowhere.txt\njax==0.4.20\n",
            "deps/base.in": b"jax==0.8.0\n-c ../requirements.txt\n",
            "venv/lib/python3/site-packages/requirements.txt": b"jax==0.8.0\n",
        },
    )
    result = run(f"git:{fork}@main", "--format", "json")
    assert result.exit_code == 1
    found = document(result)
    pins = [row for row in found["results"] if row["kind"] == "pin"]
    assert {(row["file"].rpartition(":")[2], row["line"]) for row in pins} == {
        ("requirements.txt", 3),
        ("deps/base.in", 1),
    }
    assert [one["why"] for one in found["unreadable"]] == [
        "includes nowhere.txt, which is not in this revision"
    ]
    sarif = json.loads(run(f"git:{fork}@main", "--format", "sarif").stdout)["runs"][0]
    (place,) = (one["locations"][0]["physicalLocation"] for one in sarif["results"])
    assert place["artifactLocation"]["uri"] == "deps/base.in"
    assert place["region"]["startLine"] == 1


def test_sarif_points_to_the_line_of_the_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "requirements.txt").write_text("numpy\n\njax==0.8.0\n")
    (one,) = json.loads(run("requirements.txt", "--format", "sarif").stdout)["runs"][0]["results"]
    place = one["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "requirements.txt"
    assert place["region"] == {"startLine": 3, "snippet": {"text": "jax==0.8.0"}}
    annotated = run("requirements.txt", "--format", "github").stdout
    assert annotated.startswith("::error file=requirements.txt,line=3,title=jax==0.8.0%3A affected")
