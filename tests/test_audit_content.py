"""Pins decided by content: wheels at hand, clones at hand, and what was fetched for them."""

from __future__ import annotations

import hashlib
import subprocess
from typing import TYPE_CHECKING

import pytest

from codemod.engine import plan
from codemod.registry import load
from tests import archives
from tests.audits import audited, document, rows, run, said
from tests.releases import HASHES, MEMBER, source, wheel
from tests.repositories import ENVIRONMENT, commit, git, repository

if TYPE_CHECKING:
    from pathlib import Path

OLD = source("0.8.0")
PATCHED = plan(OLD, load()).after
SHA = "0123456789" * 4
OPEN = "under_investigation"


def test_wheels_at_hand_decide_by_their_bytes(tmp_path: Path) -> None:
    """Plain and labelled, patched and not: what pip would take, and what that holds."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    label = "0.8.0+skipmds.1"
    archives.wheel(folder / f"jax-{label}-py3-none-any.whl", PATCHED, label)
    archives.wheel(folder / "jax-0.4.30-py3-none-any.whl", PATCHED, "0.4.30")
    archives.wheel(folder / "jax-nonsense-py3-none-any.whl", OLD)
    archives.wheel(folder / "jax-0.7.0+skipmds.1-py3-none-any.whl", OLD, "0.7.0+skipmds.1")
    pins = "jax==0.8.0\njax==0.8.0+skipmds.1\njax==0.7.0+skipmds.1\njax==0.4.30\njax===0.8.0\n"
    pins += "jax>=0.8.0\njax @ https://example.org/w/jax-0.8.0%2Bskipmds.1-py3-none-any.whl\n"
    found = audited(tmp_path, pins, "--wheels", folder)
    assert said(found) == [
        (1, "fixed", "patched"),
        (2, "fixed", "patched"),
        (3, "affected", "unguarded"),
        (4, "fixed", "patched"),
        (5, "affected", "unguarded"),
        (6, "affected", "range"),
        (7, "fixed", "patched"),
    ]
    assert f"jax-{label}-py3-none-any.whl!/{MEMBER}" in found[0]["evidence"][0]["text"]
    assert found[0]["jax_version"] == label


def test_a_hash_in_the_pin_allows_only_what_has_it(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    ours = archives.wheel(folder / "jax-0.8.0+skipmds.1-py3-none-any.whl", PATCHED)
    digest = hashlib.sha256(ours.read_bytes()).hexdigest()
    text = (
        f"jax==0.8.0 \\\n    --hash=sha256:{HASHES['0.8.0']}\n"
        f"jax==0.8.0+skipmds.1 --hash=sha256:{digest}\n"
    )
    upstream, patched = audited(tmp_path, text, "--wheels", folder)
    assert said([upstream, patched]) == [(1, "affected", "unguarded"), (3, "fixed", "patched")]
    assert "--hash" in upstream["fixes"][1]
    lying = f"jax==0.4.20 --hash=sha256:{HASHES['0.8.0']}\n"
    assert said(audited(tmp_path, lying)) == [(1, "affected", "unguarded")]


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """Affected at v1, patched at main."""
    folder = repository(tmp_path / "fork", OLD)
    commit(folder, {MEMBER: PATCHED})
    return folder


def test_a_clone_at_hand_decides_a_pinned_repository(fork: Path, tmp_path: Path) -> None:
    old, new = git(fork, "rev-parse", "v1"), git(fork, "rev-parse", "main")
    text = (
        f"jax @ git+https://github.com/Org/jax.git@{old}\n"
        f"jax @ git+ssh://git@github.com/org/jax@{new}#egg=jax\n"
        "jax @ git+https://github.com/org/jax@main\n"
        f"jax @ https://github.com/org/jax/archive/{old}.zip\n"
        "jax @ https://github.com/org/jax/archive/refs/tags/v1.tar.gz\n"
        "jax @ git+https://github.com/org/jax@nowhere\n"
        f"jax @ git+https://github.com/other/jax@{old}\n"
    )
    found = audited(tmp_path, text, "--git", f"https://github.com/org/jax={fork}")
    assert said(found) == [
        (1, "affected", "unguarded"),
        (2, "fixed", "patched"),
        (3, "fixed", "patched"),
        (4, "affected", "unguarded"),
        (5, "affected", "unguarded"),
        (6, "under_investigation", "moving-ref"),
        (7, "under_investigation", "no-source"),
    ]
    assert f"{fork}@{old}:{MEMBER}: line " in found[0]["evidence"][0]["text"]
    assert (found[5]["outcome"], found[6]["outcome"]) == ("failed", "none")
    assert "has no revision origin/nowhere" in found[5]["message"]


def test_google_jax_is_jax_ml_jax(fork: Path, tmp_path: Path) -> None:
    (row,) = audited(
        tmp_path,
        "jax @ git+https://github.com/google/jax.git@main\n",
        *("--git", f"https://github.com/jax-ml/jax={fork}"),
    )
    assert row["status"] == "fixed"


@pytest.mark.parametrize("option", ["nonsense", "https://x.example/jax=/no/such/folder"])
def test_a_clone_that_is_not_there_is_wrong_usage(option: str) -> None:
    assert run("--git", option).exit_code == 2
    assert run("--wheels", option).exit_code == 2


def test_fetch_gets_the_one_file_of_a_commit(
    fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all that the repository has, one blob is sent: git's own trace says so."""
    for key in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        git(fork, "config", key, "true")
    big = commit(fork, {"big.bin": b"0" * 1000, "jax/other.py": b"x = 1\n"})
    trace = tmp_path / "trace"
    monkeypatch.setattr(
        "codemod.sources.fetching.ONLINE",
        {**_online(), "GIT_TRACE_PACKET": str(trace)},
    )
    pin = f"jax @ git+file://{fork}@"
    text = f"{pin}{git(fork, 'rev-parse', 'v1')}\n{pin}{big}\n{pin}v1\n"
    found = audited(tmp_path, text, "--fetch")
    assert [row["status"] for row in found] == ["affected", "fixed", "affected"]
    assert [row["outcome"] for row in found] == ["none"] * 3
    wanted = {
        line.rpartition("want ")[2].split()[0]
        for line in trace.read_text().splitlines()
        if "fetch> want " in line
    }
    blobs = {oid for oid in wanted if git(fork, "cat-file", "-t", oid) == "blob"}
    assert blobs == {git(fork, "rev-parse", f"{ref}:{MEMBER}") for ref in ("v1", "main")}
    assert said(audited(tmp_path, text))[0][1] == "under_investigation"


