"""The background sampler of one host: its ticks, what it says when samples stop, and servers' pages beside it."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from collectors.background import READ_AGAIN_S
from collectors.host import HostCollector, next_deadline
from collectors.machine import Endpoint
from collectors.server_collector import MOST_ASKED
from loadtop.model import HostSample, Listener, State
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from tests.unit.collectors.fake_machine import PAGE, FakeMachine
from tests.unit.collectors.instant import instantly

URL = "http://web1/server-status?auto"


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


@asynccontextmanager
async def watching(machine: FakeMachine, **settings: Any) -> AsyncGenerator[HostCollector]:
    """A collector of this machine, started a moment ago."""
    host = HostCollector("web1", "target", machine, **settings)
    await host.start(1.0)
    yield host
    await host.close()


def sample_of(host: HostCollector) -> HostSample:
    sample, _ = host.latest()
    assert sample is not None
    return sample


def pages_of(host: HostCollector) -> Sequence[ApacheStatus]:
    return APACHE.readings(sample_of(host)) or ()


def apache_of(host: HostCollector) -> tuple[State, str]:
    """How Apache's collector fared, with what to paste if it says so."""
    found = next(found for found in sample_of(host).outcomes if found.collector == "apache")
    return found.state, f"{found.reason}\n{found.fix}".rstrip()


@pytest.mark.parametrize(("now", "expected"), [(10.0, 11.0), (10.4, 11.0), (11.0, 12.0), (13.7, 14.0), (9.0, 11.0)])
def test_the_next_tick_is_on_the_grid(now: float, expected: float) -> None:
    assert next_deadline(10.0, now, 1.0) == expected


@instantly
async def test_ticks_do_not_drift_and_slow_samples_leave_some_out(machine: FakeMachine) -> None:
    async with watching(machine, find_servers=False):
        await asyncio.sleep(3.5)
        machine.takes_s = 2.5
        await asyncio.sleep(4.0)
    assert machine.began == [0.0, 1.0, 2.0, 3.0, 4.0, 7.0]
    assert machine.closed


@instantly
async def test_the_newest_sample_stays_until_there_is_a_newer_one(machine: FakeMachine) -> None:
    async with watching(machine, find_servers=False) as host:
        assert host.latest() == (None, "")
        await asyncio.sleep(0.5)
        sample = sample_of(host)
        assert sample is sample_of(host)
        assert (sample.host, sample.at, host.latest()[1]) == ("web1", 0.0, "")
        assert (host.name, host.role) == ("web1", "target")
        assert apache_of(host) == (State.ABSENT, "not looked for")
        await asyncio.sleep(1.0)
        assert sample_of(host) is not sample


@instantly
async def test_why_samples_are_missing(machine: FakeMachine) -> None:
    async with watching(machine, find_servers=False) as host:
        await asyncio.sleep(0.5)
        machine.problem = "the connection was cut"
        await asyncio.sleep(1.0)
        sample_of(host)
        assert str(host.latest()[1]) == "the connection was cut"
        machine.problem = ""
        await asyncio.sleep(1.0)
        assert host.latest()[1] == ""
        machine.takes_s = 60.0
        await asyncio.sleep(10.0)
        assert str(host.latest()[1]) == "no sample for 10 s"
        machine.error = ZeroDivisionError("a mistake here")
        await asyncio.sleep(60.0)
        assert "a mistake here" in str(host.latest()[1])


@instantly
async def test_a_page_is_in_the_sample_of_its_tick(machine: FakeMachine) -> None:
    machine.pages[URL] = PAGE
    async with watching(machine, status_urls={"apache": ["http://web1/server-status"]}) as host:
        await asyncio.sleep(3.5)
        (page,) = pages_of(host)
        assert (page.scoreboard, page.accesses, page.url) == ("_W", 5, URL)
        assert apache_of(host) == (State.OK, "")
        assert machine.fetched == [URL] * 4


