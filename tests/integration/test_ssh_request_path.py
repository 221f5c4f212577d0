"""The servers on the request path of a remote host: short connections, many in TIME_WAIT, unix sockets."""

import asyncio
import contextlib
import http.client
import socket
import threading
import time
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from collectors.linux.machine import LinuxMachine
from collectors.linux.sockets import OPEN_TABLES, parse_clients, parse_table
from collectors.request_path import RequestPath
from collectors.servers import KINDS
from tests.servers.nginx import Nginx, NginxFactory
from tests.servers.program import server_directory
from tests.servers.service import PLACES, UNIX, ServiceFactory
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
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30.0)
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


async def services_of(machine: LinuxMachine, server: Nginx) -> frozenset[int]:
    """The services behind a server that is loaded, once some are found."""

    async def looked() -> None:
        pass

    path = RequestPath(machine, [server.url], looked)
    try:
        with loaded(server.port):
            deadline = time.monotonic() + PATIENCE_S
            while not path.services and time.monotonic() < deadline:
                await machine.sample()
                path.look()
                await asyncio.sleep(0.1)
    finally:
        await path.close()
    return path.services


@pytest.fixture
async def far(sshd: SshdFactory) -> AsyncGenerator[LinuxMachine]:
    transport = sshd().transport()
    await transport.connect()
    yield LinuxMachine(transport, KINDS)
    await transport.close()


@pytest.mark.usefixtures("closed_connections")
async def test_a_service_behind_nginx_is_found(far: LinuxMachine, nginx: NginxFactory, service: ServiceFactory) -> None:
    """nginx opens a connection of 50 ms to it for each request."""
    behind = service(PLACES, CLIENTS)
    server = nginx(proxy_pass=behind.url[:-1])
    assert await services_of(far, server) == {behind.pid}
    assert waiting() > CLOSED / 2
    with loaded(server.port):
        table = str((await far.texts(OPEN_TABLES))[OPEN_TABLES[0].path])
    assert {server.port, behind.port} <= {row.port for row in parse_table(table)}
    assert len(table.splitlines()) < CLOSED / 10
    assert parse_clients(table, (), CLIENTS)


async def test_a_service_at_a_unix_socket_is_found(
    far: LinuxMachine, nginx: NginxFactory, service: ServiceFactory, servers: contextlib.ExitStack
) -> None:
    place = servers.enter_context(server_directory()) / "service.sock"
    behind = service(UNIX, place, 1000, 0.5)  # longer than one look takes, also on a busy machine
    assert await services_of(far, nginx(proxy_pass=f"http://unix:{place}:")) == {behind.pid}
