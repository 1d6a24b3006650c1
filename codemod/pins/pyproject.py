"""pyproject.toml: what the standards say, and tables of poetry, uv, pdm, hatch, rye and pixi."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from codemod.pins import pixi, tables
from codemod.pins.model import Follow, Pin, Unread
from codemod.pins.nodes import collected, toml
from codemod.pins.requirement import read
from codemod.pins.versions import of_poetry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from codemod.pins.model import Pins
    from codemod.pins.nodes import Node

POETRY = ("version", "git", "rev", "branch", "tag", "url", "path", "file", "python", "markers")
UV_LISTS = (
    "dev-dependencies override-dependencies constraint-dependencies build-constraint-dependencies"
).split()


def collect(data: bytes) -> Pins:
    """The requirements of jax, by whatever table; a file that one includes is followed."""
    return collected(data, toml, _read)


def _read(root: Node) -> Iterator[Pin | Unread | Follow | None]:
    own = root.at("tool", "uv", "sources")
    for requirement in _requirements(root):
        yield from _sourced(requirement, own)
    for table in _of_poetry(root.at("tool", "poetry")):
        yield from _poetry(table)
    yield from pixi.read(root.at("tool", "pixi"))
    for listed in _dynamic(root.at("tool", "setuptools", "dynamic")):
        yield Follow(line=listed.line, target=listed.text())


def _requirements(root: Node) -> Iterator[Node]:
    """All that is a requirement by PEP 508."""
    project, tool = root.at("project"), root.at("tool")
    lists = [project.at("dependencies"), root.at("build-system", "requires")]
    lists += _lists(project.at("optional-dependencies"), root.at("dependency-groups"))
    lists += [tool.at("uv", key) for key in UV_LISTS]
    lists += [tool.at("rye", "dev-dependencies")]
    lists += _lists(tool.at("pdm", "dev-dependencies"))
    for environment in tool.at("hatch", "envs").table().values():
        lists += [environment.at("dependencies"), environment.at("extra-dependencies")]
    return (one for each in lists for one in each.array() if one.text())


def _lists(*tables_: Node) -> list[Node]:
    return list(chain.from_iterable(each.table().values() for each in tables_))


def _sourced(requirement: Node, own: Node) -> Iterator[Pin | Unread | None]:
    """A requirement; with a source of its own in the table of uv, that decides."""
    text = requirement.text()
    if "jax" not in text.casefold():
        return
    found = read(requirement.line, text)
    given = [one for name, one in own.table().items() if tables.named(name)]
    if not isinstance(found, Pin) or not given or found.remark:
        yield found
        return
    for table in given[0].several():
        shown = () if table.line == requirement.line else (table,)
        yield tables.pin(
            "jax",
            requirement,
            tables.source(table),
            *shown,
            specifier=found.specifier,
            marker=table.at("marker").text() or found.marker,
            unsure="a member of the workspace, in a folder of it"
            if table.at("workspace").there
            else "",
        )


def _of_poetry(poetry: Node) -> Iterable[Node]:
    yield poetry.at("dependencies")
    yield poetry.at("dev-dependencies")
    for group in poetry.at("group").table().values():
        yield group.at("dependencies")


def _poetry(dependencies: Node) -> Iterator[Pin | None]:
    for name, wanted in dependencies.table().items():
        for one in wanted.several():
            table = one.entry("version")
            version = table.at("version").text()
            specifier = of_poetry(version)
            yield tables.pin(
                name,
                one,
                tables.source(table),
                *(table.at(key) for key in POETRY),
                specifier=specifier or "",
                marker=table.at("markers").text() or table.at("python").text(),
                unsure=f"{version} is not understood" if specifier is None else "",
            )


def _dynamic(dynamic: Node) -> Iterator[Node]:
    """The requirements files that setuptools reads, by its "dynamic metadata"."""
    several = [dynamic.at("dependencies"), *dynamic.at("optional-dependencies").table().values()]
    for each in several:
        yield from each.at("file").several()
