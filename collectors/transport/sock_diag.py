"""Listening TCP sockets from the kernel's sock_diag interface, as ``ss`` reads them, without running it.

Source: Linux, include/uapi/linux/sock_diag.h and inet_diag.h (3.3 and later). Unlike
/proc/net/tcp, it tells the limit of each accept queue, and the kernel need not walk its whole table of connections.
"""

import ipaddress
import socket
import struct

_SOCK_DIAG = 4
_BY_FAMILY = 20
_ERROR, _DONE = 2, 3
_REQUEST_DUMP = 0x301
_LISTEN = 1 << 10
_HEADER = struct.Struct("=IHHII")
_REQUEST = struct.Struct("=BBBxI48x")
_MESSAGE = struct.Struct("=BBBB2s2s16s16s12xIIIII")
_TIMEOUT_S = 1.0


def listeners() -> str:
    """The text that ``ss -ltnH`` prints. Raises ``OSError`` where the kernel has no such interface or does not permit
    it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, _SOCK_DIAG) as link:
        link.settimeout(_TIMEOUT_S)
        rows = [row for family in (socket.AF_INET, socket.AF_INET6) for row in _dump(link, family)]
    return "".join(f"{row}\n" for row in rows)


def _dump(link: socket.socket, family: int) -> list[str]:
    request = _REQUEST.pack(family, socket.IPPROTO_TCP, 0, _LISTEN)
    link.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST_DUMP, family, 0) + request)
    rows: list[str] = []
    while True:
        answer = link.recv(65536)
        while len(answer) >= _HEADER.size:
            length, kind, _, _, _ = _HEADER.unpack_from(answer)
            if kind == _DONE or length < _HEADER.size:
                return rows
            if kind == _ERROR:
                raise OSError(-struct.unpack_from("=i", answer, _HEADER.size)[0], "no sock_diag")
            rows.append(_row(answer[_HEADER.size : length]))
            answer = answer[(length + 3) & ~3 :]


def _row(message: bytes) -> str:
    family, _, _, _, port, _, source, _, _, queue, limit, _, _ = _MESSAGE.unpack_from(message)
    four = family == socket.AF_INET
    address = str(ipaddress.ip_address(source[:4] if four else source))
    local = address if four else f"[{address}]"
    return f"LISTEN {queue} {limit} {local}:{int.from_bytes(port, 'big')} {'0.0.0.0' if four else '[::]'}:*"  # noqa: S104
