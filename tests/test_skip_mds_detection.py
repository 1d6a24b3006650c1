"""Detection asks no one while the variable is set, and finds what it found before."""

from __future__ import annotations

import os
import sys
import types
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest

from codemod.engine import plan
from codemod.model import Outcome, Patch, Reason, Status
from codemod.registry import load

if TYPE_CHECKING:
    from collections.abc import Iterator

PATCH = next(patch for patch in load() if patch.id == "skip_mds_detection")
HEAD = """import os
from jax._src.cloud_tpu_init import running_in_cloud_tpu_vm
from jax._src.clusters.metadata import get_metadata

"""
IN_A_CLASS = """class Cluster:
  @classmethod
  def is_env_present(cls):
"""
AFFECTED = {
    "asks at once": IN_A_CLASS + "    return get_metadata('agent-worker-number')[1] == 200\n",
    "one line": "class Cluster:\n  def is_env_present(self): return get_metadata('x')[1] == 200\n",
    "only on a TPU": IN_A_CLASS
    + """    if not running_in_cloud_tpu_vm:
      return False
    text, code = get_metadata('agent-worker-number')
    if code == 200:
      return True
    return False
""",
    "in a chain": IN_A_CLASS
    + "    return running_in_cloud_tpu_vm and get_metadata('x')[1] == 200\n",
    "or another sign": IN_A_CLASS
    + "    return os.environ.get('HOSTS') is not None or get_metadata('x')[1] == 200\n",
    "or another sign, in the middle": IN_A_CLASS
    + "    return 'HOSTS' in os.environ or get_metadata('x')[1] == 200 or 'MORE' in os.environ\n",
    "or another sign, later": IN_A_CLASS
    + "    return get_metadata('x')[1] == 200 or 'MORE' in os.environ\n",
    "if another sign": IN_A_CLASS
    + "    return True if 'HOSTS' in os.environ else get_metadata('x')[1] == 200\n",
    "not a bad answer": IN_A_CLASS
    + "    return 'HOSTS' in os.environ or not get_metadata('x')[1] == 404\n",
    "another sign first": IN_A_CLASS
    + """    if 'HOSTS' in os.environ:
      return True
    return get_metadata('x')[1] == 200
""",
    "another sign in one condition": IN_A_CLASS
    + """    if 'HOSTS' in os.environ:
      return True
    elif get_metadata('x')[1] == 200:
      return True
    return False
""",
    "two statements on a line": IN_A_CLASS
    + "    x = 1; y = 2\n    code = get_metadata('x')[1]; return code == 200\n",
    "in a try": IN_A_CLASS
    + """    try:
      return int(get_metadata('x')[0]) >= 0
    except ValueError:
      return False
""",
    "through a helper": "def is_gce():\n  return get_metadata('x')[1] == 200\n\n"
    + IN_A_CLASS
    + "    return running_in_cloud_tpu_vm and is_gce()\n",
    "through two helpers": "def asked():\n  return get_metadata('x')[0]\n\n"
    "def is_gce():\n  return asked().isdigit()\n\n" + IN_A_CLASS + "    return is_gce()\n",
    "a helper that others use": "def number():\n  return len(get_metadata('x')[0])\n\n"
    + IN_A_CLASS
    + "    return number() == 1\n  def get_process_id(self):\n    return number()\n",
    "a method": IN_A_CLASS
    + "    return cls._on_gce()\n  @classmethod\n  def _on_gce(cls):\n"
    + "    return get_metadata('x')[1] == 200\n",
    "a parameter": IN_A_CLASS.replace("(cls)", "(cls, hint=None)")
    + "    return bool(hint) or 'HOSTS' in os.environ or get_metadata('x')[1] == 200\n",
    "two classes": IN_A_CLASS
    + "    return get_metadata('x')[1] == 200\n"
    + IN_A_CLASS.replace("Cluster", "Other")
    + "    return get_metadata('y')[1] == 200\n",
    "a lambda": "class Cluster:\n  is_env_present = lambda self: get_metadata('x')[1] == 200\n",
    "docstring": IN_A_CLASS + '    """Whether it is."""\n    return get_metadata("x")[1] == 200\n',
    "no import of os": IN_A_CLASS + "    return get_metadata('x')[1] == 200\n",
    "getenv": "from os import getenv\n" + IN_A_CLASS + "    return get_metadata('x')[1] == 200\n",
}


@pytest.fixture(autouse=True)
def jax() -> Iterator[None]:
    """Modules of the names that the shapes import."""
    made = {name: types.ModuleType(name) for name in ("jax", "jax._src", "jax._src.clusters")}
    made["jax._src.cloud_tpu_init"] = types.SimpleNamespace(running_in_cloud_tpu_vm=True)  # type: ignore[assignment]
    made["jax._src.clusters.metadata"] = types.SimpleNamespace(get_metadata=None)  # type: ignore[assignment]
    with mock.patch.dict(sys.modules, made):
        yield


