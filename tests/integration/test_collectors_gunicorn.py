"""Real gunicorn: found by its processes, alone and behind nginx, near and over SSH, full, and set aside."""

import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from loadtop.model import HostSample, State
from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.gunicorn.record import GunicornPool
from tests.servers.nginx import NginxFactory
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, family, of, until
from tests.servers.wsgi import GunicornFactory

pytestmark = pytest.mark.servers


def fetch(url: str) -> int:
    with urllib.request.urlopen(url, timeout=20) as response:
        status: int = response.status
        return status


def is_read(address: str, holds: Callable[[GunicornPool], bool]) -> Callable[[HostSample], bool]:
    return lambda sample: any(each.address == address and holds(each) for each in GUNICORN.readings(sample))


@pytest.mark.parametrize("remote", [False, True])
async def test_a_full_pool_alone(gunicorn: GunicornFactory, machine: Sshd, watch: Watch, remote: bool) -> None:
    server = gunicorn(workers=2, seconds=0.5)
    address = f"127.0.0.1:{server.port}"
    host = await watch(machine.transport() if remote else None, target_urls=[server.url])
    sample = await until(host, is_read(address, lambda pool: (pool.workers, pool.threads, pool.active) == (2, 1, 0)))
    assert [each.state for each in sample.outcomes if each.collector == "gunicorn"] == [State.OK]
    with ThreadPoolExecutor(5) as clients:
        answers = [clients.submit(fetch, server.url) for _ in range(24)]
        await until(host, is_read(address, lambda pool: pool.active == 2 and (pool.listen_queue or 0) > 0))
        assert [each.result() for each in answers] == [200] * 24
    await until(host, is_read(address, lambda pool: (pool.active, pool.queued) == (0, 0)))


async def test_threads_behind_nginx_by_a_unix_socket(
    gunicorn: GunicornFactory, nginx: NginxFactory, watch: Watch
) -> None:
    idle, server = gunicorn(), gunicorn(workers=1, threads=2, seconds=0.5, tcp=False)
    server.socket.chmod(0o666)
    front = nginx(proxy_pass=server.proxy_pass)
    host = await watch(target_urls=[front.url])
    address = str(server.socket)
    with ThreadPoolExecutor(5) as clients:
        answers = [clients.submit(fetch, front.url) for _ in range(40)]
        await until(host, is_read(address, lambda pool: pool.active == 2 and (pool.queued or 0) > 0))
        sample = await until(host, lambda sample: of(sample, "gunicorn") == family(server.pid))
        assert {each.result() for each in answers} == {200}
    assert idle.pid not in of(sample, "gunicorn")
