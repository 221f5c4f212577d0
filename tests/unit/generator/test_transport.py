"""The fast transport: over a real socket, the outcome is the same as for bytes fed to a connection."""

import asyncio
import random
import socket
import time
from collections.abc import Callable, Generator
from functools import partial
from itertools import islice
from time import perf_counter_ns
from typing import Any

import pytest

from loadtop.generator.connection import CONNECTING
from loadtop.generator.event_loop import EpollLoop
from loadtop.generator.transport import Address, SocketTransport
from tests.fuzz.mutation import mutated
from tests.fuzz.targets import target_named
from tests.unit.generator.conftest import RecordedConnection

Connect = Callable[..., "SocketConnection"]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def loop() -> Generator[EpollLoop]:
    made = EpollLoop()
    yield made
    made.close()


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


class SocketConnection(RecordedConnection):
    """A connection over a socket to ``peer``."""

    def __init__(self, loop: EpollLoop, listener: socket.socket, *, send_at_once: bool = True, **settings: Any) -> None:
        self.loop, self.listener, self.send_at_once = loop, listener, send_at_once
        self.refused: list[OSError] = []
        super().__init__(**settings)

    def open(self) -> None:
        address: Address = self.listener.getsockname()
        self.socket_transport = SocketTransport(self.loop, self.connection, lambda _, error: self.refused.append(error))
        self.socket_transport.set_address(socket.AF_INET, address, None, send_at_once=self.send_at_once)
        self.connection.state = CONNECTING
        self.connection.started = perf_counter_ns()
        self.socket_transport.connect(self.connection.started)
        self.accept()

    def accept(self) -> None:
        self.peer = self.listener.accept()[0]
        self.turn()

    def turn(self) -> None:
        """Let the loop do what there is to do."""
        for _ in range(3):
            self.loop.run_until_complete(asyncio.sleep(0))

    def feed(self, data: bytes, size: int = 1 << 30) -> None:
        for start in range(0, len(data), size):
            try:
                self.peer.sendall(data[start : start + size])
            except OSError:
                return
            self.turn()

    def received(self) -> bytes:
        """What the peer has received since the last call."""
        self.peer.setblocking(False)
        found = b""
        try:
            while data := self.peer.recv(1 << 20):
                found += data
        except BlockingIOError:
            pass
        finally:
            self.peer.setblocking(True)
        return found

    def end(self) -> None:
        """The peer closes in good order."""
        try:
            self.received()
            self.peer.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.turn()
        self.peer.close()


@pytest.fixture
def connect(loop: EpollLoop, listener: socket.socket) -> Connect:
    return partial(SocketConnection, loop, listener)


def outcome(tested: RecordedConnection) -> tuple[object, ...]:
    """The results of the requests, without surplus bytes: pieces may be read together."""
    answers = [(status, body) for status, body, _ in tested.recorder.responses]
    return answers, [kind for kind, _ in tested.recorder.failures], tested.hits


