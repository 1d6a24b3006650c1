"""The edits that put a guard or a default into a function, for patches to choose from.

Each takes the libcst module and Python's own tree of it, finds its place by a node of the
latter, and gives a new module. Whether the result does what it should is for the patch to prove.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from codemod import reach
from codemod.edits import change, is_in, is_one_line, place
from codemod.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import libcst as cst

    from codemod.reach import FunctionNode


def guard(spelling: str, quote: str, *, is_set: bool) -> str:
    """The source of the test whether the variable is set, or is not."""
    return f"{spelling}({quote}{reach.VARIABLE}{quote}) is {'not ' if is_set else ''}None"


def is_guard(test: ast.expr, *, is_set: bool) -> bool:
    """Whether an expression is such a test, in whatever spelling of the look-up."""
    if not isinstance(test, ast.Compare) or not isinstance(test.left, ast.Call):
        return False
    names = [a.value for a in test.left.args if isinstance(a, ast.Constant)]
    return type(test.ops[0]) is (ast.IsNot if is_set else ast.Is) and names == [reach.VARIABLE]


def can_take_and(test: ast.expr) -> bool:
    """Whether `and …` can be put behind an expression as it stands."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And)
    kinds = (ast.Compare, ast.UnaryOp, ast.Name, ast.Call, ast.Subscript, ast.Attribute)
    return isinstance(test, kinds)


def early_return(
    module: cst.Module,
    tree: ast.Module,
    function: ast.FunctionDef | ast.AsyncFunctionDef,
    test: str,
    value: str,
    *,
    before: ast.stmt | None = None,
) -> cst.Module:
    """The module with `if test: return value` in a function.

    It stands in front of `before`, one of the function's own statements, else after the
    docstring. `os` is imported there too if the test needs it and the function has it not.
    """
    import libcst as cst

    lines = [f"if {test}:\n    return {value}\n"]
    if _needs_import(tree, function, test):
        lines.insert(0, "import os\n")
    skipped = function.body.index(before) if before else int(_has_docstring(function))

    def edit(node: cst.FunctionDef) -> cst.FunctionDef:
        return _lines_after(node, skipped, lines)

    return change(module, cst.FunctionDef, place(tree, function), edit)


def _has_docstring(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(function) is not None


def _needs_import(tree: ast.Module, function: FunctionNode, test: str) -> bool:
    """Whether `os` has to be imported first: it is not at all, or only later in the function."""
    root = test.partition(".")[0]
    if root != "os":
        return False
    return root not in reach.bound_names(tree.body) or root in reach.bindings_of(function).names


def _lines_after(function: cst.FunctionDef, skipped: int, lines: list[str]) -> cst.FunctionDef:
    """The function with statements after the first `skipped` of its own.

    Each of `lines` is the source of a statement that may span several lines, indented by four
    blanks inside; it takes the function's own indentation and newline.
    """
    import libcst as cst

    block = function.body
    if not isinstance(block, cst.IndentedBlock):
        message = "the function has no block of its own"
        raise LookupError(message)  # noqa: TRY004 - a shape that is not there
    added = [_in_style(cst.parse_statement(line), block) for line in lines]
    after, count = 0, 0
    while count < skipped:
        held = block.body[after]
        count += len(held.body) if isinstance(held, cst.SimpleStatementLine) else 1
        after += 1
    body = [*block.body[:after], *added, *block.body[after:]]
    return function.with_changes(body=block.with_changes(body=body))


def conditional(
    module: cst.Module, tree: ast.Module, function: FunctionNode, test: str, value: str
) -> cst.Module | None:
    """The module with `value if test else …` in a one-line function or a lambda.

    None where the function is neither, or its line is not one `return`.
    """
    import libcst as cst

    if _needs_import(tree, function, test):
        return None
    condition, instead = cst.parse_expression(test), cst.parse_expression(value)

    def choice(otherwise: Any) -> cst.IfExp:
        if isinstance(otherwise, (cst.Tuple, cst.Yield)) and not otherwise.lpar:
            raise LookupError("its one line returns more than one value")
        return cst.IfExp(test=condition, body=instead, orelse=otherwise)

    if isinstance(function, ast.Lambda):
        return _change_lambda(module, tree, function, choice)
    returned = function.body[-1]
    if not is_one_line(function) or not isinstance(returned, ast.Return):
        return None
    return change(
        module,
        cst.Return,
        place(tree, returned),
        lambda node: node.with_changes(value=choice(node.value)),
    )


def _change_lambda(
    module: cst.Module, tree: ast.Module, function: ast.Lambda, edit: Callable[[Any], Any]
) -> cst.Module | None:
    """The module with the body of a lambda edited that is assigned to a name."""
    import libcst as cst

    assigned = next((n for n in ast.walk(tree) if getattr(n, "value", None) is function), None)
    if not isinstance(assigned, ast.Assign):
        return None

    def in_lambda(node: Any) -> Any:
        return node.with_changes(value=node.value.with_changes(body=edit(node.value.body)))

    return change(module, cst.Assign, place(tree, assigned), in_lambda)


_EXPRESSION = {ast.Return: "value", ast.Assign: "value", ast.If: "test"}  # field of a statement


def guarded_operand(
    module: cst.Module, tree: ast.Module, call: ast.expr, test: str
) -> cst.Module | None:
    """The module with `test and` in front of the operand that makes a call.

    None where the call is not in a `return`, an assignment or a condition, or the operand would
    have to be rewritten to take one.
    """
    import libcst as cst

    found = next(_around(tree, call), None)
    if found is None or not can_take_and(_way_to(found[2], call)[-1]):
        return None
    statement, field, held = found
    condition = cst.parse_expression(test)

    def edit(node: Any) -> Any:
        guarded = _guard_in(getattr(node, field), held, call, condition)
        return node.with_changes(**{field: guarded})

    kind = getattr(cst, type(statement).__name__)
    return change(module, kind, place(tree, statement), edit)


def _around(tree: ast.Module, call: ast.expr) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """The statement that has a call in its expression, the field, and the expression."""
    for statement in ast.walk(tree):
        field = _EXPRESSION.get(type(statement))
        held = getattr(statement, field) if field else None
        if field and held is not None and is_in(call, [held]):
            yield statement, field, held


def has_alternative(tree: ast.Module, call: ast.expr) -> bool:
    """Whether the statement of a call has an answer without it: `or`, or the other branch."""
    found = next(_around(tree, call), None)
    way = _way_to(found[2], call)[:-1] if found else []
    return any(isinstance(node, ast.IfExp) or isinstance(node.op, ast.Or) for node in way)


def _way_to(node: ast.expr, call: ast.expr) -> list[Any]:
    """The chains and conditional expressions around a call, and the operand that has it."""
    way: list[Any] = [node]
    while isinstance(node, (ast.BoolOp, ast.IfExp)):
        parts = [*ast.iter_child_nodes(node)]
        node = next(p for p in parts if isinstance(p, ast.expr) and is_in(call, [p]))
        way.append(node)
    return way


def _guard_in(expression: Any, node: ast.expr, call: ast.expr, test: Any) -> Any:
    """The expression with the guard before the operand; `node` is the same in Python's tree."""
    import libcst as cst

    if isinstance(node, ast.IfExp):
        part = next(f for f in node._fields if is_in(call, [getattr(node, f)]))
        guarded = _guard_in(getattr(expression, part), getattr(node, part), call, test)
        return expression.with_changes(**{part: guarded})
    if not isinstance(node, ast.BoolOp):
        return cst.BooleanOperation(left=test, operator=cst.And(), right=expression)
    index = next(i for i, operand in enumerate(node.values) if is_in(call, [operand]))
    operand = node.values[index]

    def edit(found: Any) -> Any:
        guarded = _guard_in(found, operand, call, test)
        if isinstance(node.op, ast.And) or isinstance(operand, ast.BoolOp):
            return guarded
        return guarded.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])

    return _operand_changed(expression, index, len(node.values), edit)


