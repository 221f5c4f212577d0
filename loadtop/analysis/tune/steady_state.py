"""When a step of a sweep is steady: its throughput no longer drifts, and enough requests have ended to say so."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

SKIPPED = 1
"""Intervals at the start of a step that never count: the change of the load falls into the first."""

DRIFT = 0.10
"""Relative difference of the mean throughput of both halves of a window below which it is steady; our own."""

MOST_DRIFT = 0.5
"""The greatest drift that counting whole requests can explain; our own."""

LEAST_INTERVALS = 4
"""Intervals in a window: two in each half."""

PER_CONNECTION = 2
"""Requests that must have ended per connection, so that each connection has served this load at least once."""


class Served(Protocol):
    """Requests that ended in an interval, and its length in seconds."""

    @property
    def requests(self) -> int: ...

    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True, slots=True)
class Window:
    """The intervals of a step that count: from index ``first`` on. ``drift`` is the relative difference of the mean
    throughput of its halves, ``steady`` whether it is small enough."""

    first: int
    drift: float
    steady: bool


def steady_window(intervals: Sequence[Served], connections: int) -> Window | None:
    """The longest stretch at the end of a step over which throughput does not drift.

    Where there is none, the later half of the step, as not steady; ``None`` before there is enough to judge.
    """
    last = len(intervals) - LEAST_INTERVALS
    if last < SKIPPED:
        return None
    for first in range(SKIPPED, last + 1):
        part = intervals[first:]
        enough = sum(each.requests for each in part) >= PER_CONNECTION * connections
        if enough and (drift := _drift(part)) <= _allowed(part, connections):
            return Window(first, drift, steady=True)
    first = min(last, max(SKIPPED, len(intervals) // 2))
    return Window(first, _drift(intervals[first:]), steady=False)


def _drift(part: Sequence[Served]) -> float:
    """Relative difference of the mean throughput of both halves; the odd interval in the middle belongs to none."""
    half = len(part) // 2
    early, late = _rate(part[:half]), _rate(part[-half:])
    highest = max(early, late)
    return abs(early - late) / highest if highest > 0 else 0.0


def _allowed(part: Sequence[Served], connections: int) -> float:
    """``DRIFT``, or the drift that counting whole requests alone can cause: connections answered together end in one
    interval or in the next, and where few requests end, each of them weighs."""
    half = len(part) // 2
    fewest = min(sum(each.requests for each in part[:half]), sum(each.requests for each in part[-half:]))
    if fewest <= 0:
        return DRIFT
    together = min(1.0, connections / fewest) if fewest < 8 * connections else 0.0
    return max(DRIFT, min(MOST_DRIFT, max(together, 1 / math.sqrt(fewest))))


def _rate(part: Sequence[Served]) -> float:
    seconds = sum(each.seconds for each in part)
    return sum(each.requests for each in part) / seconds if seconds > 0 else 0.0
