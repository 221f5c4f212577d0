"""Real Apaches, watched as a load test watches them."""

import asyncio
import contextlib
import socket
import threading
import time
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator

import psutil
import pytest

from collectors.errors import FetchError
from collectors.transport.status_client import StatusClient
from loadtop.model import HostSample, State
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from tests.servers.apache import Apache, ApacheFactory, Mpm
from tests.servers.program import free_port
from tests.servers.watched import Watch, until

OK = b"HTTP/1.1 200 OK\r\n"
SLOW = "#!/bin/sh\nsleep 8\necho 'Content-Type: text/plain'\necho\n"


@pytest.fixture
async def client() -> AsyncIterator[StatusClient]:
    opened = StatusClient()
    yield opened
    await opened.close()


def newer_than(seen: HostSample | None) -> Callable[[HostSample], bool]:
    return lambda sample: sample is not seen and bool(APACHE.readings(sample))


def apache_outcome(sample: HostSample) -> tuple[State, str]:
    return next((found.state, str(found.reason)) for found in sample.outcomes if found.collector == "apache")


def status_of(sample: HostSample, server: Apache) -> ApacheStatus:
    return next(found for found in APACHE.readings(sample) if found.url == f"{server.status_url}?auto")


@pytest.mark.servers
@pytest.mark.parametrize("mpm", ["prefork", "worker", "event"])
async def test_a_server_is_found_and_counted(apache: ApacheFactory, watch: Watch, mpm: Mpm) -> None:
    server = apache(mpm=mpm, workers=6)
    host = await watch(target_urls=[f"{server.url}index.html"])
    status = status_of(await until(host, lambda sample: bool(APACHE.readings(sample))), server)
    assert (status.mpm, len(status.scoreboard)) == (mpm, 6)
    assert status.version.startswith("Apache/2.4")
    assert status.scoreboard.count("W") >= 1  # the one that prints the page
    before = status.accesses
    assert before is not None
    for _ in range(20):
        await asyncio.to_thread(fetch, f"{server.url}index.html")
    after = await until(host, lambda sample: any(found.accesses != before for found in APACHE.readings(sample)))
    assert status_of(after, server).accesses in range(before, before + 400)
    assert (status.connections is not None) == (mpm == "event")
    assert status.at is not None
    rows = {row.pid for row in after.processes or () if row.group == "httpd"}
    workers = {child.pid for child in psutil.Process(server.pid).children()}
    assert rows >= {server.pid, *workers}
    assert len(workers) == (6 if mpm == "prefork" else 1)


@pytest.mark.servers
async def test_a_server_is_found_without_any_hint(apache: ApacheFactory, watch: Watch) -> None:
    server = apache(mpm="event", workers=4)
    host = await watch()
    sample = await until(host, lambda sample: any(f":{server.port}/" in found.url for found in APACHE.readings(sample)))
    assert status_of(sample, server).mpm == "event"


@pytest.mark.servers
async def test_proportional_memory_of_every_worker(apache: ApacheFactory, watch: Watch) -> None:
    """However many other servers there are."""
    server = apache(mpm="prefork", workers=12)
    host = await watch(role="target", target_urls=[server.url])
    pids = {child.pid for child in psutil.Process(server.pid).children()}

    def sizes(sample: HostSample) -> dict[int, tuple[int, int]]:
        rows = [row for row in sample.processes or () if row.pid in pids]
        return {row.pid: (row.pss_kb, row.rss_kb) for row in rows if row.pss_kb is not None}

    sample = await until(host, lambda sample: len(sizes(sample)) == 12)
    assert all(0 < pss < rss for pss, rss in sizes(sample).values())

    def agree(sample: HostSample) -> bool:
        """A value can be of the moment at which the others were being started: it is read again in turn."""
        real = {pid: psutil.Process(pid).memory_full_info().pss / 1024 for pid in pids}
        return all(pss == pytest.approx(real[pid], rel=0.2) for pid, (pss, _) in sizes(sample).items())

    await until(host, agree)


@pytest.mark.servers
async def test_a_full_pool_is_silence_and_the_rest_continues(apache: ApacheFactory, watch: Watch) -> None:
    server = apache(mpm="prefork", workers=2, pages={"slow.cgi": SLOW})
    host = await watch(status_urls={"apache": [server.status_url]})
    await until(host, lambda sample: bool(APACHE.readings(sample)))
    with requests(f"{server.url}slow.cgi", 2):
        silent = await until(host, lambda sample: apache_outcome(sample)[0] is State.FAILED)
        assert "all workers may be busy" in apache_outcome(silent)[1]
        assert not APACHE.readings(silent)
        assert silent.cpu is not None
        later = await until(host, lambda sample: sample.at > silent.at + 1.0)
        assert later.tcp is not None
        waiting = [found for found in later.tcp.listeners if found.port == server.port]
        assert waiting[0].queue >= 1  # the status request itself
        # One request waits, however many ticks passed; its page comes when a worker is free.
        back = await until(host, lambda sample: bool(APACHE.readings(sample)))
        assert status_of(back, server).fetch_s is not None
    lines = server.access_log.read_text().splitlines()
    assert sum(" /server-status?auto" in line for line in lines) < 60


