"""The Apache servers on one machine: their configured limits, read again now and then and added to their status, and
which of them is under test."""

import asyncio
import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from collectors.apache import configuration as apache_config
from collectors.apache.configuration import Limits
from collectors.config_files import FILE_BYTES, Config, arguments, read_config
from collectors.errors import TransportError
from collectors.haproxy.discovery import HaproxyFinder
from collectors.linux.namespaces import Home, as_seen_by, home_of
from collectors.machine import Endpoint, Machine
from collectors.php_fpm.discovery import FpmFinder
from collectors.reading import Wanted
from collectors.search import Search
from collectors.under_test import Server, behind, not_asked, note, port_of, serving
from loadtop.servers.apache.record import GROUP as HTTPD
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.php_fpm.record import GROUP as FPM


class ApacheLimits:
    """Knows the configuration of each Apache on a machine. ``target_urls`` are where the load goes."""

    def __init__(self, machine: Machine, target_urls: Sequence[str] = ()) -> None:
        self._machine = machine
        self._target_urls = target_urls
        self._pids: tuple[int, ...] = ()
        self._servers: dict[int, Server] = {}
        self._search = Search(machine, HTTPD, self._look)
        self._pools = FpmFinder(machine, target_urls)
        self._proxies = HaproxyFinder(machine)
        self._unknown: tuple[str, ...] = ()
        self._looked = asyncio.Event()
        self._limits: dict[tuple[int, str], Limits] = {}

    def look(self) -> None:
        """Read what is configured, where it is time to."""
        self._search.go_on(found=any(server.config.found for server in self._servers.values()))

    def complete(self, status: ApacheStatus) -> ApacheStatus:
        """The status with the limits of its server: the one that listens where the page came from, or the only one."""
        port = port_of(status.url)
        pids = [pid for pid, server in self._servers.items() if server.has(port)]
        if not pids and len(self._pids) == 1:
            pids = list(self._servers)
        if len(pids) != 1:
            return status
        limits = self._limits_of(pids[0], status.mpm)
        return replace(
            status,
            max_request_workers=limits.max_request_workers,
            server_limit=limits.server_limit,
            threads_per_child=limits.threads_per_child,
            listen_backlog=limits.listen_backlog,
        )

    def _limits_of(self, pid: int, mpm: str) -> Limits:
        """Worked out once for each time that the configuration is read: it can have thousands of lines."""
        if (pid, mpm) not in self._limits:
            self._limits[pid, mpm] = apache_config.limits(self._servers[pid].config, mpm)
        return self._limits[pid, mpm]

    async def close(self) -> None:
        await self._search.close()

    @property
    def note(self) -> str:
        """What keeps the server under test from being known, or an empty text."""
        return note(self._servers, self._unknown)

    async def settle(self, most_s: float) -> bool:
        """Wait until it is known for the first time which server is under test, where there are several: whether others
        have been set aside."""
        if not self._target_urls or self._looked.is_set() or len(self._machine.servers(HTTPD)) < 2:
            return False
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._looked.wait(), most_s)
        return self._machine.tested(HTTPD) != self._machine.servers(HTTPD)

    async def _look(self, servers: tuple[int, ...]) -> None:
        self._pids = servers
        self._servers = {pid: server for pid, server in self._servers.items() if pid in servers}
        try:
            for pid in sorted(servers, key=lambda pid: pid in self._servers):
                self._servers[pid] = await self._read(pid)
                self._limits.clear()
            if self._target_urls:
                self._machine.set_aside(await self._others())
        except TransportError:
            return  # the machine's own samples say so
        finally:
            self._looked.set()

    async def chosen(
        self, places: Mapping[int, Collection[Endpoint]]
    ) -> tuple[frozenset[int], Mapping[str, frozenset[int]]]:
        """Those under test of the servers that listen at these places (none where that is not known of each), and which
        of them serve each URL whose load does not come through a HAProxy of this machine. Raises ``TransportError``."""
        direct: dict[str, frozenset[int]] = {}
        found: set[int] = set()
        unknown: tuple[str, ...] = ()
        for url in self._target_urls:
            served = serving(places, url)
            upstream = None if served else await self._proxies.upstream(port_of(url))
            if upstream is None:
                direct[url] = served
                found |= served
            else:
                unknown += upstream.unknown
                found |= behind(places, upstream.endpoints)
        # Another kind of server may serve a URL that leads to none of these, or one of which it is not known where it
        # listens.
        hidden = not all(direct.values()) and not all(places.values())
        self._unknown = unknown
        return frozenset() if hidden or unknown else frozenset(found), direct

    async def _others(self) -> frozenset[int]:
        """The web servers that are not under test, and the masters of php-fpm that the one under test does not ask."""
        chosen, _ = await self.chosen({pid: server.endpoints for pid, server in self._servers.items()})
        found = frozenset(self._servers.keys() - chosen) if chosen else chosen
        masters = self._machine.servers(FPM)
        if not chosen or not masters:
            return found
        pools = {pid: (await self._pools.configs((pid,)))[0] for pid in masters}
        lines = [line for pid, server in self._servers.items() if pid not in found for line in server.config.lines()]
        return found | not_asked(pools, lines)

    async def listening(self, pid: int) -> tuple[Endpoint, ...]:
        """Where a server listens: as the kernel has it, or as it is configured where only root may see the former.
        Raises ``TransportError``."""
        home = await home_of(self._machine, pid)
        if home.apart:
            return ()
        return await self._machine.listening(pid) or apache_config.listening((await self._config(pid, home)).lines())

    async def apart(self, pid: int) -> bool:
        """Whether a server is in a container with a network of its own. Raises ``TransportError``."""
        return (await home_of(self._machine, pid)).apart

    async def _read(self, pid: int) -> Server:
        home = await home_of(self._machine, pid)
        config = await self._config(pid, home)
        if home.apart:
            return Server((), config, apart=True)
        return Server(await self._machine.listening(pid) or apache_config.listening(config.lines()), config)

    async def _config(self, pid: int, home: Home) -> Config:
        command = await arguments(self._machine, pid)
        paths = apache_config.files_of(command)
        seen = as_seen_by(self._machine, home)
        texts = await seen.texts(Wanted(path, FILE_BYTES) for path in paths)
        for path in paths:
            if isinstance(texts[path], str):
                root = apache_config.root_of(command, path, texts[path])
                return await read_config(seen, (path,), apache_config.include_of(root))
        return await read_config(seen, paths[:1])
