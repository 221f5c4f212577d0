"""Responses: the same is understood however the bytes arrive, and nothing that a server sends can crash or hang it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.generator.connection import ABORTED, CLOSING, FAST, IDLE, PARSING, Connection
from loadtop.generator.exchange import MAX_HEAD, MAX_HEADS, MAX_INTERIM, Head
from tests.unit.generator.conftest import RecordedConnection
from tests.unit.known import known

PLAIN = b"HTTP/1.1 200 OK\r\nServer: test/1\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + PLAIN
WHOLE: dict[str, tuple[bytes, tuple[int, int, bool]]] = {
    "length": (PLAIN, (200, 5, False)),
    "empty": (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", (200, 0, False)),
    "chunked": (CHUNKED, (200, 5, False)),
    "interim": (INTERIM, (200, 5, False)),
    "204": (b"HTTP/1.1 204 No Content\r\nServer: x\r\n\r\n", (204, 0, False)),
    "304": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", (304, 0, False)),
    "404": (b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno!", (404, 3, False)),
    "close": (b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nab", (200, 2, False)),
    "1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", (200, 2, False)),
    "upgrade offered": (
        b"HTTP/1.1 200 OK\r\nUpgrade: h2\r\nConnection: Upgrade\r\nContent-Length: 1\r\n\r\nx",
        (200, 1, False),
    ),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", (200, 1, False)),
    "long head": (b"HTTP/1.1 200 OK\r\nX: " + b"x" * 65000 + b"\r\nContent-Length: 1\r\n\r\nx", (200, 1, False)),
}
BROKEN = {
    "no http": b"SSH-2.0-OpenSSH_9.2\r\n",
    "negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
    "length and chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
    "huge length": b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\n",
    "bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "switches": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nxx",
    "endless head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * (MAX_HEAD + 1),
    "endless interim": b"HTTP/1.1 100 Continue\r\n\r\n" * (MAX_INTERIM + 2),
}


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 30])
@pytest.mark.parametrize("name", WHOLE)
def test_is_understood_again_and_again_however_it_is_cut(name: str, size: int) -> None:
    data, expected = WHOLE[name]
    made = RecordedConnection(left=3)
    made.feed(data, size)
    assert made.recorder.responses == [expected]
    for _ in range(3):
        if made.connection.state == CLOSING:
            made.open()
        made.feed(data, size)
    assert len(made.recorder.responses) + len(made.recorder.totals) + len(made.recorder.parts) // 3 >= 4
    assert set(made.recorder.responses) == {expected}
    assert not made.recorder.failures


@given(st.sampled_from(sorted(WHOLE)), st.lists(st.integers(1, 200), min_size=1, max_size=12))
def test_any_cut_gives_the_same(name: str, sizes: list[int]) -> None:
    data, expected = WHOLE[name]
    made = RecordedConnection(left=1)
    while data:
        size = sizes.pop() if sizes else len(data)
        made.connection.data_received(data[:size])
        data = data[size:]
    assert made.recorder.responses == [expected]


def test_a_known_response_takes_the_short_way() -> None:
    made = RecordedConnection(left=10)
    for _ in range(5):
        made.feed(PLAIN)
    assert len(made.recorder.responses) == 1
    assert made.hits == 4
    assert made.connection.state == FAST
    assert (len(made.recorder.totals), len(made.recorder.parts), made.recorder.left) == (4, 3, 5)
    assert len(known(made.recorder.notable.take()).slowest) == 5
    assert made.transport.written == [made.exchange.request] * 6


def test_a_known_head_frames_a_body_that_comes_in_pieces() -> None:
    made = RecordedConnection(left=2)
    made.feed(PLAIN)
    made.feed(PLAIN[:-3])
    assert len(made.recorder.responses) == 1
    made.feed(PLAIN[-3:])
    assert made.recorder.responses == [(200, 5, False)] * 2
    assert made.hits == 1


def test_another_head_is_learnt_too() -> None:
    other = PLAIN.replace(b"test/1", b"test/22")
    made = RecordedConnection(left=20)
    for data in (PLAIN, other, PLAIN, other, PLAIN, PLAIN):
        made.feed(data)
    assert len(made.exchange.heads) == 2
    assert made.hits == 4


def test_a_head_learnt_twice_keeps_its_hits_and_one_forgotten_is_no_longer_known() -> None:
    made = RecordedConnection(left=20)
    made.feed(PLAIN)
    made.feed(PLAIN)
    ((prefix, head),) = made.exchange.heads.items()
    made.exchange.learn(prefix, Head(200, 50, 5, persistent=True))
    made.feed(PLAIN)
    assert made.exchange.heads == {prefix: head}
    assert made.hits == 2
    made.exchange.forget()
    assert not head.learnt
    made.feed(PLAIN)
    assert made.hits == 0


def test_known_responses_are_forgotten_in_time() -> None:
    made = RecordedConnection(left=1 << 30)
    for number in range(5000):
        made.feed(PLAIN.replace(b"test/1", b"test/%d" % number))
        if len(made.exchange.heads) >= MAX_HEADS:
            made.exchange.forget()
    assert len(made.exchange.heads) <= 1024
    assert len(made.exchange.lengths) <= 8


@pytest.mark.parametrize("extra", [b"x", b"HTTP/1.1 200 OK\r\n", PLAIN])
@pytest.mark.parametrize("known", [False, True])
def test_extra_output_is_noticed(extra: bytes, known: bool) -> None:
    made = RecordedConnection(left=9)
    if known:
        made.feed(PLAIN)
    made.feed(PLAIN + extra)
    assert made.recorder.responses[-1] == (200, 5, True)
    assert made.connection.state == ABORTED
    assert made.transport.aborted


def test_what_comes_unasked_ends_the_connection_and_counts_nowhere() -> None:
    made = RecordedConnection()
    made.feed(PLAIN)
    made.connection.state = IDLE
    made.feed(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert made.transport.aborted
    made.connection.connection_lost(None)
    assert made.recorder.retries == [False]
    assert len(made.recorder.responses) == 1
    assert not made.recorder.failures


@pytest.mark.parametrize("size", [1, 1000, 1 << 30])
@pytest.mark.parametrize("name", BROKEN)
def test_anything_but_http_is_an_exception(name: str, size: int) -> None:
    made = RecordedConnection(left=9)
    made.feed(BROKEN[name], size)
    assert [kind for kind, _ in made.recorder.failures] == ["exceptions"]
    assert "not valid HTTP" in made.recorder.failures[0][1]
    assert made.transport.aborted
    assert not made.recorder.responses


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found"])
@pytest.mark.parametrize("size", [1, 1 << 30])
def test_a_head_request_ends_with_the_head(size: int, status: bytes) -> None:
    answer = b"HTTP/1.1 " + status + b"\r\nContent-Length: 99\r\n\r\n"
    made = RecordedConnection(method="HEAD", left=2)
    for _ in range(3):
        made.feed(answer, size)
    assert len(made.recorder.totals) + len(made.recorder.parts) // 3 == 3
    assert made.recorder.times_idle == 1


@pytest.mark.parametrize(
    ("answer", "stays"),
    [
        (b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\n\r\n", True),
    ],
)
def test_a_head_request_needs_no_length_to_keep_the_connection(answer: bytes, stays: bool) -> None:
    made = RecordedConnection(method="HEAD")
    made.feed(answer)
    assert len(made.recorder.responses) == 1
    assert (made.recorder.times_idle == 1) is stays
    assert (made.connection.state == CLOSING) is not stays


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_head_may_follow_another_method_on_the_same_connection(size: int) -> None:
    made, head = RecordedConnection(fast_path=False), RecordedConnection(method="HEAD").exchange
    get = made.exchange
    for _ in range(2):
        made.feed(PLAIN, size)
        made.connection.exchange = head
        made.connection.send(0)
        made.feed(PLAIN.removesuffix(b"hello"), size)
        made.connection.exchange = get
        made.connection.send(0)
    assert made.recorder.responses == [(200, 5, False), (200, 0, False)] * 2
    assert not made.recorder.failures


def test_a_body_after_a_head_request_is_too_much() -> None:
    made = RecordedConnection(method="HEAD")
    made.feed(PLAIN)
    assert made.recorder.responses == [(200, 0, True)]


@pytest.mark.parametrize("size", [1, 1 << 30])
@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
def test_responses_without_length_end_with_the_connection(version: bytes, size: int) -> None:
    made = RecordedConnection()
    for body in (b"abc", b"a", b"abcde", b""):  # the same head says nothing about the length
        made.feed(b"HTTP/" + version + b" 200 OK\r\nServer: old\r\n\r\n" + body, size)
        assert made.connection.state == PARSING
        made.connection.connection_lost(None)
        assert made.recorder.responses[-1] == (200, len(body), False)
        made.open()
    assert made.recorder.servers == ["old"] * 4
    assert made.recorder.retries == [False] * 4
    assert not made.recorder.failures


@pytest.mark.parametrize(
    "start",
    [
        b"",
        b"HTTP/1.1 2",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhel",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nabc",
    ],
)
def test_a_connection_that_ends_too_early_is_a_failed_receive(start: bytes) -> None:
    made = RecordedConnection()
    if start:
        made.feed(start)
    reset = ConnectionResetError("reset") if start == b"HTTP/1.1 200 OK\r\n\r\nabc" else None
    made.connection.connection_lost(reset)
    assert [kind for kind, _ in made.recorder.failures] == ["receive"]
    assert made.recorder.retries == [False]
    assert not made.recorder.responses


def test_a_kept_connection_closed_by_the_server_is_not_a_failure() -> None:
    made = RecordedConnection(left=1)
    made.feed(PLAIN)
    made.connection.connection_lost(ConnectionResetError("reset"))
    assert made.recorder.retries == [True]
    assert not made.recorder.failures


def test_without_keepalive_every_response_ends_its_connection() -> None:
    made = RecordedConnection(keepalive=False, left=9)
    made.feed(PLAIN)
    assert made.connection.state == CLOSING
    assert made.transport.closed
    said = RecordedConnection(keepalive=False, left=9)
    said.feed(WHOLE["close"][0])
    assert said.connection.state == CLOSING
    assert not said.transport.closed, "the server said that it would close"


def test_times_are_in_order() -> None:
    made = RecordedConnection()
    made.feed(PLAIN, 7)
    total, connect, waiting = made.recorder.parts
    assert 0 <= connect <= total
    assert 0 <= waiting <= total - connect


@pytest.mark.parametrize("known", [False, True])
def test_a_response_may_begin_before_the_whole_request_is_sent(known: bool) -> None:
    made = RecordedConnection(left=known, fast_path=False)
    if known:
        made.feed(PLAIN)
    made.feed(PLAIN[:-1])
    made.connection.resume_writing()
    made.feed(PLAIN[-1:])
    assert made.recorder.parts[-1] >= 0, "the waiting time"


@given(st.lists(st.binary(max_size=80) | st.sampled_from([data[:n] for data, _ in WHOLE.values() for n in (9, 40)])))
def test_garbage_is_survived(pieces: list[bytes]) -> None:
    made = RecordedConnection(left=1 << 30)
    for piece in pieces:
        made.feed(piece)
        if made.transport.aborted or made.connection.state == CLOSING:
            made.transport.aborted = False
            made.connection.connection_lost(None)
            made.open()
    assert len(made.recorder.responses) + len(made.recorder.failures) + made.hits <= 10 * len(pieces) + 1


def test_a_late_transport_is_refused() -> None:
    made = RecordedConnection()
    late: Any = type(made.transport)()
    made.connection.state = ABORTED
    made.connection.connection_made(late)
    assert late.aborted
    assert isinstance(made.connection, Connection)
