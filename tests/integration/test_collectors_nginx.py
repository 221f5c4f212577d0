"""Real nginx, local and remote: its page, its limits, other servers behind it, and dropped connections."""

import asyncio
import contextlib
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator
from typing import Any

import psutil
import pytest

from collectors.host import HostCollector, local_machine
from loadtop.model import HostSample, Outcome, State
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.nginx.kind import NGINX
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.kind import PHP_FPM
from tests.loads.program import loadtop, summary_of
from tests.servers.apache import ApacheFactory
from tests.servers.nginx import ECHO_MODULE, Nginx, NginxFactory
from tests.servers.php_fpm import FpmFactory
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, family, of, until

pytestmark = pytest.mark.servers

SLOW_S = 0.05


def status_of(sample: HostSample, server: Nginx) -> NginxStatus | None:
    return next((found for found in NGINX.readings(sample) if f":{server.port}/" in found.url), None)


def outcome_of(sample: HostSample) -> Outcome:
    return next(found for found in sample.outcomes if found.collector == NGINX.name)


def fetch(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            answer.read()
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


@contextlib.asynccontextmanager
async def slow_server(seconds: float) -> AsyncGenerator[int]:
    """The port of a server that answers each request so late."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(seconds)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi\n")
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


@pytest.mark.parametrize("far", [False, True])
async def test_found_without_options(nginx: NginxFactory, machine: Sshd, watch: Watch, far: bool) -> None:
    server = nginx(workers=2, connections=77)
    host = await watch(remote=machine.transport() if far else None, target_urls=[server.url])
    first = status_of(await until(host, lambda s: status_of(s, server) is not None), server)
    assert first is not None
    sample = await until(host, lambda s: (p := status_of(s, server)) is not None and p.worker_connections is not None)
    status = status_of(sample, server)
    assert status is not None
    assert (status.url, status.worker_processes, status.worker_connections) == (server.status_url, 2, 77)
    assert (status.capacity, status.proxies) == (154, False)
    assert (outcome_of(sample).state, str(outcome_of(sample).reason)) == (State.OK, "")
    assert of(sample, "nginx") == family(server.pid)
    for _ in range(5):
        assert await asyncio.to_thread(fetch, server.url) == 200
    later = status_of(
        await until(host, lambda s: (p := status_of(s, server)) is not None and _went_on(p, status)), server
    )
    assert later is not None
    assert later.handled == later.accepts
    await host.close()


def _went_on(page: NginxStatus, since: NginxStatus) -> bool:
    return page.requests >= since.requests + 5


async def test_a_worker_for_each_processor(nginx: NginxFactory, watch: Watch) -> None:
    server = nginx(workers="auto")
    host = await watch(target_urls=[server.url])
    sample = await until(host, lambda s: (p := status_of(s, server)) is not None and p.worker_processes is not None)
    status = status_of(sample, server)
    assert status is not None
    assert status.worker_processes == psutil.cpu_count() == len(psutil.Process(server.pid).children())


async def test_only_the_server_under_test_counts(nginx: NginxFactory, apache: ApacheFactory, watch: Watch) -> None:
    foreign = (nginx(), apache(mpm="event", workers=4))
    server = nginx()
    host = await watch(target_urls=[server.url])
    sample = await until(host, lambda s: status_of(s, server) is not None and of(s, "nginx") == family(server.pid))
    assert [page.url for page in NGINX.readings(sample)] == [server.status_url]
    assert not of(sample, "httpd")
    assert foreign[0].pid not in of(sample, "nginx")


@pytest.mark.parametrize("tcp", [True, False])
async def test_before_php_fpm_both_count(nginx: NginxFactory, php_fpm: FpmFactory, watch: Watch, tcp: bool) -> None:
    foreign = php_fpm(max_children=2)
    pool = php_fpm(max_children=3, tcp=tcp)
    server = nginx(fastcgi_pass=pool, pages={"page.php": "<?= 6 * 7 ?>"})
    assert await asyncio.to_thread(fetch, f"{server.url}page.php") == 200
    host = await watch(target_urls=[f"{server.url}page.php"])
    sample = await until(
        host,
        lambda s: (
            status_of(s, server) is not None
            and of(s, "php-fpm") == family(pool.pid)
            and [each.max_children for each in PHP_FPM.readings(s)] == [3]
        ),
    )
    assert of(sample, "nginx") == family(server.pid)
    assert foreign.pid not in of(sample, "php-fpm")
    status = status_of(sample, server)
    assert status is not None
    assert status.proxies


async def test_before_apache_both_pages_are_read(nginx: NginxFactory, apache: ApacheFactory, watch: Watch) -> None:
    foreign = apache(mpm="event", workers=4)
    behind = apache(mpm="event", workers=4)
    upstream = f"http://localhost:{behind.port}"
    server = nginx(proxy_pass=upstream)
    assert await asyncio.to_thread(fetch, server.url) == 200
    host = await watch(target_urls=[server.url])
    sample = await until(
        host, lambda s: bool(APACHE.readings(s)) and (p := status_of(s, server)) is not None and p.proxies
    )
    assert [page.url for page in APACHE.readings(sample)] == [f"{behind.status_url}?auto"]
    assert of(sample, "httpd") == family(behind.pid)
    assert of(sample, "nginx") == family(server.pid)
    assert foreign.pid not in of(sample, "httpd")


async def test_a_page_that_is_given(nginx: NginxFactory, watch: Watch) -> None:
    extra = "location = /own { stub_status; }"
    server = nginx(status=False, extra=extra, connections=99)
    host = await watch(status_urls={"nginx": [f"{server.url}own"]})
    sample = await until(host, lambda s: (p := status_of(s, server)) is not None and p.worker_connections is not None)
    status = status_of(sample, server)
    assert status is not None
    assert (status.url, status.worker_connections) == (f"{server.url}own", 99)


async def test_a_page_of_its_configuration_is_found(nginx: NginxFactory, watch: Watch) -> None:
    server = nginx(status=False, extra="location /deep/page { stub_status; }")
    host = await watch(target_urls=[server.url])
    sample = await until(host, lambda s: status_of(s, server) is not None)
    assert [page.url for page in NGINX.readings(sample)] == [f"{server.url}deep/page"]


async def test_a_missing_page_comes_with_a_block_to_paste(nginx: NginxFactory, watch: Watch) -> None:
    server = nginx(status=False)
    host = await watch(target_urls=[server.url])
    sample = await until(host, lambda s: "404" in str(outcome_of(s).reason))
    assert outcome_of(sample).state is State.ABSENT
    assert "stub_status;" in str(outcome_of(sample).fix)
    assert not NGINX.readings(sample)


async def test_a_forbidden_page_says_so(nginx: NginxFactory, watch: Watch) -> None:
    server = await asyncio.to_thread(
        lambda: nginx(status=False, extra="location /nginx_status { stub_status; deny all; }")
    )
    host = await watch(target_urls=[server.url])
    sample = await until(host, lambda s: "403" in str(outcome_of(s).reason))
    assert "allow ADDRESS;" in str(outcome_of(sample).reason)


async def test_an_nginx_that_dies(nginx: NginxFactory, watch: Watch) -> None:
    server = nginx()
    host = await watch(target_urls=[server.url])
    await until(host, lambda s: status_of(s, server) is not None)
    await asyncio.to_thread(server.kill)
    sample = await until(host, lambda s: outcome_of(s).state is not State.OK)
    assert not NGINX.readings(sample)


async def test_through_psutil(nginx: NginxFactory) -> None:
    server = nginx()
    host = HostCollector("local", "target+generator", local_machine(through_psutil=True), target_urls=[server.url])
    await host.start(0.2)
    try:
        await until(host, lambda s: status_of(s, server) is not None)
    finally:
        await host.close()


def test_doctor_lists_it(nginx: NginxFactory) -> None:
    server = nginx(workers=2, connections=33)
    (host,) = summary_of(loadtop("doctor", "--nginx", server.status_url, "--json", "-").stdout)["hosts"]
    seen = {panel["panel"]: panel for panel in host["panels"]}
    assert seen["nginx"]["health"] == "ok"
    assert seen["nginx"]["seen"] == f"worker_processes 2, worker_connections 33 ({server.status_url})"


def loaded(*words: str) -> dict[str, Any]:
    """loadtop's summary of a load."""
    done = loadtop("--headless", "--no-record", "--json", "-", *words)
    assert done.returncode == 0, done.stderr
    return summary_of(done.stdout)


async def slow_nginx(nginx: NginxFactory, opened: contextlib.AsyncExitStack, connections: int) -> Nginx:
    """One whose pages take 50 ms: by the echo module, or by a server behind it where the module is missing."""
    if ECHO_MODULE.exists():
        return nginx(connections=connections, slow_s=SLOW_S)
    port = await opened.enter_async_context(slow_server(SLOW_S))
    return nginx(connections=connections, proxy_pass=f"http://127.0.0.1:{port}")


@pytest.mark.quiet("a busy machine has another verdict")
async def test_connections_that_run_out_are_the_verdict(nginx: NginxFactory) -> None:
    async with contextlib.AsyncExitStack() as opened:
        server = await slow_nginx(nginx, opened, 16)
        found = await asyncio.to_thread(loaded, "-c", "40", "-r", "-t", "8", "--interval", "0.5", server.slow_url)
        dropped = server.dropped()
    assert dropped > 0
    assert found["timeline"][-1]["bottleneck"] == "nginx-connections", found["timeline"]  # a busy machine was CPU first
    host = found["hosts"][0]
    assert host["nginx"][0]["worker_connections"] == 16
    assert host["totals"]["nginx"]["dropped_s"]["max"] > 0


async def test_enough_connections_are_not_a_limit(nginx: NginxFactory) -> None:
    async with contextlib.AsyncExitStack() as opened:
        server = await slow_nginx(nginx, opened, 512)
        found = await asyncio.to_thread(loaded, "-c", "40", "-r", "-t", "3", "--interval", "0.5", server.slow_url)
        assert server.dropped() == 0
    assert "nginx-connections" not in {entry["bottleneck"] for entry in found["timeline"]}
    totals = found["hosts"][0]["totals"]["nginx"]
    assert totals["requests_s"]["max"] > 0
    assert totals["active"]["max"] > 20  # most of the 40 at once
