"""The syntax tree of a file, as the running Python reads it, without a word on stderr."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache


def parse(source: bytes) -> ast.Module:
    """The syntax tree of `source`; raises what `ast.parse` raises.

    Old escapes in somebody's file are not ours to report.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


@lru_cache(maxsize=8)
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a whole file, as `ast.walk` gives them; kept, as many ask for them."""
    return tuple(ast.walk(tree))


def check(source: bytes) -> None:
    """Raise `SyntaxError` for what can be parsed and yet not compiled: a misplaced `return`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(source, "<copy>", "exec", dont_inherit=True)
