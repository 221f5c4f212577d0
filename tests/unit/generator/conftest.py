"""A connection without a network: it is fed bytes, and what it sends and reports is recorded."""

from asyncio import Transport
from time import perf_counter_ns
from typing import Any

from loadtop.generator.connection import CONNECTING, IDLE, Connection
from loadtop.generator.exchange import Exchange, Head, ResponseParser
from loadtop.generator.plan import Plan, Step, Target, request_bytes
from loadtop.generator.results import FailureKind, Results
from loadtop.i18n import Message


class FakeTransport(Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes | bytearray | memoryview[Any]] = []
        self.closed = False
        self.aborted = False

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        assert data
        self.written.append(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True


class Recorder(Results):
    """Results and request source of a connection: records what it reports, and sends while ``left`` is above 0."""

    def __init__(self, exchange: Exchange, left: int = 0, *, fast_path: bool = True) -> None:
        plan = Plan((exchange.target,), (Step(concurrency=1),))
        super().__init__(plan, (exchange,), first_connected=lambda: None, gave_up=lambda _: None)
        self.left = left
        self.fast_path = self.fast_path_possible = fast_path
        self.responses: list[tuple[int, int, bool]] = []
        self.servers: list[str] = []
        self.failures: list[tuple[FailureKind, str]] = []
        self.retries: list[bool] = []
        self.times_idle = 0

    def connected(self) -> None:
        """Not counted."""

    def responded(
        self, exchange: Exchange, transport: Transport | None, head: Head, parser: ResponseParser | None, *, extra: bool
    ) -> str:
        assert exchange.size
        assert parser is not None or transport is not None
        self.responses.append((head.status, head.body, extra))
        if parser is not None:
            self.servers.append(parser.server)
        else:
            head.hits += 1
        return ""

    def failed(self, exchange: Exchange, kind: FailureKind, reason: Message) -> None:
        assert exchange.size
        self.failures.append((kind, str(reason)))

    def closed(self, connection: Connection, retry: bool) -> None:
        assert connection.transport is None
        self.retries.append(retry)

    def next_request(self, connection: Connection, at: int) -> None:
        if self.left > 0:
            self.left -= 1
            connection.started = at
            connection.send(at)
        else:
            connection.state = IDLE
            self.times_idle += 1


class RecordedConnection:
    """A connection over a fake transport, with its first request sent."""

    def __init__(self, *, method: str = "GET", keepalive: bool = True, left: int = 0, fast_path: bool = True) -> None:
        target = Target.parse("http://server/", method=method)
        plan = Plan((target,), (Step(concurrency=1),), keepalive=keepalive)
        self.exchange = Exchange(target, request_bytes(target, plan))
        self.recorder = Recorder(self.exchange, left, fast_path=fast_path)
        self.connection = Connection(
            self.recorder, self.recorder, self.exchange, self.recorder.closed, keepalive=keepalive
        )
        self.transport = FakeTransport()
        self.open()

    def open(self) -> None:
        self.connection.state = CONNECTING
        at = perf_counter_ns()
        self.connection.started = self.connection.connect_started = at - 1000
        self.connection.use_transport(self.transport, at)
        self.connection.send(at)

    def feed(self, data: bytes, size: int = 1 << 30) -> None:
        """Give the connection ``data`` in pieces of ``size`` bytes."""
        for start in range(0, len(data), size):
            self.connection.data_received(data[start : start + size])

    @property
    def hits(self) -> int:
        """Responses with learnt heads."""
        return sum(head.hits for head in self.exchange.heads.values())
