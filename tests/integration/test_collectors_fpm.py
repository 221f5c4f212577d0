"""Real php-fpm: found, read over FastCGI and HTTP, its queue as the kernel has it, near and far."""

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import Callable, Generator

import pytest

from collectors.host import HostCollector
from collectors.php_fpm import status as fpm
from loadtop.model import HostSample, Process, State
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool
from tests.servers.apache import ApacheFactory
from tests.servers.php_fpm import Fpm, FpmFactory
from tests.servers.program import find_program, free_port
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, outcome, until

pytestmark = pytest.mark.servers


def address_of(server: Fpm) -> str:
    return str(server.socket) if server.socket else f"127.0.0.1:{server.port}"


def pool_of(sample: HostSample, server: Fpm) -> FpmPool | None:
    return next((pool for pool in PHP_FPM.readings(sample) if pool.address == address_of(server)), None)


def queue_of(sample: HostSample, server: Fpm) -> int | None:
    pool = pool_of(sample, server)
    return None if pool is None else pool.listen_queue


def read(server: Fpm) -> Callable[[HostSample], bool]:
    """Whether a pool's page is in a sample."""

    def holds(sample: HostSample) -> bool:
        pool = pool_of(sample, server)
        return pool is not None and pool.active is not None

    return holds


@contextlib.contextmanager
def held(server: Fpm, count: int) -> Generator[None]:
    """So many requests for a page that takes 20 s: the first ones hold a worker each, the others wait."""
    page = server.directory / "slow.php"
    page.write_text("<?php sleep(20);")
    family = socket.AF_UNIX if server.socket else socket.AF_INET
    place = str(server.socket) if server.socket else ("127.0.0.1", server.port)
    with contextlib.ExitStack() as opened:
        for _ in range(count):
            link = opened.enter_context(socket.socket(family))
            link.connect(place)
            link.sendall(fpm.request(str(page)))
        yield


def queue_by_ss(server: Fpm) -> int:
    """What ``ss`` calls Recv-Q of the listening socket."""
    ss = find_program("ss", install="apt-get install iproute2")
    options = "-xlnH" if server.socket else "-tlnH"
    table = subprocess.run([ss, options], capture_output=True, text=True).stdout
    rows = [line.split() for line in table.splitlines() if address_of(server) in line.split()]
    return int(rows[0][2] if server.socket else rows[0][1])


@pytest.mark.parametrize("tcp", [True, False])
@pytest.mark.parametrize("far", [False, True])
async def test_a_pool_is_found_and_read(php_fpm: FpmFactory, machine: Sshd, watch: Watch, tcp: bool, far: bool) -> None:
    server = php_fpm(tcp=tcp, max_children=3, manager="dynamic", pool="shop")
    host = await watch(remote=machine.transport() if far else None)
    # Its page can be what waits in the queue.
    pool = pool_of(await until(host, lambda s: read(server)(s) and queue_of(s, server) == 0), server)
    assert pool is not None
    assert (pool.pool, pool.manager, pool.max_children) == ("shop", "dynamic", 3)
    assert pool.active is not None
    assert pool.idle is not None
    assert 1 <= pool.active + pool.idle <= 3
    assert pool.at is not None
    before = pool.accepted or 0
    later = pool_of(
        await until(host, lambda s: (p := pool_of(s, server)) is not None and (p.accepted or 0) > before), server
    )
    assert later is not None
    group = {row.pid for row in host_rows(host, "php-fpm")}
    assert server.pid in group
    await host.close()


def host_rows(host: HostCollector, group: str) -> list[Process]:
    sample, _ = host.latest()
    return [row for row in (sample.processes if sample else None) or () if row.group == group]


