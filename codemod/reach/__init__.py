"""May a function reach the metadata server while TPU_SKIP_MDS_QUERY is set?

Decided by walking the function path by path over the syntax tree: what is known under the
assumption is followed, both ways are taken where something is not known, and a limit on the
steps ends in «not known» and never in a guess. Standard library only.

The names below are loaded when they are first used: a copy whose bytes are known is decided
without them, and they take as long to load as all the rest.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codemod.reach.judgement import NO_SUCH_CODE, SET, Judgement, judge
    from codemod.reach.questions import Answer, File
    from codemod.reach.scopes import FunctionNode, bindings_of, bound_names, functions_in_order
    from codemod.reach.state import NOT, SURE, VARIABLE, TooManyPaths
    from codemod.reach.values import Text, Value

__all__ = [
    "NOT",
    "NO_SUCH_CODE",
    "SET",
    "SURE",
    "VARIABLE",
    "Answer",
    "File",
    "FunctionNode",
    "Judgement",
    "Text",
    "TooManyPaths",
    "Value",
    "bindings_of",
    "bound_names",
    "functions_in_order",
    "judge",
]
_MODULES = ("judgement", "questions", "scopes", "state", "values")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    for module in map(import_module, (f"{__name__}.{m}" for m in _MODULES)):
        if hasattr(module, name):
            globals()[name] = getattr(module, name)
            return globals()[name]
    raise AttributeError(name)
