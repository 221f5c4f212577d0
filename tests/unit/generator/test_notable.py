"""The slowest requests and the first failures: exact over any number of workers, in bounded memory."""

from collections.abc import Sequence

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from loadtop.generator.exchange import Exchange
from loadtop.generator.notable import MOST_KINDS, MOST_SLOW, STATUS, NotableRequests, Noted, merged
from loadtop.generator.plan import Target
from loadtop.i18n import Message
from loadtop.model import Requests
from loadtop.recording.codec import MAX_LOAD

EXCHANGE = Exchange(
    Target.parse("http://web1/x?token=hunter2"), b"GET /x?token=hunter2 HTTP/1.1\r\nCookie: a=b\r\n\r\n"
)
TIMES = st.lists(st.lists(st.integers(1, 10**12), max_size=60), min_size=1, max_size=4)


def answered(took: int) -> Noted:
    return Noted(EXCHANGE, 10**12, 0, 10**12, 10**12 + took, 10**12 + took, 200)


def worker(times: Sequence[int]) -> NotableRequests:
    """Those of a worker whose requests took so long, which offers only what its path of a request lets pass."""
    kept = NotableRequests(keeps_heads=False)
    for took in times:
        if took > kept.least_ns:
            kept.add(answered(took))
    return kept


def taken(kept: NotableRequests) -> Requests:
    found = kept.take()
    assert found is not None
    return found


@given(TIMES)
def test_the_slowest_of_all_workers_are_exact(times: list[list[int]]) -> None:
    found = merged([taken(worker(each)) for each in times])
    expected = sorted((took // 1000 / 1000 for each in times for took in each), reverse=True)[:MOST_SLOW]
    assert [record.total_ms for record in found.slowest] == expected


def test_unchanged_values_are_not_repeated() -> None:
    kept = worker([5, 6])
    assert taken(kept).slowest
    assert kept.take() is None
    kept.restart()
    assert taken(kept) == Requests()


def test_the_phases_add_up() -> None:
    kept = NotableRequests(keeps_heads=False)
    kept.add(Noted(EXCHANGE, 0, 2_000_000, 3_000_000, 10_000_000, 11_000_000, 200))
    (record,) = taken(kept).slowest
    phases = (record.connect_ms, record.sending_ms, record.waiting_ms, record.receiving_ms)
    assert phases == (2.0, 1.0, 7.0, 1.0)
    assert record.total_ms == 11.0


def test_a_failed_connect_has_no_later_phases() -> None:
    kept = NotableRequests(keeps_heads=False)
    kept.add_failure(Noted(EXCHANGE, 0, 0, None, None, 4_000_000, failure="connect", reason=Message("refused")))
    (record,) = taken(kept).failures
    phases = (record.connect_ms, record.sending_ms, record.waiting_ms, record.receiving_ms)
    assert phases == (4.0, None, None, None)
    assert str(record.reason) == "refused"


def test_the_first_of_each_kind_of_failure_stays() -> None:
    workers = [NotableRequests(keeps_heads=False) for _ in range(2)]
    for at, (kept, failure, status) in enumerate(
        [(0, "timeout", 0), (1, STATUS, 503), (0, STATUS, 503), (1, "timeout", 0), (0, STATUS, 404)]
    ):
        workers[kept].add_failure(Noted(EXCHANGE, at * 10**9, 0, 0, None, at * 10**9 + 1, status, failure=failure))
    found = merged([taken(kept) for kept in workers]).failures
    assert [(record.failure, record.status) for record in found] == [("timeout", None), (STATUS, 503), (STATUS, 404)]
    assert found[1].started == min(record.started for record in found[1:])


def test_kinds_of_failures_are_bounded() -> None:
    kept = NotableRequests(keeps_heads=False)
    for status in range(300, 300 + 2 * MOST_KINDS):
        kept.add_failure(Noted(EXCHANGE, 0, 0, 0, None, 1, status, failure=STATUS))
    assert len(taken(kept).failures) == MOST_KINDS


def test_no_secret_is_kept() -> None:
    kept = NotableRequests(keeps_heads=True)
    head = b"HTTP/1.1 200 OK\r\nServer: x\r\nSet-Cookie: id=hunter2\r\nX: \x1b[2J\r\n\r\n"
    kept.add(answered(5)._replace(head=head))
    (record,) = taken(kept).slowest
    assert record.url == "http://web1/x?token=***"
    assert record.request_head == "GET /x?token=*** HTTP/1.1\nCookie: ***"
    assert "hunter2" not in record.response_head
    assert "Server: x" in record.response_head
    assert "\x1b" not in record.response_head


def test_the_lists_fit_into_a_frame_whatever_a_server_sends() -> None:
    long = Exchange(Target.parse(f"http://web1/{'x' * 9000}"), b"GET / HTTP/1.1\r\nX: " + b"\x01" * 90_000)
    kept = NotableRequests(keeps_heads=True)
    for status in range(200, 200 + MOST_KINDS):
        request = Noted(long, 0, 0, 0, 1, 5 + status, status, b"HTTP/1.1 200\r\nX: " + b"\x1b" * 90_000)
        kept.add(request)
        kept.add_failure(request._replace(failure=STATUS))
    assert len(msgspec.msgpack.encode(taken(kept))) < MAX_LOAD / 2
