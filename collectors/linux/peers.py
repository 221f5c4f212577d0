"""The services that a machine's processes call, as seen in their open connections.

The text is made by a transport (``tcp_clocks.py`` here, ``queues.pl`` on a remote host). Its lines hold sums since the
transport began:

``readings N``: how often the connections were looked at; the first line.
``queues N``: how often the accept queues were; ``= PORT QUEUED``: connections that waited at a port to be accepted.
``< ADDRESS:PORT USER``: a process of that user has accepted connections at a port of this machine.
``> ADDRESS:PORT USER CONNECTIONS QUESTIONS AGE_MS SEGMENTS ANSWERED ANSWERED_AGE_MS``: what was found on the
connections that processes of that user have opened to a place, as in :class:`loadtop.model.Peer`; and how many of the
questions, and of their ages, count if the service does not reply when a client closes a statement. All but connections
and segments may be decimal numbers.
``| PATH USER ...``: the same of a unix socket.
"""

import ipaddress
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from msgspec import Struct

from collectors.errors import ParseError
from collectors.kind import Service
from collectors.linux.unix_sockets import PORT, is_plain
from collectors.machine import Endpoint
from collectors.parsing import MOST_PORT, complete_lines, count, decimal, excerpt, row
from loadtop.model import Peer, Peers, Queued

CLOCKS = "@clocks"
MOST_PEERS = 256  # places that are followed on one machine
MOST_PATH = 108  # characters of the path of a unix socket; unix(7)
_MOST_USER = 2**32 - 1
_ROOT = 0
_NONE = (0.0,) * 6

SERVICES = (
    Service("http", re.compile("lighttpd|caddy"), (80, 443, 8000, 8080, 8443)),
    Service("memcached", re.compile("memcached"), (11211,), re.compile(r"/memcached[^/]{0,40}\.sock$")),
    Service("dns", re.compile("named|unbound|dnsmasq"), (53,)),
    Service("ldap", re.compile("slapd"), (389, 636)),
    Service("smtp", re.compile("master|exim4"), (25, 465, 587)),
)
"""Services of no watched kind, with the ports that IANA lists, or that their own documentation names as the default."""


@dataclass(slots=True)
class Sums:
    """Sums over readings of a transport, as in :class:`loadtop.model.Peer`. Of a unix socket, each segment is a
    connection that was opened. ``answered`` and ``answered_age_ms``: of the questions, without messages that
    only close a statement."""

    connections: int = 0
    questions: float = 0.0
    age_ms: float = 0.0
    segments: int = 0
    answered: float = 0.0
    answered_age_ms: float = 0.0

    def row(self, mark: str, place: str, user: int) -> str:
        asked = f"{self.connections} {self.questions:.2f} {self.age_ms:.2f} {self.segments}"
        return f"{mark} {place} {user} {asked} {self.answered:.2f} {self.answered_age_ms:.2f}\n"


class Asked(Struct, frozen=True):
    """One address, and the sums over the connections that processes of ``user`` have opened to it."""

    place: Endpoint
    user: int
    connections: int
    questions: float
    age_ms: float
    segments: int
    answered: float
    answered_age_ms: float

    @property
    def counters(self) -> tuple[float, ...]:
        asked = self.connections, self.questions, self.age_ms, self.segments
        return *asked, self.answered, self.answered_age_ms


class Clocks(Struct, frozen=True):
    """``accepted``: the users whose processes accept connections, by place of this machine. ``queued``: the sums of
    accept queues."""

    readings: int
    accepted: Mapping[Endpoint, frozenset[int]]
    asked: tuple[Asked, ...]
    queued: tuple[Queued, ...]
    queue_readings: int


def parse(text: str) -> Clocks:
    """Raises :class:`ParseError`."""
    first, *rows = [line.split() for line in islice(complete_lines(text), 5 * MOST_PEERS)] or [[]]
    if len(first) != 2 or first[0] != "readings":
        raise ParseError(
            "open connections of the server: the data from the host is incomplete (the number of readings is missing)"
        )
    accepted = defaultdict[Endpoint, set[int]](set)
    asked: list[Asked] = []
    queued: list[Queued] = []
    queue_readings = 0
    for words in rows:
        if len(words) == 3 and words[0] == "<":
            accepted[_place(words[1])].add(count(words[2], "user of a socket", _MOST_USER))
        elif len(words) == 9 and words[0] in (">", "|"):
            user = count(words[2], "user of a socket", _MOST_USER)
            place = _place(words[1]) if words[0] == ">" else _path(words[1])
            what = "open connections of the server"
            connections, segments = row((words[3], words[6]), what)
            questions, age_ms, *answered = (decimal(each, what) for each in (*words[4:6], *words[7:]))
            asked.append(Asked(place, user, connections, questions, age_ms, segments, *answered))
        elif len(words) == 2 and words[0] == "queues":
            queue_readings = count(words[1], "readings")
        elif len(words) == 3 and words[0] == "=":
            queued.append(Queued(count(words[1], "port of a queue", MOST_PORT), count(words[2], "accept queue")))
        else:
            raise ParseError(f"open connections of the server: unexpected line {excerpt(' '.join(words))}")
    users = {place: frozenset(found) for place, found in accepted.items()}
    return Clocks(count(first[1], "readings"), users, tuple(asked), tuple(queued), queue_readings)


