"""Exit codes of loadtop, and the errors that end it with one of them."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from loadtop.i18n import Text

DONE, FAILED_IF, USAGE, UNREACHABLE, FILE, INVALID, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class ExitError(Exception):
    """Ends the program with ``code``; ``text`` says what happened and what to do."""

    code = USAGE

    def __init__(self, text: "Text") -> None:
        super().__init__(text)
        self.text = text


class UsageError(ExitError):
    """The command line is wrong."""


class FileError(UsageError):
    """A file that the command line names cannot be read or written."""

    code = FILE


class UnreachableError(ExitError):
    """A target or a host cannot be reached."""

    code = UNREACHABLE
