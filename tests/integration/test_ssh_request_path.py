"""Who serves the requests on a far machine, beside many sockets in TIME_WAIT, which no process holds any more."""

import asyncio
import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from collectors.linux.machine import LinuxMachine
from collectors.linux.sockets import OPEN_TABLES, parse_clients, parse_table
from collectors.request_path import RequestPath
from collectors.servers import KINDS
from tests.servers.nginx import NginxFactory
from tests.servers.service import PLACES, ServiceFactory
from tests.servers.sshd import SshdFactory

pytestmark = pytest.mark.servers

CLOSED, CLIENTS, PATIENCE_S = 6_000, 4, 20.0


def waiting() -> int:
    """Sockets in TIME_WAIT, as the kernel counts them."""
    words = Path("/proc/net/sockstat").read_text().split()
    return int(words[words.index("tw") + 1])


@pytest.fixture
def closed_connections() -> None:
    """Leaves many sockets in TIME_WAIT."""
    with socket.create_server(("127.0.0.1", 0), backlog=1) as server:
        for _ in range(CLOSED):
            with socket.create_connection(server.getsockname()):
                server.accept()[0].close()
    assert waiting() > CLOSED / 2


@contextlib.contextmanager
def loaded(port: int) -> Generator[None]:
    """Some clients that each ask again and again."""
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
            connection.request("GET", "/")
            connection.getresponse().read()
            connection.close()

    threads = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


@pytest.mark.usefixtures("closed_connections")
async def test_a_service_behind_nginx_is_found(sshd: SshdFactory, nginx: NginxFactory, service: ServiceFactory) -> None:
    """nginx opens a connection of 50 ms to it for each request."""
    behind = service(PLACES, CLIENTS)
    server = nginx(proxy_pass=behind.url[:-1])
    transport = sshd().transport()
    await transport.connect()

    async def looked() -> None:
        pass

    machine = LinuxMachine(transport, KINDS)
    path = RequestPath(machine, [server.url], looked)
    try:
        with loaded(server.port):
            deadline = time.monotonic() + PATIENCE_S
            while not path.services and time.monotonic() < deadline:
                await machine.sample()
                path.look()
                await asyncio.sleep(0.1)
            table = (await machine.texts(OPEN_TABLES))[OPEN_TABLES[0].path]
        assert waiting() > CLOSED / 2
        assert path.services == {behind.pid}
        assert {server.port, behind.port} <= {row.port for row in parse_table(str(table))}
        assert len(str(table).splitlines()) < CLOSED / 10
        assert parse_clients(str(table), (), CLIENTS)
    finally:
        await path.close()
        await transport.close()
