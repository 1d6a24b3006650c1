"""Do not ask the metadata server for a value while TPU_SKIP_MDS_QUERY is set.

`get_tpu_env_value()` looks a value up in the environment and, where it is not there, asks
Google's metadata server, whatever TPU_SKIP_MDS_QUERY says. Off Google Cloud nobody answers, and
`jax.distributed.initialize()` hangs and dies. With this patch a value of the environment still
wins; without one the answer is None while the variable is set, and callers fall back to a
single slice.

https://github.com/jax-ml/jax/issues/40854
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from codemod import edits, guards, reach
from codemod.errors import Refused
from codemod.model import Example, Finding, Patch, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from codemod.reach import Answer, FunctionNode

NAMES = ("get_tpu_env_value", "_get_tpu_env_value")
KEYS = ("absent", "empty", "present")  # what the environment may hold under the key


def probe(tree: ast.Module) -> Finding:
    """The status of a file: may one of its `get_tpu_env_value` ask while the variable is set?"""
    judgement = reach.judge(tree, NAMES)
    if judgement.finding.status is Status.FIXED and any(map(_is_ours, judgement.functions)):
        return judgement.finding.because(Reason.PATCHED)
    return judgement.finding


def rewrite(module: cst.Module) -> cst.Module:
    """The module with every affected function guarded; raises `Refused` where none can be."""
    tree = edits.tree_of(module)
    try:
        judgement = reach.judge(tree, NAMES)
        while judgement.affected:
            module = _guarded(Target(module, tree, judgement))
            if len(judgement.affected) == 1:
                break
            tree = edits.tree_of(module)
            judgement = reach.judge(tree, NAMES)
    except reach.TooManyPaths:
        raise Refused("more paths through this file than can be walked") from None
    return module


class Target:
    """The first affected function: where it is, how it asks, how its file is written."""

    def __init__(self, module: cst.Module, tree: ast.Module, judgement: reach.Judgement) -> None:
        self.module = module
        self.tree = tree
        self.node = node = judgement.affected[0]
        self.file = judgement.file or reach.File(tree)
        answers = (self.file.ask(NAMES, value)[node] for value in reach.SET)
        self.answer = next(answer for answer in answers if answer.reach == reach.SURE)
        self.call = self.answer.trail[1]  # in the function itself, on the way to the server
        self.spelling = ""  # of the look-up; `_guarded` tries those that there are
        self.quote = edits.quote_of(tree, edits.source_of(module))
        self.unset = {key: self.file.ask(NAMES, None, key=key)[node] for key in KEYS}

    def test(self, *, is_set: bool) -> str:
        """The source of the test whether the variable is set, or is not."""
        return guards.guard(self.spelling, self.quote, is_set=is_set)

    def look_up(self) -> str:
        """The source of the look-up of the key."""
        if self.answer.key is None:
            raise LookupError("its parameters are not just the key")
        return f"{self.spelling}({self.answer.key})"


def _guarded(target: Target) -> cst.Module:
    """The first of the edits, smallest first, that is proved to guard the function.

    One that gives None where there is no value is better than one that gives an empty text.
    """
    if target.unset["absent"].possible == reach.NOT:
        raise Refused("a guard the wrong way round: it asks only while set", target.call.lineno)
    why: list[str] = []
    second_best = None
    for edited in _edited(target, why):
        answer = _proved(target, edits.tree_of(edited))
        if answer is None:
            continue
        if _gives_none(target, answer):
            return edited
        second_best = second_best or edited
    if second_best is not None:
        return second_best
    name = getattr(target.node, "name", "the lambda")
    reason = [*why, "no guard could be proved to hold in it"][0]
    raise Refused(f"{name} cannot be guarded: {reason}", target.node.lineno)


def _edited(target: Target, why: list[str]) -> Iterator[cst.Module]:
    """Every edit in every spelling; `why` takes what speaks against those that cannot be made."""
    for edit in (_in_condition, _in_conditional, _early_return, _early_default, _one_line):
        for spelling in edits.environment_spellings(target.tree, target.node):
            target.spelling = spelling
            try:
                edited = edit(target)
            except LookupError as error:
                why[:] = [str(error)]
                continue
            if edited is not None:
                yield edited


# The edits. Each gives None where the function does not have its shape.


def _in_condition(target: Target) -> cst.Module | None:
    """`if value is None:` around the request also asks for the variable not to be set."""
    import libcst as cst

    around = [
        node
        for node in ast.walk(target.node)
        if isinstance(node, ast.If) and edits.is_in(target.call, node.body) and not node.orelse
    ]
    if not around or not guards.can_take_and(around[-1].test):
        return None
    test = cst.parse_expression(target.test(is_set=False))

    def edit(node: cst.If) -> cst.If:
        return node.with_changes(
            test=cst.BooleanOperation(left=node.test, operator=cst.And(), right=test)
        )

    return edits.change(target.module, cst.If, edits.place(target.tree, around[-1]), edit)


def _in_conditional(target: Target) -> cst.Module | None:
    """`return value if value is not None else …` returns the value while the variable is set."""
    import libcst as cst

    for node in ast.walk(target.node):
        if not isinstance(node, (ast.Return, ast.Assign)) or not isinstance(node.value, ast.IfExp):
            continue
        asks_if_true = edits.is_in(target.call, [node.value.body])
        if not asks_if_true and not edits.is_in(target.call, [node.value.orelse]):
            continue
        if not isinstance(node.value.test, (ast.Compare, ast.Name, ast.UnaryOp)):
            continue
        operator = cst.And() if asks_if_true else cst.Or()
        test = cst.parse_expression(target.test(is_set=not asks_if_true))

        def edit(found: Any, operator: Any = operator, test: Any = test) -> Any:
            condition = cst.BooleanOperation(left=found.value.test, operator=operator, right=test)
            return found.with_changes(value=found.value.with_changes(test=condition))

        kind = cst.Return if isinstance(node, ast.Return) else cst.Assign
        return edits.change(target.module, kind, edits.place(target.tree, node), edit)
    return None


def _early_return(target: Target) -> cst.Module | None:
    """While the variable is set, what the environment holds is returned at once."""
    return _first_lines(target, target.test(is_set=True))


def _early_default(target: Target) -> cst.Module | None:
    """The same only where the environment holds nothing: what it holds is changed later on."""
    return _first_lines(target, f"{target.test(is_set=True)} and not {target.look_up()}")


def _first_lines(target: Target, test: str) -> cst.Module | None:
    if isinstance(target.node, ast.Lambda) or edits.is_one_line(target.node):
        return None
    return guards.early_return(target.module, target.tree, target.node, test, target.look_up())


def _one_line(target: Target) -> cst.Module | None:
    """`def f(key): return …` and a lambda get a conditional expression."""
    test, value = target.test(is_set=True), target.look_up()
    return guards.conditional(target.module, target.tree, target.node, test, value)


# The proof.


def _proved(target: Target, tree: ast.Module) -> Answer | None:
    """What the edited function does while the variable is set and the environment holds nothing.

    None where the edit does not do what it should, decided by walking that function. Set: no
    request, whatever the environment holds under the key; with nothing there, nothing is
    returned. Unset: as before. A value that the environment holds comes back as before.
    """
    node = edits.counterpart(target.tree, target.node, tree)
    after = reach.File(tree)
    answers: dict[str, Answer] = {}
    for key, unset in target.unset.items():
        if after.ask(NAMES, None, key=key)[node].reach != unset.reach:
            return None
        for skip in ("true", ""):
            answers[key] = after.ask(NAMES, skip, key=key)[node]
            if not _is_right(answers[key], key, unset):
                return None
    return answers["absent"]


def _gives_none(target: Target, answer: Answer) -> bool:
    """Whether callers that get None where the server has no value either still get that."""
    if answer.returns_none():
        return True
    asked = ast.unparse(target.call.func) if isinstance(target.call, ast.Call) else ""
    without = reach.File(target.tree, results={asked: None})
    unset = without.ask(NAMES, None, key="absent").get(target.node)
    return unset is None or not unset.returns_none()


def _is_right(answer: Answer, key: str, unset: Answer) -> bool:
    if answer.possible != reach.NOT or answer.raises or not answer.returns:
        return False  # without a return it would never come back
    if key == "present":
        return _origins(answer) == (_origins(unset) or {reach.Text.ENVIRONMENT})
    return all(value.truth() is False for value in answer.returns)


def _origins(answer: Answer) -> set[int | str]:
    return {v.origin if isinstance(v, reach.Text) else type(v).__name__ for v in answer.returns}


def _is_ours(node: FunctionNode) -> bool:
    """Whether the guard of a fixed function is one of the edits above."""
    tests = [n for n in ast.walk(node) if isinstance(n, (ast.If, ast.IfExp))]
    return any(_is_our_test(found) for found in tests)


def _is_our_test(node: ast.If | ast.IfExp) -> bool:
    test = node.test
    if isinstance(test, ast.BoolOp) and guards.is_guard(
        test.values[-1], is_set=isinstance(test.op, ast.Or)
    ):
        return True
    body = node.body[0] if isinstance(node, ast.If) else node
    value = body.value if isinstance(body, ast.Return) else getattr(body, "body", None)
    first = test.values[0] if isinstance(test, ast.BoolOp) else test
    return (
        guards.is_guard(first, is_set=True)
        and isinstance(value, ast.Call)
        and ast.unparse(value.func).endswith(("environ.get", "getenv"))
    )


EXAMPLES = (
    Example(
        name="the shape of 0.6.1 and later",
        before="""import os
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
  value = os.environ.get(key, None)
  if value is None:
    value = get_metadata(key)[0]
  return value
