"""Do not ask the metadata server whether this is Google Cloud while TPU_SKIP_MDS_QUERY is set.

Before it looks any value up, jax asks every cluster class whether its environment is present,
and the class for Google Cloud asks the metadata server. Releases before 0.4.36 do so whatever
TPU_SKIP_MDS_QUERY says, and `jax.distributed.initialize()` dies there. With this patch the
answer is «no» while the variable is set, whatever its value, and the next class is asked.

https://github.com/jax-ml/jax/issues/40854
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod import edits, guards, reach
from codemod.errors import Refused
from codemod.model import Example, Finding, Patch, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import libcst as cst

    from codemod.reach import Answer, FunctionNode, Judgement, Value

    Answers = set[bool | None]  # what a value is as a truth value, None where not known

NAMES = ("is_env_present",)
ON_A_TPU: dict[str, object] = {"running_in_cloud_tpu_vm": True}  # else no class asks at all


def probe(tree: ast.Module) -> Finding:
    """The status of a file: may a cluster class of it ask in `is_env_present`?"""
    finding = _judged(tree).finding
    if finding.status is Status.FIXED and any(map(_is_ours, ast.walk(tree))):
        return finding.because(Reason.PATCHED)
    return finding


def _judged(tree: ast.Module) -> Judgement:
    """The file judged for any environment; where that leaves it open, for an empty one."""
    silent = reach.NO_SUCH_CODE
    judgement = reach.judge(tree, NAMES, key=False, names=ON_A_TPU, silent=silent)
    if judgement.finding.reason is not Reason.DRIFTED:
        return judgement
    texts = {n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)}
    absent: dict[str, str | None] = {text: None for text in texts if isinstance(text, str)}
    empty = reach.judge(
        tree, NAMES, key=False, names=ON_A_TPU, environment=absent, silent=reach.NO_SUCH_CODE
    )
    return empty if empty.affected else judgement


def rewrite(module: cst.Module) -> cst.Module:
    """The module with every affected class guarded; raises `Refused` where one cannot be."""
    tree = edits.tree_of(module)
    try:
        while affected := _judged(tree).affected:
            module = _guarded(module, tree, affected[0])
            tree = edits.tree_of(module)
    except reach.TooManyPaths:
        raise Refused("more paths through this file than can be walked") from None
    return module


def _guarded(module: cst.Module, tree: ast.Module, node: FunctionNode) -> cst.Module:
    """The first edit, in the function that asks before those that call it, that is proved."""
    file = reach.File(tree, names=ON_A_TPU)
    asked = file.ask(NAMES, reach.SET[0], key=None)[node]
    unset = file.ask(NAMES, None, key=None)[node]
    for function, call in _askers(tree, asked):
        for spelling in edits.environment_spellings(tree, function):
            for edited, answers in _edits(module, tree, function, call, spelling):
                after = edits.tree_of(edited) if edited else tree
                if edited and _holds(after, edits.counterpart(tree, node, after), unset, answers):
                    return edited
    raise Refused("is_env_present cannot be guarded: no guard could be proved", node.lineno)


def _askers(tree: ast.Module, asked: Answer) -> Iterator[tuple[FunctionNode, ast.expr]]:
    """The functions on the way to the server and their calls, the nearest to it first.

    Only those that serve detection alone: what others call must not answer «no».
    """
    functions = [n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda))]
    serving = _serving_detection(tree)
    for call in reversed(asked.trail[1:]):
        around = [function for function in functions if edits.is_in(call, [function])]
        if around and around[-1] in (*serving, asked.node):
            yield around[-1], call


def _serving_detection(tree: ast.Module) -> list[ast.FunctionDef]:
    """`is_env_present`, and functions that are used nowhere but in such functions."""
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    serving: list[ast.FunctionDef] = [f for f in functions if f.name in NAMES]
    uses = [n for n in ast.walk(tree) if isinstance(n, (ast.Name, ast.Attribute))]
    while more := [
        f for f in functions if f not in serving and _used_only_in(f.name, [*serving, f], uses)
    ]:
        serving += more
    return serving


def _used_only_in(name: str, functions: list[ast.FunctionDef], uses: Sequence[ast.expr]) -> bool:
    mine = [use for use in uses if name in (getattr(use, "id", ""), getattr(use, "attr", ""))]
    return bool(mine) and all(edits.is_in(use, functions) for use in mine)


def _edits(
    module: cst.Module, tree: ast.Module, function: FunctionNode, call: ast.expr, spelling: str
) -> list[tuple[cst.Module | None, Answers]]:
    """The edits for a function, the best first, and what it may answer where it would have asked.

    A guard in front of one operand leaves the answer to the others, an early return does not.
    """
    quote = edits.quote_of(tree, edits.source_of(module))
    is_set = guards.guard(spelling, quote, is_set=True)
    unset = guards.guard(spelling, quote, is_set=False)
    found: list[tuple[cst.Module | None, Answers]] = [
        (_early_no(module, tree, function, call, is_set), {False}),
        (guards.guarded_operand(module, tree, call, unset), {False, None}),
    ]
    return found[::-1] if guards.has_alternative(tree, call) else found


def _early_no(
    module: cst.Module, tree: ast.Module, function: FunctionNode, call: ast.expr, test: str
) -> cst.Module | None:
    if isinstance(function, ast.Lambda) or edits.is_one_line(function):
        return guards.conditional(module, tree, function, test, "False")
    asking = next(s for s in function.body if edits.is_in(call, [s]))
    return guards.early_return(module, tree, function, test, "False", before=asking)


def _holds(tree: ast.Module, node: FunctionNode, unset: Answer, answers: Answers) -> bool:
    """Whether the edited function gives one of these where it would have asked, else as before."""
    file = reach.File(tree, names=ON_A_TPU)
    if file.ask(NAMES, None, key=None)[node].reach != unset.reach:
        return False
    now = [file.ask(NAMES, skip, key=None)[node] for skip in (*reach.SET, "")]
    return all(_is_right(answer, unset, answers) for answer in now)


def _is_right(answer: Answer, unset: Answer, answers: Answers) -> bool:
    if answer.possible != reach.NOT or not answer.returns or {*answer.raises} - {*unset.raises}:
        return False
    before, now = _kinds(unset.quiet), _kinds(answer.returns)
    return before <= now and all(truth in answers for _, truth in now - before)


def _kinds(values: list[Value]) -> set[tuple[str, bool | None]]:
    return {(type(value).__name__, value.truth()) for value in values}


def _is_ours(node: ast.AST) -> bool:
    """Whether a statement is the early return that this patch puts in."""
    if not isinstance(node, ast.If) or not isinstance(node.body[0], ast.Return):
        return False
    no = isinstance(node.body[0].value, ast.Constant) and node.body[0].value.value is False
    return no and guards.is_guard(node.test, is_set=True)


_ASKING = """import os
import requests
from jax._src.cloud_tpu_init import running_in_cloud_tpu_vm