def _online() -> dict[str, str]:
    from codemod.sources.fetching import ONLINE

    return ONLINE


def test_what_cannot_be_fetched_is_told_and_nothing_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    text = (
        f"jax @ git+ext://sh -c touch% {mark}@main\n"
        f"jax @ git+file://{tmp_path}/nowhere/jax@main\n"
        "jax==0.4.20\n"
    )
    path = tmp_path / "requirements.txt"
    path.write_text(text)
    result = run(path, "--fetch", "--format", "json")
    assert result.exit_code == 3
    assert not mark.exists()
    found = document(result)
    assert found["results"][-1]["status"] == "not_affected"
    control = ["git", "-c", "protocol.ext.allow=always", "fetch", f"ext::sh -c touch% {mark}"]
    git(tmp_path, "init", "-q", "control")
    subprocess.run(
        control, cwd=tmp_path / "control", env=ENVIRONMENT, check=False, capture_output=True
    )
    assert mark.exists()  # git itself does run it


def test_fetch_gets_a_pinned_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder that pip is told of; a hash that the pin has not is not taken."""
    folder = tmp_path / "index"
    folder.mkdir()
    label = "0.8.0+ours"
    info = f"jax-{label}.dist-info"
    more = {f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    more[f"{info}/RECORD"] = b""
    ours = archives.wheel(folder / f"jax-{label}-py3-none-any.whl", PATCHED, label, more)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    digest = hashlib.sha256(ours.read_bytes()).hexdigest()
    text = f"jax=={label}\njax=={label} --hash=sha256:{digest}\njax=={label} --hash=sha256:{SHA}\n"
    text += "jax==99.0\njax>=0.8\n"
    found = audited(tmp_path, text, "--fetch")
    assert [(row["status"], row["outcome"]) for row in found] == [
        ("fixed", "none"),
        ("fixed", "none"),
        ("under_investigation", "failed"),
        ("under_investigation", "failed"),
        ("affected", "none"),
    ]
    assert "which is none of the pin" in found[2]["message"]
    assert "pip: No matching distribution" in found[3]["message"]


def test_a_user_s_own_patch_is_decided_by_content_only(tmp_path: Path) -> None:
    folder = tmp_path / "patches"
    folder.mkdir()
    (folder / "own.py").write_text(
        "from codemod.model import *\n"
        "def probe(tree): return Finding(status=Status.NOT_AFFECTED, reason=Reason.NO_SUCH_CODE)\n"
        "PATCH = Patch(id='own', title='own', bug='b', origin='o', forwarded='no',\n"
        "  fixed_upstream_in=None, releases='>=0', probe=probe, rewrite=probe, examples=())\n"
    )
    (tmp_path / "requirements.txt").write_text("jax==0.8.0\n")
    arguments = (tmp_path / "requirements.txt", "--patches", folder)
    (row,) = (r for r in rows(*arguments, code=1) if r["patch"] == "own")
    assert (row["status"], row["reason"]) == ("under_investigation", "no-source")
    wheels = ("--wheels", wheel("0.8.0").parent)
    (row,) = (r for r in rows(*arguments, *wheels, code=1) if r["patch"] == "own")
    assert (row["status"], row["reason"]) == ("not_affected", "no-such-code")


def test_local_patches_are_not_decided_by_what_they_change(fork: Path, tmp_path: Path) -> None:
    """A clone at hand is what a patch of the project begins with, and not what it uses."""
    url = "https://github.com/ORG/jax"
    head = git(fork, "rev-parse", "HEAD")
    call = f'git_override(module_name = "jax", remote = "{url}", commit = "{head}"'
    path = tmp_path / "MODULE.bazel"
    for more, wanted in ((")\n", {"fixed", "affected"}), (', patches = ["//p:a"])\n', {OPEN})):
        path.write_text(call + more)
        result = run(path, "--git", f"{url}={fork}", "--format", "json")
        assert {row["status"] for row in document(result)["results"]} <= wanted