@instantly
async def test_a_hanging_page_delays_nothing_and_is_named(machine: FakeMachine) -> None:
    machine.page_takes_s = 1000.0
    async with watching(machine, status_urls={"apache": [URL]}) as host:
        await asyncio.sleep(0.5)
        assert apache_of(host) == (State.ABSENT, f"{URL}: no response for 0.1 s")
        await asyncio.sleep(3.0)
        assert machine.began == [0.0, 1.0, 2.0, 3.0]
        assert not pages_of(host)
        assert apache_of(host) == (State.FAILED, f"{URL}: no response for 3.0 s: all workers may be busy")
        assert len(machine.fetched) == 1
    assert len(asyncio.all_tasks()) == 1


@pytest.mark.parametrize(
    ("answer", "state", "said"),
    [
        (404, State.ABSENT, "SetHandler server-status"),
        (403, State.ABSENT, "Require local"),
        ("<html>", State.ABSENT, "an HTML page"),
        (None, State.FAILED, "connection refused"),
        ("web1\nScoreboard: ___\n", State.OK, "ExtendedStatus On"),
    ],
)
@instantly
async def test_problems_of_a_page_are_reported(
    machine: FakeMachine, answer: str | int | None, state: State, said: str
) -> None:
    if answer is not None:
        machine.pages[URL] = answer
    async with watching(machine, status_urls={"apache": ["http://web1/"]}) as host:
        await asyncio.sleep(0.5)
        found, reason = apache_of(host)
        assert found is state
        assert said in reason


@instantly
async def test_a_page_is_found_beside_the_target_but_not_behind_a_full_accept_queue(machine: FakeMachine) -> None:
    machine.pages["http://web1:8080/server-status?auto"] = PAGE
    machine.listeners = (Listener(80, 0, 511), Listener(8080, 128, 128))
    async with watching(machine, target_urls=["http://web1:8080/shop/index.php"]) as host:
        await asyncio.sleep(4.5)
        state, reason = apache_of(host)
        assert (state, machine.fetched) == (State.FAILED, [])
        assert "its accept queue is full (128 connections)" in reason
        machine.listeners = (Listener(8080, 127, 128),)
        await asyncio.sleep(6.0)
        assert pages_of(host)


@instantly
async def test_a_page_is_found_from_listening_sockets(machine: FakeMachine) -> None:
    machine.httpd = {
        10: (Endpoint("0.0.0.0", 8080), Endpoint("::", 443)),  # noqa: S104
        20: (Endpoint("::1", 81),),
    }
    there = ["https://[::1]:443/server-status?auto", "http://[::1]:81/server-status?auto"]
    machine.pages = {"http://127.0.0.1:8080/server-status?auto": 404, **dict.fromkeys(there, PAGE)}
    async with watching(machine) as host:
        await asyncio.sleep(2.5)
        assert [page.url for page in pages_of(host)] == there


@instantly
async def test_looking_continues_now_and_then_until_a_server_is_there(machine: FakeMachine) -> None:
    async with watching(machine, target_urls=["http://web1/"]) as host:
        await asyncio.sleep(12.5)
        assert 2 <= len(machine.fetched) <= 4
        assert apache_of(host) == (State.FAILED, f"{URL}: connection refused: nothing is listening there")
        machine.pages[URL] = PAGE
        await asyncio.sleep(8.0)
        assert apache_of(host) == (State.OK, "")


@instantly
async def test_a_server_that_is_started_again_is_found_again(machine: FakeMachine) -> None:
    async with watching(machine) as host:
        for pid, port in ((10, 8080), (20, 8081)):
            url = f"http://127.0.0.1:{port}/server-status?auto"
            machine.httpd, machine.pages = {pid: (Endpoint("127.0.0.1", port),)}, {url: PAGE}
            await asyncio.sleep(2.5)
            assert [page.url for page in pages_of(host)] == [url]


@instantly
async def test_limits_are_those_of_the_newest_reading_of_the_configuration(machine: FakeMachine) -> None:
    machine.httpd = {10: (Endpoint("127.0.0.1", 8080),)}
    machine.pages["http://127.0.0.1:8080/server-status?auto"] = PAGE
    machine.files = {"/proc/10/cmdline": "/usr/sbin/apache2\0-k\0start\0"}
    async with watching(machine) as host:
        for workers, seconds in ((10, 10.5), (20, READ_AGAIN_S + 2.0)):
            machine.files["/etc/apache2/apache2.conf"] = f"MaxRequestWorkers {workers}\n"
            await asyncio.sleep(seconds)
            assert [page.max_request_workers for page in pages_of(host)] == [workers]


