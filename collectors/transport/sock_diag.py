"""TCP sockets of this machine from sock_diag (Linux, include/uapi/linux/sock_diag.h and inet_diag.h; 3.3 and later), as
in ``ss``.

Unlike /proc/net/tcp, it reports the limit of each accept queue, and the kernel lists only sockets in the requested
states. There may be tens of thousands in TIME_WAIT: while their rows are read, short connections come and go.
"""

import ipaddress
import socket
import struct
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from collectors.linux.sockets import MOST_CLIENTS, TABLES, TIME_WAIT
from collectors.machine import Endpoint
from collectors.parsing import MOST_DEVICES, hexadecimal
from collectors.transport.netlink import ATTRIBUTE, HEADER, messages, single_answers

FAMILIES = (socket.AF_INET, socket.AF_INET6)
_FAMILIES = dict(zip((each.path for each in TABLES), FAMILIES, strict=True))
_SOCK_DIAG = 4
_BY_FAMILY = 20
_BOTH_FAMILIES = 18
"""TCPDIAG_GETSOCK, the older request: it tells IPv4 and IPv6 in one walk through the kernel's table of connections. For
a table of 262,144 places that takes about 2 ms, however few are taken."""

_STATE_LISTEN = 10
_LISTEN = 1 << _STATE_LISTEN
_OPEN = 0xFFF & ~(1 << hexadecimal(TIME_WAIT, "state"))  # the bits of all other states, 1 to 11
_REQUEST = struct.Struct("=BBxxI48x")
_AT_PORT = struct.Struct("=HHBBHxxHBBHxxH")
"""The attribute INET_DIAG_REQ_BYTECODE with two conditions, the own port at least and at most so much: as in ``ss``."""
_REQUEST_OF_ONE = struct.Struct("=BBBxI2s2s16s16sIQ")
_NO_COOKIE, _IPV4_BYTES = 2**64 - 1, 4
_REQUEST_OF_BOTH = struct.Struct("=3xB48xI4x")  # struct inet_diag_req
_ESTABLISHED = 1 << 1
_INFO, _ASK_INFO = 2, 1 << 1  # INET_DIAG_INFO, and its bit in the request
_ENDS = struct.Struct("=B3x2s2s16s16s20xII")  # of struct inet_diag_msg: family, ports, addresses, bytes sent, user
_CLOCKS = struct.Struct("=24xI16xI4xII92xII")  # of struct tcp_info; its last two fields came with Linux 4.6
_MESSAGE = struct.Struct("=BBBB2s2s16s16s12xIIIII")
_BYTECODE, _AT_LEAST, _AT_MOST = 1, 2, 3  # INET_DIAG_REQ_BYTECODE, INET_DIAG_BC_S_GE, INET_DIAG_BC_S_LE
_MOST_AT_PORT = 64
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


class Connection(NamedTuple):
    """An established connection: bytes and segments sent that the peer has not acknowledged; ms since data was last
    sent and received, and since the last segment that acknowledges anything; data segments in both directions.
    Addresses are packed: 4 bytes, or 16."""

    address: bytes
    port: int
    remote_address: bytes
    remote_port: int
    user: int
    unacknowledged_bytes: int
    unacknowledged: int
    sent_ms: int
    received_ms: int
    acknowledged_ms: int
    segments_in: int
    segments_out: int


def listeners(ports: Collection[int] = ()) -> str:
    """The text that ``ss -ltnH`` prints, of :data:`MOST_DEVICES` sockets of each family: anyone can open 100,000. Those
    at these ``ports`` come first.

    Raises ``OSError`` where the kernel has no sock_diag or does not permit it."""
    return "".join(map(_row_of_ss, _listening(ports)))


def queues(ports: Collection[int] = ()) -> Counter[int]:
    """The connections in the accept queues of the same sockets, by port. Raises ``OSError`` as they do."""
    found = Counter[int]()
    for each in _listening(ports):
        found[int.from_bytes(each.port, "big")] += each.received
    return found


def open_sockets(
    table: str, limit: int, ports: Collection[int] = (), *, listening: bool = False, few: bool = False
) -> str:
    """/proc/net/tcp or tcp6 without sockets in TIME_WAIT: the columns up to the inode, those that listen first; at most
    ``limit`` characters. Those at these ``ports`` are always among them: the sockets that listen there, and some of the
    connections. ``listening``: only those that listen; ``few``: without most of the connections that are alike, as
    :data:`FEW_TABLES`. Raises ``OSError`` as :func:`listeners` does."""
    family = _FAMILIES[table]
    tested = list(_at_ports(family, _LISTEN, ports))
    known = {each.inode for each in tested}
    others = islice((each for each in _dump(family, _LISTEN) if each.inode not in known), MOST_DEVICES)
    found: Iterator[_Socket] = chain(tested, others)
    if not listening:
        connected = list(_at_ports(family, _ESTABLISHED, ports))
        found = chain(found, connected, _dump(family, _OPEN & ~_LISTEN))
    if few:
        found = _without_alike(found)
    text = _HEAD
    for number, each in enumerate(found):
        text += _row_of_proc(number, each)
        if len(text) > limit:
            break
    return text[:limit]


