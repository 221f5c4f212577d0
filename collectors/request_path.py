"""Follows the tested requests through the processes of one machine, by the TCP and unix sockets that these hold.

Who listens at the tested port serves the requests, of whatever kind it is. So does who listens where one of those holds
a connection, and so on. Which process holds a socket may be read by root, or by the same user: where that is not known
of the tested port, nothing is said. Connections can be short, so that what was found stays found. If the first looks
see no connection to the tested port, services that listen there are looked for all the same, and then ever more seldom.
"""

import asyncio
import contextlib
import re
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice

from collectors.background import Search
from collectors.errors import ParseError, TransportError
from collectors.linux import sockets
from collectors.linux.unix_sockets import PORT, STREAMS, parse_streams
from collectors.machine import ANY_IPV4, ANY_IPV6, Endpoint, Machine, Missing
from collectors.places import behind, serving
from collectors.routing import OWN_ADDRESSES, own_addresses
from loadtop.i18n import Message
from loadtop.model import LOADTOP, OTHER
from loadtop.model.places import port_of

SOON_S, AGAIN_S, MOST_S = 0.5, 30.0, 240.0
"""Seconds between looks: while the tested port has no connections or more is found; then twice as long each time, up to
the last, because a look costs much on a machine with thousands of open files."""

LEAST_LOOKS, MOST_LOOKS = 3, 10  # soon, while it has connections: these may all be short, or lead to ever new places
MOST_PATIENCE = 240  # looks that see no connection before services are looked for without one, at first the least
LONG_S = 1.0  # a look that takes as long is expensive there: after the least number of looks it is not repeated soon
MOST_SOCKETS = 512
MOST_MEMBERS = 16  # processes of the path that are looked at again, the newest ones: parents hold no connections

_INTO_CONTAINERS = re.compile(r"docker-proxy|rootless(?:port|kit).{0,9}|slirp4netns|pasta.{0,9}|gvproxy", re.ASCII)
"""Processes that pass a port on into a container: who serves it there cannot be seen from outside."""