def get_metadata(key):
  return requests.get(f"http://metadata.google.internal/computeMetadata/v1/{key}")

"""
_BY_ITSELF = """class GceTpuCluster:
  @classmethod
  def is_env_present(cls):
    if not running_in_cloud_tpu_vm:
      return False
    return get_metadata("agent-worker-number").status_code == 200
"""
_THROUGH_A_HELPER = """def is_gce_env():
  answer = get_metadata("agent-worker-number")
  return answer.text.isdigit()

class GceTpuCluster:
  @classmethod
  def is_env_present(cls):
    return running_in_cloud_tpu_vm and is_gce_env()
"""
_OR_ELSE = """class Cluster:
  @classmethod
  def is_env_present(cls):
    return "HOSTS" in os.environ or get_metadata("agent-worker-number").ok
"""

EXAMPLES = (
    Example(
        name="the class asks by itself, as in 0.4.26 to 0.4.35",
        before=_ASKING + _BY_ITSELF,
        after=_ASKING
        + _BY_ITSELF.replace(
            "    return get_",
            """    if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:
      return False
    return get_""",
        ),
    ),
    Example(
        name="a helper asks, as in 0.4.21 to 0.4.25",
        before=_ASKING + _THROUGH_A_HELPER,
        after=_ASKING
        + _THROUGH_A_HELPER.replace(
            "  answer",
            """  if os.environ.get("TPU_SKIP_MDS_QUERY") is not None:
    return False
  answer""",
            1,
        ),
    ),
    Example(
        name="something else can tell as well",
        before=_ASKING + _OR_ELSE,
        after=_ASKING
        + _OR_ELSE.replace(
            'get_metadata("agent-worker-number").ok',
            '(os.environ.get("TPU_SKIP_MDS_QUERY") is None'
            ' and get_metadata("agent-worker-number").ok)',
        ),
    ),
    Example(
        name="already guarded",
        status=Status.FIXED,
        before=_ASKING
        + """class GceTpuCluster:
  def is_env_present(self):
    return "TPU_SKIP_MDS_QUERY" not in os.environ and get_metadata("x").ok
""",
        after=None,
    ),
    Example(
        name="refused: what makes the request is not known",
        status=Status.UNDER_INVESTIGATION,
        before="""from elsewhere import is_google_cloud

class GceTpuCluster:
  def is_env_present(self):
    return is_google_cloud()
""",
        after=None,
    ),
    Example(
        name="not ours: no class asks",
        status=Status.NOT_AFFECTED,
        before="""import os

class GkeTpuCluster:
  def is_env_present(self):
    return os.environ.get("TPU_WORKER_HOSTNAMES") is not None
""",
        after=None,
    ),
)

PATCH = Patch(
    id="skip_mds_detection",
    title="no is_env_present() asks the metadata server while TPU_SKIP_MDS_QUERY is set",
    bug="https://github.com/jax-ml/jax/issues/40854",
    origin="jax-codemod",
    forwarded="not-needed",
    fixed_upstream_in="0.4.36",
    releases=">=0.4.21,<0.4.36",
    probe=probe,
    rewrite=rewrite,
    examples=EXAMPLES,
    requires=("skip_mds_env_value",),  # detection may look a value up
)
