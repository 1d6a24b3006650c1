""".gitmodules: https://git-scm.com/docs/gitmodules; the commit itself stands in the tree of git."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from codemod.pins.model import Pin, Source, SourceKind
from codemod.pins.nodes import Document, Node, collected
from codemod.pins.requirement import is_jax

if TYPE_CHECKING:
    from collections.abc import Iterator

    from codemod.pins.model import Pins


def collect(data: bytes) -> Pins:
    """The submodules whose URL is of a jax: what lies in their folder decides."""
    return collected(data, _sections, _read)


def _sections(text: str) -> Node:
    document = Document(text.split("\n"))
    found: list[Node] = []
    for number, line in enumerate(document.lines, 1):
        if line.lstrip().startswith("["):
            found.append(Node({}, number, document))
        elif found and (pair := re.fullmatch(r'\s*(\w+)\s*=\s*"?(.*?)"?\s*', line)):
            found[-1].table()[pair[1].lower()] = Node(pair[2], number, document)
    return Node(found, 1, document)


def _read(root: Node) -> Iterator[Pin]:
    for module in root.array():
        url, path = module.at("url"), module.at("path")
        if is_jax(Source(url="/" + url.text().replace(":", "/"))):
            yield Pin(
                line=url.line,
                text=module.document.written(path, url, module.at("branch")),
                source=Source(kind=SourceKind.PATH, url=path.text()),
                remark=f"a submodule of {url.text()}",
            )
