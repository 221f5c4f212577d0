"""TCP sockets of a network namespace: counters from /proc/net/netstat and snmp, gauges from sockstat, listening ports.

Sources: Linux, net/ipv4/proc.c and Documentation/networking/snmp_counter.rst. In /proc/net/tcp the rows of listening
sockets come first, and their rx_queue is the accept queue. That file has no limit of the queue; ``ss -ltn`` has (its
Send-Q), and so has :data:`LISTENERS`, where a transport can make it: the same columns as ``ss -ltnH`` prints.
"""

import ipaddress
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice

from msgspec import Struct

from collectors.errors import ParseError
from collectors.machine import Endpoint, Missing, Reading, Wanted, lines_of
from collectors.parsing import MOST_DEVICES, MOST_PORT, complete_lines, count, count_or_none, excerpt, hexadecimal
from loadtop.model import Listener, Tcp

NETSTAT = "/proc/net/netstat"
SNMP = "/proc/net/snmp"
SOCKSTAT = "/proc/net/sockstat"
LISTENERS = "@listeners"
LISTENER_BYTES = 1 << 17
HEAD_BYTES = 16384  # of /proc/net/tcp (about 100 rows): listening sockets come first, and thousands may follow
_COUNTER_BYTES = 32768
COUNTERS = (
    Wanted(NETSTAT, _COUNTER_BYTES, lines="^TcpExt:"),
    Wanted(SNMP, _COUNTER_BYTES, lines="^Tcp:"),
    Wanted(SOCKSTAT, _COUNTER_BYTES, lines="^TCP:"),
    Wanted("/proc/net/sockstat6", _COUNTER_BYTES, lines="^TCP6:"),
)
TABLES = (Wanted("/proc/net/tcp", HEAD_BYTES), Wanted("/proc/net/tcp6", HEAD_BYTES))
OPEN = "@open"
OPEN_BYTES = 1 << 18  # about 1700 rows: of more connections these are a sample, as the kernel lists them by hash
OPEN_TABLES = tuple(Wanted(OPEN + each.path, OPEN_BYTES) for each in TABLES)
"""The same tables without sockets in TIME_WAIT, which no process holds and of which there may be tens of thousands."""
FEW = "@few"
FEW_TABLES = tuple(Wanted(FEW + each.path, OPEN_BYTES) for each in TABLES)
"""The same without most of the connections that are alike: there are :data:`MOST_CLIENTS` of those to one place, and
one in each state of those that were accepted at a port. Other sockets that no process holds are missing too."""

MOST_CLIENTS = 16
LISTENING = "@listening"
LISTENING_TABLES = tuple(Wanted(LISTENING + each.path, 1 << 16) for each in TABLES)
"""The beginnings of those: about 430 sockets that listen. Others may follow."""
TIME_WAIT = "06"
HOLDERS = "@holders"
HELD = "@held"
_ESTABLISHED, _LISTEN = "01", "0A"
_EXTENDED = {"ListenOverflows": "listen_overflows", "ListenDrops": "listen_drops"}
_BASIC = {
    "RetransSegs": "retransmits",
    "OutSegs": "out_segments",
    "PassiveOpens": "passive_opens",
    "ActiveOpens": "active_opens",
    "CurrEstab": "established",
}


class ListeningSocket(Struct, frozen=True):
    """One listening socket: its address (``0.0.0.0`` and ``::`` are all), accept queue, and inode."""

    address: str
    port: int
    queue: int
    inode: int | None


def parse_tcp(
    netstat: str | None,
    snmp: str | None,
    sockstat: str | None,
    sockstat6: str | None = None,
    *,
    listeners: Iterable[Listener] = (),
) -> Tcp:
    """Parse the texts that could be read. A truncated one raises :class:`ParseError`."""
    gauges, gauges6 = _sockstat(sockstat, "TCP"), _sockstat(sockstat6, "TCP6")
    in_use = gauges.get("inuse")
    return Tcp(
        **_named(netstat, "TcpExt", _EXTENDED),
        **_named(snmp, "Tcp", _BASIC),
        time_wait=gauges.get("tw"),
        in_use=None if in_use is None else in_use + gauges6.get("inuse", 0),
        listeners=tuple(listeners),
    )


