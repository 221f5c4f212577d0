"""Random responses against the generator's response path: ``python -m tests.fuzz.responses [--seconds S] [--seed N]``.

Each input is fed to a connection twice: in one piece, and cut as the input itself says. Nothing may be raised, nothing
may be counted twice, memory of a response is bounded, and both ways must come to the same end. ``one_input`` takes any
bytes, so a coverage-guided fuzzer can drive it as well.
"""

import argparse
import random
import sys
import time
from asyncio import Transport
from collections.abc import Iterator
from typing import Any

from loadtop.generator.connection import CONNECTING, IDLE, Connection
from loadtop.generator.exchange import MAX_HEAD, Exchange, Head, ResponseParser
from loadtop.generator.plan import Plan, Step, Target, request_bytes
from loadtop.generator.results import FailureKind, Results
from loadtop.i18n import Message

Outcome = list[tuple[str, int, int]]
"""What became of the first request: answered with a status and a body of some length, or failed in some way."""

SEEDS = (
    b"HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: 1\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.0 404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
    b'HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\nETag: "x"\r\n\r\n',
    b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
)
PIECES = (
    *(b"\r\n", b"\r\n\r\n", b"\n", b"\0", b": ", b";" * 300, b"-1", b"1" * 30, b"ffffffffffffffff\r\n", b"0\r\n\r\n"),
    *(b"HTTP/1.1 ", b"Content-Length: 7\r\n", b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n"),
)


class FakeTransport(Transport):
    """A transport that goes nowhere."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = False

    def write(self, data: "bytes | bytearray | memoryview[Any]") -> None:
        assert data

    def close(self) -> None:
        self.gone = True

    abort = close


class Recorder(Results):
    """Results and request source of a connection: hears what becomes of its requests, and has none left to send."""

    def __init__(self, exchange: Exchange) -> None:
        plan = Plan((exchange.target,), (Step(concurrency=1),))
        super().__init__(plan, (exchange,), first_connected=lambda: None, gave_up=lambda _: None)
        self.left = 0
        self.fast_path = self.fast_path_possible = True
        self.notify_connected = False
        self.outcome: Outcome = []
        self.rests = 0

    def responded(
        self,
        exchange: Exchange,
        transport: Transport | None,
        head: Head,
        parser: ResponseParser | None,
        *,
        extra: bool,
    ) -> None:
        assert exchange.size
        assert transport is not None or parser is not None
        assert parser is None or len(parser.start) <= 2 * MAX_HEAD
        assert head.body >= 0
        assert head.total >= head.body
        self.outcome.append(("answered", head.status, head.body))
        self.rests += extra

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
    recorder, transport = Recorder(exchange), FakeTransport()
    connection = Connection(recorder, recorder, exchange, recorder.closed, keepalive=keepalive)
    connection.state = CONNECTING
    connection.started = connection.connect_started = 1
    connection.use_transport(transport, 2)
    connection.send(3)
    for piece in pieces:
        connection.data_received(piece)
        if transport.gone:
            break
    connection.connection_lost(None)
    assert len(recorder.outcome) <= 1, f"counted twice: {recorder.outcome}"
    assert len(recorder.totals) + len(recorder.parts) // 3 <= 1
    return recorder.outcome


def inputs(seed: int) -> Iterator[bytes]:
    """Endless inputs, the same for the same seed: responses with parts changed, doubled, cut out and mixed."""
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    while True:
        data = bytearray(b"".join(chance.choices(SEEDS, k=chance.choice((1, 1, 1, 2, 3)))))
        for _ in range(chance.randrange(6)):
            place = chance.randrange(len(data) + 1)
            end = min(len(data), place + chance.randrange(20))
            match chance.randrange(5):
                case 0:
                    data[place:end] = chance.randbytes(chance.randrange(8))
                case 1:
                    data[place:place] = chance.choice(PIECES)
                case 2:
                    data[place:place] = data[place:end] * chance.randrange(1, 40)
                case 3:
                    del data[place:end]
                case _:
                    data[place:end] = chance.choice(PIECES)
        yield chance.randbytes(1) + bytes(chance.choice((0, 0, 1, 2, 7, 40, 255)) for _ in range(3)) + bytes(data)


def main() -> int:
    """Feed inputs for some time; 1 and the input where one shows a fault."""
    parser = argparse.ArgumentParser(description="feed random responses to the generator's response path")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=time.time_ns())
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    count = 0
    for data in inputs(options.seed):
        try:
            one_input(data)
        except Exception as error:
            print(f"after {count} inputs of seed {options.seed}: {error!r}\n{data!r}", file=sys.stderr)
            raise
        count += 1
        if time.monotonic() > end:
            break
    print(f"{count} inputs, seed {options.seed}: nothing found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
