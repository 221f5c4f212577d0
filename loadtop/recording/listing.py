"""The recordings in a directory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from loadtop.recording.place import SUFFIX, directory
from loadtop.recording.reader import Session, SessionError


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording: where, when (seconds since the epoch), how long (seconds), of what (a URL, or the
    session's title), and the verdict that was shown longest while load ran.

    ``problem`` says why a file could not be read; then the rest is empty.
    """

    path: Path
    started: float = 0.0
    duration_s: float = 0.0
    what: str = ""
    verdict: str = ""
    problem: str = ""


def recordings(folder: Path | None = None) -> Iterator[Recording]:
    """Every recording in the folder (default: the user's state directory), oldest first by name."""
    for path in sorted((folder or directory()).glob(f"*{SUFFIX}")):
        try:
            with Session(path) as session:
                meta = session.meta
                yield Recording(path, meta.started, session.duration, meta.url or meta.title, session.longest_verdict())
        except SessionError as error:
            yield Recording(path, problem=str(error))
