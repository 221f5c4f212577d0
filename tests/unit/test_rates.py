"""From counters to rates."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop import model
from loadtop.rates import records
from loadtop.rates.compute import cpu_shares, host_rates, pressure_shares, server_rates
from loadtop.rates.measured import Measurer
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.registry import KINDS
from tests.unit.known import known

times = st.builds(model.CpuTimes, *[st.integers(0, 10**9)] * 10)


@given(times, st.tuples(*[st.integers(0, 1000)] * 8))
def test_shares_of_a_cpu_sum_up_to_all_of_the_time(before: model.CpuTimes, passed: tuple[int, ...]) -> None:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
    now = replace(before, **{name: getattr(before, name) + more for name, more in zip(names, passed, strict=True)})
    shares = cpu_shares(before, now)
    if sum(passed) == 0:
        assert shares is None
        return
    assert shares is not None
    total = sum(getattr(shares, name) for name in names)
    assert abs(total - 100.0) < 1e-6
    for name, more in zip(names, passed, strict=True):
        assert abs(getattr(shares, name) - 100.0 * more / sum(passed)) < 1e-9


def test_an_iowait_that_went_backwards_counts_as_none_of_the_time() -> None:
    shares = known(cpu_shares(model.CpuTimes(0, 0, 0, 0, 50, 0, 0, 0), model.CpuTimes(50, 0, 0, 50, 40, 0, 0, 0)))
    assert (shares.iowait, shares.user, shares.idle) == (0.0, 50.0, 50.0)


def test_the_rates_of_a_machine(machine: Any) -> None:
    first = machine.sample()
    second = machine.sample(busy=(100.0, 50.0), swap_in=80.0, faults=30.0, memory_stall=25.0, seconds=2.0)
    rates = known(host_rates(first, second, KINDS))
    assert rates.seconds == 2.0
    assert known(rates.cpu).busy == 75.0
    assert [core.shares.busy for core in rates.cores] == [100.0, 50.0]
    paging, pressure = known(rates.paging), known(rates.pressure)
    assert (paging.swap_in_kb, paging.swap_out_kb, paging.major_faults) == (80.0, 0.0, 30.0)
    assert (pressure.memory_some, pressure.io_some) == (25.0, 0.0)


def test_a_rebooted_machine_has_no_rates(machine: Any) -> None:
    first = machine.sample()
    assert host_rates(first, replace(first, at=1.0), KINDS) is None
    assert host_rates(first, first, KINDS) is None


def test_a_counter_that_went_backwards_has_no_rate(machine: Any) -> None:
    first = machine.sample(swap_in=500.0)
    second = machine.sample()
    rates = known(host_rates(first, replace(second, paging=replace(second.paging, swap_in_kb=0)), KINDS))
    paging = known(rates.paging)
    assert (paging.swap_in_kb, paging.swap_out_kb) == (None, 0.0)


def test_pressure_is_the_difference_of_the_totals_and_at_most_all_of_the_time() -> None:
    shares = pressure_shares(model.Pressure(0, 0, 0, 0, 0), model.Pressure(500_000, 2_000_000, 0, None, 0), 1.0)
    assert (shares.cpu_some, shares.memory_some, shares.io_some) == (50.0, 100.0, None)


def test_slots_are_counted_from_the_letters_and_rates_by_difference() -> None:
    before = ApacheStatus("u", "event", "Apache/2.4", "_" * 10, 10, accesses=100, kbytes=10, duration_ms=1000)
    now = replace(before, scoreboard="WWKRCG__..", uptime_s=12, accesses=120, kbytes=20, duration_ms=1400)
    (rates,) = server_rates([before], [now], 2.0)
    assert (now.capacity, now.busy, now.idle, now.open) == (10, 5, 2, 2)
    assert (now.graceful, now.keepalive, now.full) == (1, 1, 60.0)
    assert rates.per_second == {"accesses": 10.0, "kbytes": 5.0, "duration_ms": 200.0}


def test_a_restarted_apache_has_no_rates() -> None:
    before = ApacheStatus("u", "event", "Apache/2.4", "_", 1000, accesses=100)
    (restarted,) = server_rates([before], [replace(before, uptime_s=1, accesses=200)], 1.0)
    (first,) = server_rates([], [before], 1.0)
    assert restarted.per_second["accesses"] is None
    assert first.per_second["accesses"] is None


PEER = model.Peer("10.0.0.5:3306", "mysql", 2, 100, 50, 4000, 700, watched=True)
UNSEEN = model.Peer("10.0.0.6:3306", "mysql", 1, 0, 0, 0, 0)


def peers(machine: Any, *passed: model.Peer, before: tuple[model.Peer, ...] = (PEER, UNSEEN), readings: int = 8) -> Any:
    """The rates over two seconds, in which ``readings`` were taken."""
    first = machine.sample(changes={"peers": model.Peers(5, before)})
    second = machine.sample(changes={"peers": model.Peers(5 + readings, passed)}, seconds=2.0)
    return known(host_rates(first, second, KINDS)).peers


def test_the_rates_of_a_called_service(machine: Any) -> None:
    now = replace(PEER, connections=196, questions=66, age_ms=4320, segments=900)
    assert peers(machine, now) == (
        records.PeerRates("10.0.0.5:3306", "mysql", 2, 8, 12.0, 2.0, 20.0, 100.0, watched=True),
    )
    first_seen = replace(UNSEEN, connections=16, questions=8, age_ms=160, segments=200)
    (alone,) = peers(machine, first_seen, before=())
    assert (alone.connections, alone.questions, alone.age_ms, alone.exchanges) == (2.0, 1.0, 20.0, 100.0)
    assert not alone.watched


def test_a_service_without_callers(machine: Any) -> None:
    (rates,) = peers(machine, PEER)
    assert (rates.connections, rates.questions, rates.age_ms, rates.exchanges) == (0.0, 0.0, None, 0.0)
    assert rates.exchange_ms is None


@pytest.mark.parametrize("name", ["connections", "questions", "age_ms", "segments"])
def test_counters_of_a_service_that_fell_have_no_rate(machine: Any, name: str) -> None:
    assert peers(machine, replace(PEER, **{name: getattr(PEER, name) - 1})) == ()
    assert len(peers(machine, PEER)) == 1


@pytest.mark.parametrize("readings", [0, -5])
def test_without_another_reading_services_have_no_rates(machine: Any, readings: int) -> None:
    assert peers(machine, PEER, readings=readings) is None
    assert len(peers(machine, PEER, readings=1)) == 1


@pytest.mark.parametrize(
    ("questions", "age_ms", "segments", "exchanges"),
    [
        (16, 320, 67, 33.5),  # 2 open, on average 20 ms old: an exchange takes 60 ms at most
        (16, 320, 66, None),
        (16, 0, 1333, None),  # as old as the clocks' resolution: 3 ms at most
        (16, 0, 1334, 667.0),
        (16, 16, 1334, 667.0),
    ],
)
def test_exchanges_of_which_many_were_missed_have_no_rate(
    machine: Any, questions: int, age_ms: int, segments: int, exchanges: float | None
) -> None:
    (rates,) = peers(machine, replace(UNSEEN, connections=16, questions=questions, age_ms=age_ms, segments=segments))
    assert rates.exchanges == exchanges


@pytest.mark.parametrize(("missed", "dropped"), [(0, 40.0), (1, 40.0), (3, 40.0), (5, None)])
def test_a_page_that_is_missed_for_a_moment_still_has_rates(machine: Any, missed: int, dropped: float | None) -> None:
    measurer = Measurer(KINDS)

    def measured(page: NginxStatus | None) -> records.ServerRates[NginxStatus] | None:
        sample = machine.sample(board=None, changes={} if page is None else {"nginx": (page,)})
        state = model.HostState(machine.name, machine.role, sample, fresh=True)
        (host,) = measurer.measure(model.Frame(0, sample.at, 0.0, None, (state,))).hosts
        return next(iter(host.servers("nginx", NginxStatus)), None)

    first = NginxStatus("u", 9, 0, 9, 0, accepts=100, handled=100, requests=0, at=machine.at + 1)
    measured(first)
    for _ in range(missed):
        assert measured(None) is None
    seconds = missed + 1
    now = known(measured(replace(first, accepts=100 + 90 * seconds, handled=100 + 50 * seconds, at=machine.at + 1)))
    accepts, handled = now.per_second["accepts"], now.per_second["handled"]
    assert (None if accepts is None or handled is None else accepts - handled) == dropped
