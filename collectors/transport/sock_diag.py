"""TCP sockets of this machine from sock_diag (Linux, include/uapi/linux/sock_diag.h and inet_diag.h; 3.3 and later), as
in ``ss``.

Unlike /proc/net/tcp, it tells the limit of each accept queue, and the kernel lists only sockets in the states that are
asked for. There may be tens of thousands in TIME_WAIT: while their rows are read, short connections come and go.
"""

import ipaddress
import socket
import struct
import sys
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from collectors.linux.sockets import TABLES, TIME_WAIT
from collectors.parsing import MOST_DEVICES, hexadecimal

_FAMILIES = dict(zip((each.path for each in TABLES), (socket.AF_INET, socket.AF_INET6), strict=True))
_SOCK_DIAG = 4
_BY_FAMILY = 20
_ERROR, _DONE = 2, 3
_REQUEST_DUMP = 0x301
_LISTEN = 1 << 10
_OPEN = 0xFFF & ~(1 << hexadecimal(TIME_WAIT, "state"))  # the bits of all other states, 1 to 11
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_MESSAGE = struct.Struct("=BBBB2s2s16s16s12xIIIII")
_TIMEOUT_S = 1.0
_HEAD = "sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode\n"


class _Socket(NamedTuple):
    """``struct inet_diag_msg`` but its cookie: ports and addresses in the order of the network. Of a socket that
    listens, ``received`` is its accept queue and ``sent`` the limit of that, otherwise both are bytes."""

    family: int
    state: int
    timer: int
    retransmits: int
    port: bytes
    remote_port: bytes
    address: bytes
    remote_address: bytes
    expires_ms: int
    received: int
    sent: int
    user: int
    inode: int


def listeners() -> str:
    """The text that ``ss -ltnH`` prints, of :data:`MOST_DEVICES` sockets of each family: anyone can open 100,000.

    Raises ``OSError`` where the kernel has no sock_diag or does not permit it."""
    found = (islice(_dump(family, _LISTEN), MOST_DEVICES) for family in _FAMILIES.values())
    return "".join(_row_of_ss(each) for sockets in found for each in sockets)


def open_sockets(table: str, limit: int) -> str:
    """/proc/net/tcp or tcp6 without sockets in TIME_WAIT: the columns up to the inode, those that listen first; at most
    ``limit`` characters. Raises ``OSError`` as :func:`listeners` does."""
    text = _HEAD
    for number, found in enumerate(_dump(_FAMILIES[table], _OPEN)):
        text += _row_of_proc(number, found)
        if len(text) > limit:
            break
    return text[:limit]


def _dump(family: int, states: int) -> Iterator[_Socket]:
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, states)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _SOCK_DIAG) as link:
        link.settimeout(_TIMEOUT_S)
        link.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST_DUMP, family, 0) + request)
        while True:
            answer = link.recv(65536)
            while len(answer) >= _HEADER.size:
                length, kind, _, _, _ = _HEADER.unpack_from(answer)
                if kind == _DONE or length < _HEADER.size:
                    return
                if kind == _ERROR:
                    raise OSError(-struct.unpack_from("=i", answer, _HEADER.size)[0], "no sock_diag")
                yield _Socket(*_MESSAGE.unpack_from(answer, _HEADER.size))
                answer = answer[(length + 3) & ~3 :]


def _row_of_ss(found: _Socket) -> str:
    four = found.family == socket.AF_INET
    address = str(ipaddress.ip_address(found.address[:4] if four else found.address))
    local = address if four else f"[{address}]"
    anywhere = "0.0.0.0" if four else "[::]"  # noqa: S104 - as printed
    return f"LISTEN {found.received} {found.sent} {local}:{int.from_bytes(found.port, 'big')} {anywhere}:*\n"


def _row_of_proc(number: int, found: _Socket) -> str:
    words = 1 if found.family == socket.AF_INET else 4
    local = f"{_in_words(found.address, words)}:{found.port.hex().upper()}"
    remote = f"{_in_words(found.remote_address, words)}:{found.remote_port.hex().upper()}"
    queues = f"{found.sent:08X}:{found.received:08X}"
    return f"{number}: {local} {remote} {found.state:02X} {queues} 00:0 0 {found.user} 0 {found.inode}\n"


def _in_words(address: bytes, words: int) -> str:
    """An address as /proc prints it: words of 32 bits, each a number of this machine."""
    starts = range(0, 4 * words, 4)
    return "".join(f"{int.from_bytes(address[start : start + 4], sys.byteorder):08X}" for start in starts)
