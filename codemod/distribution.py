"""What making a patched wheel and a patched sdist have in common."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING

from codemod.engine import plan
from codemod.errors import Refused
from codemod.locate import TRACES
from codemod.model import Outcome
from codemod.textfile import show

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from codemod.engine import Plan
    from codemod.model import Patch

CLUSTERS = "jax/_src/clusters/"
TARGET = f"{CLUSTERS}cloud_tpu_cluster.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A wheel or sdist that was made; where none had to be, `data` is empty.

    `plans` tell what each patch found in what was given and did to it, by the path of the file.
    """

    name: str  # of the file
    version: str
    data: bytes
    plans: dict[str, Plan]
    notes: tuple[str, ...] = ()

    @property
    def sha256(self) -> str:
        """The hash of the file, in hexadecimal, as `--hash=sha256:` takes it."""
        return sha256(self.data).hexdigest()


# What an installer puts over the file (`.data` of PEP 427), and its compiled forms.
OVER = (
    rf"^[^/]+\.data/.*{re.escape(TARGET)}$"
    rf"|^{re.escape(CLUSTERS)}(?:__pycache__/)?cloud_tpu_cluster\.[^/]*(?<=\.py[co])$"
)


def plans_of(
    names: Collection[str], read: Callable[[str], bytes], patches: Sequence[Patch]
) -> dict[str, Plan]:
    """What the patches do to each file that holds such code; the well-known one comes first.

    `names` are the paths of all files as they are installed. Raises Refused where a patch is
    refused, and where the well-known file is missing.
    """
    beside = re.compile(re.escape(CLUSTERS) + r"[^/]+\.py")
    inside = [name for name in names if beside.fullmatch(name)]
    for name in names:
        if re.search(OVER, name):
            raise Refused(f"{show(name)}: would lie over what is patched, or run in its place")
    if TARGET not in inside:
        raise Refused(f"has no {TARGET}")
    found = {name: read(name) for name in [TARGET, *(n for n in inside if n != TARGET)]}
    plans = {
        name: planned(content, tuple(patches))
        for name, content in found.items()
        if name == TARGET or any(trace in content for trace in TRACES)
    }
    for name, each in plans.items():
        _check(name, each)
    return plans


@lru_cache(maxsize=64)
def planned(content: bytes, patches: tuple[Patch, ...]) -> Plan:
    """What the patches do to a file: in many releases it is the same one."""
    return plan(content, patches, table=True)


def _check(name: str, plan_: Plan) -> None:
    for step in plan_.steps:
        if step.outcome is Outcome.REFUSED:
            place = f"line {step.line}: " if step.line else ""
            raise Refused(f"{name}: {place}{step.patch.id}: {step.why}")
