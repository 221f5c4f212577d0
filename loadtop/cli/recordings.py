"""Opens recordings that were asked for."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from loadtop.cli.ends import FileError
from loadtop.load_options import UsageError
from loadtop.session.place import SUFFIX, directory
from loadtop.session.reader import Session, SessionError
from loadtop.words import plain


@contextmanager
def opened(path: Path | None) -> Generator[Session]:
    """The recording. What had to be left out of a damaged one is said at the end; one that cannot be read at all is a
    :class:`FileError`."""
    if path is None:
        raise UsageError("no recording given: loadtop sessions lists them")
    found = find(path)
    try:
        with Session(found) as session:
            yield session
            for damage in session.damage:
                print(f"loadtop: {plain(str(found))} is damaged: {plain(damage)}", file=sys.stderr)
    except SessionError as error:
        raise FileError(str(error)) from None


def find(path: Path) -> Path:
    """A name alone can also be that of a recording in the state directory, with or without its suffix."""
    if path.exists() or path.name != str(path):
        return path
    named = (directory() / name for name in (path.name, f"{path.name}{SUFFIX}"))
    return next((candidate for candidate in named if candidate.is_file()), path)