@instantly
async def test_no_server_at_all(machine: FakeMachine) -> None:
    async with watching(machine) as host:
        await asyncio.sleep(1.5)
        assert apache_of(host) == (State.ABSENT, "no httpd found")
        machine.httpd = {10: ()}
        await asyncio.sleep(6.0)
        assert "--apache URL" in apache_of(host)[1]


@instantly
async def test_a_sample_on_demand(machine: FakeMachine) -> None:
    async with watching(machine, find_servers=False) as host:
        await host.refresh()  # the first regular one is being taken: it is enough
        assert machine.began == [0.0]
        await asyncio.sleep(0.01)
        await host.refresh()
        assert machine.began == [0.0]
        await asyncio.sleep(0.5)
        await host.refresh()
        assert len(machine.began) == 2
        await host.refresh(later=True)  # in any case, but not before a rate makes sense
        assert machine.began[2] == pytest.approx(machine.began[1] + 0.06, abs=0.011)
        await asyncio.sleep(1.0)
        assert machine.began[3] == 1.0


@instantly
async def test_an_interval_must_be_positive(machine: FakeMachine) -> None:
    with pytest.raises(ValueError, match="more than 0 s"):
        await HostCollector("web1", "target", machine).start(0.0)


@pytest.mark.parametrize("elsewhere", [(), ("http://web1:9000/",)], ids=["", "and-another-kind-of-server"])
@instantly
async def test_of_several_servers_each_under_load_has_its_page(
    machine: FakeMachine, elsewhere: tuple[str, ...]
) -> None:
    """One page also of a server under load by two names, and none of a server that is not."""
    machine.httpd = {pid: (Endpoint("0.0.0.0", 8000 + pid),) for pid in (10, 20, 30)}  # noqa: S104
    own, others = "http://web1:8010/server-status?auto", "http://127.0.0.1:8030/server-status?auto"
    machine.pages = dict.fromkeys((own, others, "http://127.0.0.1:8020/server-status?auto"), PAGE)
    urls = ["http://web1:8010/", "http://web1:8030/", "http://shop:8010/", *elsewhere]
    async with watching(machine, target_urls=urls) as host:
        await asyncio.sleep(2.5)
        assert [page.url for page in pages_of(host)] == [own, others]
        assert machine.aside == frozenset({20})


@instantly
async def test_where_one_server_is_hidden_all_may_be_under_load(machine: FakeMachine) -> None:
    """It can be the one that a URL leads to, where none of the others listens."""
    machine.httpd = {10: (Endpoint("0.0.0.0", 8010),), 20: (Endpoint("0.0.0.0", 8020),), 30: ()}  # noqa: S104
    async with watching(machine, target_urls=["http://web1:8010/", "http://web1:8030/"]):
        await asyncio.sleep(2.5)
        assert machine.aside == frozenset()


@instantly
async def test_a_search_asks_so_many_servers_at_most(machine: FakeMachine) -> None:
    """Anyone can start processes that have the name of a server, and listen."""
    machine.httpd = {pid: tuple(Endpoint("127.0.0.1", 6 * pid + port) for port in range(6)) for pid in range(1, 61)}
    async with watching(machine):
        await asyncio.sleep(4.5)
        assert len(machine.fetched) == MOST_ASKED


@instantly
async def test_what_a_server_said_is_dropped_once_it_is_not_under_test(machine: FakeMachine) -> None:
    machine.httpd = {20: (Endpoint("127.0.0.1", 8080),)}
    machine.pages["http://127.0.0.1:8080/server-status?auto"] = PAGE
    async with watching(machine) as host:
        await asyncio.sleep(2.5)
        assert pages_of(host)
        machine.aside = frozenset({20})
        await asyncio.sleep(1.0)
        assert not pages_of(host)