""",
        after="""import os
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
  value = os.environ.get(key, None)
  if value is None and os.environ.get("TPU_SKIP_MDS_QUERY") is None:
    value = get_metadata(key)[0]
  return value
""",
    ),
    Example(
        name="the one-line return of 0.4.21 to 0.6.0",
        before="""import os
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
  value = os.environ.get(key)
  return value if value is not None else get_metadata(key)
""",
        after="""import os
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
  value = os.environ.get(key)
  return value if value is not None or os.environ.get("TPU_SKIP_MDS_QUERY") is not None else get_metadata(key)
""",  # noqa: E501 - the one line stays one
    ),
    Example(
        name="any other body",
        before='''from os import getenv
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
    """A value of the TPU environment."""
    return getenv(key) or get_metadata(key)
''',
        after='''from os import getenv
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
    """A value of the TPU environment."""
    if getenv("TPU_SKIP_MDS_QUERY") is not None:
        return getenv(key)
    return getenv(key) or get_metadata(key)
''',
    ),
    Example(
        name="already guarded in other words",
        status=Status.FIXED,
        before="""import os
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
  if key in os.environ:
    return os.environ[key]
  if os.getenv("TPU_SKIP_MDS_QUERY"):
    return None
  return get_metadata(key)
""",
        after=None,
    ),
    Example(
        name="refused: a guard the wrong way round",
        before="""import os
from jax._src.clusters.metadata import get_metadata

def get_tpu_env_value(key):
  value = os.environ.get(key)
  if value is None and os.environ.get("TPU_SKIP_MDS_QUERY") is not None:
    value = get_metadata(key)[0]
  return value
""",
        after=None,
    ),
    Example(
        name="not ours: it never asks",
        status=Status.NOT_AFFECTED,
        before="""def get_tpu_env_value(key):
  raise NotImplementedError
""",
        after=None,
    ),
)

PATCH = Patch(
    id="skip_mds_env_value",
    title="get_tpu_env_value() asks no metadata server while TPU_SKIP_MDS_QUERY is set",
    bug="https://github.com/jax-ml/jax/issues/40854",
    origin="jax-codemod",
    forwarded="https://github.com/jax-ml/jax/issues/40854",
    fixed_upstream_in=None,
    releases=">=0.4.21",
    probe=probe,
    rewrite=rewrite,
    examples=EXAMPLES,
)
