"""The Apache servers of one machine: their pages of mod_status, with the limits that their configuration gives."""

import re
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import lru_cache

from collectors.apache import configuration, status
from collectors.apache.configuration import Limits
from collectors.kind import Kind
from collectors.reading import Page
from collectors.server_collector import WebServerCollector
from collectors.under_test import Server
from loadtop.model import Role
from loadtop.servers.apache.record import GROUP, NAME, ApacheStatus

KIND = Kind(
    name=NAME,
    group=GROUP,
    role=Role.WEB,
    processes=re.compile(r"(?:lt-)?(?:apache2|httpd2?)(?:[.-](?:prefork|worker|event|itk))?", re.ASCII),
    configuration=configuration.read,
    listening=configuration.listening,
    fastcgi_addresses=configuration.fastcgi_addresses,
)


class ApacheCollector(WebServerCollector[ApacheStatus]):
    kind = KIND
    status_url = staticmethod(status.status_url)

    def status_paths(self) -> Sequence[str]:
        return (f"{status.STATUS_PATH}?auto",)

    def records(self, page: Page, at: float) -> Sequence[ApacheStatus]:
        found = replace(status.parse_page(page), at=at)
        server = self.under_test.server_at(self.kind, found.url)
        return (found if server is None else replace(found, **asdict(_limits(server, found.mpm))),)

    lacks = staticmethod(status.lacks)


@lru_cache(maxsize=64)
def _limits(server: Server, mpm: str) -> Limits:
    """Worked out once for each time that the configuration is read: it can have thousands of lines."""
    return configuration.limits(server.config, mpm)
