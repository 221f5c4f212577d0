"""Real uWSGI: found by its configuration, alone and behind nginx, near and over SSH, full, and set aside."""

import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from collectors.uwsgi.collector import FIX
from loadtop.model import HostSample, State
from loadtop.servers.uwsgi.kind import UWSGI
from loadtop.servers.uwsgi.record import UwsgiStatus
from tests.servers.nginx import NginxFactory
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, family, of, outcome, until
from tests.servers.wsgi import UwsgiFactory

pytestmark = pytest.mark.servers


def fetch(url: str) -> int:
    with urllib.request.urlopen(url, timeout=20) as response:
        status: int = response.status
        return status


def read(sample: HostSample) -> UwsgiStatus | None:
    return next(iter(UWSGI.readings(sample)), None)


def is_read(holds: Callable[[UwsgiStatus], bool]) -> Callable[[HostSample], bool]:
    return lambda sample: (status := read(sample)) is not None and holds(status)


@pytest.mark.parametrize("remote", [False, True])
async def test_a_full_pool_alone(uwsgi: UwsgiFactory, machine: Sshd, watch: Watch, remote: bool) -> None:
    server = uwsgi(workers=2, threads=2, seconds=0.5)
    host = await watch(machine.transport() if remote else None, target_urls=[server.url])
    sample = await until(host, is_read(lambda status: status.listen_queue is not None))
    status = read(sample)
    assert status is not None
    assert (status.url, status.workers, status.threads, status.cheap) == (server.stats, 2, 2, 0)
    assert outcome(sample, "uwsgi") == (State.OK, "")
    with ThreadPoolExecutor(9) as clients:
        answers = [clients.submit(fetch, server.url) for _ in range(24)]
        full = read(await until(host, is_read(lambda status: status.active == 4 and (status.listen_queue or 0) > 0)))
        assert full is not None
        assert full.full == 100.0
        assert [each.result() for each in answers] == [200] * 24
    await until(
        host, is_read(lambda status: (status.requests or 0) >= 9 and (status.active, status.listen_queue) == (0, 0))
    )


async def test_behind_nginx_by_a_unix_socket(uwsgi: UwsgiFactory, nginx: NginxFactory, watch: Watch) -> None:
    idle, server = uwsgi(), uwsgi(workers=1, seconds=0.3)
    front = nginx(extra=server.uwsgi_pass)
    host = await watch(target_urls=[f"{front.url}app"])
    with ThreadPoolExecutor(4) as clients:
        answers = [clients.submit(fetch, f"{front.url}app") for _ in range(24)]
        full = await until(host, is_read(lambda status: status.active == 1 and (status.listen_queue or 0) > 0))
        sample = await until(host, lambda sample: of(sample, "uwsgi") == family(server.pid))
        assert {each.result() for each in answers} == {200}
    assert str(server.workers) in {each.address for each in UWSGI.readings(full)}
    assert idle.pid not in of(sample, "uwsgi")


async def test_without_a_stats_server(uwsgi: UwsgiFactory, watch: Watch) -> None:
    server = uwsgi(stats=False)
    host = await watch(target_urls=[server.url])
    sample = await until(host, lambda s: "found no stats server" in outcome(s, "uwsgi")[1])
    assert outcome(sample, "uwsgi")[0] is State.ABSENT
    assert FIX in outcome(sample, "uwsgi")[1]


async def test_a_socket_that_is_not_a_stats_server(uwsgi: UwsgiFactory, watch: Watch) -> None:
    server = uwsgi(extra="stats-no-cores = true")
    named = await watch(status_urls={"uwsgi": [server.stats]})
    await until(named, is_read(lambda status: (status.workers, status.threads, status.active) == (2, 1, 0)))
    redirected = await watch(status_urls={"uwsgi": [f"127.0.0.1:{server.port}"]})
    sample = await until(redirected, lambda s: outcome(s, "uwsgi")[0] is not State.OK)
    assert read(sample) is None
