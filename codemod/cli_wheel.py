"""`codemod wheel` on the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from codemod.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codemod.wheels import Made

LABEL = r"[a-z0-9]+([._-][a-z0-9]+)*"  # of a local version, by PEP 440


@click.command(short_help="Make patched wheels of jax.")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option(
    "-r", "--requirement", "lists", metavar="FILE", multiple=True, help="Of each pin of this file."
)
@click.option("-o", "--output", metavar="DIR", default=".", help="Where the new wheels go.")
@click.option("--local-version", "label", metavar="LABEL", help="In place of skipmds.1.")
@click.option(
    "--requirements", metavar="FILE", help="Write the pins of the new wheels, with hashes."
)
@click.option("--index", metavar="DIR", help="Make a package index of the new wheels.")
@click.option("--no-verify", is_flag=True, help="Do not run what is in a new wheel first.")
@click.option("--force", is_flag=True, help="Make one of a wheel that needs no patch as well.")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 1024), help="Use N processes.  [default: cores]"
)
@click.option("--patch", "ids", metavar="ID", multiple=True, help="Only this patch.")
@click.option(
    "--patches",
    "folders",
    metavar="DIR",
    multiple=True,
    help="Also use the patches of this folder.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the results are printed.",
)
@click.option("-q", "--quiet", is_flag=True, help="Print no results, only errors.")
def wheel(sources: Sequence[str], **how: Any) -> None:
    """Make a patched wheel of each wheel of jax, with a local version that tells of it.

    SOURCE is a wheel, an sdist, a folder of these, or a requirement such as jax==0.8.0, which pip
    fetches. jax.__version__ stays as it is, and pins such as jax==0.8.0 take the new wheel. Of an
    sdist an sdist is made, of the same name and version.
    """
    from codemod.report.wheels import to_json, to_text

    if not sources and not how["lists"]:
        raise UsageError("nothing to make a wheel of: name a SOURCE, or a file with -r")
    made = _made(sources, **how)
    if how["form"] == "json":
        click.echo(to_json(made), nl=False)
    elif not how["quiet"]:
        click.echo(to_text(made), nl=False)
    _write(made, how["requirements"], how["index"])
    _complain(made, quiet=how["quiet"], text=how["form"] == "text")
    sys.exit(max(int(each.exit_code) for each in made))


def _made(sources: Sequence[str], *, quiet: bool, jobs: int | None, **how: Any) -> list[Made]:
    from codemod.registry import choose, load
    from codemod.wanted import cache_folder, find
    from codemod.wheels import Order, epoch, make

    choose(load(how["folders"]), how["ids"])  # what is wrong with them is told once
    order = Order(
        folder=how["output"],
        label=_checked(how["label"]),
        ids=tuple(how["ids"]),
        patch_folders=tuple(how["folders"]),
        force=how["force"],
        verify=not how["no_verify"],
        epoch=epoch(os.environ),
    )
    given = _apart(find(sources, how["lists"], cache_folder(os.environ)))
    if (out := how["requirements"]) and os.path.realpath(out) in {
        os.path.realpath(read) for read in (*given, *how["lists"])
    }:
        raise UsageError(f"--requirements {out}: would replace what is read")
    done = _progress(len(given), quiet=quiet)
    return make(given, order, jobs=jobs or os.cpu_count() or 1, done=done)


def _apart(given: Sequence[Path]) -> list[Path]:
    """Each file once; raises UsageError for two that would give one new file."""
    files: dict[str, Path] = {}
    names: dict[str, Path] = {}
    for path in given:
        files.setdefault(os.path.realpath(path), path)
    for path in files.values():
        if (other := names.setdefault(path.name, path)) != path:
            raise UsageError(f"{other} and {path} are called the same: name one of them")
    return [*files.values()]


def _checked(label: str | None) -> str:
    import re

    from codemod.wheel import LABEL as DEFAULT

    if label is None:
        return DEFAULT
    if not re.fullmatch(LABEL, label):
        raise UsageError(f"--local-version {label!r}: is to be letters, digits and dots (PEP 440)")
    return re.sub("[-_]", ".", label)


def _progress(count: int, *, quiet: bool) -> Callable[[Made], None]:
    """What says on a terminal how far the work is; in a pipe nothing does."""
    if quiet or count == 1 or not sys.stderr.isatty():
        return lambda _: None
    finished = iter(range(1, count + 1))

    def tell(made: Made) -> None:
        click.echo(f"codemod: {next(finished)} of {count}: {Path(made.source).name}", err=True)

    return tell


def _write(made: Sequence[Made], requirements: str | None, index: str | None) -> None:
    new = [each for each in made if each.file]
    if not new and (requirements or index):
        click.echo("codemod: note: nothing new: what there is of pins and index is left", err=True)
        return
    if requirements is not None:
        from codemod.index import requirements as lines
        from codemod.replacing import write_atomically

        write_atomically(requirements, lines(new).encode())
    if index is not None:
        from codemod.index import write_index

        write_index(Path(index), new)


def _complain(made: Sequence[Made], *, quiet: bool, text: bool) -> None:
    from codemod.textfile import show

    for each in made:
        if each.exit_code and (quiet or not text):
            click.echo(f"codemod: {show(each.source)}: {each.message}", err=True)
        for note in () if quiet else each.notes:
            click.echo(f"codemod: note: {note}", err=True)
    if any(each.file for each in made) and not quiet:
        click.echo(
            "codemod: note: where hashes are required, upstream's hash refuses the new wheel: "
            "take the new line (--requirements); with uv, lock again",
            err=True,
        )
