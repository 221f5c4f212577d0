"""A page that is asked for in the background: never twice at a time, and silent ones are named."""

import asyncio

import pytest

from collectors.background import PATIENCE, Answer, StatusPage
from collectors.errors import FetchError, SilentError
from collectors.machine import Page
from loadtop.i18n import verbatim
from tests.unit.collectors.instant import instantly


class Server:
    """Answers after a while."""

    def __init__(self, takes_s: float = 0.0, problem: str = "") -> None:
        self.takes_s = takes_s
        self.problem = problem
        self.asked = 0

    async def fetch(self, url: str, timeout_s: float) -> Page:
        self.asked += 1
        if self.takes_s > timeout_s:
            await asyncio.sleep(timeout_s)
            raise SilentError(verbatim(f"no response within {timeout_s:.1f} s"))
        await asyncio.sleep(self.takes_s)
        if self.problem:
            raise FetchError(verbatim(self.problem))
        return Page(url, 200, f"answer {self.asked}")


@instantly
async def test_a_quick_page_is_there_at_once() -> None:
    page = StatusPage("http://a/", Server(0.01).fetch, 1.0)
    for number in (1, 2, 3):
        page.ask()
        await page.settle(0.1)
        answer = page.take()
        assert answer.page is not None
        assert answer.page.text == f"answer {number}"
        assert answer.page.took_s == pytest.approx(0.01)
        assert page.take().page is None
        await asyncio.sleep(1.0)


@instantly
async def test_a_page_is_never_requested_twice_at_a_time() -> None:
    server = Server(3.5)
    page = StatusPage("http://a/", server.fetch, 1.0)
    answers: list[Answer] = []
    for _ in range(4):
        page.ask()
        await asyncio.sleep(1.0)
        answers.append(page.take())
    assert server.asked == 1
    assert str(answers[0].problem) == "no response for 1.0 s: all workers may be busy"
    assert str(answers[2].problem) == "no response for 3.0 s: all workers may be busy"
    assert answers[3].page is not None
    assert answers[3].page.took_s == answers[3].waited_s == 3.5


@instantly
async def test_one_that_is_awaited_for_less_than_the_timeout_is_no_problem_yet() -> None:
    page = StatusPage("http://a/", Server(0.9).fetch, 1.0)
    page.ask()
    await asyncio.sleep(0.5)
    answer = page.take()
    assert (answer.page, answer.problem, answer.waited_s) == (None, None, 0.5)


@instantly
async def test_patience_has_an_end_and_then_it_is_asked_for_again() -> None:
    server = Server(1000.0)
    page = StatusPage("http://a/", server.fetch, 1.0)
    page.ask()
    await asyncio.sleep(PATIENCE + 0.5)
    assert str(page.take().problem) == "no response within 10.0 s"
    page.ask()
    await asyncio.sleep(0.1)
    assert server.asked == 2
    await page.close()


@instantly
async def test_a_failure_is_reported_once_per_request() -> None:
    page = StatusPage("http://u:secret@a/", Server(problem="connection refused").fetch, 1.0)
    page.ask()
    await page.settle(0.1)
    assert str(page.take().problem) == "connection refused"
    assert "secret" not in page.shown_url


@instantly
async def test_a_slow_page_is_not_waited_for_the_next_time() -> None:
    page = StatusPage("http://a/", Server(0.5).fetch, 1.0)
    loop = asyncio.get_running_loop()
    waited: list[float] = []
    for _ in range(3):
        page.ask()
        began = loop.time()
        await page.settle(0.05)
        waited.append(round(loop.time() - began, 3))
        await asyncio.sleep(1.0)
    assert waited == [0.05, 0.0, 0.0]


@instantly
async def test_closing_ends_what_is_awaited() -> None:
    page = StatusPage("http://a/", Server(1000.0).fetch, 1.0)
    page.ask()
    await asyncio.sleep(0)
    await page.close()
    await page.close()
    assert len(asyncio.all_tasks()) == 1
    again = StatusPage("http://a/", Server(1000.0).fetch, 1.0)
    again.ask()
    await asyncio.gather(again.settle(0.05), again.close())
