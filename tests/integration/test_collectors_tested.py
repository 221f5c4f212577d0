"""Several servers on one machine: the one that the load goes to is the one whose processes and limits count."""

import asyncio
import contextlib
import tempfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Awaitable
from typing import Protocol

import psutil
import pytest

from collectors.host import HostCollector, local_machine, remote_machine
from loadtop.model import OTHER, HostSample
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.php_fpm.kind import PHP_FPM
from tests.servers.apache import Apache, ApacheFactory
from tests.servers.haproxy import Haproxy, HaproxyFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.sshd import Sshd
from tests.servers.watched import family, of, until


class Watch(Protocol):
    def __call__(self, how: str, *servers: Apache | Haproxy | str) -> Awaitable[HostCollector]: ...


@pytest.fixture
async def watch(machine: Sshd, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Watch]:
    """``watch(how, *servers)``: this machine, near, far or through psutil, as a load on these has it watched. On a
    busy machine it takes longer to find out which server is under test."""
    monkeypatch.setattr("collectors.host._TESTED_S", 10.0)
    async with contextlib.AsyncExitStack() as opened:

        async def start(how: str, *servers: Apache | Haproxy | str) -> HostCollector:
            urls = [server if isinstance(server, str) else server.url for server in servers]
            if how == "far":
                transport = machine.transport()
                await transport.connect()
                measured = remote_machine(transport)
            else:
                measured = local_machine(through_psutil=how == "psutil")
            host = HostCollector("web1", "target", measured, target_urls=urls)
            opened.push_async_callback(host.close)
            await host.start(0.3)
            return host

        yield start


@pytest.mark.servers
@pytest.mark.parametrize("how", ["near", "far", "psutil"])
async def test_only_the_server_under_test_counts(apache: ApacheFactory, watch: Watch, how: str) -> None:
    """From the first sample on, in which nothing else is known yet."""
    foreign = apache(mpm="prefork", workers=5, php="fpm", fpm_children=3)
    server = apache(mpm="prefork", workers=3, php="fpm", fpm_children=2)
    assert server.fpm is not None
    assert foreign.fpm is not None
    host = await watch(how, server)
    first = await until(host, lambda _: True)
    assert of(first, "httpd") == family(server.pid)
    assert of(first, "php-fpm") == family(server.fpm.program.pid)
    pool = await until(host, lambda sample: bool(PHP_FPM.readings(sample)))
    assert [found.max_children for found in PHP_FPM.readings(pool)] == [2]
    assert [
        f":{server.port}/" in found.url
        for found in APACHE.readings(await until(host, lambda s: bool(APACHE.readings(s))))
    ] == [True]


@pytest.mark.servers
@pytest.mark.parametrize("how", ["near", "far"])
async def test_two_servers_under_load_count_both(apache: ApacheFactory, watch: Watch, how: str) -> None:
    """One of them by two URLs: that is one server, and one page."""
    first, foreign, second = [apache(mpm="prefork", workers=2) for _ in range(3)]
    host = await watch(how, first, f"http://localhost:{first.port}/b", second)
    sample = await until(host, lambda _: True)
    assert of(sample, "httpd") == family(first.pid) | family(second.pid)
    assert foreign.pid not in of(sample, "httpd")
    sample = await until(host, lambda sample: len(APACHE.readings(sample) or ()) > 1)
    assert [page.url for page in APACHE.readings(sample) or ()] == [
        f"{server.url}server-status?auto" for server in (first, second)
    ]


@pytest.mark.servers
@pytest.mark.parametrize("how", ["near", "far"])
async def test_a_server_that_runs_php_itself_has_no_pool(
    apache: ApacheFactory, php_fpm: FpmFactory, watch: Watch, how: str
) -> None:
    """A pool on the same machine is another site's, however busy it is."""
    foreign = php_fpm(max_children=3)
    server = apache(mpm="prefork", workers=3, php="mod")
    host = await watch(how, server)
    sample = await until(host, lambda sample: bool(APACHE.readings(sample)) and not of(sample, "php-fpm"))
    assert of(sample, "httpd") == family(server.pid)
    assert not PHP_FPM.readings(sample)
    assert foreign.program.pid


@pytest.mark.servers
@pytest.mark.parametrize("how", ["near", "far"])
async def test_behind_haproxy_its_servers_count(
    apache: ApacheFactory, haproxy: HaproxyFactory, watch: Watch, how: str
) -> None:
    """Each with its own page: one asked for through HAProxy would be now of one, now of the other. One of them is named
    by its host, the other stands behind a socket that leads to HAProxy again, and there in a template."""
    foreign = apache(mpm="event", workers=4)
    first = apache(mpm="event", workers=4)
    second = apache(mpm="prefork", workers=2)
    with tempfile.TemporaryDirectory() as directory:
        ways = f"""    server named localhost:{first.port}
    server inner unix@{directory}/in.sock
frontend inner
    bind unix@{directory}/in.sock
    default_backend made
backend made
    server-template made 2 localhost:{second.port}
"""
        proxy = haproxy([], extra=ways)
        assert foreign.pid
        host = await watch(how, proxy)
        await until(host, lambda sample: of(sample, "httpd") == family(first.pid) | family(second.pid))
        sample = await until(host, lambda sample: len(APACHE.readings(sample) or ()) == 2)
        pages = {f"http://127.0.0.1:{server.port}/server-status?auto" for server in (first, second)}
        assert {page.url for page in APACHE.readings(sample) or ()} == pages
        for path in ("", "a", "b", "c"):
            await asyncio.to_thread(ask, f"{proxy.url}{path}")
        await until(host, lambda _: [served(server) for server in (first, second, foreign)] == [2, 2, 0])


@pytest.mark.servers
async def test_a_server_of_haproxy_that_is_nowhere_known_is_named(
    apache: ApacheFactory, haproxy: HaproxyFactory, watch: Watch
) -> None:
    """Then all count, because it can be any of them."""
    servers = [apache(mpm="event", workers=4) for _ in range(2)]
    proxy = haproxy([servers[0].port], extra="    server s unix@/nobody/knows.sock\n")
    host = await watch("near", proxy)
    everyone = family(servers[0].pid) | family(servers[1].pid)
    sample = await until(host, lambda sample: "unix@/nobody/knows.sock" in told(sample))
    assert of(sample, "httpd") >= everyone
    assert "is unknown" in told(sample)


def served(server: Apache) -> int:
    """Requests but for those of the status page, which come all the while."""
    return sum("/server-status" not in line for line in server.access_log.read_text().splitlines())


def told(sample: HostSample) -> str:
    """What is said beside the control group."""
    return next(str(outcome.reason) for outcome in sample.outcomes if outcome.collector == "cgroup")


@pytest.mark.servers
async def test_a_busy_other_server_stays_visible(apache: ApacheFactory, watch: Watch) -> None:
    """As any other process that could ruin the test does."""
    foreign = apache(mpm="event", workers=4)
    server = apache(mpm="event", workers=4)
    host = await watch("near", server)
    client = psutil.Process(foreign.pid).children()[0]

    def seen(sample: HostSample) -> bool:
        for _ in range(5):
            with contextlib.suppress(OSError):
                ask(foreign.url)
        return client.pid in of(sample, OTHER)

    sample = await until(host, seen)
    assert client.pid not in of(sample, "httpd")
    assert of(sample, "httpd") == family(server.pid)


def ask(url: str) -> None:
    with contextlib.suppress(urllib.error.HTTPError), urllib.request.urlopen(url, timeout=5) as answer:
        answer.read()
