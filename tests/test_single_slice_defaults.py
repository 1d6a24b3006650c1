"""A missing value means a single slice, for callers that did not bear one, and only for them."""

from __future__ import annotations

import os
from typing import Any
from unittest import mock

import libcst as cst
import pytest

from codemod.engine import plan
from codemod.errors import Refused
from codemod.model import Outcome, Reason, Status
from codemod.registry import load

PATCH = next(patch for patch in load() if patch.id == "single_slice_defaults")
HEAD = """import os

def get_tpu_env_value(key):
  value = os.environ.get(key)
  if value is None and 'TPU_SKIP_MDS_QUERY' not in os.environ:
    raise ConnectionError(key)
  return value

class Cluster:
  @classmethod
  def workers(cls):
    return os.environ['TPU_WORKER_HOSTNAMES'].split(',')

"""
ADDRESS = """  @classmethod
  def get_coordinator_address(cls):
    address = get_tpu_env_value('MEGASCALE_COORDINATOR_ADDRESS')
    return address.split(':')[0] + ':8476'
"""
COUNT = """  @classmethod
  def get_process_count(cls):
    return len(cls.workers()) * int(get_tpu_env_value('MEGASCALE_NUM_SLICES'))
"""
ID = """  @classmethod
  def get_process_id(cls):
    slice_id = int(get_tpu_env_value('MEGASCALE_SLICE_ID'))
    return int(os.environ['TPU_WORKER_ID']) + slice_id * len(cls.workers())
"""
BEARING_COUNT = """  @classmethod
  def get_process_count(cls):
    slices = get_tpu_env_value('MEGASCALE_NUM_SLICES')
    return len(cls.workers()) * (int(slices) if slices else 1)
"""
BY_ADDRESS = """  @staticmethod
  def has_address():
    return get_tpu_env_value('MEGASCALE_COORDINATOR_ADDRESS') is not None
  @classmethod
  def get_process_count(cls):
    slices = int(get_tpu_env_value('MEGASCALE_NUM_SLICES')) if cls.has_address() else 1
    return len(cls.workers()) * slices
"""
IN_ONE_EXPRESSION = """  @classmethod
  def get_coordinator_address(cls):
    return get_tpu_env_value('MEGASCALE_COORDINATOR_ADDRESS').split(':')[0] + ':8476'
"""
THROUGH_HELPERS = """  @classmethod
  def get_process_count(cls):
    return len(cls.workers()) * cls._slices()
  @staticmethod
  def _slices():
    return int(get_tpu_env_value('MEGASCALE_NUM_SLICES'))
"""
WITH_A_LIST = """  @classmethod
  def _get_worker_list_in_slice(cls):
    return cls.workers()
"""
AFFECTED = {
    "as the releases": ADDRESS + COUNT + ID,
    "only the count": COUNT
    + ADDRESS.replace("address.", "(address or 'first:1').")
    + ID.replace("ID')", "ID') or 0"),
    "one expression": IN_ONE_EXPRESSION + BEARING_COUNT + ID,
    "through helpers": ADDRESS + THROUGH_HELPERS + ID,
    "a list of workers": WITH_A_LIST + ADDRESS + COUNT + ID,
    "told by the address": BY_ADDRESS + ADDRESS + ID,
    "by an attribute": "  get_tpu_env_value = staticmethod(get_tpu_env_value)\n"
    + (ADDRESS + COUNT + ID).replace("get_tpu", "cls.get_tpu"),
}


def answers(source: str, environment: dict[str, str]) -> list[Any]:
    """The coordinator, the count and the id; the name of the exception for what fails."""
    held: dict[str, Any] = {}
    exec(source, held)  # noqa: S102 - our own text
    cluster = held["Cluster"]
    found: list[Any] = []
    with mock.patch.dict(os.environ, environment, clear=True):
        for method in ("get_coordinator_address", "get_process_count", "get_process_id"):
            try:
                found.append(getattr(cluster, method)())
            except (TypeError, AttributeError, ConnectionError) as error:
                found.append(type(error).__name__)
    return found


WORKERS = {"TPU_WORKER_HOSTNAMES": "first,second", "TPU_WORKER_ID": "1"}
SLICES = {
    "MEGASCALE_COORDINATOR_ADDRESS": "other:1",
    "MEGASCALE_NUM_SLICES": "2",
    "MEGASCALE_SLICE_ID": "1",
}
SKIP = {"TPU_SKIP_MDS_QUERY": "true"}


@pytest.mark.parametrize("shape", AFFECTED)
def test_a_single_slice_where_nothing_says_otherwise(shape: str) -> None:
    before = HEAD + AFFECTED[shape]
    planned = plan(before.encode(), [PATCH])
    (step,) = planned.steps
    assert (step.outcome, step.finding.status) == (Outcome.APPLIED, Status.AFFECTED), step.why
    after = planned.after.decode()
    assert {"TypeError", "AttributeError"} & {*map(str, answers(before, WORKERS | SKIP))}
    assert answers(after, WORKERS | SKIP) == ["first:8476", 2, 1]
    for skip in ({}, SKIP):
        whole = WORKERS | SLICES | skip
        assert answers(after, whole) == answers(before, whole) == ["other:8476", 4, 3]
    assert answers(after, WORKERS) == answers(before, WORKERS)


