"""The status of a file for a kind of function, from what it does in the worlds that matter."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from codemod import syntax
from codemod.model import Evidence, Finding, Guard, Reason, Status
from codemod.reach.questions import Answer, File
from codemod.reach.scopes import body_of, bound_names
from codemod.reach.state import MAYBE, NOT, SURE, VARIABLE, TooManyPaths
from codemod.reach.values import Const

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from codemod.reach.scopes import FunctionNode

SET = ("true", "1")  # any of these is «set», whatever the guard's taste
DOUBTFUL = ("", "false", "0")  # these tell a guard by presence from one by truth
_NOT_PLAIN = "not a plain function here: something made it that cannot be followed"
NO_SUCH_CODE = Finding(status=Status.NOT_AFFECTED, reason=Reason.NO_SUCH_CODE)


class Judgement:
    """The finding for a file, its live functions, and those of them that are affected."""

    __slots__ = ("affected", "file", "finding", "functions")

    def __init__(
        self,
        finding: Finding,
        functions: Sequence[FunctionNode] = (),
        affected: Sequence[FunctionNode] = (),
        file: File | None = None,  # to ask more of, where a function is affected
    ) -> None:
        self.finding = finding
        self.functions = functions
        self.affected = affected
        self.file = file


def judge(
    tree: ast.Module,
    functions: Sequence[str],
    *,
    key: bool = True,
    names: dict[str, object] | None = None,
    environment: dict[str, str | None] | None = None,
    silent: Finding | None = None,
) -> Judgement:
    """The status of the file for its functions of these names.

    `key` says that their first argument is the name of an environment variable; `names` and
    `environment` give what is known, as for `File`; `silent` is the finding for a function that
    never asks, set or not (without it that is `drifted`: gutted, and not guarded).
    """
    try:
        file = File(tree, names=names, environment=environment)
        judgement = _judge(file, functions, "absent" if key else None, silent)
    except TooManyPaths:
        return Judgement(_drifted(1, "more paths through this file than can be walked"))
    if judgement.finding.status is Status.FIXED and file.asks_at_import is not None:
        line = file.asks_at_import.lineno
        return Judgement(_drifted(line, "asks while the file is imported, set or not"))
    is_lost = (
        not judgement.functions and _is_written(tree, functions) and not file.is_foreign(functions)
    )
    if is_lost or (not judgement.affected and file.unfollowed(functions)):
        return Judgement(_drifted(_line_of(tree, functions), _NOT_PLAIN))
    return judgement


def _judge(
    file: File, functions: Sequence[str], key: str | None, silent: Finding | None
) -> Judgement:
    first = file.ask(functions, SET[0], key=key)
    affected = [node for node, answer in first.items() if _asks(answer)]
    if affected and len(affected) == len(first):
        return Judgement(_affected(first[affected[0]]), [*first], affected, file)
    chosen = [first, *(file.ask(functions, value, key=key) for value in SET[1:])]
    unset = file.ask(functions, None, key=key)
    findings = {
        node: _judge_one(unset[node], [answers[node] for answers in chosen], silent)
        for node in first
    }
    finding = _worst(list(findings.values()))
    if finding.status is Status.FIXED:
        finding = _losing_values(file, functions, key) or _with_guard(finding, file, functions, key)
    affected = [node for node, found in findings.items() if found.status is Status.AFFECTED]
    return Judgement(finding, [*first], affected, file)


def _is_written(tree: ast.Module, names: Sequence[str]) -> bool:
    """Whether the file, a class of it or a `global` statement gives something such a name."""
    if any(isinstance(n, ast.Global) and {*n.names} & {*names} for n in syntax.nodes(tree)):
        return True
    bodies = [tree.body, *(n.body for n in syntax.nodes(tree) if isinstance(n, ast.ClassDef))]
    defined = {
        getattr(node, "name", None) or getattr(node, "id", None)
        for body in bodies
        for node in _in_scope(body)
    }
    return bool(defined & {*names})


def _in_scope(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """The functions of a scope and the names that it assigns, blocks included, imports not."""
    for node in body:
        is_function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if is_function or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)):
            yield node
        elif not isinstance(node, (ast.ClassDef, ast.Lambda)):
            yield from _in_scope([*ast.iter_child_nodes(node)])


def _line_of(tree: ast.Module, names: Sequence[str]) -> int:
    """The line that first binds one of these names."""
    lines = [
        node.lineno
        for node in syntax.nodes(tree)
        if isinstance(node, ast.stmt)
        and not isinstance(node, (ast.If, ast.Try, ast.With, ast.For, ast.While))
        and bound_names([node]) & {*names}
    ]
    return min(lines, default=1)


def _asks(answer: Answer) -> bool:
    return answer.reach == SURE and not is_stub(answer.node)


def _affected(answer: Answer) -> Finding:
    return Finding(status=Status.AFFECTED, reason=Reason.UNGUARDED, evidence=_trail(answer))


def _judge_one(unset: Answer, chosen: Sequence[Answer], silent: Finding | None) -> Finding:
    """The status of one function from what it does unset and set."""
    node = unset.node
    if silent and all(answer.possible == NOT for answer in (unset, *chosen)):
        return silent
    if is_stub(node):
        return _finding(Status.NOT_AFFECTED, Reason.STUB, node.lineno, "no code of its own")
    for answer in chosen:
        if answer.reach == SURE:
            return _affected(answer)
        if answer.reach == MAYBE:
            drifted = Status.UNDER_INVESTIGATION
            return Finding(status=drifted, reason=Reason.DRIFTED, evidence=_trail(answer))
        if answer.raises:
            return _drifted(node.lineno, f"raises {answer.raises[0]} with {VARIABLE} set")
        if not answer.ends:
            return _drifted(node.lineno, f"does not come back with {VARIABLE} set")
    if unset.possible == NOT:
        return _drifted(node.lineno, f"never asks, with {VARIABLE} set or not")
    return Finding(status=Status.FIXED, reason=Reason.UPSTREAM, evidence=_look_ups(chosen))


def _trail(answer: Answer) -> tuple[Evidence, ...]:
    """The calls that lead to the metadata server, outermost first."""
    if len(answer.trail) < 2:
        return (Evidence(line=answer.node.lineno, text="runs only when it is iterated over"),)
    return tuple(Evidence(line=c.lineno, text=ast.unparse(c)) for c in answer.trail[1:])


def _look_ups(answers: Sequence[Answer]) -> tuple[Evidence, ...]:
    found = {line: node for answer in answers for line, node in answer.looked.items()}
    return tuple(Evidence(line=n, text=ast.unparse(found[n])) for n in sorted(found))


def _finding(status: Status, reason: Reason, line: int, text: str) -> Finding:
    return Finding(status=status, reason=reason, evidence=(Evidence(line=line, text=text),))


def _drifted(line: int, text: str) -> Finding:
    return _finding(Status.UNDER_INVESTIGATION, Reason.DRIFTED, line, text)


_ORDER = (Status.AFFECTED, Status.UNDER_INVESTIGATION, Status.FIXED, Status.NOT_AFFECTED)


def _worst(findings: Sequence[Finding]) -> Finding:
    """The finding that decides for a file with several such functions."""
    return min(findings, key=lambda found: _ORDER.index(found.status), default=NO_SUCH_CODE)


def _losing_values(file: File, functions: Sequence[str], key: str | None) -> Finding | None:
    """The finding for a guard that keeps a value of the environment from being returned."""
    if key is None:
        return None
    unset = file.ask(functions, None, key="present")
    for node, answer in file.ask(functions, SET[0], key="present").items():
        if unset[node].possible != NOT:
            continue  # it asks whatever the environment holds
        if answer.possible != NOT:
            return _drifted(node.lineno, "asks for a value that the environment holds")
        if _constants(answer) - _constants(unset[node]):
            text = f"with {VARIABLE} set, a value of the environment is not returned"
            return _drifted(node.lineno, text)
    return None


def _constants(answer: Answer) -> set[str]:
    return {repr(value.value) for value in answer.returns if isinstance(value, Const)}


def _with_guard(finding: Finding, file: File, functions: Sequence[str], key: str | None) -> Finding:
    """The same, with the values of the variable that the guard takes for set."""
    answers = [a for value in DOUBTFUL for a in file.ask(functions, value, key=key).values()]
    presence = all(answer.possible == NOT for answer in answers)
    return Finding(
        status=finding.status,
        reason=finding.reason,
        evidence=finding.evidence,
        guard=Guard.PRESENCE if presence else Guard.TRUTHY,
    )


def is_stub(node: FunctionNode) -> bool:
    """Whether a function holds no code: a docstring, `...`, `pass`, `raise NotImplementedError`.

    Or only hands its key on to a function of the same name elsewhere: the code is in the copy
    that this one takes it from.
    """
    said = [statement for statement in body_of(node) if not _says_nothing(statement)]
    return not said or (len(said) == 1 and _delegates(said[0], node))


def _delegates(statement: ast.stmt, node: FunctionNode) -> bool:
    called = statement.value if isinstance(statement, ast.Return) else None
    if not isinstance(called, ast.Call) or isinstance(node, ast.Lambda):
        return False
    name = called.func.attr if isinstance(called.func, ast.Attribute) else None
    return name is not None and name.removeprefix("_") == node.name.removeprefix("_")


def _says_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        made = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
        return isinstance(made, ast.Name) and made.id == "NotImplementedError"
    constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return constant or isinstance(statement, ast.Pass)
