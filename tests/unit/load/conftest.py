"""A connection without a network: what it is given are bytes, what it sends and says is written down."""

from collections.abc import Callable
from time import perf_counter_ns

import pytest

from loadtop.generator.connection import DIALLING, RESTING, Connection
from loadtop.generator.exchange import Exchange, Head, Reply
from loadtop.generator.plan import Target
from loadtop.generator.tally import Kind, Tally
from loadtop.generator.target import request_bytes


class Line:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.closed = False
        self.aborted = False

    def write(self, data: bytes, /) -> None:
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


class Ear:
    """Hears what a connection says; sends again as long as ``left`` is above 0."""

    def __init__(self, left: int = 0, *, short_way: bool = True) -> None:
        self.left = left
        self.short_way = short_way
        self.uneasy = True
        self.tally = Tally()
        self.answers: list[tuple[int, int, bool]] = []
        self.servers: list[str] = []
        self.failures: list[tuple[Kind, str]] = []
        self.losses: list[bool] = []
        self.rests = 0

    def connected(self, connection: Connection) -> None:
        assert connection.transport is not None

    def answered(self, connection: Connection, head: Head, reply: Reply | None, *, extra: bool) -> None:
        assert connection.exchange.size
        self.answers.append((head.status, head.body, extra))
        if reply is not None:
            self.servers.append(reply.server)
        else:
            head.hits += 1

    def shorten(self) -> None:
        self.short_way = True

    def failed(self, connection: Connection, kind: Kind, why: str) -> None:
        assert connection.exchange.size
        self.failures.append((kind, why))

    def lost(self, connection: Connection, *, again: bool) -> None:
        assert connection.transport is None
        self.losses.append(again)

    def proceed(self, connection: Connection, at: int) -> None:
        if self.left > 0:
            self.left -= 1
            connection.started = at
            connection.send(at)
        else:
            connection.state = RESTING
            self.rests += 1


class Bench:
    """One connection, opened on a line, with its first request sent."""

    def __init__(self, *, method: str = "GET", keeps: bool = True, left: int = 0, short_way: bool = True) -> None:
        self.ear = Ear(left, short_way=short_way)
        target = Target.parse("http://server/", method=method)
        self.exchange = Exchange(0, target, request_bytes(target, keepalive=keeps, user_agent="test"))
        self.connection = Connection(self.ear, self.ear, self.exchange, keeps=keeps)
        self.line = Line()
        self.open()

    def open(self) -> None:
        self.connection.state = DIALLING
        at = perf_counter_ns()
        self.connection.started = self.connection.dialled = at - 1000
        self.connection.opened(self.line, at)
        self.connection.send(at)

    def feed(self, data: bytes, size: int = 1 << 30) -> None:
        """Give the connection ``data`` in pieces of ``size`` bytes."""
        for start in range(0, len(data), size):
            self.connection.data_received(data[start : start + size])

    @property
    def hits(self) -> int:
        """Responses that went the short way or were known by heart."""
        return sum(head.hits for head in self.exchange.heads.values())


@pytest.fixture
def bench() -> Callable[..., Bench]:
    return Bench
