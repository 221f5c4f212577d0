"""Renames and removes recordings; never a file that is none, nor one that is being written."""

import fcntl
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from loadtop.recording.listing import Recording
from loadtop.recording.place import SUFFIX
from loadtop.recording.reader import Session

SHARED_FIRST, SHARED_SIZE = 0x40000002, 510
"""The bytes that everybody who has a database of SQLite open holds a lock on (https://www.sqlite.org/src, os.h)."""

_AGE = re.compile(r"(\d{1,6}(?:\.\d+)?)\s*([smhdw])", re.ASCII)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


class HousekeepingError(Exception):
    """It cannot be done; the message says why."""


def in_use(path: Path) -> bool:
    """Whether another process has the recording open: the test that writes it, or somebody who looks at it.

    Not to be asked by a process that has it open itself: its own locks would be gone afterwards.
    """
    with path.open("r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, SHARED_SIZE, SHARED_FIRST)
        except (BlockingIOError, PermissionError):
            return True
    return False


def age(text: str) -> float:
    """Seconds for ``30d``, ``12h``, ``2w``. Raises ValueError."""
    found = _AGE.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"'{text}' is no age: write 30d, 12h or 2w")
    return float(found[1]) * _UNITS[found[2]]


def chosen(found: Sequence[Recording], now: float, *, older_s: float | None, keep: int | None) -> list[Recording]:
    """The recordings to remove: older than that, and not among the newest ``keep``. What cannot be read stays."""
    readable = sorted((each for each in found if not each.problem), key=lambda each: each.started)
    spare = readable[: max(0, len(readable) - keep)] if keep is not None else readable
    return [each for each in spare if older_s is None or now - each.started - each.duration_s > older_s]


def remove(path: Path, *, dry_run: bool = False) -> int:
    """Remove a recording and what SQLite left beside it; the bytes that are free then. Raises HousekeepingError.

    With ``dry_run`` nothing is removed; what would keep it from that is said all the same.
    """
    try:
        if in_use(path):
            raise HousekeepingError("it is open: a test writes it, or somebody looks at it")
        beside = [path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm")]
        there = [each for each in (*beside, path) if each.exists()]
        size = sum(each.stat().st_size for each in there)
        for each in there if not dry_run else ():
            each.unlink()
    except OSError as error:
        raise HousekeepingError(error.strerror or str(error)) from None
    return size


def rename(path: Path, name: str) -> Path:
    """Give a recording another name in its directory; where it is then. Raises HousekeepingError and SessionError."""
    if not name or name != Path(name).name or name.startswith("."):
        raise HousekeepingError(f"'{name}' is no name of a file: the directory stays as it is")
    target = path.with_name(name if name.endswith(SUFFIX) else f"{name}{SUFFIX}")
    Session(path).close()
    try:
        if target.exists():
            raise HousekeepingError(f"{target.name} exists already")
        if in_use(path):
            raise HousekeepingError("it is open: a test writes it, or somebody looks at it")
        # What a test that was killed left in the journal goes into the file first: a journal is found by its name.
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        target.hardlink_to(path)  # which, unlike a rename, never replaces a file that came just now
        path.unlink()
    except OSError as error:
        raise HousekeepingError(error.strerror or str(error)) from None
    except sqlite3.Error as error:
        raise HousekeepingError(str(error)) from None
    return target
