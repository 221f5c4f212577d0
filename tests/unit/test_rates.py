"""From counters to rates."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.model import CpuTimes, Disk, Failures, Frame, HostState, LoadState, Network, Pressure
from loadtop.rates.compute import cpu_shares, host_rates, load_rates, pressure_shares, server_rates
from loadtop.rates.measured import Measurer
from loadtop.rates.records import ServerRates
from loadtop.servers.apache.kind import mean_duration_ms
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.registry import KINDS

ticks = st.integers(0, 10**9)
times = st.builds(CpuTimes, *[ticks] * 10)


@given(times, st.tuples(*[st.integers(0, 1000)] * 8))
def test_shares_of_a_cpu_sum_up_to_all_of_the_time(before: CpuTimes, passed: tuple[int, ...]) -> None:
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
    shares = cpu_shares(CpuTimes(0, 0, 0, 0, 50, 0, 0, 0), CpuTimes(50, 0, 0, 50, 40, 0, 0, 0))
    assert shares is not None
    assert (shares.iowait, shares.user, shares.idle) == (0.0, 50.0, 50.0)


def test_a_state_that_is_not_told_stays_untold() -> None:
    shares = cpu_shares(CpuTimes(0, 0, 0, 0), CpuTimes(10, 0, 10, 80))
    assert shares is not None
    assert (shares.steal, shares.iowait, shares.busy) == (None, None, 20.0)


def test_the_rates_of_a_machine(machine: Any) -> None:
    first = machine.sample()
    second = machine.sample(busy=(100.0, 50.0), swap_in=80.0, faults=30.0, memory_stall=25.0, seconds=2.0)
    rates = host_rates(first, second, KINDS)
    assert rates is not None
    assert rates.seconds == 2.0
    assert rates.cpu is not None
    assert rates.paging is not None
    assert rates.pressure is not None
    assert rates.cpu.busy == 75.0
    assert [core.shares.busy for core in rates.cores] == [100.0, 50.0]
    assert (rates.paging.swap_in_kb, rates.paging.swap_out_kb, rates.paging.major_faults) == (80.0, 0.0, 30.0)
    assert rates.pressure.memory_some == 25.0
    assert rates.pressure.io_some == 0.0


@pytest.mark.parametrize(
    ("anon", "file", "rate"),
    [((0, 8), (10, 20), 9.0), ((None, None), (10, 20), 5.0), ((None, None), (None, None), None)],
)
def test_refaults_where_a_kernel_counts_those_of_files_only(
    machine: Any, anon: tuple[int | None, int | None], file: tuple[int | None, int | None], rate: float | None
) -> None:
    before, now = (
        replace(sample, paging=replace(sample.paging, refaults_anon_pages=anon[turn], refaults_file_pages=file[turn]))
        for turn, sample in enumerate((machine.sample(), machine.sample(seconds=2.0)))
    )
    rates = host_rates(before, now, KINDS)
    assert rates is not None
    assert rates.paging is not None
    assert rates.paging.refaults_pages == rate


def test_a_rebooted_machine_has_no_rates(machine: Any) -> None:
    first = machine.sample()
    assert host_rates(first, replace(first, at=1.0), KINDS) is None
    assert host_rates(first, first, KINDS) is None


def test_a_counter_that_went_backwards_has_no_rate(machine: Any) -> None:
    first = machine.sample(swap_in=500.0)
    second = machine.sample()
    rates = host_rates(first, replace(second, paging=replace(second.paging, swap_in_kb=0)), KINDS)
    assert rates is not None
    assert rates.paging is not None
    assert (rates.paging.swap_in_kb, rates.paging.swap_out_kb) == (None, 0.0)


def test_a_part_that_was_not_read_has_no_rate(machine: Any) -> None:
    first = machine.sample()
    rates = host_rates(replace(first, pressure=None), machine.sample(), KINDS)
    assert rates is not None
    assert rates.pressure is None


def test_pressure_is_the_difference_of_the_totals_and_at_most_all_of_the_time() -> None:
    shares = pressure_shares(Pressure(0, 0, 0, 0, 0), Pressure(500_000, 2_000_000, 0, None, 0), 1.0)
    assert (shares.cpu_some, shares.memory_some, shares.io_some) == (50.0, 100.0, None)


def test_a_disk_without_requests_has_no_await(machine: Any) -> None:
    disk = Disk("vda", 10, 40, 20, 0, 0, 0, 0, 100, 200)
    later = replace(disk, reads=20, read_kb=80, read_ms=50, busy_ms=600, queue_ms=1200)
    rates = host_rates(machine.sample(changes={"disks": (disk,)}), machine.sample(changes={"disks": (later,)}), KINDS)
    assert rates is not None
    assert rates.disks is not None
    assert (rates.disks[0].util, rates.disks[0].await_ms, rates.disks[0].queue) == (50.0, 3.0, 1.0)
    still = host_rates(machine.sample(changes={"disks": (disk,)}), machine.sample(changes={"disks": (disk,)}), KINDS)
    assert still is not None
    assert still.disks is not None
    assert still.disks[0].await_ms is None


def test_a_line_is_full_in_its_fuller_direction(machine: Any) -> None:
    net = Network("eth0", 0, 0, 0, 0, link_mbit=100)
    later = replace(net, rx_bytes=1_250_000, tx_bytes=6_250_000)
    rates = host_rates(
        machine.sample(changes={"networks": (net,)}), machine.sample(changes={"networks": (later,)}), KINDS
    )
    assert rates is not None
    assert rates.networks is not None
    assert rates.networks[0].util == 50.0


def test_a_reused_pid_is_another_process(machine: Any) -> None:
    first = machine.sample(processes={"apache2": 50.0})
    second = machine.sample(processes={"apache2": 50.0})
    rates = host_rates(first, second, KINDS)
    assert rates is not None
    httpd = rates.group("httpd")
    assert httpd is not None
    assert (httpd.cpu, httpd.processes, httpd.rss_kb, httpd.pss_kb) == (50.0, 1, 9_000, None)
    reused = replace(second, processes=(replace(second.processes[0], started_ticks=99),))
    other = host_rates(first, reused, KINDS)
    assert other is not None
    assert other.processes is not None
    assert other.processes[0].cpu is None


def test_slots_are_counted_from_the_letters_and_rates_by_difference() -> None:
    before = ApacheStatus("u", "event", "Apache/2.4", "_" * 10, 10, accesses=100, kbytes=10, duration_ms=1000)
    now = replace(before, scoreboard="WWKRCG__..", uptime_s=12, accesses=120, kbytes=20, duration_ms=1400)
    (rates,) = server_rates([before], [now], 2.0)
    assert (now.capacity, now.busy, now.idle, now.open) == (10, 5, 2, 2)
    assert (now.graceful, now.keepalive, now.full) == (1, 1, 60.0)
    assert rates.per_second == {"accesses": 10.0, "kbytes": 5.0, "duration_ms": 200.0}
    assert mean_duration_ms(ServerRates(now, rates.per_second)) == 20.0


def test_a_restarted_apache_has_no_rates() -> None:
    before = ApacheStatus("u", "event", "Apache/2.4", "_", 1000, accesses=100)
    (restarted,) = server_rates([before], [replace(before, uptime_s=1, accesses=200)], 1.0)
    (first,) = server_rates([], [before], 1.0)
    assert restarted.per_second["accesses"] is None
    assert first.per_second["accesses"] is None


@pytest.mark.parametrize(("missed", "dropped"), [(0, 40.0), (1, 40.0), (3, 40.0), (5, None)])
def test_a_page_that_is_missed_for_a_moment_still_has_rates(machine: Any, missed: int, dropped: float | None) -> None:
    measurer = Measurer(KINDS)

    def measured(page: NginxStatus | None) -> ServerRates[NginxStatus] | None:
        sample = machine.sample(board=None, changes={} if page is None else {"nginx": (page,)})
        state = HostState(machine.name, machine.role, sample, fresh=True)
        (host,) = measurer.measure(Frame(0, sample.at, 0.0, None, (state,))).hosts
        return next(iter(host.servers("nginx", NginxStatus)), None)

    first = NginxStatus("u", 9, 0, 9, 0, accepts=100, handled=100, requests=0, at=machine.at + 1)
    measured(first)
    for _ in range(missed):
        assert measured(None) is None
    seconds = missed + 1
    now = measured(replace(first, accepts=100 + 90 * seconds, handled=100 + 50 * seconds, at=machine.at + 1))
    assert now is not None
    accepts, handled = now.per_second["accepts"], now.per_second["handled"]
    assert (None if accepts is None or handled is None else accepts - handled) == dropped


def test_the_rates_of_a_load(load: Any) -> None:
    first = load.sample()
    rates = load_rates(first, load.sample(rps=50.0, cpu=90.0, seconds=2.0, failures=Failures(timeout=10), non_2xx=25))
    assert rates is not None
    assert (rates.rps, rates.failed, rates.failed_share, rates.non_2xx_share) == (50.0, 5.0, 10.0, 25.0)
    assert rates.generator is not None
    assert round(rates.generator.busiest, 6) == 90.0


def test_the_end_of_the_warm_up_has_no_rate(load: Any) -> None:
    first = load.sample()
    assert load_rates(first, load.sample(requests=1)) is None
    warm = load.sample(state=LoadState.WARMUP, requests=80)
    assert load_rates(warm, load.sample(state=LoadState.WARMUP, requests=180)) is not None
    assert load_rates(warm, load.sample(state=LoadState.RUNNING, requests=85)) is None


def test_nothing_done_is_no_share(load: Any) -> None:
    first = load.sample()
    rates = load_rates(first, load.sample(rps=0.0))
    assert rates is not None
    assert (rates.rps, rates.failed_share) == (0.0, None)
