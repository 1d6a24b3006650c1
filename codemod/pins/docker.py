"""Dockerfiles: what is installed by name, and images that are called jax."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from codemod.pins.conda import specified
from codemod.pins.model import Pin, Source, SourceKind, Unread
from codemod.pins.nodes import Document, Node, collected
from codemod.pins.requirement import read

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
WORD = re.compile(r"""(?:[^\s"';&|()\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+|[;&|()]+""", re.DOTALL)
JAX = re.compile(r"(?i)(?:^|[/=@:])jax(?:$|[^a-z0-9_-]|-[0-9])")


@dataclass(slots=True)
class _Values:
    """Values of the arguments and variables of a stage, and of those given before the first one."""

    now: dict[str, str | None] = field(default_factory=dict)  # None: declared, and given nothing
    first: dict[str, str | None] = field(default_factory=dict)
    arguments: set[str] = field(default_factory=set)  # which `--build-arg` may set


def collect(data: bytes) -> Pins:
    """The pins of all stages; a comment is none, an argument without a value decides nothing."""
    return collected(data, _instructions, _read)


def _instructions(text: str) -> Node:
    """Each instruction with the lines that go on after a backslash (or the escape of the file)."""
    document = Document(text.split("\n"))
    mark = re.match(r"(?:\s*#[^\n]*\n)*?\s*#\s*escape\s*=\s*(`)", text, re.IGNORECASE)
    ends = re.escape(mark[1] if mark else "\\") + r"\s*$"
    found: list[Node] = []
    parts: list[Node] = []
    for number, line in enumerate(document.lines, 1):
        if line.lstrip().startswith("#") or (parts and not line.strip()):
            continue
        parts.append(Node(re.sub(ends, "", line), number, document))
        if not re.search(ends, line):
            found.append(Node(parts, parts[0].line, document))
            parts = []
    if parts:
        found.append(Node(parts, parts[0].line, document))
    return Node(found, 1, document)


def _read(root: Node) -> Iterator[Pin | Unread | Follow | None]:
    values = _Values()
    for instruction in root.array():
        parts = instruction.array()
        word, _, rest = str(parts[0].value).strip().partition(" ")
        kind = word.upper()
        if kind == "FROM":
            values.now = {}
            yield _image(rest.strip(), parts[0], values)
        elif kind in ("ARG", "ENV"):
            _assign(" ".join([rest, *(str(part.value) for part in parts[1:])]), kind, values)
        elif kind == "RUN":
            yield from _installed(parts, values)


def _assign(rest: str, kind: str, values: _Values) -> None:
    old = re.match(r"(\w+)\s+([^=]+)$", rest.strip()) if kind == "ENV" else None
    pairs = [f"{old[1]}={old[2]}"] if old else [m[0] for m in WORD.finditer(rest)]
    for pair in pairs:
        name, given, value = pair.partition("=")
        plain, unset = _filled(_bare(value), values)
        known = plain if given and not unset else values.first.get(name)
        values.now[name] = known
        values.first.setdefault(name, known)
        if kind == "ARG":
            values.arguments.add(name)


def _image(rest: str, at: Node, values: _Values) -> Pin | None:
    """The image that a stage is made from, if it is called jax."""
    words = [word for word in rest.split() if not word.startswith("--")]
    name, unset = _filled(words[0] if words else "", replace(values, now=values.first))
    if not IMAGE.search(name):
        return None
    place = Source(kind=SourceKind.IMAGE, url=name, moving="@sha256:" not in name)
    text = at.document.written(at)
    return Pin(line=at.line, text=text, source=place, unsure=_unset(unset))


def _installed(parts: list[Node], values: _Values) -> Iterator[Pin | Unread | Follow | None]:
    """The names after a command that installs, up to the end of that command."""
    text = "\n".join(str(part.value) for part in parts)
    for pattern, conda in INSTALLS:
        for command in re.finditer(pattern, text):
            for word in WORD.finditer(text, command.end()):
                if re.fullmatch(r"[;&|()]+", word[0]):
                    break
                at = parts[text.count("\n", 0, word.start())]
                yield _one(_bare(word[0]), at, values, conda=conda)


def _one(word: str, at: Node, values: _Values, *, conda: bool) -> Pin | Unread | None:
    filled, unset = _filled(word, values)
    named = _filled(word, _Values(), mark="0")[0] if unset else filled
    if word.startswith("-") or not JAX.search(named):
        return None
    found = specified(named, at) if conda else read(at.line, named, shown=word)
    if not isinstance(found, Pin):
        return found
    asked = sorted({m["braced"] or m["plain"] for m in VARIABLE.finditer(word)} & values.arguments)
    remark = f"the default of {' and '.join(asked)}, which a build may override" if asked else ""
    if unset:
        found = replace(found, specifier="", source=Source(), unsure=_unset(unset))
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
