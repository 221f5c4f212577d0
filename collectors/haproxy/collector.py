"""The HAProxies of one machine: their statistics, from the socket or page that their configuration names.

Where it may not be read, the usual sockets are tried, and the usual page on the ports on which HAProxy listens.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from collectors.errors import AbsentError
from collectors.haproxy import configuration, status
from collectors.kind import Kind
from collectors.reading import Page
from collectors.server_collector import Candidates, ServerCollector
from collectors.under_test import configuration_of
from loadtop.i18n import Message
from loadtop.model import Cause, Role
from loadtop.servers.haproxy.record import GROUP, NAME, HaproxyProxy

_CANDIDATES = 12
_USUAL = ("/stats", status.STATS_URI, "/haproxy_stats", "/")


KIND = Kind(
    name=NAME,
    group=GROUP,
    role=Role.PROXY,
    processes=re.compile("haproxy"),
    configuration=configuration.read,
    routes=configuration.routes,
)


class HaproxyCollector(ServerCollector[HaproxyProxy]):
    kind = KIND
    status_url = staticmethod(status.stats_url)

    async def fetch(self, url: str, timeout_s: float) -> Page:
        return await status.fetch(self.machine, url, timeout_s)

    def records(self, page: Page, at: float) -> Sequence[HaproxyProxy]:
        return [replace(line, at=at) for line in status.parse_page(page)]

    def merged(self, records: Iterable[HaproxyProxy]) -> tuple[HaproxyProxy, ...]:
        found: dict[tuple[str, str], HaproxyProxy] = {}
        for line in records:
            found.setdefault((line.proxy, line.server), line)
        return tuple(found.values())

    async def candidates(self, servers: tuple[int, ...]) -> Sequence[Candidates]:
        return [await self._candidates(pid) for pid in servers]

    async def _candidates(self, pid: int) -> Candidates:
        config = await configuration_of(self.machine, self.kind, pid)
        if config is None:
            hidden = AbsentError(
                "haproxy runs in a container with a network of its own: name its statistics with --haproxy URL"
            )
            return (), hidden
        if config.found:
            lacking = AbsentError(
                "HAProxy runs here without statistics: add this to the section `global` of {file}, and reload it",
                file=config.first[0],
                fix=status.FIX,
            )
            return configuration.parse(config.lines())[:_CANDIDATES], lacking
        ports = [endpoint.port for endpoint in await self.machine.listening(pid)]
        pages = [status.stats_url(f"http://127.0.0.1:{port}{path}") for port in ports for path in _USUAL]
        refused = config.problem()
        why = (
            Message("its configuration may not be read ({refused})", refused=refused)
            if refused
            else Message("its configuration is not known")
        )
        unknown = AbsentError(
            "HAProxy runs here, but {why}: name its statistics with --haproxy URL",
            why=why,
            cause=Cause.ROOT if refused else None,
        )
        urls = [*(f"unix:{path}" for path in configuration.SOCKETS), *pages]
        return urls[:_CANDIDATES], unknown
