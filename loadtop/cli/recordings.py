"""Recordings that were asked for: begun, and opened."""

import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from loadtop import __version__
from loadtop.cli.exit_codes import FileError
from loadtop.cli.options.option import Options
from loadtop.i18n import plain, tr
from loadtop.recording.container import NoSessionError, SessionError, SessionMeta
from loadtop.recording.library import SUFFIX, default_path, directory

if TYPE_CHECKING:
    from loadtop.recording.reader import Session
    from loadtop.recording.recorder import Recorder


@contextmanager
def opened(path: Path) -> "Generator[Session]":
    """The recording. What had to be left out of a damaged one is said at the end; one without a readable interval is a
    :class:`FileError`."""
    from loadtop.recording.reader import Session  # what starting a test need not load

    found = find(path)
    try:
        with Session(found) as session:
            if next(session.frames(), None) is None and session.damage:
                raise FileError(f"{session.path} is damaged: no interval of it can be read ({session.damage[0]})")
            yield session
            for damage in session.damage:
                print(f"loadtop: {plain(str(found))} is damaged: {plain(damage)}", file=sys.stderr)
    except NoSessionError as error:
        raise FileError(f"{error} (loadtop sessions list names the recordings)") from None
    except SessionError as error:
        raise FileError(str(error)) from None


def find(path: Path) -> Path:
    """A name alone can also be that of a recording in the state directory, with or without its suffix."""
    if path.name != str(path):
        return path
    named = (directory() / name for name in (path.name, f"{path.name}{SUFFIX}"))
    with suppress(OSError):  # a name that is too long, say: opening it tells
        if not path.exists():
            return next((candidate for candidate in named if candidate.is_file()), path)
    return path


def start_recorder(options: Options, words: list[str], title: str, url: str | None, name: str) -> "Recorder | None":
    """Begin the recording that was asked for, by default in a file with that name in it. Raises FileError if a file
    that the user named cannot be written."""
    if options.no_record:
        return None
    from loadtop.recording.recorder import Recorder

    now = time.time()
    meta = SessionMeta(
        started=now,
        command_line=tuple(words),
        url=url or "",
        version=__version__,
        interval_s=options.interval,
        title=title,
    )
    recorder = Recorder(options.record or default_path(name, now), meta=meta)
    if options.record is not None and recorder.problem:
        raise FileError(recorder.problem)
    return recorder


def tell_recording(recorder: "Recorder | None") -> None:
    """Say where the recording is, or why there is none, on standard error."""
    if recorder is not None and recorder.has_file:
        print(tr("Recorded in {path}", path=recorder.path), file=sys.stderr)
    if recorder is not None and recorder.problem:
        print(plain(recorder.problem), file=sys.stderr)
