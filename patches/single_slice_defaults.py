"""One slice, and the first worker as coordinator, where nothing says otherwise.

With TPU_SKIP_MDS_QUERY set and no MEGASCALE_* variable in the environment, `get_tpu_env_value()`
returns None. Since 0.4.26 its callers then take it for a single slice; before, they die of
`int(None)` and `None.split`. With this patch a missing number of slices is 1, a missing slice
is 0, and a missing coordinator is the first of the workers. Which callers need that is told by
what they do with None, never by the version.

https://github.com/jax-ml/jax/issues/40854
"""

from __future__ import annotations

import ast
from copy import deepcopy
from typing import TYPE_CHECKING

from codemod import edits, guards, reach
from codemod.errors import Refused
from codemod.model import Evidence, Example, Finding, Patch, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import libcst as cst

METHODS = ("get_process_count", "get_process_id", "get_coordinator_address")
LOOK_UPS = ("get_tpu_env_value", "_get_tpu_env_value")
PRESENT = {
    "MEGASCALE_NUM_SLICES": "1",
    "MEGASCALE_SLICE_ID": "0",
    "MEGASCALE_COORDINATOR_ADDRESS": "host:1",
}
WORKERS = "_get_worker_list_in_slice"  # the method that jax has had for them since 0.4.26
OF_NONE = {"TypeError", "AttributeError"}  # what `int(None)` and `None.split` raise

Failure = tuple[int, str]  # line of a method, name of the exception


def probe(tree: ast.Module) -> Finding:
    """The status of a file: do its callers of `get_tpu_env_value` bear a missing value?"""
    calls = list(_calls(tree))
    if not calls:
        return reach.NO_SUCH_CODE
    try:
        absent, present = _outcome(tree, calls), _outcome(tree, ())
    except reach.TooManyPaths:
        return _drifted(calls[0].lineno, "more paths through this file than can be walked")
    if not absent.asked:
        return reach.NO_SUCH_CODE
    if absent.failures - present.failures:
        evidence = _evidence(_needing_a_default(tree) or calls)
        return Finding(status=Status.AFFECTED, reason=Reason.UNGUARDED, evidence=evidence)
    if stuck := present.ending - absent.ending:
        return _drifted(min(stuck), "does not come back where the value is missing")
    reason = Reason.PATCHED if any(map(_is_ours, ast.walk(tree))) else Reason.UPSTREAM
    return Finding(status=Status.FIXED, reason=reason, evidence=_evidence(calls))


def _evidence(calls: Iterable[ast.Call]) -> tuple[Evidence, ...]:
    found = [Evidence(line=call.lineno, text=ast.unparse(call)) for call in calls]
    return tuple(sorted(found, key=lambda evidence: evidence.line))


def _drifted(line: int, text: str) -> Finding:
    evidence = (Evidence(line=line, text=text),)
    return Finding(status=Status.UNDER_INVESTIGATION, reason=Reason.DRIFTED, evidence=evidence)


def _calls(tree: ast.AST) -> Iterator[ast.Call]:
    """The look-ups of the file, in the order of a walk."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node.func) in LOOK_UPS:
            yield node


def _name(node: ast.expr) -> str:
    return str(getattr(node, "attr", "") or getattr(node, "id", ""))


class _Outcome:
    """What the methods do: how they fail, which come back at all, whether any was there."""

    def __init__(self, tree: ast.Module) -> None:
        answers = reach.File(tree).ask(METHODS, reach.SET[0], key=None)
        self.asked = bool(answers)
        self.failures = {
            (node.lineno, name)
            for node, a in answers.items()
            for name in a.raises
            if name in OF_NONE
        }
        self.ending = {node.lineno for node, a in answers.items() if a.returns}


def _outcome(tree: ast.Module, missing: Collection[ast.Call]) -> _Outcome:
    """What the methods do where these look-ups give None, and all others a value."""
    lacking = [call in missing for call in _calls(tree)]
    world = deepcopy(tree)
    given = {
        call: ast.Constant(None if lacks else PRESENT.get(_key(call) or "", "1"))
        for call, lacks in zip(list(_calls(world)), lacking, strict=True)
    }
    return _Outcome(_Given(given).visit(world))


class _Given(ast.NodeTransformer):
    """Puts a value in the place of each look-up."""

    def __init__(self, given: dict[ast.Call, ast.Constant]) -> None:
        self.given = given

    def visit_Call(self, node: ast.Call) -> ast.AST:
        value = self.given.get(node)
        return ast.copy_location(value, node) if value else self.generic_visit(node)


def _key(call: ast.Call) -> str | None:
    """The variable that a look-up asks for, where it is written out."""
    argument = call.args[0] if call.args else None
    return str(argument.value) if isinstance(argument, ast.Constant) else None


def rewrite(module: cst.Module) -> cst.Module:
    """The module with a default where one is missing; raises `Refused` where it is not known."""
    tree = edits.tree_of(module)
    try:
        needed = _needing_a_default(tree)
    except reach.TooManyPaths:
        raise Refused("more paths through this file than can be walked") from None
    if not needed:
        raise Refused("a value is missing that has no known default", next(_calls(tree)).lineno)
    for call in needed:  # an edit moves no statement, so all are still found by their place
        module = _with_default(module, tree, call)
    return module


def _needing_a_default(tree: ast.Module) -> list[ast.Call]:
    """The fewest look-ups with which all bear that the others give None; none if that fails."""
    tolerated = _outcome(tree, ()).failures
    calls = list(_calls(tree))
    needed = [call for call in calls if _key(call) in PRESENT]
    if _outcome(tree, [c for c in calls if c not in needed]).failures - tolerated:
        return []
    for call in [*needed]:
        fewer = [c for c in needed if c is not call]
        if not _outcome(tree, [c for c in calls if c not in fewer]).failures - tolerated:
            needed = fewer
    return needed


def _with_default(module: cst.Module, tree: ast.Module, call: ast.Call) -> cst.Module:
    """The module with `look-up or default`."""
    quote = edits.quote_of(tree, edits.source_of(module))
    function = next(f for f in _functions(tree) if edits.is_in(call, [f]))
    defaults = {"MEGASCALE_NUM_SLICES": "1", "MEGASCALE_SLICE_ID": "0"}
    key = _key(call) or ""
    default = defaults.get(key) or _first_worker(tree, function, quote)
    return guards.or_else(module, tree, call, default)


def _functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """All functions, the innermost first."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)][::-1]


