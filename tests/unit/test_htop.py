"""Our shares beside htop's arithmetic, as in htop 3.2 (linux/LinuxProcessList.c and linux/Platform.c): guests are taken
out of user and nice and shown beside stolen time, iowait counts as idle, and a process is measured by the ticks that
passed on a core."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.model import Cpu, CpuTimes, HostFacts, HostSample, Process
from loadtop.rates.compute import cpu_shares, host_rates
from loadtop.servers.registry import KINDS

STATES = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
ZERO = CpuTimes(*[0] * 10)
passed = st.tuples(*[st.integers(0, 1000)] * len(STATES), st.integers(0, 1000), st.integers(0, 1000))


@given(passed)
def test_the_meter_of_the_cpu(ticks: tuple[int, ...]) -> None:
    *states, guest, guest_nice = ticks
    now = replace(ZERO, **dict(zip(STATES, states, strict=True)), guest=guest, guest_nice=guest_nice)
    now = replace(now, user=now.user + guest, nice=now.nice + guest_nice)  # as the kernel counts guests
    shares = cpu_shares(ZERO, now)
    whole = sum(ticks)
    if not whole:
        assert shares is None
        return
    normal, low, system, idle, iowait, irq, softirq, steal = (100 * value / whole for value in states)
    virtual = 100 * (guest + guest_nice) / whole + steal
    assert shares is not None
    assert shares.user + shares.nice + (shares.steal or 0.0) == pytest.approx(normal + low + virtual)
    assert shares.kernel == pytest.approx(system + irq + softirq)
    meter = normal + low + system + irq + softirq + virtual
    assert shares.busy + (shares.steal or 0.0) == pytest.approx(meter) == pytest.approx(100 - idle - iowait)


@given(st.integers(1, 20), st.integers(1, 64), st.integers(0, 2000))
def test_the_share_of_a_process(seconds: int, cores: int, ticks: int) -> None:
    def sample(at: int, spent: int) -> HostSample:
        cpu = Cpu(replace(ZERO, idle=100 * at * cores), ())
        row = Process(7, "a", "other", "S", 1, spent, 5, 9)
        return HostSample(
            "web1", float(at), HostFacts("web1", "local", "Linux", "6.1", cores), cpu=cpu, processes=(row,)
        )

    before, now = sample(0, 0), sample(seconds, ticks)
    rates = host_rates(before, now, KINDS)
    assert rates is not None
    assert rates.processes is not None
    assert now.cpu is not None
    period = now.cpu.total.idle / cores  # ticks that passed on each core
    assert rates.processes[0].cpu == pytest.approx(100 * ticks / period)