def test_only_what_needs_a_default_gets_one() -> None:
    after = plan((HEAD + AFFECTED["told by the address"]).encode(), [PATCH]).after.decode()
    assert BY_ADDRESS in after
    assert after.count(" or ") == 2
    after = plan((HEAD + AFFECTED["only the count"]).encode(), [PATCH]).after.decode()
    assert after.count("('MEGASCALE_NUM_SLICES') or 1") == 1
    assert after.count(" or ") == 3


def test_the_class_s_own_list_of_workers_is_used() -> None:
    after = plan((HEAD + AFFECTED["a list of workers"]).encode(), [PATCH]).after.decode()
    assert "('MEGASCALE_COORDINATOR_ADDRESS') or cls._get_worker_list_in_slice()[0]\n" in after


LEFT_ALONE = {
    "it has the fallbacks": (BEARING_COUNT, Status.FIXED, Reason.UPSTREAM),
    "told by the address": (BY_ADDRESS, Status.FIXED, Reason.UPSTREAM),
    "no such methods": (
        "  def other(self):\n    return int(get_tpu_env_value('MEGASCALE_NUM_SLICES'))\n",
        Status.NOT_AFFECTED,
        Reason.NO_SUCH_CODE,
    ),
    "gives up in words of its own": (
        """  def get_process_count(self):
    slices = get_tpu_env_value('MEGASCALE_NUM_SLICES')
    if slices is None:
      raise RuntimeError('not a TPU')
    return int(slices)
""",
        Status.UNDER_INVESTIGATION,
        Reason.DRIFTED,
    ),
    "gives up, or takes the port": (
        """  def get_coordinator_address(self):
    address = get_tpu_env_value('MEGASCALE_COORDINATOR_ADDRESS')
    if address is None:
      raise RuntimeError('not a TPU')
    return address.split(':')[1]
""",
        Status.UNDER_INVESTIGATION,
        Reason.DRIFTED,
    ),
    "fails with a value as well": (
        (
            "  def get_process_count(self):\n"
            "    return get_tpu_env_value('MEGASCALE_NUM_SLICES') and None.count\n"
        ),
        Status.FIXED,
        Reason.UPSTREAM,
    ),
}


GIVES_UP = "does not come back where the value is missing"


@pytest.mark.parametrize("shape", LEFT_ALONE)
def test_left_alone(shape: str) -> None:
    source, status, reason = LEFT_ALONE[shape]
    planned = plan((HEAD + source).encode(), [PATCH])
    (step,) = planned.steps
    assert (step.finding.status, step.finding.reason) == (status, reason)
    assert not planned.changes
    if reason is Reason.DRIFTED:
        (found,) = step.finding.evidence
        assert (found.line, found.text) == (HEAD.count("\n") + 1, GIVES_UP)


REFUSED = {
    "a key that is not known": (
        "  def get_process_count(self):\n    return int(get_tpu_env_value('OTHER'))\n",
        "no known default",
    ),
    "a key that is handed over": (
        (
            "  def _value(self, key):\n    return get_tpu_env_value(key)\n"
            "  def get_process_count(self):\n    return int(self._value('MEGASCALE_NUM_SLICES'))\n"
        ),
        "no known default",
    ),
    "a condition": (
        (
            "  def get_process_count(self):\n"
            "    if int(get_tpu_env_value('MEGASCALE_NUM_SLICES')) > 1:\n      return 2\n"
            "    return 1\n"
        ),
        "a simple statement",
    ),
}


@pytest.mark.parametrize("shape", REFUSED)
def test_what_has_no_known_default_is_refused(shape: str) -> None:
    source, words = REFUSED[shape]
    planned = plan((HEAD + source).encode(), [PATCH])
    (step,) = planned.steps
    assert step.finding.status is Status.AFFECTED
    assert (step.outcome, planned.changes) == (Outcome.REFUSED, False)
    assert words in step.why
    look_up = (HEAD + source)[: (HEAD + source).index("get_tpu_env_value(", len(HEAD))]
    assert step.line == look_up.count("\n") + 1


def test_more_paths_than_can_be_walked() -> None:
    tests = "".join(f"    if os.environ.get('V{n}'):\n      v{n} = 1\n" for n in range(20))
    look_up = "    return int(get_tpu_env_value('MEGASCALE_NUM_SLICES'))\n"
    source = f"{HEAD}  def get_process_count(self):\n{tests}{look_up}"
    (step,) = plan(source.encode(), [PATCH]).steps
    (found,) = step.finding.evidence
    assert (step.outcome, found.line) == (Outcome.REFUSED, source.count("\n"))
    assert "more paths" in found.text
    with pytest.raises(Refused, match="more paths"):
        PATCH.rewrite(cst.parse_module(source))