def _first_worker(tree: ast.Module, function: ast.FunctionDef, quote: str) -> str:
    """The source of the first worker: of the class's own list where it has one."""
    names = {f.name for f in _functions(tree)}
    if WORKERS in names and function.args.args:
        return f"{function.args.args[0].arg}.{WORKERS}()[0]"
    spelling = edits.environment_spellings(tree, function)[0]
    variable = f"{quote}TPU_WORKER_HOSTNAMES{quote}"
    is_mapping = spelling.endswith("environ.get")
    found = (
        f"{spelling.removesuffix('.get')}[{variable}]" if is_mapping else f"{spelling}({variable})"
    )
    return f"{found}.split({quote},{quote})[0]"


def _is_ours(node: ast.AST) -> bool:
    """Whether an expression is a look-up with a default of this patch behind it."""
    if not isinstance(node, ast.BoolOp) or not isinstance(node.op, ast.Or):
        return False
    return node.values[0] in list(_calls(node))


_HEAD = """import os
from jax._src.cloud_tpu_init import running_in_cloud_tpu_vm

def get_tpu_env_value(key):
  value = os.environ.get(key)
  return value if value is not None or 'TPU_SKIP_MDS_QUERY' in os.environ else get_metadata(key)

"""
_WITHOUT = """class GkeTpuCluster:
  @classmethod
  def get_coordinator_address(cls):
    address = get_tpu_env_value('MEGASCALE_COORDINATOR_ADDRESS')
    return address.split(':')[0] + ':8476'

  @classmethod
  def get_process_count(cls):
    workers = len(os.environ['TPU_WORKER_HOSTNAMES'].split(','))
    return workers * int(get_tpu_env_value('MEGASCALE_NUM_SLICES'))

  @classmethod
  def get_process_id(cls):
    slice_id = int(get_tpu_env_value('MEGASCALE_SLICE_ID'))
    return int(os.environ['TPU_WORKER_ID']) + slice_id * 4
"""
_WITH = """class GkeTpuCluster:
  @classmethod
  def get_process_count(cls):
    slices = get_tpu_env_value('MEGASCALE_NUM_SLICES')
    if not slices:
      return 4
    return 4 * int(slices)
"""

EXAMPLES = (
    Example(
        name="no fallbacks, as in 0.4.21 to 0.4.25",
        before=_HEAD + _WITHOUT,
        after=_HEAD
        + _WITHOUT.replace(
            "('MEGASCALE_COORDINATOR_ADDRESS')",
            "('MEGASCALE_COORDINATOR_ADDRESS') or os.environ['TPU_WORKER_HOSTNAMES'].split(',')[0]",
        )
        .replace("('MEGASCALE_NUM_SLICES')", "('MEGASCALE_NUM_SLICES') or 1")
        .replace("('MEGASCALE_SLICE_ID')", "('MEGASCALE_SLICE_ID') or 0"),
    ),
    Example(
        name="the fallbacks are there",
        status=Status.FIXED,
        before=_HEAD + _WITH,
        after=None,
    ),
    Example(
        name="refused: a value without a known default",
        before=_HEAD
        + """class GkeTpuCluster:
  def get_process_count(self):
    return int(get_tpu_env_value('WORKERS'))
""",
        after=None,
    ),
    Example(
        name="not ours: nothing looks a value up",
        status=Status.NOT_AFFECTED,
        before="""class GkeTpuCluster:
  def get_process_count(self):
    return 4
""",
        after=None,
    ),
)

PATCH = Patch(
    id="single_slice_defaults",
    title="without MEGASCALE_* variables there is one slice, and the first worker coordinates",
    bug="https://github.com/jax-ml/jax/issues/40854",
    origin="jax-codemod",
    forwarded="not-needed",
    fixed_upstream_in="0.4.26",
    releases=">=0.4.21,<0.4.26",
    probe=probe,
    rewrite=rewrite,
    examples=EXAMPLES,
    requires=("skip_mds_env_value", "skip_mds_detection"),
)
