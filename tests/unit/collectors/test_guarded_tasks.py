"""An error of ours in a task of a host is a problem of that host: it is shown, and sampling continues."""

import ast
import asyncio
from pathlib import Path

import pytest

from collectors import background
from collectors.background import Search, StatusPage, guarded
from collectors.host import HostCollector
from collectors.machine import Page
from loadtop.i18n import Message
from tests.unit.collectors.fake_machine import FakeMachine
from tests.unit.collectors.instant import instantly


async def fails() -> None:
    raise ZeroDivisionError("a mistake here")


async def test_an_error_is_reported_and_an_end_is_not() -> None:
    told: list[Message] = []
    await guarded(fails, told.append)
    await guarded(lambda: asyncio.sleep(0), told.append)
    assert [str(problem) for problem in told] == ["an error in loadtop: ZeroDivisionError('a mistake here')"]
    task = asyncio.create_task(guarded(lambda: asyncio.sleep(60), told.append))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(told) == 1


async def test_an_error_as_long_as_a_book_is_cut() -> None:
    async def fail() -> None:
        raise ValueError("9" * 100_000)

    told: list[Message] = []
    await guarded(fail, told.append)
    assert len(str(told[0])) < 300


@instantly
async def test_sampling_continues_after_an_error() -> None:
    machine = FakeMachine()
    host = HostCollector("web1", "target", machine, find_servers=False)
    await host.start(1.0)
    await asyncio.sleep(0.5)
    first, _ = host.latest()
    machine.error = ZeroDivisionError("a mistake here")
    await asyncio.sleep(1.0)
    assert host.latest()[0] is first
    assert "a mistake here" in str(host.latest()[1])
    await host.refresh(later=True)
    machine.error = None
    await asyncio.sleep(1.0)
    sample, problem = host.latest()
    assert sample is not first
    assert problem == ""
    await host.close()


@instantly
async def test_a_page_whose_reading_fails_says_so() -> None:
    async def fetch(url: str, timeout_s: float) -> Page:
        raise UnicodeError(f"{url} {timeout_s}")

    page = StatusPage("http://a/", fetch, 1.0)
    page.ask()
    await asyncio.sleep(0.1)
    problem = page.take().problem
    assert problem is not None
    assert "an error in loadtop: UnicodeError" in str(problem.message)
    page.ask()
    await page.close()


@instantly
async def test_a_search_that_fails_says_so_until_one_succeeds() -> None:
    wrong = True

    async def look(servers: tuple[int, ...]) -> None:
        assert servers == (1,)
        if wrong:
            await fails()

    search = Search("apache", lambda: (1,), look)
    search.go_on(found=False)
    await search.finish()
    assert "a mistake here" in str(search.problem)
    await asyncio.sleep(6.0)
    search.go_on(found=False)
    assert "a mistake here" in str(search.problem), "still searching"
    wrong = False
    await search.finish()
    assert search.problem is None
    await search.close()


@instantly
async def test_a_search_that_finds_all_again_and_again_becomes_rare() -> None:
    servers, looks = (1,), list[int]()

    async def look(_: tuple[int, ...]) -> None:
        looks.append(second)

    search = Search("processes", lambda: servers, look, 30.0, 1.0, 100.0)
    for second in range(600):
        if second == 500:
            servers = (2,)
        search.go_on(found=second > 2)
        await asyncio.sleep(1.0)
    await search.close()
    assert looks == [0, 1, 2, 32, 92, 192, 292, 392, 492, 500, 530, 590]


def test_every_task_of_a_host_is_guarded() -> None:
    """A task that no one waits for keeps its error to itself."""
    calls = [
        (f"{path.name}:{call.lineno}", call.args[0])
        for path in sorted(Path(background.__file__).parent.rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(("create_task", "ensure_future"))
    ]
    assert len(calls) >= 4
    assert [place for place, work in calls if not ast.unparse(work).startswith("guarded(")] == []
