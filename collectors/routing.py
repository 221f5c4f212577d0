"""Where proxies on a machine send the requests that come in at a port or at a unix socket."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from collectors import host_names
from collectors.machine import EVERYWHERE, Endpoint, Missing, Texts, Wanted

OWN_ADDRESSES = (Wanted("/proc/net/fib_trie"), Wanted("/proc/net/if_inet6"))
_LOCAL = re.compile(r"\|-- ([\d.]{7,15})\n\s{0,99}/32 host LOCAL", re.ASCII)
_LOCAL6 = re.compile(r"^([0-9a-f]{32}) ", re.ASCII | re.MULTILINE)

MOST_ADDRESSES = 64  # of one machine that are kept
MOST_PLACES = 5000  # that are followed for one URL; what else a configuration names is unknown
_MOST_OF_NAME = 500  # addresses of one name, or of the machine
_ALL = "*"  # in place of a host: every entry at a port

T = TypeVar("T")


class Place(Struct, frozen=True):
    """Where requests come in or go to: a port of a host (its address or name; empty for any address of this machine),
    or a unix socket (its path, or ``@`` and its name where it has no file). Neither where the configuration does not
    tell: ``text`` is how it is written there. A ``relative`` port is added to the one at which a request came in."""

    host: str = ""
    port: int = 0
    socket: str = ""
    text: str = ""
    relative: bool = False

    def seen_from(self, port: int) -> "Place":
        """The same for requests that came in at ``port``."""
        return replace(self, port=port + self.port, relative=False) if self.relative else self


class Route(Struct, frozen=True):
    """Requests that come in at one of ``entries`` can reach every server of ``upstreams``. Routes that lead to the same
    servers share their list."""

    entries: Sequence[Place]
    upstreams: Sequence[Sequence[Place]]


class Routes:
    """The routes of one server, by the places where requests come in."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._at: dict[tuple[str, int], list[Route]] = {}
        for route in routes:
            for key in dict.fromkeys(key for entry in route.entries for key in _keys(entry)):
                self._at.setdefault(key, []).append(route)

    def at(self, entry: Place) -> list[list[Route]]:
        """Lists of the routes of requests that come in there; empty if it accepts none there."""
        host, port = entry.host or _ALL, entry.port
        keys = [(entry.socket, 0)] if entry.socket else [(host, port), ("", port)]
        return [self._at[key] for key in keys if key in self._at]


def _keys(entry: Place) -> Iterator[tuple[str, int]]:
    if entry.socket:
        yield entry.socket, 0
    elif entry.port:
        yield _ALL, entry.port
        yield "" if entry.host in EVERYWHERE else entry.host, entry.port


def accepted(routes: Iterable[Routes], entry: Place) -> bool:
    return any(each.at(entry) for each in routes)


def reached(routes: Iterable[Routes], entry: Place, port: int, known: set[int] | None = None) -> list[Place]:
    """Every server that requests that come in there can reach, where they came to the machine at ``port``. Lists that
    are ``known``, by their ids, are left out, and added to it: so all calls together take as long as there are servers.
    """
    known = set() if known is None else known
    found = _each_once((at for each in routes for at in each.at(entry)), known)
    upstreams = _each_once((route.upstreams for route in found), known)
    return [place.seen_from(port) for place in _each_once(upstreams, known)]


def _each_once(lists: Iterable[Sequence[T]], known: set[int]) -> Iterator[T]:
    for each in lists:
        if id(each) not in known:
            known.add(id(each))
            yield from each


class Backends(Struct, frozen=True):
    """Where on its machine a proxy sends requests; ``unknown``: configured servers at an unknown place."""

    endpoints: frozenset[Endpoint] = frozenset()
    unknown: tuple[str, ...] = ()


class Router:
    """Follows the routes of proxies on one machine. Remembers what its resolver says."""

    def __init__(self, machine: Texts) -> None:
        self._machine = machine
        self._addresses: dict[str, frozenset[str]] = {}

    async def backends(
        self, first: Sequence[Routes], proxies: Sequence[Routes], web: Sequence[Routes], port: int
    ) -> Backends | None:
        """Where requests that come in at ``port`` of the ``first`` routes end, also by way of other ``proxies`` and
        ``web`` servers, which also answer some themselves; ``None`` if none of the first accepts them there. Raises
        ``TransportError``."""
        entry = Place(port=port)
        if not accepted(first, entry):
            return None
        texts = await self._machine.texts(OWN_ADDRESSES)
        own = own_addresses(*(texts[wanted.path] for wanted in OWN_ADDRESSES))
        todo, seen = [(entry, first)], {entry}
        found: set[Endpoint] = set()
        unknown: dict[str, None] = {}
        known: set[int] = set()
        left = MOST_PLACES
        while todo:
            at, through = todo.pop()
            for place in dict.fromkeys(reached(through, at, port, known)):
                here = await self._here(place, own) if left > 0 else None
                left -= 1 + len(here or ())
                if not here:
                    unknown |= {} if here is not None else {place.text: None}
                    continue
                further = {each for each in here if accepted([*proxies, *web], each)}
                passed_on = {each for each in further if accepted(proxies, each)}
                if place.socket and not further:
                    unknown[place.text] = None  # another program listens there
                found |= {Endpoint(each.host, each.port) for each in here - passed_on if each.port}
                todo += [(each, [*proxies, *web]) for each in further - seen]
                seen |= further
        return Backends(frozenset(found), tuple(unknown))

    async def _here(self, place: Place, own: frozenset[str]) -> frozenset[Place] | None:
        """The same as places of this machine, none if it is another's; ``None`` where that is unknown."""
        if place.socket:
            return frozenset((Place(socket=place.socket),))
        if not place.port:
            return None
        addresses = await self._resolved(place.host) if place.host else own
        if not 0 < len(addresses) <= _MOST_OF_NAME:
            return None
        return frozenset(Place(address, place.port) for address in addresses & own)

    async def _resolved(self, host: str) -> frozenset[str]:
        literal = host_names.addresses((host,))
        if literal or host in self._addresses:
            return literal or self._addresses[host]
        resolver = host_names.wanted(host)
        for file in (Wanted(host_names.HOSTS, regular=True), resolver):
            text = (await self._machine.texts((file,)))[file.path]
            lines = text if isinstance(text, str) else ""
            found = host_names.addresses(lines.split()) if file is resolver else host_names.in_hosts(lines, host)
            if found:
                break
        self._addresses[host] = found
        return found


def shown_addresses(found: Iterable[str]) -> tuple[str, ...]:
    """Those of a machine's addresses at which others may find it, a few at most."""
    return tuple(sorted(filter(_is_reachable, found))[:MOST_ADDRESSES])


def _is_reachable(address: str) -> bool:
    """Whether other machines may find one at this address. A hostile machine can print something that is none."""
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return False
    return not (known.is_loopback or known.is_link_local)


def own_addresses(routes: str | Missing | None, addresses6: str | Missing | None) -> frozenset[str]:
    """The addresses of a machine: the loopback's, Linux's local routes (net/ipv4/fib_trie.c) and its ``if_inet6``."""
    four = _LOCAL.findall(routes) if isinstance(routes, str) else []
    six = _LOCAL6.findall(addresses6) if isinstance(addresses6, str) else []
    return frozenset(("127.0.0.1", "::1", *four, *(str(ipaddress.IPv6Address(bytes.fromhex(each))) for each in six)))
