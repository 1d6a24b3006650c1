"""`codemod audit` on the command line."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from codemod.audit import Audit

FORMATS = ("text", "json", "sarif", "openvex", "markdown", "github", "html")


@click.command(short_help="Find out which copies and pins of jax are affected.")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    show_default=True,
    help="How the results are printed.",
)
@click.option("-o", "--output", metavar="FILE", help="Write the results to this file, at once.")
@click.option("--strict", is_flag=True, help="Exit 1 for what could not be decided as well.")
@click.option("--allow-none", is_flag=True, help="Exit 0 where no jax is found: for hooks.")
@click.option("--wheels", metavar="DIR", multiple=True, help="Decide pins by the wheels in DIR.")
@click.option(
    "--git",
    "clones",
    metavar="URL=DIR",
    multiple=True,
    help="Decide pins of the repository URL by its clone in DIR.",
)
@click.option("--fetch", is_flag=True, help="Get the one file, or wheel, that decides a pin.")
@click.option(
    "--jobs", metavar="N", type=click.IntRange(1, 1024), default=1, help="Use N processes."
)
@click.option("--dask", metavar="ADDRESS", help="Use the Dask cluster of this scheduler.")
@click.option("--explain", metavar="ID", help="Say what a patch or a reason means, and all fixes.")
@click.option(
    "--patches",
    "folders",
    metavar="DIR",
    multiple=True,
    help="Also use the patches of this folder.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show the evidence of each row.")
@click.option("-q", "--quiet", is_flag=True, help="Print no results, only what was not understood.")
def audit(*, sources: Sequence[str], explain: str | None, **how: Any) -> None:
    """Find out which copies and pins of jax are affected, by what they are and not by their name.

    SOURCE is any TARGET, a wheel, an sdist, a pin file, a folder of any of these, git:DIR@REV, an
    OCI image layout or an archive of docker save. Without one, the active environment and the
    pin files of the current folder.
    """
    if explain is not None:
        from codemod.registry import load
        from codemod.report.explain import explain as explained

        click.echo(explained(explain, load(how["folders"])), nl=False)
        return
    found = _audited(sources, **how)
    for note in () if how["quiet"] else found.notes:
        click.echo(f"codemod: {note}", err=True)
    _print_audit(found, **{name: how[name] for name in ("form", "output", "quiet", "verbose")})
    sys.exit(int(found.exit_code))


def _audited(sources: Sequence[str], *, jobs: int, dask: str | None, **how: Any) -> Audit:
    from codemod.audit import audit as run
    from codemod.executors import executor
    from codemod.settings import settings

    told = settings(how["folders"], how["wheels"], how["clones"], fetch=how["fetch"])
    with redirect_stdout(sys.stderr), executor(jobs, dask) as workers:
        return run(
            sources, told, executor=workers, strict=how["strict"], allow_none=how["allow_none"]
        )


def _print_audit(
    found: Audit, *, form: str, output: str | None, quiet: bool, verbose: bool
) -> None:
    from codemod.report.audit import render

    text = render(found, form, verbose=verbose)
    if output is not None:
        from codemod.replacing import write_atomically

        write_atomically(output, text.encode("utf-8", "backslashreplace"))
    elif not quiet:
        click.echo(text, nl=False)
    if quiet:
        from codemod.report.audit_text import complaints

        click.echo(complaints(found), nl=False, err=True)