def _operand_changed(chain: Any, index: int, count: int, edit: Callable[[Any], Any]) -> Any:
    """A chain of `and` or `or`, which libcst nests to the left, with one operand edited."""
    if count == 1:
        return edit(chain)
    if index == count - 1:
        return chain.with_changes(right=edit(chain.right))
    return chain.with_changes(left=_operand_changed(chain.left, index, count - 1, edit))


def or_else(module: cst.Module, tree: ast.Module, call: ast.Call, default: str) -> cst.Module:
    """The module with `call or default` in the place of a call in a simple statement."""
    import libcst as cst

    nodes = [*ast.walk(tree)][::-1]  # what is deeper in the tree comes first
    parent = next(node for node in nodes if call in ast.iter_child_nodes(node))
    statement = next(node for node in nodes if isinstance(node, ast.stmt) and is_in(call, [node]))
    if hasattr(statement, "body"):
        raise Refused("a default can only be put into a simple statement", call.lineno)
    either = cst.BooleanOperation(cst.Name("_"), cst.Or(), cst.parse_expression(default))
    if parent is not statement and not (isinstance(parent, ast.Call) and call in parent.args):
        either = either.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])

    class Default(cst.CSTTransformer):
        def leave_Call(  # noqa: N802 - libcst's name
            self, original_node: cst.Call, updated_node: cst.Call
        ) -> cst.BaseExpression:
            source = module.code_for_node(original_node)
            if ast.unparse(ast.parse(source)) != ast.unparse(call):
                return updated_node
            return either.with_changes(left=updated_node)

    kind = getattr(cst, type(statement).__name__)
    return change(module, kind, place(tree, statement), lambda node: node.visit(Default()))


def _in_style(statement: Any, block: cst.IndentedBlock) -> Any:
    """A parsed statement with the newlines and the indentation of a block of the file."""
    import libcst as cst

    end = cst.TrailingWhitespace(newline=block.header.newline)
    if isinstance(statement, cst.SimpleStatementLine):
        return statement.with_changes(trailing_whitespace=end)
    inner = [_in_style(held, block) for held in statement.body.body]
    body = statement.body.with_changes(body=inner, header=end, indent=block.indent)
    return statement.with_changes(body=body)
