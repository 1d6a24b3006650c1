"""The command line: thin commands that import their work late, and the only place that prints."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import IO, TYPE_CHECKING, Any

import click

from codemod import __version__
from codemod.errors import CodemodError, UsageError
from codemod.options import audit_options

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from codemod.audit import Audit
    from codemod.locate import Target
    from codemod.model import Patch, Report

INTERRUPTED = 130  # 128 + SIGINT, as shells count


class _Shown(click.ClickException):
    """One line on stderr and the exit code of the error that it stands for."""

    def __init__(self, error: CodemodError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_code  # type: ignore[misc]  # click declares it on the class

    def show(self, file: IO[Any] | None = None) -> None:
        line = " ".join(self.format_message().splitlines())
        click.echo(f"codemod: error: {line}", file=file or sys.stderr)


class _Commands(click.Group):
    """The group that turns the project's errors into one line, once, for all commands."""

    def invoke(self, ctx: click.Context) -> Any:
        for stream in (sys.stdout, sys.stderr):
            # A file name may hold bytes that the terminal's encoding has no character for.
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        try:
            return _flushed(super().invoke, ctx)
        except CodemodError as error:
            raise _Shown(error) from error
        except KeyboardInterrupt:
            click.echo("codemod: interrupted", err=True)
            sys.exit(INTERRUPTED)

    def main(self, *args: Any, **extra: Any) -> Any:
        try:
            return super().main(*args, **extra)
        except OSError as error:  # of our own output; those of files are all shown by name
            click.echo(f"codemod: error: cannot write the output: {error.strerror}", err=True)
            sys.exit(CodemodError.exit_code)


def _flushed(invoke: Callable[[click.Context], Any], ctx: click.Context) -> Any:
    """Run a command and write out what it printed, while a failure can still be told."""
    try:
        return invoke(ctx)
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """Fix the jax that is already there: TPU_SKIP_MDS_QUERY is honoured, no metadata server asked.

    TARGET is an interpreter, a virtual or conda environment, a site-packages folder, any folder
    (searched for copies of jax), the jax folder, or cloud_tpu_cluster.py itself. Without one,
    the active environment.

    Exit codes: 0 well; 1 something is to be done, or was not proved; 2 wrong usage; 3 refused or
    failed; 4 no jax found.
    """


_form = click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the results are printed.",
)


def _options(command: Callable[..., None]) -> Callable[..., None]:
    """The options that every command over patches has."""
    for option in (
        click.option("-q", "--quiet", is_flag=True, help="Print no results, only errors."),
        click.option(
            "--patches",
            "folders",
            metavar="DIR",
            multiple=True,
            help="Also use the patches of this folder.",
        ),
        _form,
    ):
        command = option(command)
    return command


_targets = click.argument("targets", metavar="[TARGET]...", nargs=-1)
_patch = click.option("--patch", "ids", metavar="ID", multiple=True, help="Only this patch.")


@cli.command("list", short_help="List the patches.")
@click.option("--examples", is_flag=True, help="Show what each patch changes and what it leaves.")
@_options
def list_(*, examples: bool, form: str, folders: Sequence[str], quiet: bool) -> None:
    """List the patches: what they fix and which releases need them."""
    patches = _chosen(folders, ())
    if form == "json":
        from codemod.report.jsonreport import list_json

        click.echo(list_json(patches), nl=False)
    elif not quiet:
        from codemod.report.textreport import list_text

        click.echo(list_text(patches, examples=examples), nl=False)


@cli.command(short_help="Print what apply would do, as a diff.")
@_targets
@_patch
@_options
def diff(*, targets: Sequence[str], ids: Sequence[str], folders: Sequence[str], **how: Any) -> None:
    """Print what apply would do as a unified diff, which git apply takes."""
    patches = _chosen(folders, ids)
    report = _run(_found(targets, quiet=how["quiet"]), patches, command="diff", write=False)
    if how["form"] == "json":
        _print(report, verbose=False, **how)
    else:
        if not how["quiet"]:
            click.echo(report.diff, nl=False)
        _complain(report)
    _leave(report, quiet=how["quiet"])


@cli.command(short_help="Edit every copy of jax in TARGET in place.")
@_targets
@_patch
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if something is to be done.")
@click.option("--dry-run", is_flag=True, help="Write nothing; show the diff as well.")
@click.option("--verify", is_flag=True, help="Run each copy afterwards; undo what is not proved.")
@click.option("-v", "--verbose", is_flag=True, help="Show the evidence of each row.")
@_options
def apply(
    *,
    targets: Sequence[str],
    ids: Sequence[str],
    folders: Sequence[str],
    check: bool,
    dry_run: bool,
    verify: bool,
    **how: Any,
) -> None:
    """Put the guard into every copy of jax in TARGET, in place, or refuse and write nothing."""
    if verify and (check or dry_run):
        raise UsageError("--verify runs what was written: not with --check or --dry-run")
    patches = _chosen(folders, ids)
    found = _found(targets, quiet=how["quiet"])
    report = _run(found, patches, write=not (check or dry_run), verify=verify)
    if dry_run and how["form"] == "text" and not how["quiet"]:
        click.echo(report.diff, nl=False)
    _print(report, **how)
    _leave(report, quiet=how["quiet"])


