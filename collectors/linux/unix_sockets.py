"""Accept queues of listening unix sockets, from /proc/net/unix.

Source: Linux, net/unix/af_unix.c (``unix_seq_show``). Columns: Num RefCount Protocol Flags Type St Inode Path. A socket
that listens has the flag 0x10000 (``__SO_ACCEPTCON``). A connection that was not accepted yet is a row of its own with
the listener's path, state 02 and no inode: counting these rows gives what ``ss -xl`` calls Recv-Q. The file does not
tell the limit of the queue.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from collectors.errors import ParseError
from collectors.machine import Missing, Wanted
from collectors.parsing import complete_lines

WANTED = Wanted("/proc/net/unix")
_LISTENING = 0x10000
_UNACCEPTED = "02"


@lru_cache(maxsize=64)
def parse(table: str) -> Mapping[str, int]:
    """The connections that wait, by the path of each listening socket (``@...`` without a file). A row that was cut off
    is left out."""
    listening: list[str] = []
    waiting = Counter[str]()
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
            listening.append(words[7])
        elif words[5] == _UNACCEPTED and words[6] == "0":
            waiting[words[7]] += 1
    return {path: waiting[path] for path in listening}


def queues(table: str | Missing) -> Mapping[str, int]:
    """The same, as far as the table can be read."""
    try:
        return parse(table) if isinstance(table, str) else {}
    except ParseError:
        return {}
