"""Dockerfiles: what is installed by name, and images that are called jax."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from codemod.pins.conda import specified
from codemod.pins.model import Pin, Source, SourceKind, Unread
from codemod.pins.nodes import Document, Node, collected
from codemod.pins.requirement import read
from codemod.pins.versions import of_poetry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Follow, Pins

INSTALLS = (  # what comes before the names, and whether those are of conda
    (r"\bpip[0-9.]*\s+(?:install|download|wheel)\b", False),
    (r"\b(?:(?:uv|poetry|pdm)\s+add|pipenv\s+install)\b", False),
    (r"\b(?:conda|mamba|micromamba|pixi)\s+(?:install|create|add)\b", True),
)
VARIABLE = re.compile(
    r"\$(?:\{(?P<braced>\w+)(?::?(?P<kind>[-+])(?P<other>[^}]*))?\}|(?P<plain>\w+))"
)
IMAGE = re.compile(r"(?:^|[/_-])jax(?:$|[/_:@-])", re.IGNORECASE)
HERE = re.compile(r"(?<!<)<<-?\s*([\"']?)([A-Za-z_]\w*)\1")  # a here-text and what ends it
LIST = re.compile(r"\s*(?:ONBUILD\s+)?RUN\s+(?:--\S+\s+)*(\[.*\])\s*", re.DOTALL | re.IGNORECASE)
# A word, a redirection with what it goes to, or the end of a command.
WORD = re.compile(
    r"""(?P<word>(?:[^\s"';&|()<>\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+)"""
    r"""|(?P<elsewhere>[<>]+&?\s*[^\s;&|()]*)|(?P<end>[;&|()]+)""",
    re.DOTALL,
)
OF_POETRY = re.compile(r"([\w.-]+(?:\[[^\]]*\])?)@([~^=<>\d][^/:]*)")  # as `poetry add` takes it
JAX = re.compile(r"(?i)(?:^|[/=@:])jax(?:$|[^a-z0-9_-]|-[0-9])")


@dataclass(slots=True)
class _Values:
    """Values of arguments and variables; None is one that was declared and given nothing."""

    now: dict[str, str | None] = field(default_factory=dict)  # in this stage
    kept: dict[str, str | None] = field(default_factory=dict)  # of these, those a later one takes
    first: dict[str, str | None] = field(default_factory=dict)  # before the first stage
    stages: dict[str, dict[str, str | None]] = field(default_factory=dict)  # kept ones, by name
    arguments: set[str] = field(default_factory=set)  # which `--build-arg` may set


def collect(data: bytes) -> Pins:
    """The pins of all stages; a comment is none, an argument without a value decides nothing."""
    return collected(data, _instructions, _read)


def _instructions(text: str) -> Node:
    """Each instruction with its lines, as they go on after a backslash and in here-texts."""
    document = Document(text.split("\n"))
    mark = re.match(r"(?:\s*#[^\n]*\n)*?\s*#\s*escape\s*=\s*(`)", text, re.IGNORECASE)
    ends = re.escape(mark[1] if mark else "\\") + r"\s*$"
    found: list[Node] = []
    parts: list[Node] = []
    until: list[str] = []  # the words that end the here-texts of an instruction
    for number, line in enumerate(document.lines, 1):
        comment = line.lstrip().startswith("#")
        if comment or (parts and not line.strip()):
            continue
        goes_on = re.search(ends, line)
        inside = until[:1]
        until = until[line.strip() == until[0] :] if until else _here_texts(parts, line)
        command = "" if goes_on else " ;"  # a line of a here-text ends a command
        bare = re.sub(ends, "", line) + (command if inside or until else "")
        parts.append(Node(bare, number, document))
        if not until and not goes_on:
            found.append(Node(parts, parts[0].line, document))
            parts = []
    if parts:
        found.append(Node(parts, parts[0].line, document))
    return Node(found, 1, document)


def _here_texts(parts: list[Node], line: str) -> list[str]:
    """The words that end the texts which begin on a line, of an instruction that may have some."""
    first = str(parts[0].value) if parts else line
    may = re.match(r"(?i)\s*(?:ONBUILD\s+)?(?:RUN|COPY|ADD)\s", first)
    return [word for _, word in HERE.findall(line)] if may else []


def _read(root: Node) -> Iterator[Pin | Unread | Follow | None]:
    values = _Values()
    for instruction in root.array():
        parts = instruction.array()
        first = re.sub(r"(?i)^\s*ONBUILD\s", "", str(parts[0].value)).strip()
        kind, _, rest = first.partition(" ")
        whole = " ".join([rest, *(str(part.value) for part in parts[1:])])
        if kind.upper() == "FROM":
            yield _image(whole.split(), parts[0], values)
        elif kind.upper() in ("ARG", "ENV"):
            _assign(whole, kind.upper(), values)
        elif kind.upper() == "RUN":
            yield from _installed(parts, values)


def _assign(rest: str, kind: str, values: _Values) -> None:
    old = re.match(r"(\w+)\s+([^=]+)$", rest.strip()) if kind == "ENV" else None
    pairs = [f"{old[1]}={old[2]}"] if old else [m[0] for m in WORD.finditer(rest)]
    for pair in pairs:
        name, given, value = pair.partition("=")
        plain, unset = _filled(_bare(value), values)
        values.now[name] = plain if given and not unset else values.first.get(name)
        if kind == "ARG":
            values.arguments.add(name)
        else:
            values.kept[name] = values.now[name]


def _image(words: list[str], at: Node, values: _Values) -> Pin | None:
    """The image that a stage begins with, if it is called jax; the stage has its variables."""
    if not values.stages:
        values.first = values.now
    name, *more = [word for word in words if not word.startswith("--")] or [""]
    name, unset = _filled(name, replace(values, now=values.first))
    earlier = values.stages.get(name)
    values.kept = dict(earlier or {})
    values.now = dict(values.kept)
    values.stages[more[-1] if more else str(len(values.stages))] = values.kept
    if earlier is not None or not IMAGE.search(name):
        return None
    place = Source(kind=SourceKind.IMAGE, url=name, moving="@sha256:" not in name)
    return Pin(line=at.line, text=at.document.written(at), source=place, unsure=_unset(unset))


def _installed(parts: list[Node], values: _Values) -> Iterator[Pin | Unread | Follow | None]:
    """The names after a command that installs, up to the end of that command."""
    text = _as_a_shell_has_it("\n".join(str(part.value) for part in parts))
    for pattern, conda in INSTALLS:
        for command in re.finditer(pattern, text):
            for word in WORD.finditer(text, command.end()):
                if word["end"]:
                    break
                at = parts[text.count("\n", 0, word.start())]
                if word["word"]:
                    yield _one(_bare(word[0]), at, values, conda=conda)


def _as_a_shell_has_it(instruction: str) -> str:
    """The same, of one that is written as a list of words (in the form `exec`)."""
    written = LIST.fullmatch(instruction)
    try:
        words = json.loads(written[1]) if written else []
        return shlex.join(words) or instruction
    except (ValueError, TypeError, RecursionError):  # then Docker too takes it for a shell's
        return instruction


def _one(word: str, at: Node, values: _Values, *, conda: bool) -> Pin | Unread | None:
    filled, unset = _filled(word, values)
    named = _filled(word, _Values(), mark="0")[0] if unset else filled
    if word.startswith("-") or not JAX.search(named):
        return None
    if (added := OF_POETRY.fullmatch(named)) and (constraint := of_poetry(added[2])) is not None:
        named = added[1] + constraint
    found = specified(named, at) if conda else read(at.line, named, shown=word)
    if not isinstance(found, Pin):
        return found
    asked = sorted({m["braced"] or m["plain"] for m in VARIABLE.finditer(word)} & values.arguments)
    if unset:
        return replace(found, text=word, specifier="", source=Source(), unsure=_unset(unset))
    remark = f"the default of {' and '.join(asked)}, which a build may override" if asked else ""
    return replace(found, text=word, remark="; ".join(filter(None, (found.remark, remark))))


def _unset(names: list[str]) -> str:
    return f"{' and '.join(names)} has no value here: the build gives it" if names else ""


def _filled(word: str, values: _Values, mark: str = "") -> tuple[str, list[str]]:
    """The word with its variables replaced, and those that have no value, `mark` in their place."""
    unset: list[str] = []

    def value(match: re.Match[str]) -> str:
        name = match["braced"] or match["plain"]
        known = values.now.get(name)
        if match["kind"]:
            return (match["other"] if (known is None) == (match["kind"] == "-") else known) or ""
        if known is None:
            unset.append(name)
        return known or mark

    return VARIABLE.sub(value, word), unset


def _bare(word: str) -> str:
    """A word of a shell without its quotes and escapes."""
    return re.sub(r"""\\(.)|"((?:[^"\\]|\\.)*)"|'([^']*)'""", _unquoted, word, flags=re.DOTALL)


def _unquoted(match: re.Match[str]) -> str:
    return next((group for group in match.groups() if group is not None), "")