@pytest.mark.servers
async def test_no_status_connection_is_kept(apache: ApacheFactory, watch: Watch) -> None:
    """A kept-alive connection of the watcher would hold one of prefork's workers for ever."""
    server = apache(mpm="prefork", workers=2, keepalive_s=60)
    host = await watch(status_urls={"apache": [server.status_url]})
    boards: list[str] = []
    for _ in range(8):
        sample = await until(host, newer_than(host.latest()[0]))
        boards.append(status_of(sample, server).scoreboard)
    assert not any("K" in board for board in boards)
    agents = server.access_log.read_text()
    assert "GET /server-status?auto HTTP/1.1" in agents


@pytest.mark.servers
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"status": False}, "a2enmod status"),
        ({"extra": "<Location /server-status>\nRequire all denied\n</Location>"}, "not permitted (403)"),
        ({"status": False, "pages": {"server-status": "<html>an application's own page</html>"}}, "an HTML page"),
        ({"extra": "ExtendedStatus Off"}, "ExtendedStatus On"),
    ],
)
async def test_missing_parts_are_reported(
    apache: ApacheFactory, watch: Watch, options: dict[str, object], said: str
) -> None:
    server: Apache = apache(**options)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    host = await watch(status_urls={"apache": [server.status_url]})
    sample = await until(host, lambda sample: said in apache_outcome(sample)[1])
    assert sample.cpu is not None


@pytest.mark.servers
async def test_a_server_that_dies_and_comes_back(apache: ApacheFactory, watch: Watch) -> None:
    server = apache(mpm="event", workers=4)
    host = await watch(status_urls={"apache": [server.status_url]})
    await until(host, lambda sample: bool(APACHE.readings(sample)))
    await asyncio.to_thread(server.kill)
    dead = await until(host, lambda sample: "connection refused" in apache_outcome(sample)[1])
    assert apache_outcome(dead)[0] is State.FAILED
    assert not APACHE.readings(dead)


@pytest.mark.servers
async def test_tls_on_this_machine_needs_no_certificate(apache: ApacheFactory, watch: Watch) -> None:
    server = apache(mpm="event", workers=4, tls=True)
    host = await watch(status_urls={"apache": [server.status_url]})
    sample = await until(host, lambda sample: bool(APACHE.readings(sample)))
    assert status_of(sample, server).mpm == "event"


