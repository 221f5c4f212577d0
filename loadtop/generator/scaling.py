"""When a load gets another worker process: ``--workers auto``."""

import os
from collections.abc import Callable, Sequence

import psutil

WINDOW_S = 1.0
"""For how long a worker must be busy."""
BUSY_CORE_SHARE = 0.85
"""The share of a core that a busy worker uses; from 0.9 on it distorts what it measures (diagnosis/generator.py)."""
MIN_IDLE_CORES = 0.5
"""With fewer idle cores, another worker would only take CPU time from the others, and from a server on this machine."""

CpuUsage = tuple[float, float]
"""Of one worker: when it reported (a monotonic clock, seconds), and its CPU seconds until then."""


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def idle_cores() -> float:
    """Return how many of the machine's cores were idle since the last call; waiting for a disk is idle too."""
    times = psutil.cpu_times_percent()
    return (times.idle + float(getattr(times, "iowait", 0.0))) / 100.0 * (psutil.cpu_count() or 1)


class ScalingPolicy:
    """Asks for another worker when the busiest one was busy for :data:`WINDOW_S`, cores were idle meanwhile, and there
    are fewer than ``max_workers``."""

    def __init__(self, max_workers: int, idle_cores: Callable[[], float]) -> None:
        self._max_workers = max_workers
        self._idle_cores = idle_cores
        self._before: Sequence[CpuUsage] = ()

    def wants_worker(self, usage: Sequence[CpuUsage]) -> bool:
        """Whether to add a worker now; call this a few times a second."""
        if len(self._before) != len(usage):
            self._idle_cores()
            self._before = usage
            return False
        pairs = list(zip(self._before, usage, strict=True))
        if min(now[0] - before[0] for before, now in pairs) < WINDOW_S:
            return False
        busiest = max((now[1] - before[1]) / (now[0] - before[0]) for before, now in pairs)
        self._before = usage
        idle = self._idle_cores()
        return len(usage) < self._max_workers and busiest >= BUSY_CORE_SHARE and idle >= MIN_IDLE_CORES
