"""Any bytes as responses against the generator's response path.

Each input is fed to a connection twice: in one piece, and cut as the input itself says. Nothing may be raised, nothing
may be counted twice, memory of a response is bounded, and both ways must come to the same end.
"""

from asyncio import Transport
from collections.abc import Iterator

from loadtop.generator.connection import CONNECTING, IDLE, Connection
from loadtop.generator.exchange import MAX_HEAD, Exchange, Head, ResponseParser
from loadtop.generator.plan import Plan, Step, Target, request_bytes
from loadtop.generator.results import FailureKind
from loadtop.i18n import Message
from tests.unit.generator.conftest import FakeTransport, Recorder

Outcome = list[tuple[str, int, int]]
"""What became of the first request: answered with a status and a body of some length, or failed in some way."""


class Checked(Recorder):
    """Records how the only request of a connection ends, and checks each call."""

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange)
        self.outcome: Outcome = []
        self.rests = 0

    def responded(
        self, exchange: Exchange, transport: Transport | None, head: Head, parser: ResponseParser | None, *, extra: bool
    ) -> str:
        assert exchange.size
        assert transport is not None or parser is not None
        assert parser is None or len(parser.start) <= 2 * MAX_HEAD
        assert head.body >= 0
        assert head.total >= head.body
        self.outcome.append(("answered", head.status, head.body))
        self.rests += extra
        return ""

    def failed(self, exchange: Exchange, kind: FailureKind, reason: Message) -> None:
        assert str(reason).isprintable() or exchange.size
        self.outcome.append((kind, 0, 0))

    def closed(self, connection: Connection, retry: bool) -> None:
        assert connection.transport is None
        if retry and not self.outcome:
            self.outcome.append(("retry", 0, 0))

    def next_request(self, connection: Connection, at: int) -> None:
        assert at > 0
        assert connection.transport is not None
        connection.state = IDLE
        self.rests += 1


def one_input(data: bytes) -> None:
    """Feed one input. Raises where the response path is wrong."""
    if len(data) < 4:
        return
    options, sizes, data = data[0], data[1:4], data[4:]
    method, keepalive = "HEAD" if options & 1 else "GET", bool(options & 2)
    whole = _feed([data], method, keepalive=keepalive)
    cut = _feed(_pieces(data, sizes), method, keepalive=keepalive)
    assert whole == cut, f"in one piece {whole}, in pieces {cut}"


def _pieces(data: bytes, sizes: bytes) -> Iterator[bytes]:
    place = number = 0
    while place < len(data):
        size = 1 + sizes[number % len(sizes)]
        yield data[place : place + size]
        place += size
        number += 1


def _feed(pieces: "Iterator[bytes] | list[bytes]", method: str, *, keepalive: bool) -> Outcome:
    target = Target.parse("http://server/", method=method)
    plan = Plan((target,), (Step(concurrency=1),), keepalive=keepalive)
    exchange = Exchange(target, request_bytes(target, plan))
    recorder, transport = Checked(exchange), FakeTransport()
    connection = Connection(recorder, recorder, exchange, recorder.closed, keepalive=keepalive)
    connection.state = CONNECTING
    connection.started = connection.connect_started = 1
    connection.use_transport(transport, 2)
    connection.send(3)
    for piece in pieces:
        connection.data_received(piece)
        if transport.closed or transport.aborted:
            break
    connection.connection_lost(None)
    assert len(recorder.outcome) <= 1, f"counted twice: {recorder.outcome}"
    assert len(recorder.totals) + len(recorder.parts) // 3 <= 1
    return recorder.outcome
