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
_INODE = struct.Struct("=I")
_MESSAGE = struct.Struct("=BBBBI8x")  # family, type, state, inode
_ESTABLISHED, _LISTEN = 1, 10
_NAME, _PEER, _WAITING, _USER = 0, 2, 3, 7
_ASK_NAME, _ASK_PEER, _ASK_WAITING, _ASK_USER = 1 << 0, 1 << 2, 1 << 3, 1 << 6  # the user came with Linux 5.3
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
    """Those to plain paths. Raises ``OSError`` where the kernel has no unix_diag."""
    asked = _ASK_NAME | _ASK_PEER | _ASK_WAITING | _ASK_USER
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, 1 << _ESTABLISHED | 1 << _LISTEN, 0, asked, 0, 0)
    clients, paths, waiting = list[tuple[int, int, int]](), dict[int, str](), dict[int, int]()
    for message in islice(answers(request, socket.AF_UNIX), MOST_LINES):
        _, kind, _, _, inode = _MESSAGE.unpack_from(message, HEADER.size)
        if kind == socket.SOCK_STREAM:
            name, peer, user = _attributes(message)
            if is_plain(name):
                paths[inode] = name
                for each in _waiting(message):
                    waiting[each] = inode
            else:
                clients.append((inode, peer, user))
    for inode, peer, user in clients:
        path = paths.get(waiting.get(inode, peer))
        if path is not None:
            yield Connection(inode, path, user)


def _attributes(message: bytes) -> tuple[str, int, int]:
    """Its path, empty where it has none, the inode of its peer, 0 where that is not accepted yet, and its user."""
    found = attributes(message, HEADER.size + _MESSAGE.size)
    name = found.get(_NAME, b"").rstrip(b"\0").decode("ascii", "replace")
    return name, _number(found.get(_PEER), 0), _number(found.get(_USER), _NOBODY)


def _waiting(message: bytes) -> Iterator[int]:
    """The sockets that wait to be accepted where one listens. One whose owner has closed it has the number 0."""
    found = attributes(message, HEADER.size + _MESSAGE.size).get(_WAITING, b"")
    return (each for (each,) in _INODE.iter_unpack(found[: len(found) & ~3]))


def _number(value: bytes | None, otherwise: int) -> int:
    return otherwise if value is None or len(value) != 4 else int.from_bytes(value, sys.byteorder)
