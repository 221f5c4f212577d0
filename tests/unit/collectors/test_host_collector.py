"""The background sampler of one host: its ticks, what it says when samples stop, and servers' pages beside it."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from collectors.background import READ_AGAIN_S
from collectors.host import HostCollector, next_deadline
from collectors.machine import Endpoint
from loadtop.model import HostSample, Listener, State
from loadtop.servers.apache.kind import APACHE
from tests.unit.collectors.fake_machine import PAGE, FakeMachine

Instantly = Callable[[Any], Any]


@pytest.fixture
def machine() -> FakeMachine:
    return FakeMachine()


def apache_of(sample: HostSample | None) -> tuple[State, str]:
    """How Apache's collector fared, with what to paste if it says so."""
    assert sample is not None
    found = next(found for found in sample.outcomes if found.collector == "apache")
    return found.state, f"{found.reason}\n{found.fix}".rstrip()


@pytest.mark.parametrize(("now", "expected"), [(10.0, 11.0), (10.4, 11.0), (11.0, 12.0), (13.7, 14.0), (9.0, 11.0)])
def test_the_next_tick_is_on_the_grid(now: float, expected: float) -> None:
    assert next_deadline(10.0, now, 1.0) == expected


def test_ticks_do_not_drift_and_slow_samples_leave_some_out(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine, find_servers=False)
        await host.start(1.0)
        await asyncio.sleep(3.5)
        machine.takes_s = 2.5
        await asyncio.sleep(4.0)
        await host.close()

    instantly(run())
    assert machine.began == [0.0, 1.0, 2.0, 3.0, 4.0, 7.0]
    assert machine.closed


def test_the_newest_sample_stays_until_there_is_a_newer_one(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine, find_servers=False)
        await host.start(1.0)
        assert host.latest() == (None, "")
        await asyncio.sleep(0.5)
        sample, problem = host.latest()
        assert sample is host.latest()[0]
        assert sample is not None
        assert (sample.host, sample.at, problem) == ("web1", 0.0, "")
        assert apache_of(sample) == (State.ABSENT, "not looked for")
        await asyncio.sleep(1.0)
        assert host.latest()[0] is not sample
        await host.close()

    instantly(run())


def test_why_samples_are_missing(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine, find_servers=False)
        await host.start(1.0)
        await asyncio.sleep(0.5)
        machine.problem = "the connection was cut"
        await asyncio.sleep(1.0)
        sample, problem = host.latest()
        assert sample is not None
        assert str(problem) == "the connection was cut"
        machine.problem = ""
        await asyncio.sleep(1.0)
        assert host.latest()[1] == ""
        machine.takes_s = 60.0
        await asyncio.sleep(10.0)
        assert str(host.latest()[1]) == "no sample for 10 s"
        machine.error = ZeroDivisionError("a mistake here")
        await asyncio.sleep(60.0)
        assert "a mistake here" in str(host.latest()[1])
        await host.close()

    instantly(run())


