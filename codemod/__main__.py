"""`python -m codemod`, and the `codemod` command."""

import gc
import sys

# Loading modules makes many objects and no garbage: looking for it takes a tenth of the start.
gc.set_threshold(100_000)

SIGNALLED = 128  # and the number of the signal, as shells count


def main() -> None:
    """Run the command line and exit."""
    from codemod.quick import answered

    if answered(sys.argv[1:]):
        return
    import signal

    from codemod.cli import cli

    for name in ("SIGTERM", "SIGHUP"):  # so that all is put back, and every child ended
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # as by nohup
            signal.signal(number, lambda number, _: sys.exit(SIGNALLED + number))
    cli(prog_name="codemod")


if __name__ == "__main__":
    main()
