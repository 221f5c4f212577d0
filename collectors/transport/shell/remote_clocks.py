"""Adds up the clocks of connections on a remote host without perl, if ``ss`` reports them (``clocks.awk``).

One reading takes about 5 ms of a processor there and 15 us for each connection, so there is one with each sample, and
fewer where there are many connections.
"""

import ipaddress
import time
from collections.abc import Iterable

from collectors.errors import ParseError
from collectors.machine import Missing
from collectors.parsing import MOST_PORT, complete_lines, count, excerpt
from collectors.transport.sock_diag import Connection
from collectors.transport.tcp_clocks import PackedAddress, TcpSums

CLOCK_BYTES = 1 << 18
PER_S = 300  # connections read per second, on average
MOST_PAUSE_S = 5.0

_MOST_USER = 2**32 - 1


class RemoteClocks:
    """The sums of one connection to a remote host."""

    def __init__(self) -> None:
        self._sums = TcpSums()
        self._due = 0.0
        self._text: str | Missing = Missing("not read yet")

    @property
    def due(self) -> bool:
        """Whether it is time for a reading."""
        return time.monotonic() >= self._due

    def add(self, told: str | Missing | None) -> str | Missing:
        """The sums after what was told, in the format of :mod:`collectors.linux.peers`; ``None``: nothing was asked."""
        if isinstance(told, str):
            try:
                connections, found, accepted = parse(told)
            except ParseError as error:
                self._text = Missing(str(error))
            else:
                self._due = time.monotonic() + min(MOST_PAUSE_S, connections / PER_S - 0.5)
                self._sums.add(found, accepted)
                self._text = self._sums.text()
        return self._text if told is None or isinstance(told, str) else told


def parse(text: str) -> tuple[int, list[Connection], set[tuple[PackedAddress, int]]]:
    """How many connections there are, those that were opened there, and who has accepted others where. Raises
    :class:`ParseError`."""
    first, *rows = [line.split() for line in complete_lines(text.lstrip("\n"))] or [[]]
    if len(first) != 2 or first[0] != "connections":
        raise ParseError(f"open connections of the server: unexpected line {excerpt(' '.join(first))}")
    found: list[Connection] = []
    accepted: set[tuple[PackedAddress, int]] = set()
    for words in rows:
        if len(words) == 3 and words[0] == "<":
            accepted.add((_place(words[1]), count(words[2], "user of a socket", _MOST_USER)))
        elif len(words) == 11 and words[0] == ">":
            user, *clocks = _counts(words[3:])
            found.append(Connection(*_place(words[1]), *_place(words[2]), user, *clocks))
        else:
            raise ParseError(f"open connections of the server: unexpected line {excerpt(' '.join(words))}")
    return count(first[1], "connections"), found, accepted


def _counts(words: Iterable[str]) -> list[int]:
    return [count(word, "open connections of the server", _MOST_USER) for word in words]


def _place(text: str) -> PackedAddress:
    """An address that may name an interface (``127.0.0.1%lo``), and a port."""
    host, _, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.replace("[", "").replace("]", "").partition("%")[0])
    except ValueError:
        raise ParseError(f"open connections of the server: not an address: {excerpt(text)}") from None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).packed, count(port, "port of a connection", MOST_PORT)
