"""Development versions and forks: the right status, the right edit, and nothing else touched."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from codemod.cli import cli
from codemod.engine import plan
from codemod.model import Guard, Outcome, Reason, Status
from codemod.registry import load
from tests.forks import ENV, FILE, FORKS, HTTP, SPLIT, UPSTREAM, WHOLE, Fork

if TYPE_CHECKING:
    from pathlib import Path

PATCHES = load()
TREES = {**FORKS, "split in three": SPLIT}


def make(fork: Fork, folder: Path) -> Path:
    """The tree of a fork on disk, with the modules around it that a run needs."""
    around = {
        "jax/_src/clusters/cluster.py": "class ClusterEnv:\n  _cluster_types = []\n",
        "jax/_src/cloud_tpu_init.py": "running_in_cloud_tpu_vm = False\n",
        "jax/version.py": '_version = "0.99.0"\n',
    }
    for path, text in {**around, **fork.files}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.replace("\n", fork.newline).encode())
    return folder


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(cli, [*map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.parametrize("name", TREES)
def test_a_fork_gets_what_it_needs_and_is_then_fixed(name: str, tmp_path: Path) -> None:
    fork, root = TREES[name], make(TREES[name], tmp_path)
    assert run("apply", "--check", root)[0] == 1
    assert run("apply", root)[0] == 0
    for path, text in fork.files.items():
        before = text.replace("\n", fork.newline).encode()
        applied = {s.patch.id for s in plan(before, PATCHES).steps if s.outcome is Outcome.APPLIED}
        assert applied == fork.needs.get(path, set())
        assert ((root / path).read_bytes() != before) is bool(applied)
    assert run("apply", "--check", root)[0] == 0


@pytest.mark.parametrize("name", TREES)
def test_verify_sees_the_fault_and_proves_the_fix(name: str, tmp_path: Path) -> None:
    root = make(TREES[name], tmp_path)
    code, output = run("verify", root)
    assert (code, "NOT proved" in output) == (1, True), output
    run("apply", root)
    code, output = run("verify", root)
    assert code == 0, output


@pytest.mark.parametrize("name", UPSTREAM)
def test_upstream_s_own_guard_is_recognised_and_left_alone(name: str, tmp_path: Path) -> None:
    fork = UPSTREAM[name]
    root = make(fork, tmp_path)
    code, output = run("apply", root)
    assert code == 0
    assert (root / FILE).read_text() == fork.files[FILE]
    assert run("verify", root)[0] == 0
    first = plan(fork.files[FILE].encode(), PATCHES).steps[0]
    assert first.finding.status is Status.FIXED
    if name == "the pending fix":
        assert first.finding.guard is Guard.TRUTHY
        assert first.finding.reason is Reason.UPSTREAM
        assert "upstream has all of this: the patch can be dropped here" in output
        assert "`false`, `0` or an empty value still asks" in output


def test_one_file_of_a_split_is_treated_alone_and_the_others_are_named(tmp_path: Path) -> None:
    root = make(SPLIT, tmp_path)
    code, output = run("apply", "--check", root / FILE)
    assert code == 0
    assert "cloud_gce_cluster.py: holds such code too: name its folder" in output
    gce = root / "jax/_src/clusters/cloud_gce_cluster.py"
    assert run("apply", gce)[0] == 0
    assert run("apply", "--check", root)[0] == 0


def test_json_has_a_row_for_each_file_of_a_split(tmp_path: Path) -> None:
    root = make(SPLIT, tmp_path)
    arguments = ["apply", str(root), "--check", "--format", "json"]
    document = json.loads(CliRunner().invoke(cli, arguments).stdout)
    rows = [row for row in document["results"] if row["patch"] == ENV]
    assert {row["file"].rpartition("/")[2]: row["status"] for row in rows} == {
        "cloud_tpu_cluster.py": "not_affected",
        "cloud_gce_cluster.py": "affected",
        "cloud_gke_cluster.py": "not_affected",
    }


NOT_JAX = {
    "raises NotImplementedError": (
        "def get_tpu_env_value(key):\n  raise NotImplementedError\n",
        Reason.STUB,
    ),
    "delegates": (
        (
            "from upstream_jax import cloud_tpu_cluster\n"
            "def get_tpu_env_value(key):\n  return cloud_tpu_cluster.get_tpu_env_value(key)\n"
        ),
        Reason.STUB,
    ),
    "a snippet": ("value = 1\n", Reason.NO_SUCH_CODE),
    "a namesake": (
        "class Settings:\n  def get_metadata(self, key):\n    return self.held[key]\n",
        Reason.NO_SUCH_CODE,
    ),
}


@pytest.mark.parametrize("name", NOT_JAX)
def test_what_is_not_jax_is_left_alone(name: str, tmp_path: Path) -> None:
    text, reason = NOT_JAX[name]
    root = make(Fork(files={FILE: text}), tmp_path)
    code, _ = run("apply", root)
    assert (code, (root / FILE).read_text()) == (0, text)
    assert plan(text.encode(), PATCHES).steps[0].finding.reason is reason


def test_stubs_and_other_names_are_not_searched(tmp_path: Path) -> None:
    stub = FILE.replace(".py", ".pyi")
    snippet = "docs/cloud_tpu_cluster.py"
    root = make(Fork(files={stub: WHOLE, snippet: WHOLE, "jax/_src/http.py": HTTP}), tmp_path)
    code, output = run("apply", root)
    assert code == 4, output
    assert (root / stub).read_text() == (root / snippet).read_text() == WHOLE


def test_a_git_lfs_pointer_is_named_as_such(tmp_path: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 9\n"
    root = make(Fork(files={FILE: pointer}), tmp_path)
    code, output = run("apply", root)
    assert (code, "lfs-pointer" in output) == (3, True)
    assert (root / FILE).read_text() == pointer
