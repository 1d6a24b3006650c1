"""Audits of revisions: with plumbing, from bare repositories too, and nothing of theirs is run."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from codemod.engine import plan
from codemod.registry import load
from tests.audits import rows, run
from tests.releases import MEMBER, source
from tests.repositories import commit, git, repository
from tests.shapes import MODULE

if TYPE_CHECKING:
    from pathlib import Path

OLD = source("0.8.0")
PATCHED = plan(OLD, load()).after


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """Affected at v1, patched at main, and worse in the working tree."""
    folder = repository(tmp_path / "fork", OLD)
    commit(folder, {MEMBER: PATCHED})
    (folder / MEMBER).write_text("def (")
    return folder


def test_the_revision_decides_and_not_the_working_tree(fork: Path) -> None:
    found = rows(f"git:{fork}@v1", code=1)
    assert len(found) == len(load())
    assert found[0]["status"] == "affected"
    assert (found[0]["kind"], found[0]["jax_version"]) == ("git", "0.8.0")
    assert found[0]["file"] == f"{fork}@v1:{MEMBER}"
    assert found[0]["line"] == found[0]["evidence"][0]["line"]
    assert rows(f"git:{fork}@main")[0]["reason"] == "patched"
    commit_id = git(fork, "rev-parse", "v1")
    assert rows(f"git:{fork}@{commit_id}", code=1)[0]["status"] == "affected"
    assert rows(f"git:{fork}@{commit_id[:9]}", code=1)[0]["status"] == "affected"
    assert rows(f"git:{fork}@HEAD@{{1}}", code=1)[0]["status"] == "affected"
    odd = fork.rename(fork.with_name("a@b"))
    assert rows(f"git:{odd}@v1", code=1)[0]["file"] == f"{odd}@v1:{MEMBER}"


def test_a_bare_repository_and_a_folder_below(fork: Path, tmp_path: Path) -> None:
    git(fork, "clone", "-q", "--bare", fork, tmp_path / "bare.git")
    for place in (tmp_path / "bare.git", fork / "jax"):
        assert rows(f"git:{place}@v1", code=1)[0]["status"] == "affected"


def test_a_split_fork_and_one_below_a_folder(fork: Path) -> None:
    commit(
        fork,
        {
            MEMBER: b"class Cluster:\n  pass\n",
            MEMBER.replace("cloud_tpu_cluster", "asking"): MODULE.encode(),
            f"third_party/{MEMBER}": PATCHED,
        },
    )
    found = rows(f"git:{fork}@HEAD", code=1)
    assert [row["file"].partition(":")[2] for row in found[:: len(load())]] == [
        MEMBER,
        MEMBER.replace("cloud_tpu_cluster", "asking"),
        f"third_party/{MEMBER}",
    ]


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("git:{}@nowhere", 3, "has no revision nowhere"),
        ("git:{}@--all", 3, "has no revision --all"),
        ("git:{}@HEAD:jax", 3, "has no revision"),
        ("git:{}/nowhere@v1", 3, "nowhere"),
        ("git:{}", 2, "git:DIR@REV"),
        ("git:@v1", 2, "git:DIR@REV"),
        ("git:{}@", 2, "git:DIR@REV"),
    ],
)
def test_what_is_no_revision_is_told(fork: Path, source: str, code: int, words: str) -> None:
    result = run(source.format(fork))
    assert result.exit_code == code
    assert words in result.output


def test_nothing_of_the_repository_is_run(fork: Path, tmp_path: Path) -> None:
    """Each of these writes a file when git runs it; git itself does, for some commands."""
    mark = tmp_path / "was-run"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {mark}\nexec cat\n")
    script.chmod(0o755)
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        hook = fork / ".git" / "hooks" / name
        hook.write_bytes(script.read_bytes())
        hook.chmod(0o755)
    for key in (
        *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "diff.external"),
        *("filter.x.smudge", "filter.x.clean", "diff.x.textconv", "credential.helper"),
    ):
        git(fork, "config", key, str(script))
    (fork / ".gitattributes").write_text("* filter=x diff=x\n")
    git(fork, "config", "alias.ls-tree", f"!{script}")
    assert rows(f"git:{fork}@v1", code=1)[0]["status"] == "affected"
    assert not mark.exists()
    git(fork, "checkout", "-q", "--", ".")  # the control: these do run
    assert mark.exists()


def test_a_replaced_object_is_not_believed(fork: Path) -> None:
    git(fork, "replace", git(fork, "rev-parse", "v1"), git(fork, "rev-parse", "main"))
    assert "value is None and" in git(fork, "show", f"v1:{MEMBER}")  # git itself believes it
    assert rows(f"git:{fork}@v1", code=1)[0]["status"] == "affected"


def test_what_a_partial_clone_lacks_is_told_and_not_fetched(fork: Path, tmp_path: Path) -> None:
    git(fork, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "partial"
    git(fork, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{fork}", clone)
    result = run(f"git:{clone}@v1")
    assert result.exit_code == 3
    assert "partial" in result.stdout
    git(clone, "checkout", "-q", "v1")  # this fetches it
    assert run(f"git:{clone}@v1").exit_code == 1


def test_the_environment_of_a_hook_does_not_mislead(
    fork: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git sets GIT_DIR for its hooks; it is not that repository that was asked about."""
    other = repository(tmp_path / "other", PATCHED)
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    command = ["git", "-C", str(fork), "rev-parse", "v1"]
    misled = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert misled == git(other, "rev-parse", "v1")
    assert rows(f"git:{fork}@v1", code=1)[0]["status"] == "affected"


def test_git_that_is_not_there(fork: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = run(f"git:{fork}@v1")
    assert result.exit_code == 3
    assert "git cannot be run" in result.stdout
