"""`python -m codemod`, and the `codemod` command."""

import gc
import sys

# Loading modules makes many objects and no garbage: looking for it takes a tenth of the start.
gc.set_threshold(100_000)

TERMINATED = 143  # 128 + SIGTERM, as shells count


def main() -> None:
    """Run the command line and exit."""
    from codemod.quick import answered

    if answered(sys.argv[1:]):
        return
    import signal

    from codemod.cli import cli

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))  # so that all is put back
    cli(prog_name="codemod")


if __name__ == "__main__":
    main()
