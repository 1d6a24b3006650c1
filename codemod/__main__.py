"""`python -m codemod`, and the `codemod` command."""

from codemod.cli import cli


def main() -> None:
    """Run the command line and exit."""
    cli(prog_name="codemod")


if __name__ == "__main__":
    main()
