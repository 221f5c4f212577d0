"""The nginx servers of one machine: their stub_status pages, with the limits that their configuration gives."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from collectors.errors import FetchError, SilentError
from collectors.kind import Kind
from collectors.nginx import configuration, status
from collectors.reading import Page
from collectors.server_collector import WebServerCollector
from collectors.under_test import Server
from loadtop.i18n import Message
from loadtop.model import HostSample, Outcome, Role
from loadtop.servers.nginx.record import GROUP, NAME, NginxStatus

RETRY_S, PAUSE_S = 0.4, 0.02
"""How long a page that fails is asked for anew, and how often; our own."""


KIND = Kind(
    name=NAME,
    group=GROUP,
    role=Role.WEB,
    processes=re.compile(r"nginx|openresty|angie", re.ASCII),
    configuration=configuration.read,
    listening=configuration.listening,
    routes=configuration.routes,
    fastcgi_addresses=configuration.fastcgi_addresses,
)


class NginxCollector(WebServerCollector[NginxStatus]):
    kind = KIND
    status_url = staticmethod(status.status_url)

    async def fetch(self, url: str, timeout_s: float) -> Page:
        """Ask anew for a page that fails: an nginx without a free connection closes new ones, also that of its page."""
        loop = asyncio.get_running_loop()
        end = loop.time() + RETRY_S
        while True:
            try:
                return await super().fetch(url, timeout_s)
            except SilentError:
                raise
            except FetchError:
                if loop.time() >= end:
                    raise
            await asyncio.sleep(PAUSE_S)

    def status_paths(self) -> Sequence[str]:
        """None where no nginx runs: another server under test would have to answer for each of them."""
        if not self.running():
            return ()
        servers = [self.under_test.server_at(self.kind, url) for url in self.under_test.target_urls]
        known = [path for server in servers if server is not None for path in _status_paths(server)]
        return tuple(dict.fromkeys((*known, *status.STATUS_PATHS)))

    def records(self, page: Page, at: float) -> Sequence[NginxStatus]:
        found = replace(status.parse_page(page), at=at)
        server = self.under_test.server_at(self.kind, found.url)
        if server is None or not server.config.found:
            return (found,)
        settings = _settings(server)
        proxies = any(each.passes or each.pools for each in settings.servers)
        return (
            replace(
                found,
                worker_processes=settings.processes,
                worker_connections=settings.connections,
                proxies=proxies,
            ),
        )

    def collect(self, sample: HostSample, uptime_less_monotonic: float) -> tuple[tuple[NginxStatus, ...], Outcome]:
        """``worker_processes auto`` starts one for each processor."""
        records, outcome = super().collect(sample, uptime_less_monotonic)
        cores = len(sample.cpu.cores) if sample.cpu is not None else sample.facts.cores
        return tuple(
            replace(each, worker_processes=cores)
            if each.worker_connections is not None and each.worker_processes is None
            else each
            for each in records
        ), outcome

    @staticmethod
    def lacks(record: NginxStatus) -> Message | None:
        if record.worker_connections is None:
            return Message("{url}: worker_connections unknown: its configuration may not be read", url=record.url)
        return None


@lru_cache(maxsize=64)
def _settings(server: Server) -> configuration.Settings:
    """Worked out once for each time that the configuration is read: it can have thousands of lines."""
    return configuration.parse(server.config.lines())


def _status_paths(server: Server) -> list[str]:
    return [path for each in _settings(server).servers for path in each.status_paths]
