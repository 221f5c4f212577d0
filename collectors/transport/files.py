"""The only place that opens files of this machine.

The kernel's own files are read as they are. Of other files anyone may have put there what he likes: a pipe or a device
can wait for ever, or do something when it is opened. These are looked at first, and only a regular file is opened.
"""

import contextlib
import os
import re
import stat
import sys
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from collectors.linux.sockets import TIME_WAIT
from collectors.machine import LIMIT_BYTES, NOT_REGULAR, Missing, Wanted, lines_of
from collectors.parsing import MOST_LINES, pids

_CHUNK = 65536
_OF_USER_BYTES = 1 << 16
_LINKS_OF_ONE = 2000  # open files of one process, and of all, that are looked through for sockets
_MOST_LINKS = 40_000
_MOST_OF_A_TABLE = 1 << 23  # 55,000 sockets
_IN_TIME_WAIT = re.compile(
    rf"^ {{0,9}}\d{{1,9}}: \S{{13,37}} \S{{13,37}} {TIME_WAIT} .{{0,999}}\n", re.ASCII | re.MULTILINE
)
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


def read(wanted: Wanted, root: str = "") -> str | Missing:
    """A file, or the links of a directory. ``root`` goes before its path."""
    path = root + wanted.path
    if path.endswith("/"):
        return _links(path, wanted.limit)
    return _regular(path, wanted.limit) if wanted.regular else read_whole(path, wanted.limit)


def of_user(path: str) -> str:
    """A text file of the watching user (``~/...``); empty where there is none."""
    with contextlib.suppress(RuntimeError):  # no home directory
        text = read(Wanted(str(Path(path).expanduser()), _OF_USER_BYTES, regular=True))
        return text if isinstance(text, str) else ""
    return ""


def read_whole(path: str, limit: int, *, once: bool = False) -> str | Missing:
    """The text of one of the kernel's files. ``once``: one read, which is all for what fits into a page."""
    try:
        descriptor = os.open(path, _READ)
    except OSError as error:
        return missing(error)
    try:
        content = os.read(descriptor, min(limit, _CHUNK))
        while not once and len(content) < limit:
            more = os.read(descriptor, min(limit - len(content), _CHUNK))
            if not more:
                break
            content += more
    except OSError as error:
        return missing(error)
    finally:
        os.close(descriptor)
    return content.decode("utf-8", "replace")


def open_sockets(table: str, limit: int, root: str = "") -> str | Missing:
    """The first ``limit`` characters of /proc/net/tcp or tcp6 without the rows of sockets in TIME_WAIT."""
    text = read_whole(root + table, _MOST_OF_A_TABLE)
    return text if isinstance(text, Missing) else _IN_TIME_WAIT.sub("", text)[:limit]


def holders(inodes: Iterable[str], root: str = "") -> str:
    """Which processes hold these sockets, as far as that may be read: a process and a socket a line.

    Anyone can open millions of files, and reading where one leads takes 5 µs. Of each process the first
    :data:`_LINKS_OF_ONE` are read, because servers open their listening sockets early; of all together
    :data:`_MOST_LINKS`, shared out among the users. Processes with low numbers, which are older, come before others."""
    wanted = {f"socket:[{inode}]" for inode in inodes}
    rows: list[str] = []
    left = _MOST_LINKS
    waiting = _processes(root)
    spent = dict.fromkeys(waiting, 0)
    while waiting and left > 0:
        user = min(waiting, key=spent.__getitem__)
        pid = waiting[user].pop()
        if not waiting[user]:
            del waiting[user]
        links = lines_of(_links(f"{root}/proc/{pid}/fd/", LIMIT_BYTES, min(left, _LINKS_OF_ONE)))
        rows += [f"{pid} {link}\n" for link in wanted.intersection(links)]
        spent[user] += len(links)
        left -= len(links)
    return "".join(rows)


def held_by(pids: Iterable[str], root: str = "") -> str:
    """The sockets that these processes hold, as far as that may be read, in the form of :func:`holders`; of each
    process among the first :data:`_LINKS_OF_ONE` open files."""
    opened = ((pid, _links(f"{root}/proc/{pid}/fd/", LIMIT_BYTES, _LINKS_OF_ONE)) for pid in pids)
    return "".join(
        f"{pid} {link}\n" for pid, links in opened for link in lines_of(links) if link.startswith("socket:[")
    )


def open_files(pids: Iterable[str], root: str = "") -> str:
    """The inode and the path of each file that these processes have open, as far as that may be read; of each process
    the first :data:`_LINKS_OF_ONE`."""
    rows: list[str] = []
    for pid in pids:
        with contextlib.suppress(OSError), os.scandir(f"{root}/proc/{pid}/fd") as links:
            for link in islice(links, _LINKS_OF_ONE):
                with contextlib.suppress(OSError):
                    path = os.readlink(link.path)  # noqa: PTH115 - of many
                    if path.startswith("/") and path.isprintable():
                        rows.append(f"{link.stat().st_ino} {path}\n")
    return "".join(rows)


def _processes(root: str) -> dict[int, list[int]]:
    """The numbers of the processes of each user, in descending order."""
    found: dict[int, list[int]] = {}
    for pid in sorted(pids(os.listdir(f"{root}/proc")), reverse=True):  # noqa: PTH208 - names alone
        with contextlib.suppress(OSError):  # it has just ended
            found.setdefault(os.stat(f"{root}/proc/{pid}").st_uid, []).append(pid)  # noqa: PTH116 - of thousands
    return found


def missing(error: OSError) -> Missing:
    return Missing.because(error.strerror or type(error).__name__)


def _regular(path: str, limit: int) -> str | Missing:
    """The text of a regular file, up to its reported size: reading some of the kernel's files, which say 0, waits for
    something to happen."""
    try:
        if sys.platform != "linux":
            found = os.stat(path)  # noqa: PTH116 - as below
            return read_whole(path, min(limit, found.st_size)) if stat.S_ISREG(found.st_mode) else NOT_REGULAR
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)  # opens nothing yet, and stays with what it was
    except OSError as error:
        return missing(error)
    try:
        found = os.fstat(place)
        if not stat.S_ISREG(found.st_mode):
            return NOT_REGULAR
        return read_whole(f"/proc/self/fd/{place}", min(limit, found.st_size))
    finally:
        os.close(place)


def _links(path: str, limit: int, lines: int = MOST_LINES) -> str | Missing:
    """The targets of the links in a directory, one a line; other entries by their own path. At most ``limit``
    characters and a bounded number of lines."""
    text = ""
    try:
        with os.scandir(path) as entries:
            for entry in islice(entries, lines):
                try:
                    target = os.readlink(entry.path)  # noqa: PTH115 - of thousands of open files, in no time
                except OSError:
                    target = entry.path
                text += " ".join(target.splitlines()) + "\n"  # a name can hold what ends a line
                if len(text) > limit:
                    break
    except OSError as error:
        return missing(error)
    return text
