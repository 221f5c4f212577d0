"""How nginx's page is asked for."""

import asyncio
from typing import cast

import pytest
from msgspec.structs import replace

from collectors.errors import FetchError, SilentError
from collectors.machine import Endpoint, Machine, Page
from collectors.nginx.collector import NginxCollector
from collectors.servers import KINDS
from collectors.under_test import UnderTest
from loadtop.i18n import verbatim
from tests.unit.collectors.fake_machine import FakeMachine, collector_of
from tests.unit.collectors.instant import instantly
from tests.unit.known import known as known_to_be

URL = "http://web1/nginx_status"
PAGE = "Active connections: 1 \nserver accepts handled requests\n 7 7 9 \nReading: 0 Writing: 1 Waiting: 0 \n"


class Dropping(FakeMachine):
    """Closes the first connections without an answer."""

    def __init__(self, drops: int, error: type[FetchError] = FetchError) -> None:
        super().__init__()
        self.drops, self.failure = drops, error
        self.pages[URL] = PAGE

    async def fetch(self, url: str, timeout_s: float) -> Page:
        page = await super().fetch(url, timeout_s)
        if len(self.fetched) <= self.drops:
            raise self.failure(verbatim("closed"))
        return page


@instantly
async def test_a_page_is_requested_again_if_its_connection_is_dropped() -> None:
    machine = Dropping(3)
    page = await collector_of(NginxCollector, machine).fetch(URL, 1.0)
    assert (page.text, len(machine.fetched)) == (PAGE, 4)


@pytest.mark.parametrize(("error", "least", "most"), [(FetchError, 40, 75), (SilentError, 1, 1)])
@instantly
async def test_it_is_given_up_after_a_while_and_a_silent_server_at_once(
    error: type[FetchError], least: int, most: int
) -> None:
    machine = Dropping(1000, error)
    with pytest.raises(error):
        await collector_of(NginxCollector, machine).fetch(URL, 1.0)
    assert least <= len(machine.fetched) <= most


@instantly
async def test_where_no_nginx_runs_no_page_is_looked_for() -> None:
    machine = Dropping(0)
    collector = collector_of(NginxCollector, machine)
    await collector.search_pages(())
    assert machine.fetched == []
    assert str(collector.why_none) == "no nginx found"


CONF = "/etc/nginx/nginx.conf"
PLAIN = "events { worker_connections 64; } http { server { listen 80; location = /up { stub_status; } } }"
PROXY = "worker_processes 3; " + PLAIN.replace(
    "location =", "location / { proxy_pass http://127.0.0.1:81; } location ="
)


class Running(FakeMachine):
    """One nginx with this configuration, which listens at port 80."""

    def __init__(self, configuration: str) -> None:
        super().__init__()
        self.group, self.httpd = "nginx", {7: (Endpoint("127.0.0.1", 80),)}
        self.files |= {"/proc/7/cmdline": "nginx: master process /usr/sbin/nginx\0", CONF: configuration}


@pytest.mark.parametrize(
    ("configuration", "processes", "proxies"),
    [(PLAIN, 1, False), (PROXY, 3, True), (f"worker_processes auto; {PLAIN}", 2, False)],
)
@instantly
async def test_a_page_is_completed_from_the_configuration(configuration: str, processes: int, proxies: bool) -> None:
    machine = Running(configuration)
    machine.pages["http://127.0.0.1/up"] = PAGE
    known = cast("Machine", machine)
    under_test = UnderTest(known, KINDS, ["http://127.0.0.1/"])
    collector = NginxCollector(known, (), under_test)
    collector.start(1.0)
    sample = await machine.sample()
    for _ in range(4):
        under_test.look()
        collector.ask()
        collector.look(sample)
        await asyncio.sleep(1.0)
    (status,) = known_to_be(collector.collect(sample, 0.0)[0])
    assert (status.worker_processes, status.worker_connections, status.proxies) == (processes, 64, proxies)
    assert collector.lacks(status) is None
    assert "worker_connections is unknown" in str(collector.lacks(replace(status, worker_connections=None)))
    assert next(iter(collector.status_paths())) == "/up"
    await collector.close()
