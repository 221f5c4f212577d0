"""Listening unix sockets and their accept queues, from /proc/net/unix.

Source: Linux, net/unix/af_unix.c (``unix_seq_show``). Columns: Num RefCount Protocol Flags Type St Inode Path. A socket
that listens has the flag 0x10000 (``__SO_ACCEPTCON``). A connection that was not accepted yet is a row of its own with
the listener's path, state 02 and no inode: counting these rows gives what ``ss -xl`` calls Recv-Q. The file does not
tell the limit of the queue.
"""

from dataclasses import dataclass
from functools import lru_cache

from collectors.errors import ParseError
from collectors.parsing import complete_lines, count_or_none
from collectors.reading import Missing, Wanted

TABLE = "/proc/net/unix"
WANTED = Wanted(TABLE)
_LISTENING = 0x10000
_UNACCEPTED = "02"


@dataclass(frozen=True, slots=True)
class UnixListener:
    """One listening socket: its path (``@...`` without a file), connections that wait, and its inode."""

    path: str
    queue: int
    inode: int | None


@lru_cache(maxsize=64)
def parse(table: str) -> tuple[UnixListener, ...]:
    """The listening stream sockets that have a name; a row that was cut off is left out."""
    listening: dict[str, int | None] = {}
    waiting: dict[str, int] = {}
    for number, line in enumerate(complete_lines(table)):
        words = line.split(None, 7)
        if number == 0:
            if words[:2] != ["Num", "RefCount"]:
                raise ParseError("/proc/net/unix has no head")
            continue
        if len(words) < 8:
            continue  # it has no name
        try:
            flags = int(words[3], 16)
        except ValueError:
            raise ParseError(f"/proc/net/unix: no row of a socket: {line[:40]!a}") from None
        if flags & _LISTENING:
            listening[words[7]] = count_or_none(words[6])
        elif words[5] == _UNACCEPTED and words[6] == "0":
            waiting[words[7]] = waiting.get(words[7], 0) + 1
    return tuple(UnixListener(path, waiting.get(path, 0), inode) for path, inode in listening.items())


def queues(table: str | Missing) -> dict[str, int]:
    """The accept queues of listening sockets by path, as far as the table can be read."""
    try:
        return {found.path: found.queue for found in parse(table)} if isinstance(table, str) else {}
    except ParseError:
        return {}
