"""Real HAProxy: its table from socket and page, found by its configuration, near and far."""

import asyncio
import contextlib
import socket
import subprocess
from collections.abc import AsyncGenerator

import pytest

from loadtop.model import HostSample, State
from loadtop.servers.haproxy.kind import HAPROXY
from loadtop.servers.haproxy.record import HaproxyProxy
from tests.servers.haproxy import Haproxy, HaproxyFactory
from tests.servers.sshd import Sshd
from tests.servers.watched import Watch, outcome, until

pytestmark = pytest.mark.servers


def line_of(sample: HostSample, proxy: str, server: str) -> HaproxyProxy | None:
    return next((line for line in HAPROXY.readings(sample) if (line.proxy, line.server) == (proxy, server)), None)


def queued(sample: HostSample) -> int:
    line = line_of(sample, "be", "BACKEND")
    return -1 if line is None or line.queue is None else line.queue


@contextlib.asynccontextmanager
async def slow_server() -> AsyncGenerator[int]:
    """The port of a server that takes requests and never answers."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


def by_socket(server: Haproxy) -> dict[str, list[str]]:
    """The table as HAProxy's own socket gives it, by proxy and server: an oracle that shares no code."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(server.stats_socket))
        link.sendall(b"show stat\n")
        text = b"".join(iter(lambda: link.recv(65536), b"")).decode()
    rows = [line.split(",") for line in text.splitlines() if line and not line.startswith("#")]
    return {"/".join(row[:2]): row for row in rows}


@pytest.mark.parametrize("far", [False, True])
async def test_a_queue_is_seen(haproxy: HaproxyFactory, machine: Sshd, watch: Watch, far: bool) -> None:
    async with slow_server() as port:
        server = haproxy([port], maxconn=2)
        host = await watch(remote=machine.transport() if far else None)
        await until(host, lambda s: line_of(s, "be", "BACKEND") is not None)
        with contextlib.ExitStack() as opened:
            for _ in range(7):
                client = opened.enter_context(socket.create_connection(("127.0.0.1", server.port)))
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            sample = await until(host, lambda s: queued(s) == 5)
            table = by_socket(server)
        one, back, front = (line_of(sample, *name) for name in (("be", "s1"), ("be", "BACKEND"), ("fe", "FRONTEND")))
        assert one is not None
        assert back is not None
        assert front is not None
        assert (one.sessions, one.session_limit) == (2, 2)
        assert (front.sessions, front.queue) == (7, None)
        assert [back.queue, back.session_limit] == [int(table["be/BACKEND"][2]), int(table["be/BACKEND"][6])]
        assert outcome(sample, "haproxy") == (State.OK, "")
        await host.close()


@pytest.mark.parametrize("form", ["page", "csv", "socket"])
async def test_statistics_that_are_given(haproxy: HaproxyFactory, watch: Watch, form: str) -> None:
    server = haproxy([1])
    urls = {"page": server.stats_url, "csv": f"{server.stats_url};csv", "socket": f"unix:{server.stats_socket}"}
    host = await watch(status_urls={"haproxy": [urls[form]]})
    sample = await until(host, lambda s: bool(HAPROXY.readings(s)))
    assert {line.proxy for line in HAPROXY.readings(sample)} == {"fe", "be", "stats"}


async def test_the_page_of_its_configuration_where_the_socket_is_gone(haproxy: HaproxyFactory, watch: Watch) -> None:
    server = haproxy([1])
    server.stats_socket.unlink()
    host = await watch()
    sample = await until(host, lambda s: line_of(s, "stats", "FRONTEND") is not None)
    assert outcome(sample, "haproxy")[0] is State.OK


async def test_a_haproxy_that_dies(haproxy: HaproxyFactory, watch: Watch) -> None:
    server = haproxy([1])
    host = await watch(status_urls={"haproxy": [server.stats_url]})
    await until(host, lambda s: bool(HAPROXY.readings(s)))
    await asyncio.to_thread(server.stop)
    sample = await until(host, lambda s: "connection refused" in outcome(s, "haproxy")[1])
    assert not HAPROXY.readings(sample)
    assert outcome(sample, "haproxy")[0] is State.FAILED


async def test_another_page_comes_with_advice(haproxy: HaproxyFactory, watch: Watch) -> None:
    server = haproxy([1])
    host = await watch(status_urls={"haproxy": [f"http://127.0.0.1:{server.stats_port}/nothing"]})
    sample = await until(host, lambda s: "stats enable" in outcome(s, "haproxy")[1])
    assert outcome(sample, "haproxy")[0] is State.ABSENT


def test_the_tests_haproxy_is_a_real_one(haproxy: HaproxyFactory) -> None:
    server = haproxy([1])
    name = subprocess.run(["ps", "-o", "comm=", "-p", str(server.pid)], capture_output=True, text=True).stdout
    assert name.strip() == "haproxy"