@contextlib.contextmanager
def requests(url: str, count: int) -> Generator[None]:
    """So many requests at a time, waited for at the end."""
    threads = [threading.Thread(target=fetch, args=(url,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def fetch(url: str) -> None:
    with urllib.request.urlopen(url, timeout=30) as answer:
        answer.read()


@contextlib.asynccontextmanager
async def raw_server(*answer: bytes, hang: bool = False) -> AsyncGenerator[str]:
    """A server that sends these bytes to whatever it is asked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        for part in answer:
            writer.write(part)
        if hang:
            await reader.read(4096)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/server-status?auto"


async def test_nothing_is_opened_after_the_end() -> None:
    """As by a search that a test cut short has not stopped: what it opened would stay open."""
    client = StatusClient()
    asking = asyncio.ensure_future(client.get(f"http://127.0.0.1:{free_port()}/", 5.0))
    await asyncio.sleep(0)
    await client.close()
    with pytest.raises(FetchError, match="the test has ended"):
        await asking
    with pytest.raises(FetchError, match="the test has ended"):
        await client.get(f"http://127.0.0.1:{free_port()}/", 5.0)


async def test_no_such_name(client: StatusClient) -> None:
    with pytest.raises(FetchError, match=r"(?i)name|address|resol"):
        await client.get("http://no-such-host.invalid/", 10.0)


async def test_a_server_that_never_answers(client: StatusClient) -> None:
    async with raw_server(hang=True) as url:
        began = time.monotonic()
        with pytest.raises(FetchError, match=r"no response within 0\.3 s"):
            await client.get(url, 0.3)
        assert time.monotonic() - began < 15.0


async def test_a_server_that_closes_without_an_answer(client: StatusClient) -> None:
    async with raw_server() as url:
        with pytest.raises(FetchError, match="without a response"):
            await client.get(url, 5.0)


@pytest.mark.parametrize(
    "answer",
    [
        b"\x00\xff garbage\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 999999 x\r\n\r\n",
    ],
)
async def test_answers_that_are_none(client: StatusClient, answer: bytes) -> None:
    async with raw_server(answer) as url:
        with pytest.raises(FetchError) as raised:
            await client.get(url, 5.0)
        assert str(raised.value)


async def test_a_name_is_tried_with_all_its_addresses(client: StatusClient, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses: list[tuple[str, int]] = []

    async def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", address) for address in addresses]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    async with raw_server(OK + b"\r\npage") as url:
        port = int(url.split(":")[2].split("/")[0])
        # One that answers nothing, as behind a firewall: its accept queue is full.
        with socket.create_server(("127.0.0.3", port), backlog=0), contextlib.ExitStack() as opened:
            for waiting in [opened.enter_context(socket.socket()) for _ in range(3)]:
                waiting.setblocking(False)
                waiting.connect_ex(("127.0.0.3", port))
            for name, other in (("refuses", "127.0.0.2"), ("silent", "127.0.0.3")):
                addresses[:] = [(other, port), ("127.0.0.1", port)]
                assert (await client.get(f"http://{name}.test:{port}/", 2.0)).text == "page"
            began = time.monotonic()
            assert (await client.get(f"http://silent.test:{port}/", 60.0)).text == "page"
            assert time.monotonic() - began < 15, "it tried the silent one first again"
    with pytest.raises(FetchError, match="connection refused"):
        await client.get(f"http://refuses.test:{port}/", 5.0)


async def test_a_request_that_runs_at_the_end_is_given_up(client: StatusClient) -> None:
    async with raw_server(hang=True) as url:
        asking = asyncio.ensure_future(client.get(url, 30.0))
        await asyncio.sleep(0.1)
        await client.close()
        with pytest.raises(FetchError):
            await asyncio.wait_for(asking, 5.0)


INTERIM = b"HTTP/1.1 103 Early Hints\r\nContent-Length: 0\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + OK


@pytest.mark.parametrize(
    ("answer", "status", "text"),
    [
        (b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", 302, ""),
        (INTERIM + b"Content-Length: 4\r\n\r\npagemore than that", 200, "page"),
        (INTERIM + b"Transfer-Encoding: gzip\r\n\r\npage", 200, "page"),
        (INTERIM + b"\r\npage", 200, "page"),
        (OK + b"\r\n" + b"x" * 3_000_000, 200, "x" * (1 << 20)),
        (OK + b"Content-Type: text/plain; charset=punycode\r\n\r\n" + "é".encode(), 200, "é"),
    ],
    ids=["not followed", "interim", "gzip", "until its end", "cut", "slow charset"],
)
async def test_a_page(client: StatusClient, answer: bytes, status: int, text: str) -> None:
    async with raw_server(answer) as url:
        page = await client.get(url, 10.0)
        assert (page.status, page.text) == (status, text)


async def test_passwords_in_a_url_are_sent_and_not_shown(client: StatusClient) -> None:
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read(4096))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        page = await client.get(f"http://user:secret@127.0.0.1:{port}/s é/%41?auto=ü#x", 5.0)
        await client.get(f"http://user:s\udce9cret@127.0.0.1:{port}/\udcff", 5.0)
    assert seen[1].startswith(b"GET /%FF HTTP/1.1\r\n")
    assert b"Authorization: Basic dXNlcjpz6WNyZXQ=" in seen[1]
    assert seen[0].startswith(b"GET /s%20%C3%A9/%41?auto=%C3%BC HTTP/1.1\r\n")
    assert b"Authorization: Basic dXNlcjpzZWNyZXQ=" in seen[0]
    assert b"Connection: close" in seen[0]
    assert b"User-Agent: loadtop/" in seen[0]
    assert page.url == f"http://127.0.0.1:{port}/s é/%41?auto=ü#x"


async def test_this_is_not_a_url(client: StatusClient) -> None:
    for url in (
        "http://",
        "nonsense",
        "http://[::1/",
        "http://127.0.0.1:0/",
        "http://127.0.0.1:99999/",
        "http://a..b/",
    ):
        with pytest.raises(FetchError):
            await client.get(url, 1.0)


async def test_a_port_that_takes_connections_and_says_nothing(watch: Watch) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as silent:
        host = await watch(status_urls={"apache": [f"http://127.0.0.1:{silent.getsockname()[1]}/server-status"]})
        sample = await until(host, lambda sample: apache_outcome(sample)[0] is State.FAILED)
        assert "no response for" in apache_outcome(sample)[1]
