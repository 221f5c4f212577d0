"""Unix stream sockets of one network namespace: where processes listen, and whom others are connected to.

A transport that can ask the kernel makes the text (unix_diag, as ``ss -x``; Linux, include/uapi/linux/unix_diag.h): a
line ``LISTEN INODE PATH`` for each socket that listens, and ``ESTAB INODE PATH`` for each that is connected to one that
such a socket accepted. Only sockets with a plain path in a file system are in it.
"""

from collections import Counter

from collectors.machine import Endpoint, Missing, Wanted
from collectors.parsing import complete_lines, count_or_none

STREAMS = Wanted("@unix", 1 << 18)
PORT = 0  # of an endpoint that is a path

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