def _without_alike(sockets: Iterable[_Socket]) -> Iterator[_Socket]:
    """Those that listen come first: the connections at their ports are those that were accepted."""
    served, told = set[bytes](), Counter[tuple[object, ...]]()
    for each in sockets:
        if each.state == _STATE_LISTEN:
            served.add(each.port)
        else:
            accepted = each.port in served
            alike = (each.port, each.state) if accepted else (each.remote_port, each.remote_address)
            if told[alike] == (1 if accepted else MOST_CLIENTS) or not (accepted or each.inode):
                continue
            told[alike] += 1
        yield each


def listening_ports() -> frozenset[int]:
    """The TCP ports on which someone listens. Raises ``OSError`` as :func:`listeners` does."""
    return frozenset(int.from_bytes(each.port, "big") for family in FAMILIES for each in _dump(family, _LISTEN))


def connections(served: Collection[int], accepted: Callable[[bytes, int, int], None]) -> Iterator[Connection]:
    """The established connections of which the kernel tells clocks, without those at ``served`` ports: of these,
    ``accepted`` gets the packed address, the port and the user. Raises ``OSError`` as :func:`listeners` does."""
    for message in answers(_REQUEST_OF_BOTH.pack(_ASK_INFO, _ESTABLISHED), 0, _BOTH_FAMILIES):
        family, own, _, address, _, _, user = _ENDS.unpack_from(message, HEADER.size)
        port = int.from_bytes(own, "big")
        if port in served:
            accepted(_plain(family, address), port, user)
        elif (found := _connection(message)) is not None:
            yield found


def the_same(known: Sequence[Connection]) -> Iterator[Connection | None]:
    """These connections now; ``None`` for one that is not established any more. The kernel finds each at once, without
    a walk through its table. Raises ``OSError`` as :func:`listeners` does."""
    requests = [
        _REQUEST_OF_ONE.pack(
            socket.AF_INET if len(each.address) == _IPV4_BYTES else socket.AF_INET6,
            socket.IPPROTO_TCP,
            _ASK_INFO,
            _ESTABLISHED,
            each.port.to_bytes(2, "big"),
            each.remote_port.to_bytes(2, "big"),
            each.address,
            each.remote_address,
            0,
            _NO_COOKIE,
        )
        for each in known
    ]
    for message in single_answers(_SOCK_DIAG, _BY_FAMILY, requests):
        if message is None or 1 << message[HEADER.size + 1] != _ESTABLISHED:  # the second byte of _MESSAGE
            yield None
        else:
            yield _connection(message)


def _connection(message: bytes) -> Connection | None:
    """What the kernel says of a connection; ``None`` where it tells no clocks."""
    family, own, remote_port, address, remote_address, sent, user = _ENDS.unpack_from(message, HEADER.size)
    at = HEADER.size + _MESSAGE.size
    while at + ATTRIBUTE.size <= len(message):
        length, kind = ATTRIBUTE.unpack_from(message, at)
        if kind == _INFO and length >= ATTRIBUTE.size + _CLOCKS.size:
            here, there = _plain(family, address), _plain(family, remote_address)
            ports = int.from_bytes(own, "big"), int.from_bytes(remote_port, "big")
            clocks = _CLOCKS.unpack_from(message, at + ATTRIBUTE.size)
            return Connection(here, ports[0], there, ports[1], user, sent, *clocks)
        at += max(ATTRIBUTE.size, (length + 3) & ~3)
    return None


_MAPPED = bytes(10) + b"\xff\xff"


def _plain(family: int, address: bytes) -> bytes:
    """The packed address: that of IPv4 where a socket of IPv6 has one."""
    if family == socket.AF_INET:
        return address[:_IPV4_BYTES]
    return address[12:] if address.startswith(_MAPPED) else address


def shown(address: bytes, port: int) -> str:
    """Return ``ADDRESS:PORT`` of a packed address."""
    return str(Endpoint(str(ipaddress.ip_address(address)), port))


def _dump(family: int, states: int, condition: bytes = b"") -> Iterator[_Socket]:
    for message in answers(_REQUEST.pack(family, socket.IPPROTO_TCP, states) + condition, family):
        yield _Socket(*_MESSAGE.unpack_from(message, HEADER.size))


def _listening(ports: Collection[int]) -> Collection[_Socket]:
    tested = [each for family in FAMILIES for each in _at_ports(family, _LISTEN, ports)]
    others = [each for family in FAMILIES for each in islice(_dump(family, _LISTEN), MOST_DEVICES)]
    return {each.inode: each for each in tested + others}.values()


def _at_ports(family: int, states: int, ports: Collection[int]) -> Iterator[_Socket]:
    """Some sockets at each port."""
    for port in ports:
        condition = _AT_PORT.pack(_AT_PORT.size, _BYTECODE, _AT_LEAST, 8, 20, port, _AT_MOST, 8, 12, port)
        yield from islice(_dump(family, states, condition), _MOST_AT_PORT)


def answers(request: bytes, family: int, kind: int = _BY_FAMILY) -> Iterator[bytes]:
    """The kernel's record of each socket of the requested family. Raises ``OSError``."""
    return (answer for _, answer in messages(_SOCK_DIAG, kind, request, family))


def _row_of_ss(found: _Socket) -> str:
    four = found.family == socket.AF_INET
    local = shown(found.address[:4] if four else found.address, int.from_bytes(found.port, "big"))
    anywhere = "0.0.0.0" if four else "[::]"  # noqa: S104 - as printed
    return f"LISTEN {found.received} {found.sent} {local} {anywhere}:*\n"


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
