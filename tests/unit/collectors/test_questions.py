"""Questions to servers of a remote host that go with a sample: who is asked, and what becomes of the answers."""

import asyncio
import time

import pytest

from collectors.errors import FetchError, SilentError
from collectors.machine import Page
from collectors.transport.shell import questions
from collectors.transport.shell.questions import ANSWER_BYTES, PATIENCE, Questions

PLACE = "127.0.0.1:80"
TO_PLACE = "2 00507f0000010000000000000000"
MARK = "m7"
PAGE = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"


def known(*places: str) -> Questions:
    """Where these servers have answered before."""
    there = Questions(perl=True)
    for place in places or (PLACE,):
        there.answered(place)
    return there


async def asked(there: Questions, place: str = PLACE) -> "asyncio.Task[bytes | None]":
    task = asyncio.create_task(there.ask(place, b"\n", 5.0))
    await asyncio.sleep(0)
    return task


def number(order: str) -> str:
    return order.split()[1]


def framed(*parts: str) -> str:
    return "".join(f"\n#{MARK}{part}" for part in ("\n", *parts, "=\n\n"))


@pytest.mark.parametrize(
    ("place", "packed"),
    [
        (PLACE, TO_PLACE),
        ("[::1]:8080", f"10 1f9000000000{'00' * 15}0100000000"),
        ("/run/x.sock", f"1 {b'/run/x.sock'.hex()}00"),
    ],
)
async def test_a_server_is_asked_within_the_frame(place: str, packed: str) -> None:
    there = known(place)
    task = await asked(there, place)
    (order,) = there.orders()
    assert order == f"Q {number(order)} {packed} 0a"
    there.settle(framed(f"a {number(order)} 2\nit said\n#so"), MARK)
    assert await task == b"it said\n#so"
    assert there.orders() == []


async def test_answers_find_those_who_asked_whatever_bytes_they_hold() -> None:
    there = known()
    tasks = [await asked(there) for _ in range(4)]
    first, second, third, fourth = map(number, there.orders())
    too_long = f"a {fourth} 1\n{'x' * (ANSWER_BYTES + 1)}"
    parts = (f"x {third} 0\nff00", f"a {first} 3\n1", "x 77 1\n00", "a 1e9 1\n", f"x {second} 1\nzz", too_long)
    there.settle(framed(*parts), MARK)
    assert [await task for task in tasks] == [b"1", None, b"\xff\x00", None]


async def test_one_that_has_not_answered_before_is_not_asked_this_way() -> None:
    there = Questions(perl=True)
    assert await there.ask(PLACE, b"\n", 5.0) is None
    there.answered("127.0.0.1:81")
    assert await there.ask(PLACE, b"\n", 5.0) is None


@pytest.mark.parametrize("place", ["localhost:80", "db", "/" + 108 * "x", "127.0.0.1", "256.0.0.1:80"])
async def test_what_has_no_address_is_not_asked_this_way(place: str) -> None:
    assert await known(place).ask(place, b"\n", 5.0) is None


async def test_who_has_no_perl_or_asks_too_much_is_not_either() -> None:
    without = Questions()
    without.answered(PLACE)
    assert await without.ask(PLACE, b"\n", 5.0) is None
    assert await known().ask(PLACE, 5000 * b"x", 5.0) is None


async def test_a_question_waits_for_a_sample_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "WAIT_S", 0.0)
    there = known()
    assert await there.ask(PLACE, b"\n", 5.0) is None
    assert there.orders() == []


async def test_a_host_that_does_not_answer_in_time() -> None:
    there = known()
    task = asyncio.create_task(there.ask(PLACE, b"\n", 0.0))
    with pytest.raises(SilentError, match="no response within"):
        await task


