"""Option values read from a file (``@FILE``), which keeps secrets off the command line."""

import os
import stat
import sys
from functools import cache
from pathlib import Path

from loadtop.cli.exit_codes import FileError, UsageError
from loadtop.i18n import tr

LARGEST = 1 << 16  # bytes of a file of secrets


def lines_of_file(option: str, word: str) -> list[str] | None:
    """Return the lines of FILE where the value of ``option`` is ``@FILE``, without blank ones; None for other values.
    Bytes that are not UTF-8 are kept, as on the command line. Raises FileError; the message never has what is in the
    file. A file that other users can read gets a warning."""
    if not word.startswith("@"):
        return None
    file = Path(word[1:])
    try:
        with file.open("rb") as source:
            mode = os.fstat(source.fileno()).st_mode
            data = source.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        raise FileError(f"{option} {word}: cannot read {file}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST:
        raise FileError(f"{option} {word}: {file} is larger than {LARGEST >> 10} kB. Is it the right file?")
    if stat.S_ISREG(mode) and mode & stat.S_IROTH:
        _warn(file)
    lines = [line.strip() for line in data.decode("utf-8", "surrogateescape").splitlines()]
    if not any(lines):
        raise FileError(f"{option} {word}: {file} is empty")
    return list(filter(None, lines))


def value_of(option: str, word: str) -> str:
    """Return the value of an option that takes one: ``word``, or the only line of its file."""
    lines = lines_of_file(option, word)
    if lines is None:
        return word
    if len(lines) > 1:
        raise UsageError(f"{option} {word}: the file must contain one line, but has {len(lines)}")
    return lines[0]


@cache
def _warn(file: Path) -> None:
    """Say it once, however often the command line is read."""
    said = tr("every user of this machine can read {file}: chmod 600 {file}", file=file)
    print(f"loadtop: {said}", file=sys.stderr)
