"""The errors that end a command: one line on stderr and an exit code, never a traceback."""


class CodemodError(Exception):
    """Refused or failed. The message is one line that names the file and the place."""

    exit_code = 3


class UsageError(CodemodError):
    """The command line asks for something that does not exist or contradicts itself."""

    exit_code = 2


class NoJaxError(CodemodError):
    """Nothing at all was found to work on."""

    exit_code = 4


class Refused(CodemodError):  # noqa: N818 - the word for it, in the outcomes too
    """This copy cannot be edited safely. Nothing was written.

    `line` is 1-based, or None where the whole file is meant.
    """

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.why = why
        self.line = line
