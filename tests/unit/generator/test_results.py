"""What is counted of responses, and the parts of their times, on a generated clock."""

import pytest

from loadtop.generator import connection as module
from loadtop.generator.connection import CONNECTING, IDLE, Connection
from loadtop.generator.exchange import Exchange
from loadtop.generator.plan import Plan, Step, Target, request_bytes
from loadtop.generator.results import Counters, Results
from loadtop.model import Distribution, Latencies
from loadtop.model.histogram import distribution
from tests.unit.generator.conftest import FakeTransport
from tests.unit.known import known

MS = 1_000_000
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHOICES = b"HTTP/1.1 300 Multiple Choices\r\nContent-Length: 5\r\n\r\nhello"
GONE = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!"


class Requests:
    """Requests one after the other on one connection, in the closed model or as the open model wants them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, intended_ms: int = 0, left: int = 9) -> None:
        self.now = 0
        monkeypatch.setattr(module, "perf_counter_ns", lambda: self.now)
        target = Target.parse("http://server/")
        plan = Plan((target,), (Step(concurrency=1),), keepalive=True)
        self.exchange = Exchange(target, request_bytes(target, plan))
        self.results = Results(plan, (self.exchange,), first_connected=lambda: None, gave_up=lambda _: None)
        self.left, self.fast_path, self.fast_path_possible = left, False, not intended_ms
        self.intended = intended_ms * MS
        self.connection = Connection(self, self.results, self.exchange, lambda _, __: None, keepalive=True)

    def connect(self, began_ms: int, ended_ms: int) -> None:
        """Open the connection, and send the first request on it."""
        self.connection.state = CONNECTING
        self.connection.started = self.connection.connect_started = began_ms * MS
        self.connection.intended = self.intended
        self.now = ended_ms * MS
        self.connection.connection_made(FakeTransport())

    def next_request(self, connection: Connection, at: int) -> None:
        connection.state = IDLE
        if self.left > 0:
            self.left -= 1
            connection.started = at
            connection.send(at)

    def receive(self, at_ms: int, data: bytes) -> None:
        self.now = at_ms * MS
        self.connection.data_received(data)

    def taken(self) -> Latencies:
        return known(self.results.take(corrected=bool(self.intended)))


def times(*milliseconds: int) -> Distribution:
    return distribution([1000 * each for each in milliseconds])


def test_the_parts_of_the_time_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that takes 2 ms, and a response that begins 3 ms after the request and takes 4 ms; then one on the
    connection that is kept, in two pieces; then one in one piece, which has no parts."""
    made = Requests(monkeypatch)
    made.connect(began_ms=10, ended_ms=12)
    made.receive(15, OK[:-3])
    made.receive(19, OK[-3:])
    made.receive(24, OK[:-3])
    made.receive(25, OK[-3:])
    assert made.taken() == Latencies(
        total=times(9, 6), connect=times(2, 0), processing=times(7, 6), waiting=times(3, 5)
    )  # fmt: skip
    made.receive(32, OK)
    assert made.taken() == Latencies(times(7), times(0), times(7), times(7))
    assert made.results.take(corrected=False) is None


def test_the_open_model_counts_from_when_a_request_was_to_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Requests(monkeypatch, intended_ms=4)
    made.connect(began_ms=10, ended_ms=12)
    made.receive(19, OK)
    assert made.taken() == Latencies(times(9), times(2), times(7), times(7), corrected=times(15))


def test_counters_are_of_what_went_over_the_wire(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Requests(monkeypatch)
    made.connect(began_ms=0, ended_ms=1)
    for number, answer in enumerate((OK, OK, GONE, OK), start=2):
        made.receive(number, answer)
    made.results.count_hits()
    made.results.count_hits()
    assert made.results.counters == Counters(
        requests=4, non_2xx=1, keepalive_requests=4, received_bytes=3 * len(OK) + len(GONE), body_bytes=3 * 5 + 3,
        sent_bytes=4 * len(made.exchange.request), failures=made.results.counters.failures,
    )  # fmt: skip
    assert made.results.counters.failures.total() == 1, "a body of another length than the first good one"
    assert str(made.results.message or "") == ""


def test_only_statuses_from_200_to_299_are_2xx(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Requests(monkeypatch)
    made.connect(began_ms=0, ended_ms=1)
    made.receive(2, CHOICES)
    assert "300" in str(made.results.message)
    made.receive(3, CHOICES[:-3])
    made.receive(4, CHOICES[-3:])
    made.receive(5, OK)
    made.results.count_hits()
    assert (made.results.counters.requests, made.results.counters.non_2xx) == (3, 2)