def test_a_page_is_in_the_sample_of_its_tick(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        url = "http://web1/server-status?auto"
        machine.pages[url] = PAGE
        host = HostCollector("web1", "target", machine, status_urls={"apache": ["http://web1/server-status"]})
        await host.start(1.0)
        await asyncio.sleep(3.5)
        sample, _ = host.latest()
        assert sample is not None
        assert APACHE.readings(sample)
        assert (
            APACHE.readings(sample)[0].scoreboard,
            APACHE.readings(sample)[0].accesses,
            APACHE.readings(sample)[0].url,
        ) == ("_W", 5, url)
        assert apache_of(sample) == (State.OK, "")
        assert machine.fetched == [url] * 4
        await host.close()

    instantly(run())


def test_a_hanging_page_delays_nothing_and_is_named(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine, status_urls={"apache": ["http://web1/server-status?auto"]})
        machine.page_takes_s = 1000.0
        await host.start(1.0)
        await asyncio.sleep(0.5)
        assert apache_of(host.latest()[0]) == (
            State.ABSENT,
            "http://web1/server-status?auto: waiting for the page for 0.1 s",
        )
        await asyncio.sleep(3.0)
        assert machine.began == [0.0, 1.0, 2.0, 3.0]
        sample, _ = host.latest()
        assert sample is not None
        assert not APACHE.readings(sample)
        assert apache_of(sample) == (
            State.FAILED,
            "http://web1/server-status?auto: no answer for 3.0 s: every worker may be busy",
        )
        assert len(machine.fetched) == 1
        await host.close()
        assert len(asyncio.all_tasks()) == 1

    instantly(run())


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
def test_what_is_wrong_with_a_page_is_said(
    instantly: Instantly, machine: FakeMachine, answer: str | int | None, state: State, said: str
) -> None:
    async def run() -> None:
        if answer is not None:
            machine.pages["http://web1/server-status?auto"] = answer
        host = HostCollector("web1", "target", machine, status_urls={"apache": ["http://web1/"]})
        await host.start(1.0)
        await asyncio.sleep(0.5)
        found, reason = apache_of(host.latest()[0])
        assert found is state
        assert said in reason
        await host.close()

    instantly(run())


def test_a_page_is_found_beside_the_target(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        machine.pages["http://web1:8080/server-status?auto"] = PAGE
        host = HostCollector("web1", "target", machine, target_urls=["http://web1:8080/shop/index.php"])
        await host.start(1.0)
        await asyncio.sleep(2.5)
        sample, _ = host.latest()
        assert sample is not None
        assert APACHE.readings(sample)
        await host.close()

    instantly(run())


def test_a_full_accept_queue_gets_no_search_on_top(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        machine.pages["http://web1:8080/server-status?auto"] = PAGE
        machine.listeners = (Listener(80, 0, 511), Listener(8080, 128, 128))
        host = HostCollector("web1", "target", machine, target_urls=["http://web1:8080/"])
        await host.start(1.0)
        await asyncio.sleep(4.5)
        state, reason = apache_of(host.latest()[0])
        assert (state, machine.fetched) == (State.FAILED, [])
        assert "its accept queue is full (128 connections)" in reason
        machine.listeners = (Listener(8080, 127, 128),)
        await asyncio.sleep(6.0)
        sample, _ = host.latest()
        assert sample is not None
        assert APACHE.readings(sample)
        await host.close()

    instantly(run())


def test_a_page_is_found_from_listening_sockets(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        machine.httpd = {
            10: (Endpoint("0.0.0.0", 8080), Endpoint("::", 443)),  # noqa: S104
            20: (Endpoint("::1", 81),),
        }
        machine.pages = {
            "http://127.0.0.1:8080/server-status?auto": 404,
            "https://[::1]:443/server-status?auto": PAGE,
            "http://[::1]:81/server-status?auto": PAGE,
        }
        host = HostCollector("web1", "target", machine)
        await host.start(1.0)
        await asyncio.sleep(2.5)
        sample, _ = host.latest()
        assert sample is not None
        urls = [status.url for status in APACHE.readings(sample) or ()]
        assert urls == ["https://[::1]:443/server-status?auto", "http://[::1]:81/server-status?auto"]
        await host.close()

    instantly(run())


def test_looking_goes_on_now_and_then_until_a_server_is_there(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        url = "http://web1/server-status?auto"
        host = HostCollector("web1", "target", machine, target_urls=["http://web1/"])
        await host.start(1.0)
        await asyncio.sleep(12.5)
        assert 2 <= len(machine.fetched) <= 4
        assert apache_of(host.latest()[0]) == (State.FAILED, f"{url}: connection refused: nothing listens there")
        machine.pages[url] = PAGE
        await asyncio.sleep(8.0)
        assert apache_of(host.latest()[0]) == (State.OK, "")
        await host.close()

    instantly(run())


def test_a_server_that_is_started_anew_is_found_again(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine)
        await host.start(1.0)
        for pid, port in ((10, 8080), (20, 8081)):
            url = f"http://127.0.0.1:{port}/server-status?auto"
            machine.httpd, machine.pages = {pid: (Endpoint("127.0.0.1", port),)}, {url: PAGE}
            await asyncio.sleep(2.5)
            sample, _ = host.latest()
            assert sample is not None
            assert [status.url for status in APACHE.readings(sample) or ()] == [url]
        await host.close()

    instantly(run())


def test_limits_are_those_of_the_newest_reading_of_the_configuration(
    instantly: Instantly, machine: FakeMachine
) -> None:
    async def run() -> None:
        machine.httpd = {10: (Endpoint("127.0.0.1", 8080),)}
        machine.pages["http://127.0.0.1:8080/server-status?auto"] = PAGE
        machine.files = {"/proc/10/cmdline": "/usr/sbin/apache2\0-k\0start\0"}
        host = HostCollector("web1", "target", machine)
        await host.start(1.0)
        for workers, seconds in ((10, 10.5), (20, READ_AGAIN_S + 2.0)):
            machine.files["/etc/apache2/apache2.conf"] = f"MaxRequestWorkers {workers}\n"
            await asyncio.sleep(seconds)
            sample, _ = host.latest()
            assert sample is not None
            assert [status.max_request_workers for status in APACHE.readings(sample) or ()] == [workers]
        await host.close()

    instantly(run())


def test_no_server_at_all(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine)
        await host.start(1.0)
        await asyncio.sleep(1.5)
        assert apache_of(host.latest()[0]) == (State.ABSENT, "no httpd process here")
        machine.httpd = {10: ()}
        await asyncio.sleep(6.0)
        assert "--apache URL" in apache_of(host.latest()[0])[1]
        await host.close()

    instantly(run())


def test_a_sample_on_demand(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> None:
        host = HostCollector("web1", "target", machine, find_servers=False)
        await host.start(1.0)
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
        await host.close()

    instantly(run())


def test_an_interval_must_be_positive(instantly: Instantly, machine: FakeMachine) -> None:
    with pytest.raises(ValueError, match="more than 0 s"):
        instantly(HostCollector("web1", "target", machine).start(0.0))


def test_a_sample_is_given_its_host(instantly: Instantly, machine: FakeMachine) -> None:
    async def run() -> HostSample | None:
        host = HostCollector("db", "other", machine, find_servers=False)
        await host.start(0.1)
        await asyncio.sleep(0.05)
        sample, _ = host.latest()
        await host.close()
        assert (host.name, host.role) == ("db", "other")
        return sample

    sample = instantly(run())
    assert sample == replace(sample, host="db")