def parse_table(table: str) -> tuple[ListeningSocket, ...]:
    """The listening sockets at the head of /proc/net/tcp or tcp6; a row that was cut off is left out."""
    found: list[ListeningSocket] = []
    for words in _sockets(table):
        if words[3] != _LISTEN:
            break
        place = _endpoint(words[1])
        queue = hexadecimal(words[4].partition(":")[2], "rx_queue in /proc/net/tcp")
        found.append(ListeningSocket(place.address, place.port, queue, _inode(words)))
    return tuple(found)


def has_connections(table: str, ports: Iterable[int]) -> bool:
    """Whether someone is connected to one of these ports of this machine."""
    ends = tuple(f":{port:04X}" for port in ports)
    return any(words[3] == _ESTABLISHED and words[1].endswith(ends) for words in _sockets(table))


def connected_ports(table: str) -> frozenset[int]:
    """The ports of this machine at which there are connections, also those that are being closed."""
    return frozenset(_endpoint(words[1]).port for words in _sockets(table) if words[3] != _LISTEN)


def parse_clients(table: str, served: Iterable[int], most: int) -> list[tuple[int, Endpoint]]:
    """The inode and the remote end of sockets that are connected, or connecting, to another's port: at most so many to
    one place. Those at ports that are ``served`` here are the other ends of such connections."""
    ends = tuple(f":{port:04X}" for port in served)
    places = Counter[str]()
    found: list[tuple[int, Endpoint]] = []
    for words in _sockets(table):
        inode = _inode(words)
        if inode and words[3] != _LISTEN and not words[1].endswith(ends) and places[words[2]] < most:
            places[words[2]] += 1
            found.append((inode, _endpoint(words[2])))
    return found


def count_accepted(table: str, port: str) -> int:
    """The connections at a port of this machine that a process has accepted: the others have no inode. A row may come
    twice."""
    end = f":{count_or_none(port) or 0:04X}"
    rows = (words for words in _sockets(table) if words[3] != _LISTEN and words[1].endswith(end))
    return len({_inode(words) for words in rows} - {None, 0})


def _sockets(table: str) -> Iterator[list[str]]:
    """Yield the columns of each row of /proc/net/tcp or tcp6."""
    for number, line in enumerate(complete_lines(table)):
        words = line.split()
        if number == 0:
            if "local_address" not in words:
                raise ParseError("/proc/net/tcp has no header")
            continue
        if len(words) < 5:
            raise ParseError(f"/proc/net/tcp: unexpected line {excerpt(line)}")
        yield words


def _inode(words: list[str]) -> int | None:
    """0 for a socket that no process holds, as in TIME_WAIT; ``None`` where the column is missing."""
    return count_or_none(words[9]) if len(words) > 9 else None


def _endpoint(text: str) -> Endpoint:
    address, _, port = text.partition(":")
    return Endpoint(_address(address), hexadecimal(port, "port in /proc/net/tcp"))


def holders(inodes: Iterable[int]) -> Wanted:
    """What to read to learn which processes hold these sockets: a transport tells, as far as it is permitted to."""
    return Wanted(f"{HOLDERS}/{','.join(map(str, inodes))}")


def held_by(pids: Iterable[int]) -> Wanted:
    """What to read to learn which sockets these processes hold, in the same form."""
    return Wanted(f"{HELD}/{','.join(map(str, pids))}")


def parse_holders(text: str | Missing) -> Mapping[int, frozenset[int]]:
    """The processes by inode, from lines of a process and ``socket:[INODE]``."""
    found = defaultdict[int, set[int]](set)
    for line in lines_of(text):
        pid, _, link = line.partition(" ")
        inode, process = count_or_none(link[8:-1]), count_or_none(pid)
        if inode is not None and process is not None:
            found[inode].add(process)
    return {inode: frozenset(pids) for inode, pids in found.items()}