@pytest.mark.parametrize("tcp", [True, False])
async def test_a_full_pool_is_silent_and_its_queue_is_the_kernels(php_fpm: FpmFactory, watch: Watch, tcp: bool) -> None:
    server = php_fpm(tcp=tcp, max_children=2)
    host = await watch()
    await until(host, read(server))
    with held(server, 7):
        silent = await until(host, lambda sample: outcome(sample, "fpm")[0] is State.FAILED)
        assert "all workers may be busy" in outcome(silent, "fpm")[1]
        later = await until(host, lambda s: (p := pool_of(s, server)) is not None and (p.silent_s or 0.0) >= 1.0)
        pool = pool_of(later, server)
        assert pool is not None
        assert (pool.active, pool.idle, pool.accepted) == (None, None, None)
        assert pool.max_children == 2
        # Five of ours and the status request; another loadtop on this machine would ask for the page too.
        assert pool.listen_queue is not None
        assert 6 <= pool.listen_queue <= 8
        await until(host, lambda s: (p := pool_of(s, server)) is not None and p.listen_queue == queue_by_ss(server))


async def test_two_pools_of_the_same_name_are_distinguished(php_fpm: FpmFactory, watch: Watch) -> None:
    servers = await asyncio.gather(*(asyncio.to_thread(lambda: php_fpm(tcp=False)) for _ in range(2)))
    host = await watch()
    sample = await until(host, lambda s: all(read(server)(s) for server in servers))
    names = [pool.pool for pool in PHP_FPM.readings(sample)]
    assert len(set(names)) == len(names) >= 2


async def test_a_pool_without_a_page_shows_its_limits_and_the_line_that_helps(
    php_fpm: FpmFactory, watch: Watch
) -> None:
    server = php_fpm(tcp=False, max_children=2, extra="pm.status_path =")
    host = await watch()
    with held(server, 5):
        sample = await until(host, lambda s: (p := pool_of(s, server)) is not None and p.listen_queue == 3)
    pool = pool_of(sample, server)
    assert pool is not None
    assert (pool.max_children, pool.active) == (2, None)
    assert "pm.status_path = /fpm-status" in outcome(sample, "fpm")[1]


async def test_pages_that_are_given(apache: ApacheFactory, watch: Watch) -> None:
    server = apache(php="fpm", fpm_children=3, pages={"a.php": "<?= 1 ?>"})
    assert server.fpm is not None
    urls = [
        server.fpm_status_url,
        f"fcgi://127.0.0.1:{server.fpm.port}",
        f"fcgi://127.0.0.1:{server.fpm.port}/fpm-status",
    ]
    for url in urls:
        host = await watch(status_urls={"fpm": [url]})
        sample = await until(host, lambda s: any(p.active is not None and p.max_children for p in PHP_FPM.readings(s)))
        assert [(pool.pool, pool.max_children, pool.total) for pool in PHP_FPM.readings(sample)] == [("www", 3, 3)]
        await host.close()


async def test_a_page_that_does_not_answer_is_named(watch: Watch) -> None:
    host = await watch(status_urls={"fpm": ["unix:/run/no-such-fpm.sock;/status"]})
    sample = await until(host, lambda s: outcome(s, "fpm")[0] is State.FAILED)
    assert outcome(sample, "fpm")[1] == "unix:/run/no-such-fpm.sock;/status: no such socket"
    assert not PHP_FPM.readings(sample)


async def test_a_page_with_a_separate_listener_answers_when_the_pool_is_full(php_fpm: FpmFactory, watch: Watch) -> None:
    port = free_port()
    extra = f"pm.status_listen = 127.0.0.1:{port}"
    server = php_fpm(tcp=True, max_children=2, extra=extra)
    host = await watch()
    await until(host, read(server))
    with held(server, 6):
        # php-fpm looks at its queue once a second.
        sample = await until(
            host, lambda s: (p := pool_of(s, server)) is not None and p.active == 2 and p.listen_queue == 4
        )
        pool = pool_of(sample, server)
    assert pool is not None
    assert (pool.idle, pool.silent_s, pool.max_children) == (0, None, 2)
