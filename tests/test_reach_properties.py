"""What reach says of thousands of made bodies, against what they do when they are run."""

from __future__ import annotations

import ast
import itertools
import os
import random
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, given, note, seed, settings
from hypothesis import strategies as st

from codemod.engine import plan
from codemod.model import Evidence, Finding, Outcome, Reason, Status
from codemod.reach import SURE, VARIABLE, File
from codemod.registry import load
from tests.bodies import Maker, indented
from tests.body_pieces import METADATA
from tests.body_runs import DOUBTFUL, KEYS, SET, environment, names_unknown, run, worlds
from tests.corpus_cases import cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

    import libcst as cst

    from codemod.engine import Step
    from codemod.model import Patch
    from tests.body_runs import Run

PATCH = next(patch for patch in load() if patch.id == "skip_mds_env_value")
BODIES = 3000
# What the environment holds at import, where it is not what it holds at the call.
AT_IMPORT: tuple[dict[str, str] | None, ...] = (None, {})
SHARE = 0.04  # of the bodies that every kind has at least
HEAD = f"import contextlib\nimport os\n\n{METADATA}\n"
# In CI a change is judged by the same bodies as the one before it; elsewhere by new ones.
SEED = 40854 if os.environ.get("CI") else random.SystemRandom().randrange(2**32)
QUICK = settings(
    deadline=None,
    database=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@st.composite
def modules(draw: Callable[[st.SearchStrategy[int]], int]) -> str:
    return Maker(lambda count: draw(_below(count))).module()


_STRATEGIES: dict[int, st.SearchStrategy[int]] = {}


def _below(count: int) -> st.SearchStrategy[int]:
    return _STRATEGIES.setdefault(count, st.integers(0, count - 1))


def complaints(source: str, patch: Patch = PATCH) -> tuple[Step, list[str]]:
    """What was said of a module, and every way in which running it contradicts that."""
    planned = plan(source.encode(), [patch])
    step = planned.steps[0]
    code = compile(source, "<made>", "exec")
    found = list(_against_status(step.finding.status, source, code))
    found += [e.text for e in step.finding.evidence if "itself fails" in e.text]
    if step.outcome is Outcome.APPLIED:
        after = planned.after.decode()
        found += _against_edit(source, code, compile(after, "<edited>", "exec"))
        again = plan(planned.after, [patch])
        if again.changes or again.steps[0].outcome is not Outcome.ALREADY:
            found.append(f"running again: {again.steps[0]}")
    return step, found


def _against_status(status: Status, source: str, code: CodeType) -> Iterator[str]:
    if status is Status.FIXED:
        yield from _against_fixed(source, code)
    elif status is Status.AFFECTED:
        yield from _against_affected(source, code)


def _against_fixed(source: str, code: CodeType) -> Iterator[str]:
    for other, reply in worlds(source):
        for skip in SET:
            for at_import in AT_IMPORT:
                environ = environment(skip, None, other=other)
                done = run(code, environ, reply, at_import, calls=2)
                if done.requests:
                    yield f"fixed, but asks with {skip!r}: {other=} {reply=} {at_import=}"
        unset = run(code, environment(None, None, other=other), reply)
        if unset.ended == "returned" and not unset.requests and _asks_unset(source):
            yield f"fixed, but does not ask unset: {other=} {reply=}"


def _asks_unset(source: str) -> bool:
    """Whether reach itself says that it surely asks when the variable is not set.

    Where that depends on what is not known there is nothing to be checked.
    """
    names = ("get_tpu_env_value", "_get_tpu_env_value")
    answers = File(ast.parse(source)).ask(names, None).values()
    return all(answer.reach == SURE for answer in answers)


def _against_affected(source: str, code: CodeType) -> Iterator[str]:
    asked = False
    for other, reply in worlds(source):
        runs = [run(code, environment(skip, None, other=other), reply) for skip in SET]
        asked = asked or any(done.requests for done in runs)
        # What nobody knows may raise before it comes to asking; to return is another thing.
        if all(done.ended == "returned" and not done.requests for done in runs):
            yield f"affected, but does not ask: {other=} {reply=} {runs}"
    if not asked and not names_unknown(source):
        yield f"affected, but never asks: {runs}"


def _against_edit(source: str, before: CodeType, after: CodeType) -> Iterator[str]:
    for other, reply in worlds(source):
        for key in KEYS:
            for skip in (None, *SET, *DOUBTFUL):
                world = f"{skip=} {key=} {other=} {reply=}"
                was = run(before, environment(skip, key, other=other), reply)
                now = run(after, environment(skip, key, other=other), reply)
                if skip is None and was != now:
                    yield f"edited: unset: {was} became {now}: {world}"
                if skip is not None and now.requests:
                    yield f"edited: asks: {world}"
                if skip is not None and _is_value(was, key) and not _is_value(now, key):
                    yield f"edited: the environment's value became {now}: {world}"


def _is_value(done: Run, key: str | None) -> bool:
    """Whether a call gave what the environment holds, stripped or not."""
    return bool(key) and done.ended == "returned" and done.value in (key, str(key).strip())


def test_what_reach_says_of_a_body_is_what_the_body_does() -> None:
    seen: Counter[str] = Counter()

    @seed(SEED)
    @settings(QUICK, max_examples=BODIES)
    @given(modules())
    def check(source: str) -> None:
        note(f"seed {SEED}")
        step, found = complaints(source)
        seen.update([step.finding.reason, step.finding.status, step.outcome])
        seen["bodies"] += 1
        assert not found, source + "\n".join(found)

    check()
    kinds = (Status.AFFECTED, Status.FIXED, Reason.DRIFTED, Outcome.APPLIED)
    assert seen["bodies"] >= BODIES
    assert min(seen[kind] for kind in kinds) > SHARE * seen["bodies"], f"seed {SEED}: {seen}"


GUARD = f"os.environ.get({VARIABLE!r}) is not None"
BEFORE = (
    "",
    f"if not ({GUARD}):\n    return get_metadata(key)\n",
    f"if {GUARD}:\n    return os.environ.get(key)\n",
)
AFTER = ("", "\nreturn get_metadata(key)", "\nreturn os.environ.get(key) or get_metadata(key)")


@pytest.mark.parametrize(("text", "expected"), cases("odd"))
def test_what_reach_says_of_an_odd_body_is_what_the_body_does(text: str, expected: str) -> None:
    head, _, odd = text.rpartition("---\n")
    for before, after in itertools.product(BEFORE, AFTER):
        body = indented(before + odd.strip() + after)
        source = f"{HEAD}\n{head}\ndef get_tpu_env_value(key):\n{body}\n"
        found = complaints(source)[1]
        assert (found, expected) == ([], "holds"), source


# Positive controls: each of these is broken, and must be caught.


def believing(tree: ast.Module) -> Finding:
    """Takes whoever names the variable for guarded."""
    if VARIABLE in ast.unparse(tree):
        return Finding(status=Status.FIXED, reason=Reason.UPSTREAM)
    return PATCH.probe(tree)


def suspecting(tree: ast.Module) -> Finding:
    """Takes whoever names the server for affected."""
    evidence = (Evidence(line=1, text=""),)
    return Finding(status=Status.AFFECTED, reason=Reason.UNGUARDED, evidence=evidence)


def forgetful(module: cst.Module) -> cst.Module:
    """Returns None while the variable is set, whatever the environment holds."""
    import libcst as cst

    first = "(key):\n"
    text = module.code.replace(
        f"get_tpu_env_value{first}",
        f"get_tpu_env_value{first}    if os.environ.get('{VARIABLE}') is not None:\n"
        "        return None\n",
    )
    return cst.parse_module(text)


def careless(module: cst.Module) -> cst.Module:
    """Asks the other way round: nothing is asked while the variable is not set."""
    import libcst as cst

    return cst.parse_module(module.code.replace(" is None:", " is not None:"))


def edited_is_fixed(tree: ast.Module) -> Finding:
    found = PATCH.probe(tree)
    edited = " is not None:" in ast.unparse(tree) and found.status is not Status.AFFECTED
    return Finding(status=Status.FIXED, reason=Reason.PATCHED) if edited else found


BROKEN = {
    "every guard is believed": replace(PATCH, probe=believing),
    "everybody is suspected": replace(PATCH, probe=suspecting, rewrite=PATCH.rewrite),
    "the edit forgets the environment": replace(PATCH, rewrite=forgetful),
    "the edit is wrong and believed": replace(PATCH, probe=edited_is_fixed, rewrite=careless),
}


@pytest.mark.parametrize("patch", BROKEN.values(), ids=[name.replace(" ", "-") for name in BROKEN])
def test_a_broken_patch_is_caught(patch: Patch) -> None:
    @seed(SEED)
    @settings(QUICK, max_examples=400, phases=[Phase.generate])
    @given(modules())
    def check(source: str) -> None:
        assert not complaints(source, patch)[1]

    with pytest.raises(AssertionError):
        check()