@lru_cache(maxsize=32)
def parse_listeners(listeners: str) -> tuple[Listener, ...]:
    """Ports with their accept queue and its limit from the columns of ``ss -ltnH``; sockets of a port are added up.

    A limit of 0 is none that is known: on a kernel without its inet_diag module, ss reads /proc/net/tcp and prints 0.
    """
    sockets: list[Listener] = []
    for line in islice(complete_lines(listeners), MOST_DEVICES):
        words = line.split()
        if len(words) < 4 or words[0] != "LISTEN":
            raise ParseError(f"ss -ltnH: unexpected line {excerpt(line)}")
        port = count(words[3].rpartition(":")[2], "port of ss -ltnH", MOST_PORT)
        limit = count(words[2], "Send-Q of ss -ltnH")
        sockets.append(Listener(port, count(words[1], "Recv-Q of ss -ltnH"), limit or None))
    return by_port(sockets)


def by_port(sockets: Iterable[Listener]) -> tuple[Listener, ...]:
    """One :class:`Listener` per port: queues of its sockets (IPv4 and IPv6, SO_REUSEPORT) added up, limits too."""
    ports: dict[int, Listener] = {}
    for socket in sockets:
        other = ports.get(socket.port)
        if other is not None:
            known = other.backlog is not None and socket.backlog is not None
            backlog = (other.backlog or 0) + (socket.backlog or 0) if known else None
            socket = Listener(socket.port, other.queue + socket.queue, backlog)  # noqa: PLW2901 - the sum replaces it
        ports[socket.port] = socket
    return tuple(ports[port] for port in sorted(ports))


def collect(reading: Reading) -> Tcp:
    listeners = reading.optional(LISTENERS)
    if listeners is not None:
        ports = parse_listeners(listeners)
    else:
        tables = (text for wanted in TABLES if (text := reading.optional(wanted.path)) is not None)
        ports = by_port(Listener(found.port, found.queue) for table in tables for found in parse_table(table))
    texts = [reading.optional(wanted.path) for wanted in COUNTERS]
    if texts[:3] == [None, None, None]:
        reading.text(NETSTAT)  # says why
    return parse_tcp(*texts, listeners=ports)


def _rows(text: str, protocol: str) -> list[str]:
    begin = f"{protocol}:"
    return [line.removeprefix(begin) for line in complete_lines(text) if line.startswith(begin)]


def _counts(pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    return {name: value for name, word in pairs if (value := count_or_none(word)) is not None}


def _named(text: str | None, protocol: str, wanted: Mapping[str, str]) -> dict[str, int]:
    """The fields wanted, by their names in a pair of lines ``Tcp: NAMES`` and ``Tcp: VALUES``."""
    if text is None:
        return {}
    rows = _rows(text, protocol)
    if len(rows) < 2:
        raise ParseError(f"{protocol}: fewer than two lines")
    names, values = rows[0].split(), rows[1].split()
    if len(values) != len(names):
        raise ParseError(f"{protocol}: {len(names)} names and {len(values)} values")
    table = dict(zip(names, values, strict=True))
    return _counts((field, table[name]) for name, field in wanted.items() if name in table)


def _sockstat(text: str | None, protocol: str) -> dict[str, int]:
    if text is None:
        return {}
    rows = _rows(text, protocol)
    if not rows:
        raise ParseError(f"sockstat has no {protocol} line")
    words = rows[0].split()
    return _counts(zip(words[::2], words[1::2], strict=False))


def _address(text: str) -> str:
    """An address as the kernel prints it: 32-bit words, each in the byte order of the machine (little-endian here). One
    of IPv4 that a socket of IPv6 has is that of IPv4."""
    if len(text) not in (8, 32):
        raise ParseError(f"/proc/net/tcp: not an address: {excerpt(text)}")
    words = (hexadecimal(text[start : start + 8], "address") for start in range(0, len(text), 8))
    packed = b"".join(word.to_bytes(4, "little") for word in words)
    found = ipaddress.ip_address(packed)
    return str(getattr(found, "ipv4_mapped", None) or found)
