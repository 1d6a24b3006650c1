"""Run a patch over one file and accept the result only if it is proved to be right.

The only module that loads libcst by itself. A result is accepted if it parses, the patch's own
probe now says fixed, every definition that the patch did not have to touch is the same to the
byte, and no name, signature or message that others may use has gone. Else it is refused.
"""

from __future__ import annotations

import ast
import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

from codemod.edits import give, source_of
from codemod.errors import Refused
from codemod.model import Status
from codemod.syntax import check, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from codemod.model import Patch

# libcst's parser and printer are recursive; past some thousand levels they end the process.
NESTING_LIMIT = 150


def rewrite(patch: Patch, source: bytes, tree: ast.Module) -> bytes:
    """The bytes of the file with the patch in it; `tree` is the syntax tree of `source`.

    Raises `Refused` with the reason where the edit cannot be made or cannot be proved.
    """
    with _no_garbage_collection():
        module = _parsed(source, tree)
        try:
            result = source_of(patch.rewrite(module))
        except RecursionError:
            raise Refused("expressions nested too deeply for libcst") from None
        except LookupError as error:
            raise Refused(str(error)) from None
    _check(patch, source, tree, result)
    return result


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """A third of the time to build libcst's tree goes into looking for garbage in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _check_nesting(tree: ast.Module) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(NESTING_LIMIT):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    line = next((n.lineno for n in level if isinstance(n, (ast.expr, ast.stmt))), None)
    raise Refused("expressions nested too deeply for libcst", line)


def _parsed(source: bytes, tree: ast.Module) -> cst.Module:
    import libcst as cst

    _check_nesting(tree)
    try:
        module = cst.parse_module(source)
        again = bytes(module.bytes)
    except cst.ParserSyntaxError as error:
        line = _odd_white_space(source) or error.raw_line
        raise Refused("libcst cannot read this line, though Python can", line) from None
    except UnicodeError:
        raise Refused(
            "bytes that are not of the file's encoding", _undecodable_line(source)
        ) from None
    except RecursionError:
        raise Refused("expressions nested too deeply for libcst") from None
    if again != source:
        raise Refused("libcst does not give this file back unchanged", _first_change(source, again))
    give(module, source, tree)
    return module


def _odd_white_space(source: bytes) -> int | None:
    """The line of a form feed or of a tab after blanks in an indentation: libcst says line 1."""
    for number, line in enumerate(source.split(b"\n"), 1):
        indentation = line[: len(line) - len(line.lstrip(b" \t\f"))]
        if b"\f" in indentation or b" \t" in indentation:
            return number
    return None


def _undecodable_line(source: bytes) -> int | None:
    for number, line in enumerate(source.split(b"\n"), 1):
        try:
            line.decode()
        except UnicodeDecodeError:
            return number
    return None


def _first_change(before: bytes, after: bytes) -> int:
    same = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    place = min(len(before), len(after)) if same is None else same
    return 1 + before[:place].count(b"\n")


def _check(patch: Patch, source: bytes, before: ast.Module, result: bytes) -> None:
    try:
        after = parse(result)
        check(result)
    except (SyntaxError, ValueError) as error:
        raise Refused(f"the edited file would not parse: {error}") from None
    finding = patch.probe(after)
    if finding.status is not Status.FIXED:
        line = finding.evidence[0].line if finding.evidence else None
        raise Refused("the edit could not be proved to fix the file", line)
    changed = _changed((source, before), (result, after))
    for was, now in changed:
        _check_outside(was, now)


Lines = list[bytes]
Unit = ast.stmt


def _changed(
    old: tuple[bytes, ast.Module], new: tuple[bytes, ast.Module]
) -> list[tuple[Unit, Unit]]:
    """The innermost units that the edit changed; all that is outside them must be the same."""
    old_lines, new_lines = old[0].splitlines(keepends=True), new[0].splitlines(keepends=True)
    before, after = list(_units(old[1])), list(_units(new[1]))
    if [_label(unit) for unit in before] != [_label(unit) for unit in after]:
        raise Refused("the edit would add or remove a definition")
    pairs = [
        (was, now)
        for was, now in zip(before, after, strict=True)
        if _source(old_lines, was) != _source(new_lines, now)
    ]
    inner = [pair for pair in pairs if not any(_is_inside(o, pair[0]) for o, _ in pairs)]
    outside = [
        _without(old_lines, [o for o, _ in inner]),
        _without(new_lines, [n for _, n in inner]),
    ]
    if outside[0] != outside[1] or any(ast.dump(o) == ast.dump(n) for o, n in inner):
        raise Refused("the edit would touch lines that it has no business with")
    return inner


def _units(node: ast.AST, *, in_function: bool = False) -> Iterator[Unit]:
    """Every definition, and every statement that is not in a function, in order."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt) and (not in_function or _is_definition(child)):
            yield child
        if not isinstance(child, ast.expr):
            function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef))
            yield from _units(child, in_function=in_function or function)


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _label(unit: Unit) -> tuple[str, str]:
    return type(unit).__name__, getattr(unit, "name", "")


def _span(unit: Unit) -> range:
    """The lines of a unit, decorators included, counted from 0."""
    decorators = [d.lineno for d in getattr(unit, "decorator_list", [])]
    return range(min([unit.lineno, *decorators]) - 1, unit.end_lineno or unit.lineno)


def _source(lines: Lines, unit: Unit) -> Lines:
    span = _span(unit)
    return lines[span.start : span.stop]


def _is_inside(inner: Unit, outer: Unit) -> bool:
    return inner is not outer and any(node is inner for node in ast.walk(outer))


def _without(lines: Lines, units: list[Unit]) -> Lines:
    gone = {number for unit in units for number in _span(unit)}
    return [line for number, line in enumerate(lines) if number not in gone]


def _check_outside(was: Unit, now: Unit) -> None:
    """What others see of a changed definition: its signature, and the texts that it holds."""
    for field in ("args", "returns", "decorator_list", "bases", "targets"):
        if _dumped(getattr(was, field, None)) != _dumped(getattr(now, field, None)):
            name = getattr(was, "name", "it")
            raise Refused(f"the edit would change how {name} is used", was.lineno)
    if _texts(was) - _texts(now):
        raise Refused("the edit would drop a text", was.lineno)


def _dumped(value: object) -> str:
    if isinstance(value, list):
        return "".join(map(_dumped, value))
    return ast.dump(value) if isinstance(value, ast.AST) else str(value)


def _texts(node: ast.AST) -> set[str]:
    return {
        n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }
