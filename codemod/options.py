"""The options of `codemod audit`, which are many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Callable

FORMATS = ("text", "json", "sarif", "openvex", "markdown", "github", "html")


def audit_options(command: Callable[..., None]) -> Callable[..., None]:
    """The command with its options, in this order in its help."""
    for option in reversed(_options()):
        command = option(command)
    return command


def _options() -> list[Callable[[Callable[..., None]], Callable[..., None]]]:
    return [
        click.option(
            "--format",
            "form",
            type=click.Choice(FORMATS),
            default="text",
            show_default=True,
            help="How the results are printed.",
        ),
        click.option(
            "-o", "--output", metavar="FILE", help="Write the results to this file, at once."
        ),
        click.option(
            "--strict", is_flag=True, help="Exit 1 for what could not be decided as well."
        ),
        click.option("--allow-none", is_flag=True, help="Exit 0 where no jax is found: for hooks."),
        click.option(
            "--wheels", metavar="DIR", multiple=True, help="Decide pins by the wheels in DIR."
        ),
        click.option(
            "--git",
            "clones",
            metavar="URL=DIR",
            multiple=True,
            help="Decide pins of the repository URL by its clone in DIR.",
        ),
        click.option(
            "--fetch", is_flag=True, help="Get the one file, or wheel, that decides a pin."
        ),
        click.option(
            "--jobs", metavar="N", type=click.IntRange(1, 1024), default=1, help="Use N processes."
        ),
        click.option("--dask", metavar="ADDRESS", help="Use the Dask cluster of this scheduler."),
        click.option(
            "--explain", metavar="ID", help="Say what a patch or a reason means, and all fixes."
        ),
        click.option(
            "--patches",
            "folders",
            metavar="DIR",
            multiple=True,
            help="Also use the patches of this folder.",
        ),
        click.option("-v", "--verbose", is_flag=True, help="Show the evidence of each row."),
        click.option(
            "-q", "--quiet", is_flag=True, help="Print no results, only what was not understood."
        ),
    ]
