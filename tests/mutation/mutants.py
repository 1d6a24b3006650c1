"""The mutants of a file, by mutmut's operators, each a whole source of its own.

mutmut itself runs them through trampolines in modules that are imported by name. The patches
are loaded from their files and `reach` loads its modules late, so only its operators are used.
"""

from __future__ import annotations

import ast
import random
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SEED = 40854


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change of one file; `before` and `after` are the first line that differs."""

    file: str
    line: int
    before: str
    after: str
    source: str

    @property
    def name(self) -> str:
        """What is the same from run to run while the file is."""
        return f"{self.file}:{self.line}: {self.before} -> {self.after}"


def sample(root: Path, file: str, size: int) -> list[Mutant]:
    """That many mutants of a file at random, always the same ones first; or all."""
    code = (root / file).read_text()
    visitor = MutationVisitor(mutation_operators, IgnoredCode(set(), set(), set()))
    module = MetadataWrapper(cst.parse_module(code)).visit(visitor)
    mutations = [m for m in visitor.mutations if not _is_text(m.original_node)]
    random.Random(f"{SEED} {file}").shuffle(mutations)  # noqa: S311
    declared = _declared(code)
    found: dict[str, Mutant] = {}
    for mutation in mutations:
        tree = module.deep_replace(mutation.original_node, mutation.mutated_node)
        made = _mutant(file, code, tree.code)
        if made is not None and made.line not in declared:
            found.setdefault(made.name, made)
        if len(found) == size:
            break
    return list(found.values())


def _declared(code: str) -> set[int]:
    """The lines that tell of a patch and show it, rather than do anything."""
    return {
        line
        for node in ast.parse(code).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in {"EXAMPLES", "PATCH"}
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }


def _is_text(node: cst.CSTNode) -> bool:
    """Whether a node is a string with a blank in it: a sentence, a list of words, an example."""
    return (
        isinstance(node, cst.SimpleString | cst.FormattedString)
        and " " in cst.Module(body=[cst.SimpleStatementLine([cst.Expr(node)])]).code.strip()
    )


def _mutant(file: str, code: str, mutated: str) -> Mutant | None:
    """None where Python reads the same: the change is in an annotation, say."""
    try:
        if _bare(mutated) == _bare(code):
            return None
    except SyntaxError:
        return None
    line, before, after = next(_differing(code, mutated))
    return Mutant(file=file, line=line, before=before, after=after, source=mutated)


def _differing(code: str, mutated: str) -> Iterator[tuple[int, str, str]]:
    old, new = code.splitlines(), mutated.splitlines()
    for number, (was, now) in enumerate(zip([*old, ""], [*new, ""], strict=False), 1):
        if was != now:
            yield number, was.strip(), now.strip()


class _Bare(ast.NodeTransformer):
    """Without what is only for a type checker or for people."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        self.generic_visit(node)
        is_checking = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return None if is_checking else node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(None)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        return node


@cache
def _bare(code: str) -> str:
    return ast.dump(_Bare().visit(ast.parse(code)))
