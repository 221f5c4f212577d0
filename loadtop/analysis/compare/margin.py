"""How much a number must differ before it matters: less than that, two runs of the same thing differ as well."""

from loadtop.rates.metrics import HostMetric, LoadMetric

DEFAULT_PERCENT = 10.0
"""Of the first run's mean. Runs of the same thing on one machine, minutes apart, differ by some percent: CPU frequency,
caches, other work. The number is our own; ``--margin`` changes it."""

WIDER = {"p90": 1.5, "p99": 2.0}
"""How many times the margin of a mean: the rarer what a percentile counts, the more it jumps from run to run."""

FLOORS = {"%": 5.0, "ms": 0.2, "kB/s": 40.0, "/s": 5.0, "tasks": 1.0, "slots": 1.0, "": 1.0, "% of a core": 5.0}
"""Differences that are never counted, in the metric's unit. 40 kB/s is where swap traffic begins to count."""

OWN_FLOORS = {"failed": 1.0, "non_2xx": 1.0, "rps": 0.0, "received_kb_s": 0.0, "swap.major_faults_s": 100.0}

PRESSURE_FLOOR = 10.0
"""Percentage points: short stalls come and go on every machine."""

CARRIED = frozenset({"load1", "tcp.time_wait"})
"""What still holds the minute before the run: shown, but no judgement can be drawn from it."""


def margin(metric: HostMetric | LoadMetric, mean: float, percent: float) -> float:
    """The least difference that matters, in the metric's unit. Shares are compared in percentage points alone."""
    if metric.name.startswith("pressure."):
        floor = PRESSURE_FLOOR
    else:
        floor = OWN_FLOORS.get(metric.name, FLOORS.get(metric.unit, 0.0))
    share = percent / 100 * WIDER.get(metric.name, 1.0) * abs(mean)
    return max(floor, share)
