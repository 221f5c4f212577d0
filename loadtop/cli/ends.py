"""How loadtop ends: the exit codes of the contract, and the errors that lead to them."""

DONE, FAILED_IF, USAGE, UNREACHABLE, FILE, INVALID, INTERRUPTED = 0, 1, 2, 3, 4, 5, 130


class EndError(Exception):
    """Ends the program with ``code``; the message says why and what to do."""

    code = USAGE


class FileError(EndError):
    """A file that was asked for cannot be read or written; the message says which and why."""

    code = FILE


class UnreachableError(EndError):
    """A target or a machine to be watched cannot be reached; the message says why and what to type."""

    code = UNREACHABLE