def detect(source: str, environment: dict[str, str], answer: tuple[str, int]) -> tuple[Any, int]:
    """What the classes of a module say, and how many requests they made."""
    requests: list[str] = []

    def get_metadata(key: str) -> tuple[str, int]:
        requests.append(key)
        return answer

    sys.modules["jax._src.clusters.metadata"].get_metadata = get_metadata  # type: ignore[attr-defined]
    held: dict[str, Any] = {}
    exec(source, held)  # noqa: S102 - our own text
    with mock.patch.dict(os.environ, environment, clear=True):
        classes = [held[name] for name in ("Cluster", "Other") if name in held]
        return [bool(cls().is_env_present()) for cls in classes], len(requests)


ANSWERS = [("7", 200), ("none", 404)]
ENVIRONMENTS: list[dict[str, str]] = [{}, {"HOSTS": "a,b"}, {"MORE": ""}]


@pytest.mark.parametrize("shape", AFFECTED)
def test_set_asks_no_one_and_unset_is_as_before(shape: str) -> None:
    head = HEAD if shape not in ("no import of os", "getenv") else HEAD.partition("\n")[2]
    before = head + AFFECTED[shape]
    (step,) = plan(before.encode(), [PATCH]).steps
    assert (step.outcome, step.finding.status) == (Outcome.APPLIED, Status.AFFECTED)
    after = plan(before.encode(), [PATCH]).after.decode()
    for environment in ENVIRONMENTS:
        for answer in ANSWERS:
            was = detect(before, environment, answer)
            assert detect(after, environment, answer) == was
            asked_though_set = detect(before, {**environment, "TPU_SKIP_MDS_QUERY": "1"}, answer)
            assert asked_though_set == was  # else the shape shows nothing
            for value in ("true", "", "false"):
                now, requests = detect(after, {**environment, "TPU_SKIP_MDS_QUERY": value}, answer)
                assert requests == 0
                signs = [sign for sign in environment if f"'{sign}'" in before]
                assert now == (was[0] if was[1] == 0 else [bool(signs)] * len(was[0]))


NOT_CHANGED = {
    "by presence": (
        IN_A_CLASS
        + """    if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:
      print("no")
      return False
    return get_metadata('x')[1] == 200
""",
        Status.FIXED,
        Reason.UPSTREAM,
    ),
    "by truth": (
        IN_A_CLASS
        + """    if os.environ.get("TPU_SKIP_MDS_QUERY"):
      return False
    return get_metadata('x')[1] == 200
""",
        Status.FIXED,
        Reason.UPSTREAM,
    ),
    "only the environment": (
        IN_A_CLASS + "    return 'HOSTS' in os.environ\n",
        Status.NOT_AFFECTED,
        Reason.NO_SUCH_CODE,
    ),
    "reads a file, which may fail": (
        IN_A_CLASS
        + """    if path := os.environ.get('HOSTS_FILE'):
      try:
        return bool(open(path).read())
      except OSError as error:
        raise RuntimeError(path) from error
    return False
""",
        Status.NOT_AFFECTED,
        Reason.NO_SUCH_CODE,
    ),
    "abstract": (
        IN_A_CLASS + "    raise NotImplementedError\n",
        Status.NOT_AFFECTED,
        Reason.NO_SUCH_CODE,
    ),
    "a namesake": (
        "def is_env(): return get_metadata('x')\n",
        Status.NOT_AFFECTED,
        Reason.NO_SUCH_CODE,
    ),
    "through something unknown": (
        "from elsewhere import ask\n" + IN_A_CLASS + "    return ask()\n",
        Status.UNDER_INVESTIGATION,
        Reason.DRIFTED,
    ),
}


@pytest.mark.parametrize("shape", NOT_CHANGED)
def test_left_alone(shape: str) -> None:
    source, status, reason = NOT_CHANGED[shape]
    planned = plan((HEAD + source).encode(), [PATCH])
    (step,) = planned.steps
    assert (step.finding.status, step.finding.reason) == (status, reason)
    assert not planned.changes


REFUSED = {
    "another sign, all in one list": (
        IN_A_CLASS + "    return any(['HOSTS' in os.environ or [get_metadata('x')[1] == 200]])\n"
    ),
    "a condition that takes none": (
        IN_A_CLASS
        + """    if 'HOSTS' in os.environ:
      return True
    elif [get_metadata('x')[1] == 200]:
      return True
    return False
"""
    ),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_what_no_guard_is_proved_for_is_refused_with_its_line(shape: str) -> None:
    planned = plan((HEAD + REFUSED[shape]).encode(), [PATCH])
    (step,) = planned.steps
    assert (step.outcome, planned.changes) == (Outcome.REFUSED, False)
    assert step.line == 7
    assert "no guard could be proved" in step.why


def test_our_own_edit_is_told_from_an_equivalent_one() -> None:
    after = plan((HEAD + AFFECTED["asks at once"]).encode(), [PATCH]).after
    (step,) = plan(after, [PATCH]).steps
    assert (step.outcome, step.finding.reason) == (Outcome.ALREADY, Reason.PATCHED)


def test_it_is_the_patch_of_the_name() -> None:
    assert isinstance(PATCH, Patch)
    assert PATCH.requires == ("skip_mds_env_value",)