@pytest.mark.parametrize("keepalive", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_random_answers_mean_the_same_over_a_socket(connect: Connect, seed: int, keepalive: bool) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    for made in islice(mutated(list(target_named("responses").inputs()), seed), 60):
        data, size = made[4:], chance.choice((1 << 30, 7, 61))
        before = chance.randrange(3) if keepalive else 0
        tested, plain = connect(keepalive=keepalive, left=before), RecordedConnection(keepalive=keepalive, left=before)
        for _ in range(before):
            tested.feed(OK)
            plain.feed(OK)
        tested.feed(data, size)
        for start in range(0, len(data), size):
            if plain.transport.closed or plain.transport.aborted:
                break
            plain.connection.data_received(data[start : start + size])
        tested.end()
        plain.connection.connection_lost(None)
        assert outcome(tested) == outcome(plain), (data, size, before)


def test_a_connection_that_stays_takes_the_short_way(connect: Connect) -> None:
    tested = connect(left=3)
    for _ in range(4):
        assert tested.received() == tested.exchange.request
        tested.feed(OK)
    assert tested.recorder.responses == [(200, 2, False)]
    assert (tested.hits, len(tested.recorder.totals), len(tested.recorder.parts)) == (3, 3, 3)
    assert tested.recorder.times_idle == 1
    tested.end()


def test_the_last_answer_of_a_connection_is_none_of_the_short_way(connect: Connect) -> None:
    tested = connect(left=4)
    tested.feed(OK)
    tested.feed(LAST)
    tested.end()
    assert tested.recorder.responses == [(200, 2, False), (200, 2, False)]
    assert tested.recorder.retries == [False]
    assert tested.recorder.failures == []


def test_a_connection_for_each_request_takes_the_short_way_too(connect: Connect) -> None:
    tested = connect(keepalive=False, left=2)
    tested.feed(LAST)
    tested.end()
    tested.connection.started = perf_counter_ns()
    tested.socket_transport.connect(tested.connection.started)
    for _ in range(3):
        tested.accept()
        assert tested.received() == tested.exchange.request
        tested.peer.sendall(LAST)
        tested.end()
    assert tested.recorder.responses == [(200, 2, False)]
    assert tested.hits == 3
    assert len(tested.recorder.parts) == 12
    assert tested.recorder.retries == [False, False]
    assert tested.recorder.failures == []


def test_a_large_request_waits_for_room(connect: Connect) -> None:
    tested = connect()
    tested.feed(OK)
    tested.received()
    body, following = bytes(30_000_000), b"the request after it"
    tested.socket_transport.write(body)
    tested.socket_transport.write(following)
    received, last = 0, b""
    deadline = time.monotonic() + 20
    while received < len(body) + len(following) and time.monotonic() < deadline:
        new = tested.received()
        received += len(new)
        last = (last + new)[-len(following) :]
        tested.turn()
    assert received == len(body) + len(following)
    assert last == following
    tested.end()


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
@pytest.mark.parametrize("before", [0, 1])
def test_what_is_there_at_once_is_read_to_its_end_in_several_reads(
    loop: EpollLoop, connect: Connect, monkeypatch: pytest.MonkeyPatch, start: bytes, before: int
) -> None:
    monkeypatch.setattr("loadtop.generator.transport.READ_BYTES", 1000)
    loop.selector.buffer = bytearray(1000)
    loop.selector.view = memoryview(loop.selector.buffer)
    tested = connect(left=before)
    for _ in range(before):
        tested.feed(OK)
    tested.received()
    tested.peer.sendall(start + bytes(9000))
    tested.peer.close()
    for _ in range(10):
        tested.turn()
    assert tested.recorder.responses == [(200, 2, False)] * before + [(200, 9000, False)]
    assert len(tested.recorder.retries) == 1
    assert tested.recorder.failures == []


@pytest.mark.parametrize("send_at_once", [True, False])
def test_a_refused_connect_is_reported(loop: EpollLoop, send_at_once: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address: Address = gone.getsockname()
    tested = RecordedConnection()
    told: list[OSError] = []
    transport = SocketTransport(loop, tested.connection, lambda _, error: told.append(error))
    transport.set_address(socket.AF_INET, address, None, send_at_once=send_at_once)
    tested.connection.state = CONNECTING
    transport.connect(perf_counter_ns())
    deadline = time.monotonic() + 10
    while not told and time.monotonic() < deadline:
        loop.run_until_complete(asyncio.sleep(0))
    assert [type(error) for error in told] == [ConnectionRefusedError]


@pytest.mark.parametrize("send_at_once", [True, False])
def test_a_connect_that_takes_its_time_sends_the_request_in_the_end(connect: Connect, send_at_once: bool) -> None:
    tested = connect(send_at_once=send_at_once)
    assert tested.received() == tested.exchange.request
    tested.feed(OK, 5)
    assert tested.recorder.responses == [(200, 2, False)]
    tested.end()


def test_timers_and_other_descriptors_have_their_turn_under_load(loop: EpollLoop, connect: Connect) -> None:
    tested = connect(left=1 << 60)
    tested.feed(OK)
    here, there = socket.socketpair()
    heard: list[str] = []
    loop.add_reader(here.fileno(), lambda: heard.append(here.recv(9).decode()))

    class Busy:
        """Always has something to say."""

        def __init__(self) -> None:
            self.turns = 0

        def handle(self, event: int) -> None:
            assert event
            self.turns += 1
            if self.turns == 20:
                there.send(b"descriptor")

    busy = Busy()
    one, other = socket.socketpair()
    other.send(b"x")
    loop.selector.handlers[one.fileno()] = busy.handle
    loop.selector.watch(one.fileno(), 1)
    loop.call_later(0.02, heard.append, "timer")
    deadline = time.monotonic() + 10
    while len(heard) < 3 and time.monotonic() < deadline:
        loop.run_until_complete(asyncio.sleep(0.001))
    assert heard[0].startswith("descripto")
    assert "timer" in heard
    assert busy.turns > 20
    for each in (here, there, one, other):
        loop.remove_reader(each.fileno())
        each.close()
    tested.end()