def _place(text: str) -> Endpoint:
    address, _, port = text.rpartition(":")
    try:
        shown = str(ipaddress.ip_address(address.strip("[]")))
    except ValueError:
        raise ParseError(f"open connections of the server: not an address: {excerpt(text)}") from None
    return Endpoint(shown, count(port, "port of a peer", MOST_PORT))


def _path(text: str) -> Endpoint:
    if not is_plain(text) or len(text) > MOST_PATH:
        raise ParseError(f"open connections of the server: not a path: {excerpt(text)}")
    return Endpoint(text, PORT)


def kind_of(services: Iterable[Service], place: Endpoint, process: str = "") -> str | None:
    """What a service is: by the name of the process that listens there, if known, else by its port or path."""
    services = list(services)
    listening = (each.name for each in services if process and each.processes.fullmatch(process))
    if place.port == PORT:
        usual = (each.name for each in services if each.socket is not None and each.socket.search(place.address))
    else:
        usual = (each.name for each in services if place.port in each.ports)
    return next(listening, None) or next(usual, None)


Peering = tuple[Endpoint, int]  # a place, and the user whose processes ask there


def at_places(clocks: Clocks, depths: Mapping[Endpoint, int]) -> dict[Peering, int]:
    """Return the peers at these places, with their distance from the tested port."""
    return {(each.place, each.user): depths[each.place] for each in clocks.asked if each.place in depths}


def of_users(
    clocks: Clocks, tested: Collection[int], servers: Collection[int], on_the_way: Iterable[Service] = ()
) -> dict[Peering, int]:
    """Return the peers of the users that serve the ``tested`` ports, and of the users behind those. Ports of watched
    ``servers`` and unix sockets of services ``on_the_way`` are not peers. Connections of root may be anyone's and do
    not count."""
    depths: dict[Endpoint, int] = {}
    users = {user for place, found in clocks.accepted.items() if place.port in tested for user in found} - {_ROOT}
    asking, depth = users, 1
    while asking:
        places = {each.place for each in clocks.asked if each.user in asking} - depths.keys()
        depths |= dict.fromkeys(places, depth)
        asking = {user for place in places for user in clocks.accepted.get(place, ())} - users - {_ROOT}
        users, depth = users | asking, depth + 1
    ports = {*tested, *servers}
    peers = {
        place: n
        for place, n in depths.items()
        if (place not in clocks.accepted or place.port not in ports)
        and (place.port != PORT or kind_of(on_the_way, place) is None)
    }
    return {peering: n for peering, n in at_places(clocks, peers).items() if peering[1] in users}


def only_root_serves(clocks: Clocks, tested: Collection[int]) -> bool:
    """Whether only root accepts at the tested ports. Connections cannot be attributed by user then."""
    users = {user for place, found in clocks.accepted.items() if place.port in tested for user in found}
    return users == {_ROOT}


class PeerCounters:
    """Follows the peers from the reading on in which they are first chosen: what was counted before is left out.
    ``services`` are those that can be recognised."""

    def __init__(self, services: Iterable[Service] = SERVICES) -> None:
        self._services = tuple(services)
        self._closing = frozenset(each.name for each in self._services if each.closes_statements)
        self._before: dict[Peering, Asked] = {}
        self._zeros: dict[Peering, Asked | None] = {}

    def update(
        self,
        clocks: Clocks,
        chosen: Mapping[Peering, int],
        processes: Mapping[Endpoint, str],
        watched: Collection[Endpoint] = (),
    ) -> Peers:
        """The chosen peers after a reading. ``processes`` are the names of those that listen at a place, if known;
        those at ``watched`` places are under test themselves."""
        newest = {(each.place, each.user): each for each in clocks.asked}
        self._zeros = {each: zero for each, zero in self._zeros.items() if each in newest}
        sums: dict[Endpoint, tuple[float, ...]] = {}
        depths: dict[Endpoint, int] = {}
        for peering, depth in chosen.items():
            zero = self._zeros.setdefault(peering, self._before.get(peering))
            now, then = newest[peering].counters, _NONE if zero is None else zero.counters
            if min(a - b for a, b in zip(now, then, strict=True)) < 0:  # it was restarted
                self._zeros[peering], then = None, _NONE
            place = peering[0]
            added = sums.get(place, _NONE)
            sums[place] = tuple(c + a - b for a, b, c in zip(now, then, added, strict=True))
            depths[place] = min(depth, depths.get(place, depth))
        self._before = newest
        found: list[Peer] = []
        for place, (connections, questions, age_ms, segments, answered, answered_age_ms) in sums.items():
            kind = kind_of(self._services, place, processes.get(place, ""))
            asked = (answered, answered_age_ms) if kind in self._closing else (questions, age_ms)
            found.append(
                Peer(
                    str(place),
                    kind,
                    depths[place],
                    round(connections),
                    round(asked[0], 2),
                    round(asked[1], 2),
                    round(segments),
                    watched=place in watched,
                    by_connection=place.port == PORT,
                )
            )
        found.sort(key=lambda peer: peer.address)
        queued = tuple(each for each in clocks.queued if each.connections)
        return Peers(clocks.readings, tuple(found), queued, clocks.queue_readings)
