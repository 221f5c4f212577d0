"""Unix stream sockets of this machine from unix_diag (Linux, include/uapi/linux/unix_diag.h; 3.3 and later)."""

import socket
import struct
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from collectors.linux.unix_sockets import STREAMS, is_plain
from collectors.parsing import MOST_LINES
from collectors.transport.sock_diag import HEADER, messages

_REQUEST = struct.Struct("=BBHIIIII")
_MESSAGE = struct.Struct("=BBBBI8x")  # family, type, state, inode
_ATTRIBUTE = struct.Struct("=HH")
_ESTABLISHED, _LISTEN = 1, 10
_NAME, _PEER, _USER = 0, 2, 7
_ASK_NAME, _ASK_PEER, _ASK_USER = 1 << 0, 1 << 2, 1 << 6  # the user came with Linux 5.3
_NOBODY = 2**32 - 1  # instead of a user who is not told


class Connection(NamedTuple):
    """A stream socket that is connected to one that a process accepted: its inode, the path at which that one listens,
    and the user whose process asks."""

    inode: int
    path: str
    user: int


def streams() -> str:
    """The text of :mod:`collectors.linux.unix_sockets`. Raises ``OSError`` where the kernel has no unix_diag."""
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, 1 << _ESTABLISHED | 1 << _LISTEN, 0, _ASK_NAME | _ASK_PEER, 0, 0)
    listening, peers, names = list[int](), dict[int, int](), dict[int, str]()
    for message in islice(messages(request, socket.AF_UNIX), MOST_LINES):
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
    asked = _ASK_NAME | _ASK_PEER | _ASK_USER
    request = _REQUEST.pack(socket.AF_UNIX, 0, 0, 1 << _ESTABLISHED, 0, asked, 0, 0)
    clients, paths = list[tuple[int, int, int]](), dict[int, str]()
    for message in islice(messages(request, socket.AF_UNIX), MOST_LINES):
        _, kind, _, _, inode = _MESSAGE.unpack_from(message, HEADER.size)
        if kind == socket.SOCK_STREAM:
            name, peer, user = _attributes(message)
            if is_plain(name):
                paths[inode] = name
            elif peer:
                clients.append((inode, peer, user))
    return (Connection(inode, paths[peer], user) for inode, peer, user in clients if peer in paths)


def _attributes(message: bytes) -> tuple[str, int, int]:
    """Its path, empty where it has none, the inode of its peer, 0 where that is not accepted yet, and its user."""
    name, peer, user, at = "", 0, _NOBODY, HEADER.size + _MESSAGE.size
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        value = message[at + _ATTRIBUTE.size : at + length]
        if kind == _NAME:
            name = value.rstrip(b"\0").decode("ascii", "replace")
        elif kind == _PEER and len(value) == 4:
            peer = struct.unpack("=I", value)[0]
        elif kind == _USER and len(value) == 4:
            user = struct.unpack("=I", value)[0]
        at += max(_ATTRIBUTE.size, (length + 3) & ~3)
    return name, peer, user
