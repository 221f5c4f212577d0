"""Questions to servers of a remote host that go with a sample: who is asked, and what becomes of the answers."""

import asyncio

import pytest

from collectors.transport.shell import questions
from collectors.transport.shell.questions import PATIENCE, Questions

PLACE = "127.0.0.1:80"
TO_PLACE = "2 00507f0000010000000000000000"
MARK = "m7"
PAGE = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"


async def asked(there: Questions, place: str = PLACE) -> "asyncio.Task[bytes | None]":
    task = asyncio.create_task(there.ask(place, b"\n"))
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
    there = Questions(perl=True)
    task = await asked(there, place)
    (order,) = there.orders()
    assert order == f"Q {number(order)} {packed} 0a"
    there.settle(framed(f"a {number(order)}\nit said\n#so"), MARK)
    assert await task == b"it said\n#so"
    assert there.orders() == []


async def test_answers_find_those_who_asked_whatever_bytes_they_hold() -> None:
    there = Questions(perl=True)
    tasks = [await asked(there) for _ in range(3)]
    first, second, third = map(number, there.orders())
    there.settle(framed(f"x {third}\nff00", f"a {first}\n1", "x 77\n00", "a 1e9\n", f"x {second}\nzz"), MARK)
    assert [await task for task in tasks] == [b"1", None, b"\xff\x00"]


@pytest.mark.parametrize("place", ["localhost:80", "db", "/" + 108 * "x", "127.0.0.1", "256.0.0.1:80"])
async def test_what_has_no_address_is_not_asked_this_way(place: str) -> None:
    assert await Questions(perl=True).ask(place, b"\n") is None


async def test_who_has_no_perl_or_asks_too_much_is_not_either() -> None:
    assert await Questions().ask(PLACE, b"\n") is None
    assert await Questions(perl=True).ask(PLACE, 5000 * b"x") is None


async def test_a_question_waits_for_a_frame_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "WAIT_S", 0.0)
    there = Questions(perl=True)
    assert await there.ask(PLACE, b"\n") is None
    assert there.orders() == []
    task = await asked(there)
    assert len(there.orders()) == 1, "nobody else waits: the next frame takes it"
    there.settle("", MARK)
    assert await task is None


async def test_who_does_not_answer_at_once_is_left_alone_for_a_while() -> None:
    there = Questions(perl=True)
    task = await asked(there)
    there.orders()
    there.settle(framed(), MARK)
    assert await task is None
    assert [await there.ask(PLACE, b"\n") for _ in range(PATIENCE)] == PATIENCE * [None]
    other = await asked(there, "127.0.0.1:81")
    again = await asked(there)
    assert len(there.orders()) == 2
    there.settle("", MARK)
    assert [await other, await again] == [None, None]


async def test_one_that_is_given_up_leaves_nothing() -> None:
    there = Questions(perl=True)
    for before in (True, False):
        task = await asked(there)
        if not before:
            there.orders()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        there.settle(framed("a 1\nx"), MARK)
        assert there.orders() == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [(PAGE, "yes"), (PAGE[:-1], None), ("", None), ("garbage", None), ("HTTP/1.1 404 No\r\n\r\n", "")],
)
async def test_a_page(answer: str, text: str | None) -> None:
    there = Questions(perl=True)
    task = asyncio.create_task(there.page("http://127.0.0.1/server-status?auto"))
    await asyncio.sleep(0)
    (order,) = there.orders()
    question = bytes.fromhex(order.split()[-1]).decode()
    assert order.startswith(f"Q {number(order)} {TO_PLACE} ")
    assert question.startswith("GET /server-status?auto HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    there.settle(framed(f"a {number(order)}\n{answer}"), MARK)
    page = await task
    assert (page and page.text) == text


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "http://[", "http:///", "ftp://127.0.0.1/"])
async def test_what_is_no_plain_page_is_not_asked_for(url: str) -> None:
    there = Questions(perl=True)
    assert await there.page(url) is None
    assert there.orders() == []
