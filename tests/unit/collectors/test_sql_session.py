"""A connection that is kept open, asked in a thread, cut, and left alone after a failure."""

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from collectors import sql_session
from collectors.errors import FetchError, SilentError
from collectors.machine import Machine, Missing
from collectors.mysql.collector import MysqlCollector
from collectors.sql_collector import user_of
from collectors.sql_session import Channel, Login, Session
from tests.unit.collectors.fake_machine import FakeMachine, collector_of


class Lines:
    """A client of a server that answers each line with lines, as a library would be."""

    def __init__(self, channel: Channel) -> None:
        self._file = channel.makefile("rwb")
        self.channel = channel
        self.is_closed = False
        self.is_asked = False

    def rows(self, statement: str) -> Sequence[Sequence[object]]:
        self._file.write(f"{statement}\n".encode())
        self._file.flush()
        line = self._file.readline()
        if not line:
            raise RuntimeError("lost")
        return [tuple(line.decode().split(","))] * 2

    def blocking(self, status: str) -> Sequence[Sequence[object]]:
        return [("blocked", len(status))] if self.is_asked else []

    def close(self) -> None:
        self._file.close()
        self.is_closed = True


class Many(Lines):
    """A client that gives one row more than are read."""

    def rows(self, statement: str) -> Sequence[Sequence[object]]:
        return [*super().rows(statement), *[("b",)] * 999]


class Server:
    """Answers each line as ``answer`` says; ``None`` is silence."""

    def __init__(self) -> None:
        self.answer: bytes | None = b"a,1\n"
        self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._talk, args=(link,), daemon=True).start()

    def _talk(self, link: socket.socket) -> None:
        with link, link.makefile("rb") as lines:
            for _ in lines:
                if self.answer is not None:
                    try:
                        link.sendall(self.answer)
                    except OSError:
                        return

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def session_to(address: str, login: Login = Lines) -> Session:
    async def opening() -> tuple[str, Login]:
        return address, login

    return Session(opening)


async def test_one_connection_for_all_questions(server: Server) -> None:
    session = session_to(server.address)
    for _ in range(3):
        assert await session.ask(("one", "two")) == "a\t1\n" * 4
    assert server.connections == 1
    session.cut()
    assert await session.ask(("one",)) == "a\t1\n" * 2
    assert server.connections == 2
    session.cut()


async def test_who_blocks_whom_is_asked_with_the_status(server: Server) -> None:
    def login(channel: Channel) -> Lines:
        client = Lines(channel)
        client.is_asked = True
        return client

    session = session_to(server.address, login)
    assert await session.ask(("one", "two")) == "a\t1\n" * 4 + "blocked\t16\n"
    session.cut()


async def test_cells_are_short_and_on_one_line(server: Server) -> None:
    server.answer = b"a\tb," + b"x" * 5000 + b"\n"
    session = session_to(server.address)
    assert await session.ask(("one",)) == f"a b\t{'x' * 200}\n" * 2
    session.cut()


async def test_an_answer_that_does_not_end_is_cut(server: Server) -> None:
    server.answer = b"x" * (2 << 20)
    session = session_to(server.address)
    with pytest.raises(OSError, match="too long"):
        await session.ask(("one",))


async def test_a_question_may_have_a_thousand_rows(server: Server) -> None:
    session = session_to(server.address, Many)
    assert len((await session.ask(("one",))).splitlines()) == 1000
    session.cut()


async def test_the_limit_of_bytes_is_for_each_question(server: Server) -> None:
    server.answer = b"x" * ((1 << 20) - 1) + b"\n"
    session = session_to(server.address)
    for _ in range(2):
        assert len(await session.ask(("one",))) == 2 * 201
    assert server.connections == 1
    session.cut()


async def test_a_connection_is_closed_when_it_is_cut(server: Server) -> None:
    links: list[Lines] = []

    def login(channel: Channel) -> Lines:
        links.append(Lines(channel))
        return links[-1]

    session = session_to(server.address, login)
    for number in range(2):
        await session.ask(("one",))
        session.cut()
        assert links[number].channel.fileno() == -1
        assert links[number].is_closed


async def test_connecting_has_a_limit_of_time(server: Server) -> None:
    limits: list[float | None] = []

    def login(channel: Channel) -> Lines:
        limits.append(channel.gettimeout())
        return Lines(channel)

    session = session_to(server.address, login)
    await session.ask(("one",))
    assert limits == [sql_session.CONNECT_S]
    session.cut()


