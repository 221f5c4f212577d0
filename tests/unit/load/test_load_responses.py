"""Responses: the same is understood however the bytes arrive, and nothing that a server sends can crash or hang it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.generator.connection import CLOSING, DROPPED, HOT, RESTING, Connection
from loadtop.generator.exchange import LONGEST_HEAD, MOST_INTERIM, Head
from tests.unit.load.conftest import Bench

MakeBench = Callable[..., Bench]

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
    "endless head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * (LONGEST_HEAD + 1),
    "endless interim": b"HTTP/1.1 100 Continue\r\n\r\n" * (MOST_INTERIM + 2),
}


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 30])
@pytest.mark.parametrize("name", WHOLE)
def test_is_understood_however_it_is_cut(bench: MakeBench, name: str, size: int) -> None:
    data, expected = WHOLE[name]
    made = bench()
    made.feed(data, size)
    assert made.ear.answers == [expected]
    assert not made.ear.failures


@pytest.mark.parametrize("size", [1, 1 << 30])
@pytest.mark.parametrize("name", WHOLE)
def test_is_understood_again_and_again(bench: MakeBench, name: str, size: int) -> None:
    data, expected = WHOLE[name]
    made = bench(left=3)
    for _ in range(4):
        made.feed(data, size)
        if made.connection.state == CLOSING:
            made.open()
    assert len(made.ear.answers) + len(made.ear.tally.simple) + len(made.ear.tally.full) // 3 >= 4
    assert set(made.ear.answers) == {expected}
    assert not made.ear.failures


@given(st.sampled_from(sorted(WHOLE)), st.lists(st.integers(1, 200), min_size=1, max_size=12))
def test_any_cut_gives_the_same(name: str, sizes: list[int]) -> None:
    data, expected = WHOLE[name]
    made = Bench(left=1)
    while data:
        size = sizes.pop() if sizes else len(data)
        made.connection.data_received(data[:size])
        data = data[size:]
    assert made.ear.answers == [expected]


def test_a_known_response_takes_the_short_way(bench: MakeBench) -> None:
    made = bench(left=10)
    for _ in range(5):
        made.feed(PLAIN)
    assert len(made.ear.answers) == 1
    assert made.hits == 4
    assert made.connection.state == HOT
    assert len(made.ear.tally.simple) == 4
    assert len(made.ear.tally.full) == 3
    assert made.ear.left == 5
    assert made.line.written == [made.exchange.wire] * 6


def test_a_known_head_frames_a_body_that_comes_in_pieces(bench: MakeBench) -> None:
    made = bench(left=2)
    made.feed(PLAIN)
    made.feed(PLAIN[:-3])
    assert len(made.ear.answers) == 1
    made.feed(PLAIN[-3:])
    assert made.ear.answers == [(200, 5, False)] * 2
    assert made.hits == 1


def test_another_head_is_learnt_too(bench: MakeBench) -> None:
    other = PLAIN.replace(b"test/1", b"test/22")
    made = bench(left=20)
    for data in (PLAIN, other, PLAIN, other, PLAIN, PLAIN):
        made.feed(data)
    assert len(made.exchange.heads) == 2
    assert made.hits == 4


def test_a_head_learnt_twice_keeps_its_hits(bench: MakeBench) -> None:
    made = bench(left=20)
    made.feed(PLAIN)
    made.feed(PLAIN)
    (head,) = made.exchange.heads.values()
    made.exchange.learn(next(iter(made.exchange.heads)), Head(200, 50, 5, persistent=True))
    made.feed(PLAIN)
    assert made.exchange.heads == {next(iter(made.exchange.heads)): head}
    assert made.hits == 2


def test_a_forgotten_head_is_no_longer_known(bench: MakeBench) -> None:
    made = bench(left=20)
    made.feed(PLAIN)
    (head,) = made.exchange.heads.values()
    assert head.known
    made.exchange.forget()
    assert not head.known
    made.feed(PLAIN)
    assert made.hits == 0


def test_known_responses_are_forgotten_in_time(bench: MakeBench) -> None:
    made = bench(left=1 << 30)
    for number in range(5000):
        made.feed(PLAIN.replace(b"test/1", b"test/%d" % number))
        if made.exchange.full:
            made.exchange.forget()
    assert len(made.exchange.heads) <= 1024
    assert len(made.exchange.lengths) <= 8


@pytest.mark.parametrize("extra", [b"x", b"HTTP/1.1 200 OK\r\n", PLAIN])
@pytest.mark.parametrize("known", [False, True])
def test_more_than_was_asked_for_is_noticed(bench: MakeBench, extra: bytes, known: bool) -> None:
    made = bench(left=9)
    if known:
        made.feed(PLAIN)
    made.feed(PLAIN + extra)
    assert made.ear.answers[-1] == (200, 5, True)
    assert made.connection.state == DROPPED
    assert made.line.aborted


def test_what_comes_unasked_ends_the_connection_and_counts_nowhere(bench: MakeBench) -> None:
    made = bench()
    made.feed(PLAIN)
    made.connection.state = RESTING
    made.feed(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert made.line.aborted
    made.connection.connection_lost(None)
    assert made.ear.losses == [False]
    assert len(made.ear.answers) == 1
    assert not made.ear.failures


@pytest.mark.parametrize("size", [1, 1000, 1 << 30])
@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_http_is_an_exception(bench: MakeBench, name: str, size: int) -> None:
    made = bench(left=9)
    made.feed(BROKEN[name], size)
    assert [kind for kind, _ in made.ear.failures] == ["exceptions"]
    assert "not valid HTTP" in made.ear.failures[0][1]
    assert made.line.aborted
    assert not made.ear.answers


@pytest.mark.parametrize("status", [b"200 OK", b"404 Not Found"])
@pytest.mark.parametrize("size", [1, 1 << 30])
def test_a_head_request_ends_with_the_head(bench: MakeBench, size: int, status: bytes) -> None:
    answer = b"HTTP/1.1 " + status + b"\r\nContent-Length: 99\r\n\r\n"
    made = bench(method="HEAD", left=2)
    for _ in range(3):
        made.feed(answer, size)
    assert len(made.ear.tally.simple) + len(made.ear.tally.full) // 3 == 3
    assert made.ear.rests == 1


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
def test_a_head_request_needs_no_length_to_keep_the_connection(bench: MakeBench, answer: bytes, stays: bool) -> None:
    made = bench(method="HEAD")
    made.feed(answer)
    assert len(made.ear.answers) == 1
    assert (made.ear.rests == 1) is stays
    assert (made.connection.state == CLOSING) is not stays


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_head_may_follow_another_method_on_the_same_connection(bench: MakeBench, size: int) -> None:
    made, head = bench(short_way=False), bench(method="HEAD").exchange
    get = made.exchange
    for _ in range(2):
        made.feed(PLAIN, size)
        made.connection.exchange = head
        made.connection.send(0)
        made.feed(PLAIN.removesuffix(b"hello"), size)
        made.connection.exchange = get
        made.connection.send(0)
    assert made.ear.answers == [(200, 5, False), (200, 0, False)] * 2
    assert not made.ear.failures


def test_a_body_after_a_head_request_is_too_much(bench: MakeBench) -> None:
    made = bench(method="HEAD")
    made.feed(PLAIN)
    assert made.ear.answers == [(200, 0, True)]


@pytest.mark.parametrize("size", [1, 1 << 30])
def test_a_response_without_length_ends_with_the_connection(bench: MakeBench, size: int) -> None:
    made = bench()
    made.feed(b"HTTP/1.1 200 OK\r\nServer: old\r\n\r\nabc", size)
    assert not made.ear.answers
    made.connection.connection_lost(None)
    assert made.ear.answers == [(200, 3, False)]
    assert made.ear.servers == ["old"]
    assert made.ear.losses == [False]


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
    ],
)
def test_a_connection_that_ends_too_early_is_a_failed_receive(bench: MakeBench, start: bytes) -> None:
    made = bench()
    if start:
        made.feed(start)
    made.connection.connection_lost(None)
    assert [kind for kind, _ in made.ear.failures] == ["receive"]
    assert made.ear.losses == [False]
    assert not made.ear.answers


def test_a_reset_in_a_response_without_length_is_a_failed_receive(bench: MakeBench) -> None:
    made = bench()
    made.feed(b"HTTP/1.1 200 OK\r\n\r\nabc")
    made.connection.connection_lost(ConnectionResetError("reset"))
    assert [kind for kind, _ in made.ear.failures] == ["receive"]


def test_a_kept_connection_that_the_server_closed_is_no_failure(bench: MakeBench) -> None:
    made = bench(left=1)
    made.feed(PLAIN)
    made.connection.connection_lost(ConnectionResetError("reset"))
    assert made.ear.losses == [True]
    assert not made.ear.failures


def test_without_keepalive_every_response_ends_its_connection(bench: MakeBench) -> None:
    made = bench(keeps=False, left=9)
    made.feed(PLAIN)
    assert made.connection.state == CLOSING
    assert made.line.closed
    said = bench(keeps=False, left=9)
    said.feed(WHOLE["close"][0])
    assert said.connection.state == CLOSING
    assert not said.line.closed, "the server said that it would close"


def test_times_are_in_order(bench: MakeBench) -> None:
    made = bench()
    made.feed(PLAIN, 7)
    total, connect, waiting = made.ear.tally.full
    assert 0 <= connect <= total
    assert 0 <= waiting <= total - connect


@given(st.lists(st.binary(max_size=80) | st.sampled_from([data[:n] for data, _ in WHOLE.values() for n in (9, 40)])))
def test_garbage_is_survived(pieces: list[bytes]) -> None:
    made = Bench(left=1 << 30)
    for piece in pieces:
        made.feed(piece)
        if made.line.aborted or made.connection.state == CLOSING:
            made.line.aborted = False
            made.connection.connection_lost(None)
            made.open()
    assert len(made.ear.answers) + len(made.ear.failures) + made.hits <= 10 * len(pieces) + 1


def test_a_late_transport_is_refused(bench: MakeBench) -> None:
    made = bench()
    late: Any = type(made.line)()
    made.connection.state = DROPPED
    made.connection.connection_made(late)
    assert late.aborted
    assert isinstance(made.connection, Connection)
