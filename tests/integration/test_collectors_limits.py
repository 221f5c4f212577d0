"""Configured limits of a real Apache, near and far, against what httpd itself says of its configuration."""

import pytest

from loadtop.model import HostSample
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from tests.servers.apache import Apache, ApacheFactory, Mpm
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, until

pytestmark = pytest.mark.servers


def status_of(sample: HostSample, server: Apache) -> ApacheStatus | None:
    return next((page for page in APACHE.readings(sample) or () if f":{server.port}/" in page.url), None)


@pytest.mark.parametrize(("mpm", "far"), [("prefork", False), ("event", True)])
async def test_limits_of_the_right_server(
    apache: ApacheFactory, machine: Sshd, watch: Watch, mpm: Mpm, far: bool
) -> None:
    extra = "<IfModule mpm_worker_module>\nMaxRequestWorkers 1\n</IfModule>\nListenBacklog 77"
    server = apache(mpm=mpm, workers=6, extra=extra)
    other = apache(mpm="event", workers=4)
    host = await watch(remote=machine.transport() if far else None)
    sample = await until(
        host, lambda s: all((p := status_of(s, each)) and p.max_request_workers for each in (server, other))
    )
    page, second = status_of(sample, server), status_of(sample, other)
    assert page is not None
    assert second is not None
    assert (page.max_request_workers, page.listen_backlog) == (6, 77)
    assert (page.server_limit, page.threads_per_child) == ((6, None) if mpm == "prefork" else (1, 6))
    assert (second.max_request_workers, second.listen_backlog) == (4, 511)


async def test_a_configuration_that_is_gone_is_unknown(apache: ApacheFactory, watch: Watch) -> None:
    server = apache(mpm="event", workers=4)
    (server.directory / "httpd.conf").unlink()
    host = await watch(status_urls={"apache": [server.status_url]})
    first = await until(host, lambda s: bool(APACHE.readings(s)))
    sample = await until(host, lambda s: s.at > first.at + 1.0 and bool(APACHE.readings(s)))
    page = status_of(sample, server)
    assert page is not None
    assert (page.max_request_workers, page.listen_backlog) == (None, None)