@cli.command(short_help="Run each copy of jax in TARGET to prove it.")
@_targets
@click.option(
    "--level",
    type=click.Choice(["module", "cluster"]),
    default="module",
    show_default=True,
    help="module: call the functions of the file. cluster: start real processes.",
)
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    help="How many processes call jax.distributed.initialize() at level cluster.  [default: 2]",
)
@click.option(
    "--python",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="The interpreter to run the copy in, where TARGET has none.",
)
@_form
@click.option("-q", "--quiet", is_flag=True, help="Print the summary only.")
def verify(
    *,
    targets: Sequence[str],
    level: str,
    processes: int | None,
    python: str | None,
    form: str,
    quiet: bool,
) -> None:
    """Prove by running it that no metadata request is made, and that unset one still is."""
    from codemod.commands import verify as run

    if processes and level != "cluster":
        raise UsageError("--processes is for --level cluster")
    found = _found(targets, quiet=quiet)
    verdicts = run(found, level=level, processes=processes or 2, python=python)
    if form == "json":
        from codemod.report.jsonreport import verdicts_json

        click.echo(verdicts_json(verdicts), nl=False)
    else:
        from codemod.report.verdict import to_text

        for verdict in verdicts:
            click.echo(verdict.summary if quiet else to_text(verdict).rstrip("\n"))
    sys.exit(max(int(verdict.exit_code) for verdict in verdicts))


@cli.command("test", short_help="Run the examples of patches.")
@click.argument("folder", metavar="[DIR]", required=False)
@_form
@click.option("-q", "--quiet", is_flag=True, help="Print only the examples that do not hold.")
def test_(*, folder: str | None, form: str, quiet: bool) -> None:
    """Run the examples of the patches of DIR, without it of the tool's own.

    An example holds if it has the status that it says, becomes what it says, and is then left
    alone; exit code 1 if one does not.
    """
    from codemod.examples import check_examples, exit_code
    from codemod.registry import in_folder, load

    with redirect_stdout(sys.stderr):
        checks = check_examples(load() if folder is None else in_folder(folder))
    if form == "json":
        from codemod.report.jsonreport import checks_json

        click.echo(checks_json(checks), nl=False)
    else:
        from codemod.report.textreport import checks_text

        click.echo(checks_text(checks, quiet=quiet), nl=False)
    sys.exit(int(exit_code(checks)))


@cli.command(short_help="Find out which copies and pins of jax are affected.")
@click.argument("sources", metavar="[SOURCE]...", nargs=-1)
@audit_options
def audit(*, sources: Sequence[str], explain: str | None, **how: Any) -> None:
    """Find out which copies and pins of jax are affected, by what they are and not by their name.

    SOURCE is any TARGET, a wheel, an sdist, a pin file, a folder of any of these, git:DIR@REV, an
    OCI image layout or an archive of docker save. Without one, the active environment and the
    pin files of the current folder.
    """
    if explain is not None:
        from codemod.report.explain import explain as explained

        click.echo(explained(explain, _chosen(how["folders"], ())), nl=False)
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
        from codemod.textfile import write_atomically

        write_atomically(output, text.encode("utf-8", "backslashreplace"))
    elif not quiet:
        click.echo(text, nl=False)
    if quiet:
        from codemod.report.audit_text import complaints

        click.echo(complaints(found), nl=False, err=True)


def _found(arguments: Sequence[str], *, quiet: bool) -> list[Target]:
    from codemod.commands import find_targets
    from codemod.textfile import show

    targets = find_targets(arguments)
    if not arguments and not quiet:
        click.echo(f"codemod: {show(targets[0].root)}: {targets[0].why}", err=True)
    return targets


def _chosen(folders: Sequence[str], ids: Sequence[str]) -> list[Patch]:
    from codemod.registry import choose, load

    with redirect_stdout(sys.stderr):  # what somebody's patch prints is no result
        return choose(load(folders), ids)


def _run(
    targets: Sequence[Target], patches: Sequence[Patch], *, verify: bool = False, **how: Any
) -> Report:
    from codemod.commands import apply as run
    from codemod.commands import objection

    with redirect_stdout(sys.stderr):
        return run(targets, patches, check=objection if verify else None, **how)


def _print(report: Report, *, form: str, quiet: bool, verbose: bool) -> None:
    if form == "json":
        from codemod.report.jsonreport import to_json

        click.echo(to_json(report), nl=False)
    elif quiet:
        _complain(report)
    else:
        from codemod.report.textreport import to_text

        click.echo(to_text(report, verbose=verbose), nl=False)


def _complain(report: Report) -> None:
    """What was refused or failed, on stderr: the results are elsewhere, or not wanted."""
    from codemod.model import Exit
    from codemod.report.textreport import complaints

    if report.exit_code >= Exit.REFUSED:
        click.echo(complaints(report), nl=False, err=True)


def _leave(report: Report, *, quiet: bool) -> None:
    if not quiet:
        for note in report.notes:
            click.echo(f"codemod: note: {note}", err=True)
    sys.exit(int(report.exit_code))
