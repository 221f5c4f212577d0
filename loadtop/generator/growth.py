"""When a load gets one more worker process: ``--workers auto``."""

import os
import time
from collections.abc import Callable, Sequence

import psutil

WINDOW_S = 1.0
"""Over what time a worker has to be full."""
FULL = 0.85
"""The part of a core that a full worker takes; at 0.9 the figures begin to be its own (see diagnosis/generator.py)."""
FREE_CORES = 0.5
"""Idle cores without which one more worker would only take from the others, and from a server on the same machine."""


Used = tuple[float, float]
"""Of one worker: when it was asked (a monotonic clock, seconds), and its processor seconds so far."""


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class IdleCores:
    """How many of the machine's cores were idle since the last call; waiting for a disk is idle too."""

    def __init__(self) -> None:
        self._before = self._now()

    def __call__(self) -> float:
        at, idle = self._now()
        then, earlier = self._before
        self._before = at, idle
        return max(0.0, idle - earlier) / (at - then) if at > then else 0.0

    @staticmethod
    def _now() -> tuple[float, float]:
        times = psutil.cpu_times()
        return time.monotonic(), times.idle + float(getattr(times, "iowait", 0.0))


class Growth:
    """Says when there should be one more worker: the busiest was full for :data:`WINDOW_S`, cores were idle meanwhile,
    and there are fewer workers than ``most``."""

    def __init__(self, most: int, idle_cores: Callable[[], float]) -> None:
        self._most = most
        self._idle_cores = idle_cores
        self._before: Sequence[Used] = ()

    def wanted(self, used: Sequence[Used]) -> bool:
        """Whether to add one now; call it a few times a second."""
        if len(self._before) != len(used):
            self._idle_cores()
            self._before = used
            return False
        spans = [now[0] - before[0] for now, before in zip(used, self._before, strict=True)]
        if min(spans) < WINDOW_S:
            return False
        shares = (now[1] - before[1] for now, before in zip(used, self._before, strict=True))
        busiest = max(share / span for share, span in zip(shares, spans, strict=True))
        self._before = used
        idle = self._idle_cores()
        return len(used) < self._most and busiest >= FULL and idle >= FREE_CORES
