"""Unix stream sockets of this machine from unix_diag (Linux, include/uapi/linux/unix_diag.h; 3.3 and later)."""

import socket
import struct
import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from collectors.linux.unix_sockets import STREAMS, is_plain
from collectors.parsing import MOST_LINES
from collectors.transport.netlink import HEADER, attributes
from collectors.transport.sock_diag import answers

_REQUEST = struct.Struct("=BBHIIIII")
_MESSAGE = struct.Struct("=BBBBI8x")  # family, type, state, inode
_ESTABLISHED, _LISTEN = 1, 10
_NAME, _PEER, _QUEUE, _USER = 0, 2, 4, 7
_ASK_NAME, _ASK_PEER, _ASK_QUEUE, _ASK_USER = 1 << 0, 1 << 2, 1 << 4, 1 << 6  # the user came with Linux 5.3
_NOBODY = 2**32 - 1  # instead of a user who is not told


class Connection(NamedTuple):
    """A stream socket that is connected to a service, or waits to be accepted there: its inode, the path at which the
    service listens, and the user whose process asks."""

    inode: int
    path: str
    user: int


def streams() -> str:
    """The text of :mod:`collectors.linux.unix_sockets`. Raises ``OSError`` where the kernel has no unix_diag."""
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, 1 << _ESTABLISHED | 1 << _LISTEN, 0, _ASK_NAME | _ASK_PEER, 0, 0)
    listening, peers, names = list[int](), dict[int, int](), dict[int, str]()
    for message in islice(answers(request, socket.AF_UNIX), MOST_LINES):
        _, kind, state, _, inode = _MESSAGE.unpack_from(message, HEADER.size)
        if kind != socket.SOCK_STREAM:
            continue
        name, peer, _ = _attributes(message)
        if is_plain(name):
            names[inode] = name
            listening += [inode] if state == _LISTEN else []
        elif peer:
            peers[inode] = peer
    text = "".join(f"LISTEN {inode} {names[inode]}\n" for inode in listening)
    text += "".join(f"ESTAB {inode} {names[peer]}\n" for inode, peer in peers.items() if peer in names)
    return text[: STREAMS.limit]


def connections() -> Iterator[Connection]:
    """Those to plain paths. The kernel tells how many wait to be accepted at each path, but not where a socket waits:
    with several such paths, the sockets are shared out among them, the newest first. Raises ``OSError`` where the
    kernel has no unix_diag."""
    asked = _ASK_NAME | _ASK_PEER | _ASK_QUEUE | _ASK_USER
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, 1 << _ESTABLISHED | 1 << _LISTEN, 0, asked, 0, 0)
    clients, paths = list[tuple[int, int, int]](), dict[int, str]()
    waiting, queues = list[tuple[int, int]](), dict[str, int]()
    for message in islice(answers(request, socket.AF_UNIX), MOST_LINES):
        _, kind, state, _, inode = _MESSAGE.unpack_from(message, HEADER.size)
        if kind == socket.SOCK_STREAM:
            name, peer, user = _attributes(message)
            if is_plain(name) and state == _LISTEN:
                queues[name] = _queue(message)
            elif is_plain(name):
                paths[inode] = name
            elif peer:
                clients.append((inode, peer, user))
            else:
                waiting.append((inode, user))
    yield from (Connection(inode, paths[peer], user) for inode, peer, user in clients if peer in paths)
    waiting.sort()
    for path, number in queues.items():
        yield from (Connection(inode, path, user) for inode, user in (waiting.pop() for _ in waiting[:number]))


def _attributes(message: bytes) -> tuple[str, int, int]:
    """Its path, empty where it has none, the inode of its peer, 0 where that is not accepted yet, and its user."""
    found = attributes(message, HEADER.size + _MESSAGE.size)
    name = found.get(_NAME, b"").rstrip(b"\0").decode("ascii", "replace")
    return name, _number(found.get(_PEER), 0), _number(found.get(_USER), _NOBODY)


def _queue(message: bytes) -> int:
    """The connections that wait to be accepted, the first of two numbers."""
    found = attributes(message, HEADER.size + _MESSAGE.size).get(_QUEUE)
    return _number(None if found is None else found[:4], 0)


def _number(value: bytes | None, otherwise: int) -> int:
    return otherwise if value is None or len(value) != 4 else int.from_bytes(value, sys.byteorder)
