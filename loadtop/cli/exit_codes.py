"""Exit codes of loadtop, and the errors that end it with one of them."""

DONE, FAILED_IF, USAGE, UNREACHABLE, FILE, INVALID, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class ExitError(Exception):
    """Ends the program with ``code``; the message says what happened and what to do."""

    code = USAGE


class UsageError(ExitError):
    """The command line is wrong."""


class UnreadableError(UsageError):
    """A file that the command line names cannot be read."""

    code = FILE


class FileError(ExitError):
    """A file cannot be read or written."""

    code = FILE


class UnreachableError(ExitError):
    """A target or a host cannot be reached."""

    code = UNREACHABLE
