"""The action, the workflow and the Dockerfiles: what their steps run, run here, step by step."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from codemod.releases import known
from codemod.wheel import LABEL
from tests.environments import environment
from tests.releases import MEMBER, ROOT, wheel

EXPRESSION = re.compile(r"\$\{\{ *(.+?) *\}\}")
PYTHON = (sys.executable, "-m")


@pytest.fixture(scope="module")
def links(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder from which pip takes the tool as it is here, and a jax."""
    folder = tmp_path_factory.mktemp("links")
    command = [*PYTHON, "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    shutil.copy(wheel("0.8.0"), folder)
    return folder


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """The folder of an environment with pip, as a runner and a Python image have one."""
    subprocess.run([*PYTHON, "venv", str(tmp_path / "venv")], check=True)
    return tmp_path / "venv"


def run(script: str, venv: Path, cwd: Path, **environ: str) -> None:
    path = f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        env={**os.environ, "PATH": path, "PIP_DISABLE_PIP_VERSION_CHECK": "1", **environ},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}{done.stderr}"


def test_the_workflow_and_its_action(venv: Path, links: Path, tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "wheels.yml").read_text())
    said = {
        "github.action_path": str(ROOT),
        "inputs.sources || 'jax==0.8.0'": f"{wheel('0.4.35')}\n jax==0.8.0",
    }
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    environ = {**files, "RUNNER_TEMP": str(tmp_path / "temp"), "PIP_FIND_LINKS": str(links)}
    (tmp_path / "work").mkdir()
    (tmp_path / "temp").mkdir()

    def filled(text: Any) -> str:
        return EXPRESSION.sub(lambda match: said[match[1]], str(text))

    def perform(step: dict[str, Any]) -> None:
        env = {key: filled(value) for key, value in step.get("env", {}).items()}
        run(filled(step["run"]), venv, tmp_path / "work", **environ, **env)
        for line in Path(files["GITHUB_OUTPUT"]).read_text().splitlines():
            name, _, value = line.partition("=")
            said[f"steps.make.outputs.{name}"] = value

    Path(files["GITHUB_OUTPUT"]).touch()
    for step in workflow["jobs"]["wheels"]["steps"]:
        if step.get("uses") == "./":
            said |= {f"inputs.{name}": filled(value) for name, value in step["with"].items()}
            for inner in action["runs"]["steps"]:
                perform(inner)
            for name, output in action["outputs"].items():
                said[f"steps.{step['id']}.outputs.{name}"] = filled(output["value"])
        elif "run" in step:
            perform(step)
    made = {path.name for path in (tmp_path / "work" / "dist").glob("*.whl")}
    assert made == {f"jax-{version}+{LABEL}-py3-none-any.whl" for version in ("0.4.35", "0.8.0")}
    summary = Path(files["GITHUB_STEP_SUMMARY"]).read_text()
    assert all(name in summary for name in made)


def layers(name: str) -> list[str]:
    """The commands of the RUN lines of an example, with the defaults of its arguments."""
    text = (ROOT / "examples" / name).read_text()
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    said = dict(re.findall(r"(?m)^ARG (\w+)=(\S+)$", text))
    found = re.findall(r"(?m)^RUN (?:--mount=\S+ +)*(.*)$", text)
    return [re.sub(r"\$\{(\w+)\}", lambda match: said[match[1]], line) for line in found]


def test_the_image_that_is_patched(links: Path, tmp_path: Path) -> None:
    python = environment("0.8.0")
    image = tmp_path / "image"  # with a jax of its own: that of the cache is for all tests
    subprocess.run([*PYTHON, "venv", str(image)], check=True)
    [site] = image.glob("lib/python*/site-packages")
    [there] = python.parent.parent.glob("lib/python*/site-packages")
    shutil.copytree(there, site, dirs_exist_ok=True)
    [command] = layers("apply.Dockerfile")
    command = command.replace("/opt/codemod", str(tmp_path / "tool"))
    run(command, image, tmp_path, PIP_FIND_LINKS=str(links))
    copy = known((site / MEMBER).read_bytes())
    assert copy is not None
    assert copy.patched
    assert not (tmp_path / "tool").exists()


def test_the_image_that_installs_the_patched_wheel(venv: Path, links: Path, tmp_path: Path) -> None:
    """Without jaxlib, of which nothing is asked here."""
    *before, last = layers("wheel.Dockerfile")
    assert '"jaxlib==' in last
    last = re.sub('"jaxlib==.*', "--no-deps", last)
    for command in (*before, last):
        shown = command.replace("/wheels", str(tmp_path / "wheels"))
        run(shown, venv, tmp_path, PIP_FIND_LINKS=str(links), XDG_CACHE_HOME=str(tmp_path / "c"))
    [site] = venv.glob("lib/python*/site-packages")
    assert (site / f"jax-0.8.0+{LABEL}.dist-info").is_dir()
    copy = known((site / MEMBER).read_bytes())
    assert copy is not None
    assert copy.patched