async def test_the_next_address_of_a_name_is_tried(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """And sockets of those that refuse are closed: an unclosed one would be reported."""
    port = int(server.address.rpartition(":")[2])
    refuses, answers = (
        (family, socket.SOCK_STREAM, 0, "", (host, port))
        for family, host in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.1"))
    )

    def addresses(*_: object, **__: object) -> list[object]:
        return [refuses, answers]

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    session = session_to(f"db:{port}")
    assert await session.ask(("one",)) == "a\t1\n" * 2
    session.cut()


async def test_no_login_after_a_cut_while_the_name_is_resolved(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    port = int(server.address.rpartition(":")[2])
    resolving, is_cut = threading.Event(), threading.Event()
    logins: list[Channel] = []

    def addresses(*_: object, **__: object) -> list[object]:
        resolving.set()
        is_cut.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", port))]

    def login(channel: Channel) -> Lines:
        logins.append(channel)
        return Lines(channel)

    monkeypatch.setattr(socket, "getaddrinfo", addresses)
    session = session_to(f"db:{port}", login)
    asking = asyncio.create_task(session.ask(("one",)))
    await asyncio.to_thread(resolving.wait, 10)
    session.cut()
    is_cut.set()
    with pytest.raises(OSError, match="cut"):
        await asking
    assert logins == []


async def test_silence_ends_with_its_time_and_the_thread_with_it(server: Server) -> None:
    server.answer = None
    session = session_to(server.address)
    before = threading.active_count()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await session.ask(("one",))
    server.answer = b"a,1\n"
    assert await session.ask(("one",)) == "a\t1\n" * 2  # by a new connection, in that thread or another
    assert threading.active_count() <= before + 4
    session.cut()


async def test_a_connection_that_is_not_answered_is_given_up_with_its_thread() -> None:
    """What is on its way when loadtop ends does not delay that."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as waiting:
        address = full.getsockname()
        for _ in range(4):  # then its queue has no place for another
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(address)
        session = session_to(f"{address[0]}:{address[1]}")
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await session.ask(("one",))
        await asyncio.get_running_loop().shutdown_default_executor()
        assert time.monotonic() - began < sql_session.CONNECT_S / 2


async def test_a_server_that_fails_is_left_alone_for_a_while(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    logins: list[Channel] = []

    def denied(channel: Channel) -> Any:
        logins.append(channel)
        raise RuntimeError("denied")

    session = session_to(server.address, denied)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="denied"):
            await session.ask(("one",))
    assert len(logins) == 1
    assert logins[0].fileno() == -1
    monkeypatch.setattr(sql_session, "AGAIN_S", 0.0)
    again = session_to(server.address, denied)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="denied"):
            await again.ask(("one",))
    assert len(logins) == 3


@pytest.mark.parametrize("place", ["/nowhere/x.sock", "nowhere"])
async def test_places_that_are_none(place: str) -> None:
    with pytest.raises(FetchError if place == "nowhere" else FileNotFoundError):
        await session_to(place).ask(("one",))


@pytest.mark.parametrize(
    ("files", "user"),
    [
        ({"/proc/self/status": "Name:\tawk\nUid:\t33\t33\n", "/etc/passwd": "root:x:0:0\nwww:x:33:33\n"}, "www"),
        ({"/proc/self/status": "Uid:\t33\t33\n", "/etc/passwd": "root:x:0:0\nbroken\n"}, "alice"),
        ({"/etc/passwd": Missing("not permitted")}, "alice"),
    ],
)
async def test_as_whom_a_machine_knows_us(
    monkeypatch: pytest.MonkeyPatch, files: dict[str, str | Missing], user: str
) -> None:
    monkeypatch.setenv("LOGNAME", "alice")
    machine = FakeMachine()
    machine.files |= files
    assert await user_of(cast("Machine", machine)) == user


async def test_without_the_library_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MysqlCollector, "library", "no_such_library")
    collector = collector_of(MysqlCollector, None, "db:3306")
    with pytest.raises(FetchError, match="PyMySQL") as missing:
        await collector.fetch("db:3306", 1.0)
    assert missing.value.fix == "pipx inject loadtop PyMySQL"
    await collector.close()


def log_in(*_: object, trusted: bool) -> Login:
    assert trusted
    return Lines


async def test_a_silent_server_is_reported(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    server.answer = None
    monkeypatch.setattr(MysqlCollector, "library", "socket")
    monkeypatch.setattr(MysqlCollector, "login", log_in)
    collector = collector_of(MysqlCollector, None, server.address)
    with pytest.raises(SilentError, match="no response within"):
        await collector.fetch(server.address, 0.1)
    server.answer = b"a,1\n"
    assert (await collector.fetch(server.address, 5.0)).text == "a\t1\n" * 4
    await collector.close()
