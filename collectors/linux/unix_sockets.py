"""Unix stream sockets of one network namespace: where processes listen, and whom others are connected to.

A transport that can ask the kernel makes the text (unix_diag, as ``ss -x``; Linux, include/uapi/linux/unix_diag.h): a
line ``LISTEN INODE PATH`` for each socket that listens, and ``ESTAB INODE PATH`` for each that is connected to one that
such a socket accepted. Only sockets with a plain path in a file system are in it.

/proc/net/unix (net/unix/af_unix.c, ``unix_seq_show``) has the columns Num RefCount Protocol Flags Type St Inode Path.
A socket that listens has the flag 0x10000 (``__SO_ACCEPTCON``). A connection that was not accepted yet is a row of its
own with the listener's path, state 02 and no inode: counting these rows gives what ``ss -xl`` calls Recv-Q. The file
does not tell the limit of the queue.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from collectors.errors import ParseError
from collectors.machine import Endpoint, Missing, Wanted
from collectors.parsing import complete_lines, count_or_none, hexadecimal

STREAMS = Wanted("@unix", 1 << 18)
UNIX = Wanted("/proc/net/unix")
PORT = 0  # of an endpoint that is a path

_LISTENING = 0x10000
_UNACCEPTED = "02"
_SYSTEM = ("/run/systemd/", "/run/dbus/", "/run/udev/", "/var/run/dbus/")
"""Where every program may be connected, whomever it serves: its log and the message bus."""


def is_plain(path: str) -> bool:
    """Whether a path can stand in the text."""
    return path.startswith("/") and path.isascii() and path.isprintable() and " " not in path


def is_followed(path: str) -> bool:
    """Whether calls to a path may belong to a tested request."""
    return is_plain(path) and not path.startswith(_SYSTEM)


def parse_streams(
    text: str | Missing | None, most: int
) -> tuple[list[tuple[int, Endpoint]], list[tuple[int, Endpoint]]]:
    """The inodes of the sockets that listen, and of those that are connected, at most so many to one path; with the
    path as the address. Other lines are passed over."""
    listening, clients, places = list[tuple[int, Endpoint]](), list[tuple[int, Endpoint]](), Counter[str]()
    for line in complete_lines(text) if isinstance(text, str) else ():
        state, _, rest = line.partition(" ")
        number, _, path = rest.partition(" ")
        inode = count_or_none(number)
        if not inode or not is_followed(path):
            continue
        if state == "LISTEN":
            listening.append((inode, Endpoint(path, PORT)))
        elif state == "ESTAB" and places[path] < most:
            places[path] += 1
            clients.append((inode, Endpoint(path, PORT)))
    return listening, clients


def count_streams(text: str, path: str) -> int:
    """The connections that a process has accepted at a path."""
    return len({line for line in complete_lines(text) if line.startswith("ESTAB ") and line.endswith(f" {path}")})


@lru_cache(maxsize=16)
def parse_unix(table: str) -> Mapping[str, int]:
    """Waiting connections by the path of each listening socket (``@...`` if abstract). A cut-off row is left out."""
    listening: list[str] = []
    waiting = Counter[str]()
    for number, line in enumerate(complete_lines(table)):
        words = line.split(None, 7)
        if number == 0:
            if words[:2] != ["Num", "RefCount"]:
                raise ParseError("/proc/net/unix has no header")
            continue
        if len(words) < 8:
            continue  # it has no name
        if hexadecimal(words[3], "flags in /proc/net/unix") & _LISTENING:
            listening.append(words[7])
        elif words[5] == _UNACCEPTED and words[6] == "0":
            waiting[words[7]] += 1
    return {path: waiting[path] for path in listening}


def unix_queues(table: str | Missing) -> Mapping[str, int]:
    """Return the queues by path; empty if the table cannot be read."""
    try:
        return parse_unix(table) if isinstance(table, str) else {}
    except ParseError:
        return {}
