"""May a function reach the metadata server while TPU_SKIP_MDS_QUERY is set?

Decided by walking the function path by path over the syntax tree: what is known under the
assumption is followed, both ways are taken where something is not known, and a limit on the
steps ends in «not known» and never in a guess. Standard library only.
"""

from codemod.reach.judge import NO_SUCH_CODE, SET, Judgement, judge
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
