"""Opens recordings that were asked for."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from loadtop.cli.ends import FileError
from loadtop.load_options import UsageError
from loadtop.session.reader import Session, SessionError
from loadtop.words import plain


@contextmanager
def opened(path: Path | None) -> Generator[Session]:
    """The recording. What had to be left out of a damaged one is said at the end; one that cannot be read at all is a
    :class:`FileError`."""
    if path is None:
        raise UsageError("no recording given: loadtop sessions lists them")
    try:
        with Session(path) as session:
            yield session
            for damage in session.damage:
                print(f"loadtop: {plain(str(path))} is damaged: {plain(damage)}", file=sys.stderr)
    except SessionError as error:
        raise FileError(str(error)) from None