class RequestPath:
    """``known``: whether it is known who takes the requests for ``target_urls``; a ``stranger`` is one of the groups
    ``pools``, or of no known kind. ``reached`` are the processes that serve them and those from which these descend,
    ``services`` those of no known kind, which may be found before it is known. ``leaves``: it may lead to another
    machine, or into a container. ``asked`` are the places that processes on it ask, by their distance from the tested
    port, with the names of the processes that listen there in ``listeners``, where these are known; at ``own_services``
    these are ``services``. Servers of the groups ``on_the_way`` pass requests on or serve them: they are not asked as a
    database is. ``connected`` are the ports of the machine at which any look found connections while there were some at
    the tested ports."""

    def __init__(
        self,
        machine: Machine,
        target_urls: Sequence[str],
        looked: Callable[[], Awaitable[None]],
        on_the_way: Collection[str] = (),
        pools: Collection[str] = (),
    ) -> None:
        self.known = self.stranger = self.leaves = False
        self.connected = frozenset[int]()
        self.reached = self.services = frozenset[int]()
        self.asked: Mapping[Endpoint, int] = {}
        self.listeners: Mapping[Endpoint, str] = {}
        self.own_services = frozenset[Endpoint]()
        self._machine = machine
        self._target_urls = target_urls
        self._ports = frozenset(map(port_of, target_urls))
        self._looked = looked
        self._on_the_way = frozenset(on_the_way)
        self._pools = pools
        self._first: tuple[int, ...] = ()
        self._serving: frozenset[int] = frozenset()
        self._places: frozenset[Endpoint] = frozenset()
        self._asked_for = frozenset[int]()
        self._holders: Mapping[int, frozenset[int]] = {}
        self._looks = self._unconnected = 0
        self._patience = LEAST_LOOKS
        self._asks = self._settled = False
        self._search = Search("processes under test", self._running, self._look, AGAIN_S, SOON_S, MOST_S)
        self.finish, self.close = self._search.finish, self._search.close

    def look(self) -> None:
        if self._target_urls:
            self._search.go_on(found=self._settled)

    @property
    def settled(self) -> bool:
        """Whether it is known who takes the requests, and the last looks found nothing new."""
        return self.known and self._settled

    @property
    def looked(self) -> bool:
        """Whether there were looks enough while someone was connected to the tested ports: connections can be short."""
        return self._looks >= LEAST_LOOKS

    @property
    def certain(self) -> bool:
        """Whether the services behind the tested port are known. The first looks may meet a single request (for a
        status page, say) that is not passed on yet."""
        return self.looked or self._asks

    @property
    def problem(self) -> Message | None:
        return self._search.problem

    def _running(self) -> tuple[int, ...]:
        return tuple(pid for pid in self._first if self._machine.lineage(pid))

    async def _look(self, _: tuple[int, ...]) -> None:
        with contextlib.suppress(TransportError, ParseError):  # the machine's own samples say so
            await self._follow_sockets()

    async def _follow_sockets(self) -> None:
        began = time.monotonic()
        texts = await self._machine.texts((*sockets.FEW_TABLES, STREAMS, *OWN_ADDRESSES))
        tables = [text for wanted in sockets.FEW_TABLES if isinstance(text := texts[wanted.path], str)]
        own = own_addresses(*(texts[wanted.path] for wanted in OWN_ADDRESSES))
        connected = any(sockets.has_connections(table, self._ports) for table in tables)
        if not connected:
            self._settled = False
            if not self.known and not self._running():
                self._unconnected += 1
                if self._unconnected >= self._patience:
                    listening, _, _ = await self._sockets(tables, texts[STREAMS.path], own)
                    self._find_services(listening)
                    self._unconnected, self._patience = 0, min(2 * self._patience, MOST_PATIENCE)
                    await self._looked()
            return
        self.connected = self.connected.union(*map(sockets.connected_ports, tables))
        listening, asked, same = await self._sockets(tables, texts[STREAMS.path], own)
        places = self._follow(listening, asked, own)
        if not same:
            places = self._follow(listening, {**asked, **await self._asked_now()}, own)
        self._looks += 1
        self._asks = self._asks or bool(places)
        told_all = self._looks >= LEAST_LOOKS and places <= self._places
        most = LEAST_LOOKS if time.monotonic() - began > LONG_S else MOST_LOOKS
        self._settled = told_all or self._looks >= most
        if self._looks < MOST_LOOKS:
            self._places |= places
        await self._looked()

    async def _sockets(
        self, tables: Sequence[str], streams: str | Missing, own: frozenset[str]
    ) -> tuple[Mapping[int, set[Endpoint]], Mapping[int, set[Endpoint]], bool]:
        """Where each process listens, where it holds connections but for those to the tested port, and whether the
        holders of the last lookup still stand: no socket is new, and no holder has ended (it may have handed its socket
        over). Looking them up is the most expensive part of a look."""
        listening, clients = await asyncio.to_thread(_parsed, tables, streams)  # they may have thousands of rows
        clients = [each for each in clients if not self._leads_to_tested(each[1], listening, own)]
        listening.sort(key=lambda socket: socket[1].port not in self._ports)
        inodes = [inode for inode, _ in (*listening, *clients)][:MOST_SOCKETS]
        few = len(inodes) < MOST_SOCKETS
        alive = all(map(self._machine.lineage, frozenset[int]().union(*self._holders.values())))
        same = self.settled and few and alive and self._asked_for.issuperset(inodes)
        if not same:
            wanted = sockets.holders(inodes)
            found = sockets.parse_holders((await self._machine.texts((wanted,)))[wanted.path])
            self._asked_for, self._holders = frozenset(inodes), found
        holders = self._holders
        return _by_process(listening, holders), _by_process(clients, holders), same

    def _leads_to_tested(self, place: Endpoint, listening: Sequence[tuple[int, Endpoint]], own: frozenset[str]) -> bool:
        """Whether who holds a connection to this place is a client of the test: at a tested port of this machine,
        unless several servers share that, each at an address of its own."""
        if place.port not in self._ports or not _is_own(place, own):
            return False
        addresses = {each.address for _, each in listening if each.port == place.port}
        return len(addresses) == 1 or addresses <= {ANY_IPV4, ANY_IPV6}

    async def _asked_now(self) -> Mapping[int, set[Endpoint]]:
        """Where those hold connections that are known to serve requests. Their sockets and the tables are read in one
        go, because a connection may be gone when all processes have been looked through."""
        held = sockets.held_by(sorted(self._serving)[-MOST_MEMBERS:])
        texts = await self._machine.texts((held, *sockets.FEW_TABLES, STREAMS))
        tables = [text for wanted in sockets.FEW_TABLES if isinstance(text := texts[wanted.path], str)]
        _, clients = await asyncio.to_thread(_parsed, tables, texts[STREAMS.path])
        return _by_process(clients, sockets.parse_holders(texts[held.path]))

    def _find_services(self, listening: Mapping[int, set[Endpoint]]) -> None:
        """Learn which services listen at the tested port. Whom they ask cannot be seen now, so that no server is set
        aside."""
        first = frozenset[int]().union(*(serving(listening, url) for url in self._target_urls))
        groups = {pid: lineage[0].group for pid in first if (lineage := self._machine.lineage(pid))}
        self.services = frozenset(pid for pid, group in groups.items() if group == OTHER)
        self._first = tuple(sorted(pid for pid in groups if first.isdisjoint(self._pids(pid)[1:])))

    def _follow(
        self, listening: Mapping[int, set[Endpoint]], asked: Mapping[int, set[Endpoint]], own: frozenset[str]
    ) -> frozenset[Endpoint]:
        """Learn whom requests reach. Returns the places that are called on the way."""
        first = frozenset[int]().union(*(serving(listening, url) for url in self._target_urls))
        path, more, places = self._serving, first, frozenset[Endpoint]()
        while more:
            path |= more
            askers = [pid for pid in asked if not path.isdisjoint((pid, *self._pids(pid)))]
            places = frozenset(place for pid in askers for place in asked[pid])
            more = behind(listening, (place for place in places if _is_own(place, own))) - path
        lineages = {pid: lineage for pid in path if (lineage := self._machine.lineage(pid))}
        ways_out = (_INTO_CONTAINERS.fullmatch(lineage[0].name) for lineage in lineages.values())
        self.leaves = self.leaves or any(ways_out) or not all(_is_own(place, own) for place in places)
        self._first = tuple(sorted(pid for pid in first & lineages.keys() if first.isdisjoint(self._pids(pid)[1:])))
        self._serving = frozenset(lineages)
        self.reached = frozenset(each.pid for lineage in lineages.values() for each in lineage)
        groups = {lineages[pid][0].group for pid in self._first}
        self.stranger = bool(groups) and groups <= {OTHER, *self._pools}
        self.known = self.stranger or bool(groups - {OTHER, LOADTOP})
        others = (pid for pid, lineage in lineages.items() if lineage[0].group == OTHER)
        self.services = frozenset(others if self.known else ())
        if self.known:
            self._name_asked(first, listening, asked, own)
        return places

    def _name_asked(
        self,
        asking: frozenset[int],
        listening: Mapping[int, set[Endpoint]],
        asked: Mapping[int, set[Endpoint]],
        own: frozenset[str],
    ) -> None:
        """Learn who is asked, from the tested port on, but for servers on the way: their own figures say more. What was
        found stays found, as connections can be short."""
        reached, depths, names, depth = asking, dict(self.asked), dict(self.listeners), 1
        while asking:
            askers = [pid for pid in asked if not asking.isdisjoint((pid, *self._pids(pid)))]
            after = frozenset[int]()
            for place in {place for pid in askers for place in asked[pid]}:
                pids = behind(listening, (place,)) if _is_own(place, own) else frozenset[int]()
                after |= pids
                members = [lineage[0] for pid in pids if (lineage := self._machine.lineage(pid))]
                if self._on_the_way.isdisjoint(member.group for member in members):
                    depths.setdefault(place, depth)
                    if members:
                        names[place] = members[0].name
                    if any(member.group == OTHER for member in members):
                        self.own_services |= {place}
            asking, reached, depth = after - reached, reached | after, depth + 1
        self.asked = dict(islice(depths.items(), MOST_SOCKETS))
        self.listeners = names

    def _pids(self, pid: int) -> tuple[int, ...]:
        return tuple(each.pid for each in self._machine.lineage(pid))


def _is_own(place: Endpoint, own: frozenset[str]) -> bool:
    return place.port == PORT or place.address in own or place.address.startswith("127.")


def _parsed(
    tables: Sequence[str], streams: str | Missing
) -> tuple[list[tuple[int, Endpoint]], list[tuple[int, Endpoint]]]:
    """The sockets that listen, and those that are connected to others, by inode."""
    rows = [row for table in tables for row in sockets.parse_table(table)]
    listening = [(row.inode, Endpoint(row.address, row.port)) for row in rows if row.inode]
    served = {place.port for _, place in listening}
    clients = [row for table in tables for row in sockets.parse_clients(table, served, sockets.MOST_CLIENTS)]
    unix_listening, unix_clients = parse_streams(streams, sockets.MOST_CLIENTS)
    return listening + unix_listening, clients + unix_clients


def _by_process(
    places: Iterable[tuple[int, Endpoint]], holders: Mapping[int, frozenset[int]]
) -> Mapping[int, set[Endpoint]]:
    found = defaultdict[int, set[Endpoint]](set)
    for inode, place in places:
        for pid in holders.get(inode, ()):
            found[pid].add(place)
    return found