async def test_who_does_not_answer_at_once_is_asked_otherwise_for_a_while() -> None:
    there = known(PLACE, "127.0.0.1:81")
    task = await asked(there)
    there.orders()
    there.settle(framed(), MARK)
    assert await task is None
    for _ in range(PATIENCE):
        assert await there.ask(PLACE, b"\n", 5.0) is None
        there.answered(PLACE)
    other, again = await asked(there, "127.0.0.1:81"), await asked(there)
    assert len(there.orders()) == 2
    there.settle(framed("a 9 9\n"), MARK)
    assert [await other, await again] == [None, None]


async def test_one_that_is_asked_on_a_connection_that_stays_open() -> None:
    there = Questions(perl=True)

    async def asked_again(says: str | None) -> Page | None:
        task = asyncio.create_task(there.ask_again(PLACE, b"INFO", 2, 5.0))
        await asyncio.sleep(0)
        (order,) = there.orders()
        number = order.split()[2]
        assert order == f"R 2 {number} {TO_PLACE} {b'INFO'.hex()}"
        there.settle(None if says is None else framed(says.format(number)), MARK)
        return await task

    for _ in range(2):
        assert await there.ask_again(PLACE, b"INFO", 2, 5.0) is None, "it has not answered yet"
    there.answered(PLACE)
    before = time.monotonic()
    page = await asked_again("x {} 30\n2bff")
    assert page is not None
    assert (page.url, page.text, page.took_s) == (PLACE, "+\xff", 0.03)
    assert before <= page.came - 0.03 <= time.monotonic()
    for says in (None, ""):
        assert await asked_again(says) is None
    for _ in range(PATIENCE):
        assert await there.ask_again(PLACE, b"INFO", 2, 5.0) is None, "it is asked otherwise"
    assert await asked_again("a {} 1\n+OK") is not None


async def test_that_there_is_no_frame_says_nothing_of_a_server() -> None:
    there = known()
    for _ in range(2):
        task = await asked(there)
        assert len(there.orders()) == 1
        there.settle(None, MARK)
        assert await task is None


async def test_one_that_is_given_up_leaves_nothing() -> None:
    there = known()
    for before in (True, False):
        task = await asked(there)
        if not before:
            there.orders()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        there.settle(framed("a 1 1\nx"), MARK)
        assert there.orders() == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [(PAGE, "yes"), (PAGE[:-1], None), ("", None), ("garbage", None), ("HTTP/1.1 404 No\r\n\r\n", "")],
)
async def test_a_page(answer: str, text: str | None) -> None:
    there = known()
    before = time.monotonic()
    task = asyncio.create_task(there.page("http://127.0.0.1/server-status?auto", 5.0))
    await asyncio.sleep(0)
    (order,) = there.orders()
    sent = time.monotonic()
    question = bytes.fromhex(order.split()[-1]).decode()
    assert order.startswith(f"Q {number(order)} {TO_PLACE} ")
    assert question.startswith("GET /server-status?auto HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    there.settle(framed(f"a {number(order)} 1700\n{answer}"), MARK)
    page = await task
    assert (page and page.text) == text
    if page:
        assert page.took_s == 1.7
        assert before <= page.came - 1.7 <= sent
    else:
        assert await there.ask(PLACE, b"\n", 5.0) is None, "it is asked otherwise"


async def test_without_a_clock_there_it_is_not_known_when_a_page_came() -> None:
    there = known()
    task = asyncio.create_task(there.page("http://127.0.0.1/", 5.0))
    await asyncio.sleep(0)
    (order,) = there.orders()
    there.settle(framed(f"a {number(order)} 0\n{PAGE}"), MARK)
    page = await task
    assert page
    assert (page.took_s, page.came) == (0.0, 0.0)


async def test_what_needs_tls_is_not_asked_for_this_way() -> None:
    there = known("127.0.0.1:443")
    assert await there.page("https://127.0.0.1/", 5.0) is None
    assert there.orders() == []


async def test_what_is_no_url_is_said() -> None:
    with pytest.raises(FetchError, match="not a URL"):
        await known().page("http://[", 5.0)
