"""Contended file locks, from /proc/locks (Linux, fs/locks.c, ``lock_get_status``).

``1: FLOCK  ADVISORY  WRITE 26171 fe:00:9977858 0 EOF`` is a lock: kind, holder, device and inode, range. The rows of
those that wait for it follow, with ``->`` before the kind. One that waits for an exclusive lock waits for the last of
those before it, and its row is indented by one more blank. Every user may read the file; locks of processes that
another PID namespace hides have the holder 0 or are left out.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from itertools import islice

from collectors.machine import Missing, Wanted, lines_of
from collectors.parsing import MOST_LINES, complete_lines, count_or_none, short
from loadtop.model import FileLock

LOCKS = "/proc/locks"
OPEN_FILES = "@files"
MOST_PATH = 1024  # characters of a path
MOST_PROCESSES = 8  # whose open files are looked through for one that is locked
_KINDS = {"FLOCK": "flock", "POSIX": "posix", "OFDLCK": "ofd"}
_ROW = re.compile(
    r"\d{1,19}: {1,4096}(->)? {0,9}([A-Z]{1,9}) {1,9}\S{1,19} {1,9}\S{1,19} {1,9}(-?\d{1,10}) "
    r"([0-9a-f]{2,8}:[0-9a-f]{2,8}):(\d{1,20}) ",
    re.ASCII,
)


def open_files(pids: Iterable[int]) -> Wanted:
    """What to read for the files that these processes have open: an inode and a path a line, made by a transport."""
    return Wanted(f"{OPEN_FILES}/{','.join(map(str, pids))}")


def parse_open_files(text: str | Missing) -> Mapping[int, str]:
    """Paths by inode, but for an inode that files of two paths have: these may be on two devices."""
    found = defaultdict[int | None, set[str]](set)
    for line in islice(lines_of(text), MOST_LINES):
        inode, _, path = line.partition(" ")
        if path.startswith("/"):
            found[count_or_none(inode)].add(short(path, MOST_PATH))
    return {inode: path for inode, (path, *others) in found.items() if inode is not None and not others}


def processes_at(text: str, device: str, inode: int) -> tuple[int, ...]:
    """Some of the processes that hold a lock of this file or wait for one."""
    rows = (_ROW.match(line) for line in islice(complete_lines(text), MOST_LINES))
    pids = (count_or_none(row[3]) for row in rows if row and (row[4], row[5]) == (device, str(inode)))
    return tuple(islice(dict.fromkeys(pid for pid in pids if pid), MOST_PROCESSES))


def parse(text: str, tested: Collection[int], names: Mapping[int, str]) -> tuple[FileLock, ...]:
    """The locks that processes among ``tested`` wait for, those with the most waiting first. ``names`` are those of
    processes. Unknown rows are skipped."""
    found: dict[tuple[str, str, int, int], int] = {}
    held: tuple[str, str, int, int] | None = None
    for line in islice(complete_lines(text), MOST_LINES):
        match = _ROW.match(line)
        kind = _KINDS.get(match[2]) if match else None
        pid = count_or_none(match[3]) if match else None
        inode = count_or_none(match[5]) if match else None
        if match is None or kind is None or inode is None:
            held = None if match is None or not match[1] else held
        elif not match[1]:
            held = (kind, match[4], inode, pid or 0)
        elif held is not None and pid in tested:
            found[held] = found.get(held, 0) + 1
    locks = (
        FileLock(kind, device, inode, holder, names.get(holder, ""), waiting)
        for (kind, device, inode, holder), waiting in found.items()
    )
    return tuple(sorted(locks, key=lambda lock: -lock.waiting))
