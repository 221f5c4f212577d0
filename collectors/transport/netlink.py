"""Requests to the kernel over netlink (Linux, include/uapi/linux/netlink.h)."""

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterator, Sequence

HEADER = struct.Struct("=IHHII")
ATTRIBUTE = struct.Struct("=HH")
_ERROR, _DONE = 2, 3
_REQUEST, _REQUEST_DUMP = 0x1, 0x301
_AT_ONCE = 32  # requests, whose answers a socket holds by default
_NESTED_BITS = 0x3FFF  # of an attribute's type; the others are flags
_TIMEOUT_S = 1.0


def messages(protocol: int, kind: int, request: bytes, family: int = 0) -> Iterator[tuple[int, bytes]]:
    """Ask for all there is of something: the kind of each answer, and the answer with its :data:`HEADER`. Raises
    ``OSError`` where the kernel does not answer or does not permit it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol) as link:
        link.settimeout(_TIMEOUT_S)
        link.send(HEADER.pack(HEADER.size + len(request), kind, _REQUEST_DUMP, family, 0) + request)
        while True:
            answer = link.recv(65536)
            while len(answer) >= HEADER.size:
                length, kind, _, _, _ = HEADER.unpack_from(answer)
                if kind == _DONE or length < HEADER.size:
                    return
                if kind == _ERROR:
                    code = _code(answer)
                    raise OSError(code, os.strerror(code))
                yield kind, answer[:length]
                answer = answer[(length + 3) & ~3 :]


def single_answers(protocol: int, kind: int, requests: Sequence[bytes]) -> Iterator[bytes | None]:
    """The answer to each request for one thing, with its :data:`HEADER`; ``None`` where there is no such thing. Raises
    ``OSError`` where the kernel does not answer or does not permit it."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, protocol) as link:
        link.settimeout(_TIMEOUT_S)
        for start in range(0, len(requests), _AT_ONCE):
            some = requests[start : start + _AT_ONCE]
            link.send(b"".join(HEADER.pack(HEADER.size + len(each), kind, _REQUEST, 0, 0) + each for each in some))
            for _ in some:
                answer = link.recv(65536)
                failed = HEADER.unpack_from(answer)[1] == _ERROR
                if failed and (code := _code(answer)) != errno.ENOENT:
                    raise OSError(code, os.strerror(code))
                yield None if failed else answer


def _code(answer: bytes) -> int:
    return -int.from_bytes(answer[HEADER.size : HEADER.size + 4], sys.byteorder, signed=True)


def attributes(data: bytes, at: int = 0) -> dict[int, bytes]:
    """The values of the attributes from there on, by their type."""
    found: dict[int, bytes] = {}
    while at + ATTRIBUTE.size <= len(data):
        length, kind = ATTRIBUTE.unpack_from(data, at)
        if length < ATTRIBUTE.size:
            break
        found[kind & _NESTED_BITS] = data[at + ATTRIBUTE.size : at + length]
        at += (length + 3) & ~3
    return found
