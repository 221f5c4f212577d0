"""Tells the servers under test from others on the same machine, by their place in the path of a request.

A web server is under test if it listens where the load goes, or where a proxy sends that load. An application pool is
under test if a web server under test names it. Where the processes can be followed that the requests reach, a proxy is
under test if they reach it, and behind a service of no known kind a web server is.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from collectors.background import Search
from collectors.config_files import Config, view_of
from collectors.errors import TransportError
from collectors.kind import Kind
from collectors.machine import Endpoint, Machine
from collectors.parsing import excerpt
from collectors.places import behind, origin_of, serving
from collectors.request_path import RequestPath
from collectors.routing import Backends, Router, Routes
from loadtop.i18n import Message, plural
from loadtop.model import Role
from loadtop.model.places import port_of

_SECURE_PORTS = (443, 8443)
_MOST_ORIGINS = 6
_PATH_S = 0.5  # how long a sample waits for a look at the sockets that requests come through
_ON_THE_WAY = (Role.PROXY, Role.WEB, Role.APPLICATION)


@dataclass(slots=True, eq=False)
class Server:
    """One running server. ``endpoints`` is where it listens, as far as that is known; they mean nothing here where it
    has a network of its own, as in a container."""

    kind: Kind
    endpoints: tuple[Endpoint, ...]
    config: Config
    own_network: bool = False


class UnderTest:
    """Knows the web servers of one machine and their configuration, and which of them serve ``target_urls``."""

    def __init__(
        self, machine: Machine, kinds: Sequence[Kind], target_urls: Sequence[str] = (), *, active: bool = True
    ) -> None:
        self.target_urls = target_urls
        self._machine = machine
        self._kinds = kinds
        self._web = [kind for kind in kinds if kind.role is Role.WEB]
        self._active = active
        self._servers: dict[int, Server] = {}
        self._search = Search("web servers under test", self._running, self._look)
        self._router = Router(machine)
        self._running_proxies: list[tuple[Kind, int]] = []
        self._unknown: tuple[str, ...] = ()
        self._hidden = True  # whether a server that cannot be located may be under test
        self._looked = asyncio.Event()
        on_the_way = [kind.group for kind in kinds if kind.role in _ON_THE_WAY]
        pools = [kind.group for kind in kinds if kind.role is Role.APPLICATION]
        self.path = RequestPath(machine, target_urls, self._place, on_the_way, pools)

    def look(self) -> None:
        if self._active:
            self.path.look()
            self._search.go_on(found=any(server.config.found for server in self._servers.values()))

    def server_at(self, kind: Kind, url: str) -> Server | None:
        """The server of that kind that listens at the port of a URL, or the only one that runs."""
        its = [server for server in self._servers.values() if server.kind is kind]
        port = port_of(url)
        found = [server for server in its if any(endpoint.port == port for endpoint in server.endpoints)]
        if not found and len(self._machine.servers(kind.group)) == 1:
            found = its
        return found[0] if len(found) == 1 else None

    def ports(self) -> frozenset[int]:
        """Where the web servers listen that are not set aside, as far as that is known."""
        tested = {pid for kind in self._web for pid in self._machine.tested(kind.group)}
        return frozenset(
            place.port for pid, server in self._servers.items() if pid in tested for place in server.endpoints
        )

    @property
    def note(self) -> Message | None:
        return self._search.problem or self.path.problem or note(self._servers, self._unknown, hidden=self._hidden)

    async def settle(self, most_s: float) -> bool:
        """Wait until it is first known which of several servers is under test, and who takes the requests once the load
        has begun. Returns whether servers were set aside, or services found, just now."""
        if not self._active or not self.target_urls:
            return False
        new = several = not self._looked.is_set() and len(self._running()) > 1  # before the path is awaited
        if not self.path.known:
            services = self.path.services
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(most_s, _PATH_S)):
                    await self.path.finish()
            new |= self.path.known or not self.path.services <= services
        if several:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(most_s):
                    await self._looked.wait()
        kinds = (kind for kind in self._kinds if kind.role in (Role.WEB, Role.PROXY))
        aside = any(self._machine.tested(kind.group) != self._machine.servers(kind.group) for kind in kinds)
        return new and (aside or bool(self.path.services))

    async def origins(self, kind: Kind) -> list[list[str]]:
        """Where the status pages of a kind of web server may be, as ``http://HOST:PORT``: of each list, the first that
        responds is followed. Only those of the servers under test, where these are known. Where the load comes through
        a proxy here, each server is asked directly: through the proxy, any could answer."""
        await self._search.finish()  # routes of other kinds lead to this one, and status paths are configured
        running = self._servers  # a search may replace them meanwhile
        its = frozenset(pid for pid, server in running.items() if server.kind is kind)
        try:
            if its:
                await self._locate(running)  # a page may be missing because this has changed
            chosen, direct = await self._chosen()
        except TransportError:
            chosen, direct = frozenset[int](), dict.fromkeys(self.target_urls, frozenset[int]())
        pages = {pid: [_origin(place) for place in running[pid].endpoints[:_MOST_ORIGINS]] for pid in sorted(its)}
        if self._behind_service:
            return [pages[pid] for pid in pages if pid in chosen]
        by_server: dict[frozenset[int], list[str]] = {}
        for url, servers in direct.items():
            if not servers or servers & its:
                by_server.setdefault(servers & its, []).append(origin_of(url))
        known = frozenset[int]().union(*by_server)
        found = [
            [*urls[:_MOST_ORIGINS], *(page for pid in (servers if known else pages) for page in pages[pid])]
            for servers, urls in by_server.items()
        ]
        proxied = sum(map(len, by_server.values())) < len(self.target_urls)
        rest = chosen or (pages.keys() if proxied or not direct else ())
        return found + [pages[pid] for pid in pages if pid in rest and pid not in known]

    def own_network(self, pid: int) -> bool:
        """Whether a web server has its own network namespace, as in a container."""
        return pid in self._servers and self._servers[pid].own_network

    @property
    def _behind_service(self) -> bool:
        """Whether a pool, or a service of no known kind, takes the load, and no server in a container can be meant."""
        hidden = self.path.leaves and any(server.own_network for server in self._servers.values())
        return self.path.stranger and self.path.certain and not hidden

    async def close(self) -> None:
        await self.path.close()
        await self._search.close()

    def _running(self) -> tuple[int, ...]:
        return tuple(pid for kind in self._web for pid in self._machine.servers(kind.group))

    async def _look(self, servers: tuple[int, ...]) -> None:
        kinds = {pid: kind for kind in self._web for pid in self._machine.servers(kind.group)}
        self._servers = {pid: server for pid, server in self._servers.items() if pid in servers}
        try:
            found = {pid: await _read(self._machine, kinds[pid], pid) for pid in servers}
            await self._locate(found)
            self._servers = found
            await self._place()
        except TransportError:
            return  # the machine's own samples say so
        finally:
            self._looked.set()

    async def _locate(self, servers: Mapping[int, Server]) -> None:
        """Learn where servers listen, from their configuration where their sockets cannot be read."""
        places = await self._machine.listening([pid for pid, server in servers.items() if not server.own_network])
        for pid, server in servers.items():
            if not server.own_network:
                server.endpoints = places.get(pid) or server.kind.listening(server.config)

    async def _place(self) -> None:
        if self.target_urls:
            self._machine.set_aside(await self._others(), self.path.services)

    async def _chosen(self) -> tuple[frozenset[int], Mapping[str, frozenset[int]]]:
        """The web servers under test (none where that is not known of each), and which of them serve each URL whose
        load does not come through a proxy of this machine."""
        if self._behind_service:
            self._unknown, self._hidden = (), False
            return self.path.reached & self._servers.keys(), {}
        places = {pid: server.endpoints for pid, server in self._servers.items()}
        direct: dict[str, frozenset[int]] = {}
        found: set[int] = set()
        unknown: tuple[str, ...] = ()
        proxies = await self._proxies()
        for url in self.target_urls:
            served = serving(places, url)
            backends = await self._backends(proxies, served, port_of(url))
            if served or backends is None:
                direct[url] = served
                found |= served
            if backends is not None:
                unknown += backends.unknown
                found |= behind(places, backends.endpoints)
        found |= self.path.reached & self._servers.keys()
        # Another kind of server may serve a URL that leads to none of these, or one of which it is not known where it
        # listens.
        hidden = not all(direct.values()) and not all(places.values())
        self._unknown, self._hidden = unknown, hidden or not self.target_urls
        return frozenset() if hidden or unknown else frozenset(found), direct

    async def _backends(self, proxies: Sequence[Routes], served: frozenset[int], port: int) -> Backends | None:
        """Where the web servers at a port send requests, or if there are none, the proxies there."""
        web = {
            pid: routes
            for pid, server in self._servers.items()
            if not server.own_network and (routes := server.kind.routes(server.config)) is not None
        }
        first = [routes for pid, routes in web.items() if pid in served]
        if served and not first:
            return None
        return await self._router.backends(first or proxies, proxies, list(web.values()), port)

    async def _proxies(self) -> list[Routes]:
        running = self._proxies_here()
        if running != self._running_proxies:
            self._running_proxies = running
            self._router = Router(self._machine)
        read = [(kind, await configuration_of(self._machine, kind, pid)) for kind, pid in running]
        found = [kind.routes(config) for kind, config in read if config is not None]
        return [routes for routes in found if routes is not None]

    def _proxies_here(self) -> list[tuple[Kind, int]]:
        proxies = [kind for kind in self._kinds if kind.role is Role.PROXY]
        return [(kind, pid) for kind in proxies for pid in self._machine.servers(kind.group)]

    async def _others(self) -> frozenset[int]:
        """The web servers that are not under test, the application pools that those under test do not name, and the
        proxies and other pools that requests do not reach."""
        chosen, _ = await self._chosen()
        path = self.path
        if path.stranger and not path.certain:
            return frozenset()
        followed = {pid for _, pid in self._proxies_here() if path.known}
        if path.settled:  # no configuration that is read names these
            kinds = [kind for kind in self._kinds if kind.role is Role.APPLICATION and kind.pool_addresses is None]
            followed |= {pid for kind in kinds for pid in self._machine.servers(kind.group)}
        others = frozenset(() if path.leaves else followed) - path.reached
        if not chosen and not self._behind_service:
            return others | self._without_clients()
        others |= self._servers.keys() - chosen
        pools = {
            pid: await kind.pool_addresses(self._machine, pid)
            for kind in self._kinds
            if kind.pool_addresses is not None
            for pid in self._machine.servers(kind.group)
        }
        if not pools:
            return others
        servers = (server for pid, server in self._servers.items() if pid in chosen)
        named = [server.kind.fastcgi_addresses(server.config) for server in servers]
        return others | (not_asked(pools, named) - path.reached)

    def _without_clients(self) -> frozenset[int]:
        """Web servers that take no part in the test, where loadtop may not see who takes the requests: they are known
        to listen on other ports, and have no connections while requests arrive."""
        path = self.path
        if path.known or not path.looked or self._hidden or self._unknown:
            return frozenset()
        return frozenset(
            pid
            for pid, server in self._servers.items()
            if server.endpoints and not server.own_network
            if path.connected.isdisjoint(place.port for place in server.endpoints)
        )


async def configuration_of(machine: Machine, kind: Kind, pid: int) -> Config | None:
    """The configuration of a server; ``None`` in a container with a network of its own. Raises ``TransportError``."""
    view = await view_of(machine, pid)
    return None if view.own_network else await kind.configuration(view, view.command)


async def _read(machine: Machine, kind: Kind, pid: int) -> Server:
    view = await view_of(machine, pid)
    config = await kind.configuration(view, view.command)
    return Server(kind, (), config, view.own_network)


def not_asked(pools: Mapping[int, frozenset[str]], named: Iterable[frozenset[str] | None]) -> frozenset[int]:
    """The application pools, by process, that no web server under test asks.

    ``pools`` are their addresses, empty where these are not known; ``named`` is what each web server under test names
    (``None``: it is certain that it asks none). A process whose pools are not known can be the one that is asked,
    unless all that is named is another's. A server that names none may do so in files not read (``.htaccess``)."""
    named = list(named)
    if named and all(each is None for each in named):
        return frozenset(pools)
    asked = frozenset[str]().union(*(each for each in named if each is not None))
    known = frozenset[str]().union(*pools.values())
    if not known & asked:
        return frozenset()
    return frozenset(pid for pid, addresses in pools.items() if not addresses & asked and (addresses or asked <= known))


def note(servers: Mapping[int, Server], unknown: Sequence[str] = (), *, hidden: bool = True) -> Message | None:
    """``unknown`` are servers of the proxy before them whose place is unknown. ``hidden``: one that cannot be located
    may be under test."""
    places = sum(not server.endpoints and not server.own_network for server in servers.values()) if hidden else 0
    if len(servers) < 2 or not (places or unknown):
        return None
    one, several = "only root can see where {n} web server listens", "only root can see where {n} web servers listen"
    why = (
        plural(places, one, several)
        if places
        else Message("the address of {server}, behind the proxy, is unknown", server=excerpt(unknown[0]))
    )
    template = "{why}: loadtop assumes that all {servers} web servers here are under test"
    return Message(template, servers=len(servers), why=why)


def _origin(endpoint: Endpoint) -> str:
    scheme = "https" if endpoint.port in _SECURE_PORTS else "http"
    return f"{scheme}://{endpoint.from_here}"
