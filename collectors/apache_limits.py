"""The configured limits of the Apache servers on one machine, read again now and then, and added to their status."""

from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from collectors import apache_config
from collectors.config_files import FILE_BYTES, Config, arguments, read_config
from collectors.machine import Endpoint, Machine
from collectors.problem import TransportError
from collectors.reading import Wanted
from collectors.search import Search
from loadtop.model import ApacheStatus, Group


@dataclass(frozen=True, slots=True)
class _Server:
    """One running Apache: the ports on which it listens, as far as they are known, and its configuration."""

    ports: frozenset[int]
    config: Config


class ApacheLimits:
    """Knows the configuration of each Apache on a machine."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._pids: tuple[int, ...] = ()
        self._servers: dict[int, _Server] = {}
        self._search = Search(machine, Group.HTTPD, self._look)

    def look(self) -> None:
        """Read what is configured, where it is time to."""
        self._search.go_on(found=any(server.config.found for server in self._servers.values()))

    def complete(self, status: ApacheStatus) -> ApacheStatus:
        """The status with the limits of its server: the one that listens where the page came from, or the only one."""
        parts = urlsplit(status.url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        servers = [server for server in self._servers.values() if port in server.ports]
        if not servers and len(self._pids) == 1:
            servers = list(self._servers.values())
        if len(servers) != 1:
            return status
        limits = apache_config.limits(servers[0].config, status.mpm)
        return replace(
            status,
            max_request_workers=limits.max_request_workers,
            server_limit=limits.server_limit,
            threads_per_child=limits.threads_per_child,
            listen_backlog=limits.listen_backlog,
        )

    async def close(self) -> None:
        await self._search.close()

    async def _look(self, servers: tuple[int, ...]) -> None:
        self._pids = servers
        self._servers = {pid: server for pid, server in self._servers.items() if pid in servers}
        try:
            for pid in sorted(servers, key=lambda pid: pid in self._servers):
                self._servers[pid] = await self._read(pid)
        except TransportError:
            return  # the machine's own samples say so

    async def listening(self, pid: int) -> tuple[Endpoint, ...]:
        """Where a server listens: as the kernel has it, or as it is configured where only root may see the former.
        Raises ``TransportError``."""
        found = await self._machine.listening(pid)
        return found or apache_config.listening((await self._config(pid)).lines())

    async def _read(self, pid: int) -> _Server:
        config = await self._config(pid)
        found = await self._machine.listening(pid) or apache_config.listening(config.lines())
        return _Server(frozenset(endpoint.port for endpoint in found), config)

    async def _config(self, pid: int) -> Config:
        command = await arguments(self._machine, pid)
        paths = apache_config.files_of(command)
        texts = await self._machine.texts(Wanted(path, FILE_BYTES) for path in paths)
        for path in paths:
            if isinstance(texts[path], str):
                root = apache_config.root_of(command, path, texts[path])
                return await read_config(self._machine, (path,), apache_config.include_of(root))
        return await read_config(self._machine, paths[:1])
