"""Every metric once: its name in JSON, rules and comparisons, its title, unit, precision, and which direction is
better."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from loadtop.i18n import Translatable
from loadtop.model.histogram import percentile
from loadtop.rates.measured import HostView, Measured

Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True, slots=True)
class HostMetric:
    """One number of one machine per interval. ``read`` gives ``None`` where it was not measured."""

    name: str
    title: Translatable
    unit: str
    precision: int
    better: Better
    read: Callable[[HostView], float | None]


@dataclass(frozen=True, slots=True)
class LoadMetric:
    """One number of the load per interval. ``read`` gives ``None`` where it was not measured."""

    name: str
    title: Translatable
    unit: str
    precision: int
    better: Better
    read: Callable[[Measured], float | None]


AnyMetric = HostMetric | LoadMetric


def _rates(part: str, name: str) -> Callable[[HostView], float | None]:

    def value(host: HostView) -> float | None:
        known = None if host.rates is None else getattr(host.rates, part)
        return None if known is None else getattr(known, name)

    return value


def _sample(part: str, name: str) -> Callable[[HostView], float | None]:
    """A field of a part of the newest sample of a machine, once there are rates."""

    def value(host: HostView) -> float | None:
        known = None if host.rates is None else getattr(host.sample, part)
        return None if known is None else getattr(known, name)

    return value


def sum_known(values: Iterable[float | None]) -> float | None:
    """The sum of what was measured; ``None`` where nothing was."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def swap_used(host: HostView) -> float | None:
    """Percent of the swap space in use; ``None`` where there is none (sar -S prints 0 then, which says too much)."""
    known = None if host.sample is None else host.sample.swap
    if known is None or known.total_kb == 0:
        return None
    return 100.0 * (known.total_kb - known.free_kb) / known.total_kb


MACHINE_METRICS = (
    HostMetric("cpu.user", "user", "%", 0, "neither", _rates("cpu", "user")),
    HostMetric("cpu.nice", "nice", "%", 0, "neither", _rates("cpu", "nice")),
    HostMetric("cpu.system", "system", "%", 0, "lower", _rates("cpu", "system")),
    HostMetric("cpu.iowait", "iowait", "%", 0, "lower", _rates("cpu", "iowait")),
    HostMetric("cpu.steal", "steal", "%", 0, "lower", _rates("cpu", "steal")),
    HostMetric("cpu.irq", "irq", "%", 0, "lower", _rates("cpu", "irq")),
    HostMetric("cpu.softirq", "softirq", "%", 0, "lower", _rates("cpu", "softirq")),
    HostMetric("cpu.idle", "idle", "%", 0, "higher", _rates("cpu", "idle")),
    HostMetric("load1", "load 1 min", "", 2, "lower", _sample("scheduler", "load1")),
    HostMetric("running", "running", "tasks", 0, "lower", _sample("scheduler", "running")),
    HostMetric("blocked", "blocked", "tasks", 0, "lower", _sample("scheduler", "blocked")),
    HostMetric("memory.available_kb", "available", "kB", 0, "higher", _sample("memory", "available_kb")),
    HostMetric("swap.used_pct", "swap used", "%", 0, "lower", swap_used),
    HostMetric("swap.in_kb_s", "swap in", "kB/s", 0, "lower", _rates("paging", "swap_in_kb")),
    HostMetric("swap.out_kb_s", "swap out", "kB/s", 0, "lower", _rates("paging", "swap_out_kb")),
    HostMetric("swap.major_faults_s", "major faults", "/s", 0, "lower", _rates("paging", "major_faults")),
    HostMetric("pressure.cpu_some_pct", "CPU stall", "%", 0, "lower", _rates("pressure", "cpu_some")),
    HostMetric("pressure.memory_some_pct", "memory stall", "%", 0, "lower", _rates("pressure", "memory_some")),
    HostMetric("pressure.memory_full_pct", "full memory stall", "%", 0, "lower", _rates("pressure", "memory_full")),
    HostMetric("pressure.io_some_pct", "I/O stall", "%", 0, "lower", _rates("pressure", "io_some")),
    HostMetric("pressure.io_full_pct", "full I/O stall", "%", 0, "lower", _rates("pressure", "io_full")),
    HostMetric("tcp.listen_overflows_s", "listen overflows", "/s", 0, "lower", _rates("tcp", "listen_overflows")),
    HostMetric("tcp.retransmits_s", "retransmits", "/s", 0, "lower", _rates("tcp", "retransmits")),
    HostMetric("tcp.time_wait", "TIME_WAIT", "sockets", 0, "lower", _rates("tcp", "time_wait")),
)
"""What is measured of a host itself; the kinds of servers add theirs."""


def _rate(name: str) -> Callable[[Measured], float | None]:
    return lambda measured: None if measured.load_rates is None else getattr(measured.load_rates, name)


def _percentile(percent: float) -> Callable[[Measured], float | None]:
    def value(measured: Measured) -> float | None:
        latencies = None if measured.load is None else measured.load.latencies
        if latencies is None or latencies.total.count == 0:
            return None
        return percentile(latencies.total, percent) / 1000.0

    return value


PERCENTILES = {
    "p50": 50.0,
    "p66": 66.0,
    "p75": 75.0,
    "p80": 80.0,
    "p90": 90.0,
    "p95": 95.0,
    "p98": 98.0,
    "p99": 99.0,
    "p99_9": 99.9,
    "p99_99": 99.99,
}

LOAD_METRICS = (
    LoadMetric("rps", "requests", "/s", 1, "higher", _rate("rps")),
    LoadMetric("failed", "failed", "%", 2, "lower", _rate("failed_share")),
    LoadMetric("non_2xx", "not 2xx", "%", 2, "lower", _rate("non_2xx_share")),
    LoadMetric("received_kb_s", "received", "kB/s", 0, "higher", _rate("received_kb")),
    *(LoadMetric(name, name.replace("_", "."), "ms", 1, "lower", _percentile(p)) for name, p in PERCENTILES.items()),
    LoadMetric("max", "max", "ms", 1, "lower", _percentile(100.0)),
)
