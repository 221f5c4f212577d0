"""The fast transport: over a real socket, it comes to the same end as bytes that are handed to a connection."""

import asyncio
import random
import socket
import time
from collections.abc import Generator
from itertools import islice
from time import perf_counter_ns

import pytest

from loadtop.generator.connection import DIALLING
from loadtop.generator.hub import HubLoop
from loadtop.generator.wire import Address, Wire
from tests.fuzz.responses import inputs
from tests.unit.load.conftest import Bench

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


@pytest.fixture
def loop() -> Generator[HubLoop]:
    made = HubLoop()
    yield made
    made.close()


@pytest.fixture
def listener() -> Generator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as made:
        yield made


class Wired(Bench):
    """A bench whose connection talks over a wire with ``peer``."""

    def __init__(
        self, loop: HubLoop, listener: socket.socket, *, keeps: bool = True, left: int = 0, eager: bool = True
    ) -> None:
        self.loop = loop
        self.listener = listener
        self.eager = eager
        self.refused: list[OSError] = []
        super().__init__(keeps=keeps, left=left)

    def open(self) -> None:
        address: Address = self.listener.getsockname()
        self.wire = Wire(self.loop, self.connection, lambda _, error: self.refused.append(error))
        self.wire.aim(socket.AF_INET, address, None, eager=self.eager)
        self.connection.state = DIALLING
        self.connection.started = perf_counter_ns()
        self.wire.open(self.connection.started)
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

    def heard(self) -> bytes:
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
            self.heard()
            self.peer.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        self.turn()
        self.peer.close()


def outcome(bench: Bench) -> tuple[object, ...]:
    """What became of the requests. Whether more came than a response has is not part of it: pieces may be read
    together."""
    answers = [(status, body) for status, body, _ in bench.ear.answers]
    return answers, [kind for kind, _ in bench.ear.failures], bench.hits


@pytest.mark.parametrize("keeps", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_random_answers_mean_the_same_over_a_socket(
    loop: HubLoop, listener: socket.socket, seed: int, keeps: bool
) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    for made in islice(inputs(seed), 60):
        data, size = made[4:], chance.choice((1 << 30, 7, 61))
        before = chance.randrange(3) if keeps else 0
        wired, plain = Wired(loop, listener, keeps=keeps, left=before), Bench(keeps=keeps, left=before)
        for _ in range(before):
            wired.feed(OK)
            plain.feed(OK)
        wired.feed(data, size)
        for start in range(0, len(data), size):
            if plain.line.closed or plain.line.aborted:
                break
            plain.connection.data_received(data[start : start + size])
        wired.end()
        plain.connection.connection_lost(None)
        assert outcome(wired) == outcome(plain), (data, size, before)


def test_a_connection_that_stays_takes_the_short_way(loop: HubLoop, listener: socket.socket) -> None:
    wired = Wired(loop, listener, left=3)
    for _ in range(4):
        assert wired.heard() == wired.exchange.wire
        wired.feed(OK)
    assert wired.ear.answers == [(200, 2, False)]
    assert (wired.hits, len(wired.ear.tally.simple), len(wired.ear.tally.full)) == (3, 3, 3)
    assert wired.ear.rests == 1
    wired.end()


def test_the_last_answer_of_a_connection_is_none_of_the_short_way(loop: HubLoop, listener: socket.socket) -> None:
    wired = Wired(loop, listener, left=4)
    wired.feed(OK)
    wired.feed(LAST)
    wired.end()
    assert wired.ear.answers == [(200, 2, False), (200, 2, False)]
    assert wired.ear.losses == [False]
    assert wired.ear.failures == []


def test_a_connection_for_each_request_takes_the_short_way_too(loop: HubLoop, listener: socket.socket) -> None:
    wired = Wired(loop, listener, keeps=False, left=2)
    wired.feed(LAST)
    wired.end()
    wired.connection.started = perf_counter_ns()
    wired.wire.open(wired.connection.started)
    for _ in range(3):
        wired.accept()
        assert wired.heard() == wired.exchange.wire
        wired.peer.sendall(LAST)
        wired.end()
    assert wired.ear.answers == [(200, 2, False)]
    assert wired.hits == 3
    assert len(wired.ear.tally.full) == 12
    assert wired.ear.losses == [False, False]
    assert wired.ear.failures == []


def test_a_large_request_waits_for_room(loop: HubLoop, listener: socket.socket) -> None:
    wired = Wired(loop, listener)
    wired.feed(OK)
    wired.heard()
    body, following = bytes(30_000_000), b"the request after it"
    wired.wire.write(body)
    wired.wire.write(following)
    received, last = 0, b""
    deadline = time.monotonic() + 20
    while received < len(body) + len(following) and time.monotonic() < deadline:
        heard = wired.heard()
        received += len(heard)
        last = (last + heard)[-len(following) :]
        wired.turn()
    assert received == len(body) + len(following)
    assert last == following
    wired.end()


@pytest.mark.parametrize("start", [b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n"])
@pytest.mark.parametrize("before", [0, 1])
def test_what_is_there_at_once_is_read_to_its_end_in_several_reads(
    loop: HubLoop, listener: socket.socket, monkeypatch: pytest.MonkeyPatch, start: bytes, before: int
) -> None:
    monkeypatch.setattr("loadtop.generator.wire.READ_BYTES", 1000)
    loop.hub.buffer = bytearray(1000)
    loop.hub.seen = memoryview(loop.hub.buffer)
    wired = Wired(loop, listener, left=before)
    for _ in range(before):
        wired.feed(OK)
    wired.heard()
    wired.peer.sendall(start + bytes(9000))
    wired.peer.close()
    for _ in range(10):
        wired.turn()
    assert wired.ear.answers == [(200, 2, False)] * before + [(200, 9000, False)]
    assert len(wired.ear.losses) == 1
    assert wired.ear.failures == []


@pytest.mark.parametrize("eager", [True, False])
def test_a_refused_connect_is_told(loop: HubLoop, eager: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        address: Address = gone.getsockname()
    bench = Bench()
    told: list[OSError] = []
    wire = Wire(loop, bench.connection, lambda _, error: told.append(error))
    wire.aim(socket.AF_INET, address, None, eager=eager)
    bench.connection.state = DIALLING
    wire.open(perf_counter_ns())
    deadline = time.monotonic() + 10
    while not told and time.monotonic() < deadline:
        loop.run_until_complete(asyncio.sleep(0))
    assert [type(error) for error in told] == [ConnectionRefusedError]


@pytest.mark.parametrize("eager", [True, False])
def test_a_connect_that_takes_its_time_sends_the_request_in_the_end(
    loop: HubLoop, listener: socket.socket, eager: bool
) -> None:
    wired = Wired(loop, listener, eager=eager)
    assert wired.heard() == wired.exchange.wire
    wired.feed(OK, 5)
    assert wired.ear.answers == [(200, 2, False)]
    wired.end()


def test_timers_and_other_descriptors_have_their_turn_under_load(loop: HubLoop, listener: socket.socket) -> None:
    wired = Wired(loop, listener, left=1 << 60)
    wired.feed(OK)
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
    loop.hub.handlers[one.fileno()] = busy
    loop.hub.watch(one.fileno(), 1)
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
    wired.end()
