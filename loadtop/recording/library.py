"""The user's recordings: where they are kept; listing, renaming and removing them."""

import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import chain, count
from pathlib import Path

from msgspec import Struct

from loadtop.recording.container import SessionError
from loadtop.recording.state import directory

SUFFIX = ".loadtop"

SHARED_FIRST, SHARED_SIZE = 0x40000002, 510
"""The bytes that everyone who has an SQLite database open holds a lock on (https://www.sqlite.org/src, os.h)."""

_AGE = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*([smhdw])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def default_path(target_host: str, now: float) -> Path:
    """Return a name that is free so far for a session that starts ``now`` (seconds since the epoch), in local time."""
    stamp = time.strftime("%Y-%m-%d-%H%M%S", time.localtime(now))
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", target_host).strip("-.")[:80] or "session"
    paths = (directory() / f"{stamp}-{host}{end}{SUFFIX}" for end in chain([""], map("-{}".format, count(2))))
    return next(path for path in paths if not os.path.lexists(path))


class Recording(Struct, frozen=True):
    """``started`` is seconds since the epoch, ``what`` a URL or the session's title, ``verdict`` the one that was shown
    longest while load ran. ``problem`` says why a file could not be read; then the rest is empty."""

    path: Path
    started: float = 0.0
    duration_s: float = 0.0
    what: str = ""
    verdict: str = ""
    problem: str = ""


def recordings(folder: Path | None = None) -> Iterator[Recording]:
    """Yield every recording in the folder (default: the user's state directory), oldest first by name."""
    from loadtop.recording.reader import Session  # what starting a test need not load

    for path in sorted((folder or directory()).glob(f"*{SUFFIX}")):
        try:
            with Session(path) as session:
                meta = session.meta
                yield Recording(path, meta.started, session.duration, meta.url or meta.title, session.longest_verdict())
        except SessionError as error:
            yield Recording(path, problem=str(error))


def _check_closed(path: Path) -> None:
    """Raise SessionError where another process has the recording open. Not to be called while it is open here: its
    locks would be lost."""
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_SIZE, SHARED_FIRST)
        except (BlockingIOError, PermissionError):
            raise SessionError("it is in use: a test is writing it, or another program is reading it") from None


def age(text: str) -> float:
    """Seconds for ``30d``, ``12h``, ``2w``. Raises ValueError."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is not an age: write 30d, 12h or 2w")
    return float(found[1]) * _UNITS[found[2]]


def chosen(found: Sequence[Recording], now: float, *, older_s: float | None, keep: int | None) -> list[Recording]:
    """The recordings to remove: older than that, and not among the newest ``keep``. What cannot be read stays."""
    readable = sorted((each for each in found if not each.problem), key=lambda each: each.started)
    spare = readable[: max(0, len(readable) - keep)] if keep is not None else readable
    return [each for each in spare if older_s is None or now - each.started - each.duration_s > older_s]


def remove(path: Path, *, dry_run: bool = False) -> int:
    """Remove a recording and what SQLite left beside it; returns the bytes that are free then. Raises
    SessionError, with ``dry_run`` too, which removes nothing."""
    try:
        _check_closed(path)
        beside = [path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm")]
        there = [each for each in (*beside, path) if each.exists()]
        size = sum(each.stat().st_size for each in there)
        for each in there if not dry_run else ():
            each.unlink()
    except OSError as error:
        raise SessionError(error.strerror or str(error)) from None
    return size


def rename(path: Path, name: str) -> Path:
    """Give a recording another name in its directory; where it is then. Raises SessionError."""
    if not name or name != Path(name).name or name.startswith("."):
        raise SessionError(f"'{name}' is not a file name: give a name without a directory")
    target = path.with_name(name if name.endswith(SUFFIX) else f"{name}{SUFFIX}")
    from loadtop.recording.reader import Session

    Session(path).close()
    try:
        if target.exists():
            raise SessionError(f"{target.name} exists already")
        _check_closed(path)
        # What a test that was killed left in the journal goes into the file first: a journal is found by its name.
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target.hardlink_to(path)  # which, unlike a rename, never replaces a file that came just now
        path.unlink()
    except (OSError, sqlite3.Error) as error:
        raise SessionError(getattr(error, "strerror", None) or str(error)) from None
    return target
