"""Every metric once: its name in JSON, rules and comparisons, title, unit and better direction."""

from collections.abc import Callable, Iterable
from typing import Generic, Literal, TypeVar

from msgspec import Struct

from loadtop.i18n import Translatable
from loadtop.model import Distribution
from loadtop.model.histogram import mean, percentile_ms
from loadtop.rates.measured import HostView, Measured

Better = Literal["higher", "lower", "neither"]


From = TypeVar("From")


class Metric(Struct, Generic[From], frozen=True):
    """One number per interval of a machine or of the load. ``read`` gives ``None`` where it was not measured."""

    name: str
    title: Translatable
    unit: str
    better: Better
    read: Callable[[From], float | None]


HostMetric = Metric[HostView]
LoadMetric = Metric[Measured]
AnyMetric = HostMetric | LoadMetric


def _rates(part: str, name: str) -> Callable[[HostView], float | None]:
    return lambda host: None if host.rates is None else _field(getattr(host.rates, part), name)


def _sample(part: str, name: str) -> Callable[[HostView], float | None]:
    """A field of a part of the newest sample of a machine, once there are rates."""
    return lambda host: None if host.rates is None else _field(getattr(host.sample, part), name)


def _field(record: object, name: str) -> float | None:
    return None if record is None else getattr(record, name)


def sum_known(values: Iterable[float | None]) -> float | None:
    """The sum of what was measured; ``None`` where nothing was."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def swap_used(host: HostView) -> float | None:
    """Percent of the swap space in use; ``None`` where there is none (sar -S misleadingly prints 0 then)."""
    known = None if host.sample is None else host.sample.swap
    if known is None or known.total_kb == 0:
        return None
    return 100.0 * (known.total_kb - known.free_kb) / known.total_kb


MACHINE_METRICS = (
    Metric("cpu.user", "user", "%", "neither", _rates("cpu", "user")),
    Metric("cpu.nice", "nice", "%", "neither", _rates("cpu", "nice")),
    Metric("cpu.system", "system", "%", "lower", _rates("cpu", "system")),
    Metric("cpu.iowait", "iowait", "%", "lower", _rates("cpu", "iowait")),
    Metric("cpu.steal", "steal", "%", "lower", _rates("cpu", "steal")),
    Metric("cpu.irq", "irq", "%", "lower", _rates("cpu", "irq")),
    Metric("cpu.softirq", "softirq", "%", "lower", _rates("cpu", "softirq")),
    Metric("cpu.idle", "idle", "%", "higher", _rates("cpu", "idle")),
    Metric("load1", "load 1 min", "", "lower", _sample("scheduler", "load1")),
    Metric("running", "running", "tasks", "lower", _sample("scheduler", "running")),
    Metric("blocked", "blocked", "tasks", "lower", _sample("scheduler", "blocked")),
    Metric("memory.available_kb", "available", "kB", "higher", _sample("memory", "available_kb")),
    Metric("swap.used_pct", "swap used", "%", "lower", swap_used),
    Metric("swap.in_kb_s", "swap in", "kB/s", "lower", _rates("paging", "swap_in_kb")),
    Metric("swap.out_kb_s", "swap out", "kB/s", "lower", _rates("paging", "swap_out_kb")),
    Metric("swap.major_faults_s", "major faults", "/s", "lower", _rates("paging", "major_faults")),
    Metric("pressure.cpu_some_pct", "CPU stall (PSI)", "%", "lower", _rates("pressure", "cpu_some")),
    Metric("pressure.memory_some_pct", "memory stall (PSI)", "%", "lower", _rates("pressure", "memory_some")),
    Metric("pressure.memory_full_pct", "full memory stall", "%", "lower", _rates("pressure", "memory_full")),
    Metric("pressure.io_some_pct", "I/O stall (PSI)", "%", "lower", _rates("pressure", "io_some")),
    Metric("pressure.io_full_pct", "full I/O stall", "%", "lower", _rates("pressure", "io_full")),
    Metric("tcp.listen_overflows_s", "accept queue overflows", "/s", "lower", _rates("tcp", "listen_overflows")),
    Metric("tcp.retransmits_s", "retransmits", "/s", "lower", _rates("tcp", "retransmits")),
    Metric("tcp.time_wait", "TIME_WAIT", "sockets", "lower", _rates("tcp", "time_wait")),
)
"""What is measured of a host itself; the kinds of servers add theirs."""


def _rate(name: str) -> Callable[[Measured], float | None]:
    return lambda measured: _field(measured.load_rates, name)


def _percentile(percent: float) -> Callable[[Measured], float | None]:
    return lambda measured: percentile_ms(measured.load, percent)


_PERCENTAGES = (50.0, 66.0, 75.0, 80.0, 90.0, 95.0, 98.0, 99.0, 99.9, 99.99)
PERCENTILES = {f"p{percent:g}".replace(".", "_"): percent for percent in _PERCENTAGES}
"""The percentage by the name in JSON: ``p50``, ``p99_9``."""

TIMES_OF_REQUESTS = (*PERCENTILES, "max")
"""The names of metrics of the load that are response times, in ms."""

LOAD_METRICS = (
    Metric("rps", "requests", "/s", "higher", _rate("rps")),
    Metric("failed", "failed", "%", "lower", _rate("failed_share")),
    Metric("non_2xx", "not 2xx", "%", "lower", _rate("non_2xx_share")),
    Metric("received_kb_s", "received", "kB/s", "higher", _rate("received_kb")),
    *(Metric(name, name.replace("_", "."), "ms", "lower", _percentile(p)) for name, p in PERCENTILES.items()),
    Metric("max", "max", "ms", "lower", _percentile(100.0)),
)


def _of_times(read: Callable[[Distribution], float]) -> Callable[[Measured], float | None]:
    def milliseconds(measured: Measured) -> float | None:
        latencies = None if measured.load is None else measured.load.latencies
        return None if latencies is None or not latencies.total.count else read(latencies.total) / 1000.0

    return milliseconds


RULE_METRICS = (
    *LOAD_METRICS,
    Metric("mean", "mean", "ms", "lower", _of_times(mean)),
    Metric("min", "min", "ms", "lower", _of_times(lambda times: times.min_us)),
)
"""What ``--fail-if`` knows of the load."""
