"""The nginx servers of one machine: their stub_status pages, with the limits that their configuration gives.

Source: nginx, src/http/modules/ngx_http_stub_status_module.c: four lines of text, of which the third holds the counts
of accepted connections, handled connections and requests since nginx started.
"""

import asyncio
import re
from collections.abc import Sequence

from msgspec.structs import replace

from collectors.errors import FetchError, ParseError, SilentError
from collectors.kind import Kind
from collectors.machine import Page, page_url
from collectors.nginx import configuration
from collectors.parsing import count
from collectors.server_collector import PageAdvice, WebServerCollector
from loadtop.i18n import Message
from loadtop.model import HostSample
from loadtop.servers.nginx.record import SERVER, NginxStatus

KIND = Kind(
    *SERVER,
    processes=re.compile(r"nginx|openresty|angie", re.ASCII),
    configuration=configuration.read,
    listening=configuration.listening,
    routes=configuration.routes,
    fastcgi_addresses=configuration.fastcgi_addresses,
)

RETRY_S, PAUSE_S = 0.7, 0.01  # how long a page that fails is asked for again, and how often; our own

STATUS_PATHS = ("/nginx_status", "/stub_status", "/basic_status", "/status")  # in its distributors' examples

FIX = """\
location = /nginx_status {
    stub_status;
    allow 127.0.0.1;
    allow ::1;
    deny all;
}"""
"""The block that enables the page, for a ``server`` of nginx's configuration."""

ADVICE = PageAdvice(
    denied="not permitted ({status}). In nginx's configuration, allow requests from the watched host itself"
    " (`allow ADDRESS;`)",
    missing="page not found (404). If this is nginx, add this to a server block, and reload nginx",
    unread="{error}. Add this to a server block of nginx, or give the page's URL with {option}",
    option="--nginx URL",
    fix=FIX,
)

_PAGE = re.compile(
    r"\s{0,9}Active connections:\s{1,9}(\d{1,19})\s{1,9}server accepts handled requests(?: request_time)?\s{1,9}"
    r"(\d{1,19}) (\d{1,19}) (\d{1,19})(?: \d{1,19})?\s{1,9}"
    r"Reading: (\d{1,19}) Writing: (\d{1,19}) Waiting: (\d{1,19})\s",
    re.ASCII,
)


class NginxCollector(WebServerCollector[NginxStatus]):
    kind = KIND
    _cores: int | None = None  # ``worker_processes auto`` starts one for each processor

    @staticmethod
    def status_url(url: str) -> str:
        return page_url(url, STATUS_PATHS[0])

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
        configs = [server.config for server in servers if server is not None]
        blocks = [each for config in configs for each in configuration.settings_of(config).servers]
        known = [path for block in blocks for path in block.status_paths]
        return tuple(dict.fromkeys((*known, *STATUS_PATHS)))

    def records(self, page: Page, at: float) -> Sequence[NginxStatus]:
        found = replace(parse_page(page), at=at)
        server = self.under_test.server_at(self.kind, found.url)
        if server is None or not server.config.found:
            return (found,)
        settings = configuration.settings_of(server.config)
        proxies = any(each.passes or each.pools for each in settings.servers)
        return (
            replace(
                found,
                worker_processes=settings.processes or self._cores,
                worker_connections=settings.connections,
                proxies=proxies,
            ),
        )

    def look(self, sample: HostSample) -> None:
        super().look(sample)
        self._cores = len(sample.cpu.cores) if sample.cpu is not None else sample.facts.cores

    @staticmethod
    def lacks(record: NginxStatus) -> Message | None:
        if record.worker_connections is None:
            return Message("{url}: worker_connections is unknown: cannot read the configuration", url=record.url)
        return None


def parse(text: str, url: str = "") -> NginxStatus:
    """One page. Raises :class:`ParseError` for any other text."""
    match = _PAGE.match(text[:1000])
    if match is None:
        raise ParseError("not the text of stub_status")
    active, accepts, handled, requests, reading, writing, waiting = (
        count(each, "stub_status") for each in match.groups()
    )
    return NginxStatus(url, active, reading, writing, waiting, accepts, handled, requests)


def parse_page(page: Page) -> NginxStatus:
    return ADVICE.read(page, lambda page: parse(page.text, page.url))
