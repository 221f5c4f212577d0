"""Configured limits of a real Apache, near and far, against what httpd itself says of its configuration."""

import asyncio

import pytest

from collectors.host import far_host, local_host
from collectors.transport.ssh.transport import SshTransport
from loadtop.model import HostSample
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from tests.servers.apache import Apache, ApacheFactory, Mpm
from tests.servers.sshd import SshdFactory
from tests.servers.watched import until

pytestmark = pytest.mark.servers


def status_of(sample: HostSample, server: Apache) -> ApacheStatus | None:
    return next((page for page in APACHE.readings(sample) or () if f":{server.port}/" in page.url), None)


@pytest.mark.parametrize(("mpm", "far"), [("prefork", False), ("event", True)])
async def test_limits_of_the_right_server(apache: ApacheFactory, sshd: SshdFactory, mpm: Mpm, far: bool) -> None:
    extra = "<IfModule mpm_worker_module>\nMaxRequestWorkers 1\n</IfModule>\nListenBacklog 77"
    server = await asyncio.to_thread(lambda: apache(mpm=mpm, workers=6, extra=extra))
    other = await asyncio.to_thread(lambda: apache(mpm="event", workers=4))
    if far:
        machine = await asyncio.to_thread(sshd)
        transport = SshTransport("ssh://web1", ssh=("ssh", "-F", str(machine.config)))
        await transport.connect()
        host = far_host("web1", "target", transport)
    else:
        host = local_host()
    await host.start(0.2)
    try:
        sample = await until(
            host, lambda s: all((p := status_of(s, each)) and p.max_request_workers for each in (server, other))
        )
    finally:
        await host.close()
    page, second = status_of(sample, server), status_of(sample, other)
    assert page is not None
    assert second is not None
    assert (page.max_request_workers, page.listen_backlog) == (6, 77)
    assert (page.server_limit, page.threads_per_child) == ((6, None) if mpm == "prefork" else (1, 6))
    assert (second.max_request_workers, second.listen_backlog) == (4, 511)


async def test_a_configuration_that_is_gone_is_unknown(apache: ApacheFactory) -> None:
    server = await asyncio.to_thread(lambda: apache(mpm="event", workers=4))
    (server.directory / "httpd.conf").unlink()
    host = local_host(status_urls={"apache": [server.status_url]})
    await host.start(0.2)
    try:
        first = await until(host, lambda s: bool(APACHE.readings(s)))
        sample = await until(host, lambda s: s.at > first.at + 1.0 and bool(APACHE.readings(s)))
    finally:
        await host.close()
    page = status_of(sample, server)
    assert page is not None
    assert (page.max_request_workers, page.listen_backlog) == (None, None)
