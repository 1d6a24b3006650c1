"""`python -m codemod`, and the `codemod` command."""

import gc

# Loading modules makes many objects and no garbage: looking for it takes a tenth of the start.
gc.set_threshold(100_000)

from codemod.cli import cli  # noqa: E402 - after the line above, or it would be of no use


def main() -> None:
    """Run the command line and exit."""
    cli(prog_name="codemod")


if __name__ == "__main__":
    main()
