"""What a worker measures: counters, and durations that are collected in arrays and added to histograms."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import mul, sub
from typing import Literal

from loadtop.generator.request_log import RequestLog
from loadtop.model import Distribution, Latencies
from loadtop.model.histogram import EMPTY, buckets_of, merge

FailureKind = Literal["connect", "receive", "length", "exceptions", "timeout"]
"""The classes of failed requests, named like the fields of :class:`Counters`."""


class DurationHistogram:
    """Counts by bucket of :mod:`loadtop.model.histogram`, exact count, sums and extremes, in microseconds."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._counts: Counter[int] = Counter()
        self._count = self._sum = self._squares = self._max = self._min = 0

    def add(self, values: Sequence[int]) -> None:
        if not values:
            return
        least = min(values)
        self._min = min(self._min, least) if self._count else least
        greatest = max(values)
        self._max = max(self._max, greatest)
        self._count += len(values)
        self._sum += sum(values)
        self._squares += sum(map(mul, values, values))
        self._counts.update(buckets_of(values))

    def take(self) -> Distribution:
        """Return everything added since the last call."""
        if not self._count:
            return EMPTY
        used = sorted(self._counts)
        counts = tuple(self._counts[each] for each in used)
        taken = Distribution(self._count, self._sum, self._squares, self._min, self._max, tuple(used), counts)
        self._clear()
        return taken


@dataclass(slots=True)
class Counters:
    """Counters since the start of the load or the end of the warm-up. Bytes are those on the wire."""

    requests: int = 0
    connect: int = 0
    receive: int = 0
    length: int = 0
    exceptions: int = 0
    timeout: int = 0
    non_2xx: int = 0
    keepalive: int = 0
    received: int = 0
    body: int = 0
    sent: int = 0
    late: int = 0
    unsent: int = 0


@dataclass(slots=True)
class Measurements:
    """Counters, and the nanoseconds of every response since the last :meth:`take`.

    A response in one piece on a reused connection has one number in ``totals``: connect is 0, and processing and
    waiting are the total. Any other has three in a row in ``parts``: total, connect, waiting. ``corrected`` has one
    per response in the open model. ``request_log`` gets a row for each response.
    """

    counters: Counters = field(default_factory=Counters)
    totals: "array[int]" = field(default_factory=lambda: array("q"))
    parts: "array[int]" = field(default_factory=lambda: array("q"))
    corrected: "array[int]" = field(default_factory=lambda: array("q"))
    request_log: RequestLog | None = None
    _reused: DurationHistogram = field(default_factory=DurationHistogram)
    _total: DurationHistogram = field(default_factory=DurationHistogram)
    _connect: DurationHistogram = field(default_factory=DurationHistogram)
    _processing: DurationHistogram = field(default_factory=DurationHistogram)
    _waiting: DurationHistogram = field(default_factory=DurationHistogram)
    _corrected: DurationHistogram = field(default_factory=DurationHistogram)

    def take(self, *, corrected: bool) -> Latencies | None:
        """Return the distributions since the last call; None where no request ended since then."""
        # The arrays stay the same objects: connections hold their append methods.
        self._reused.add(_take_microseconds(self.totals))
        parts = _take_microseconds(self.parts)
        total, connect = parts[::3], parts[1::3]
        self._total.add(total)
        self._connect.add(connect)
        self._processing.add(list(map(sub, total, connect)))
        self._waiting.add(parts[2::3])
        self._corrected.add(_take_microseconds(self.corrected))
        if self.request_log is not None:
            self.request_log.flush()
        reused = self._reused.take()
        zeros = replace(EMPTY, count=reused.count, buckets=(0,), counts=(reused.count,)) if reused.count else EMPTY
        latencies = Latencies(
            total=merge((reused, self._total.take())),
            connect=merge((zeros, self._connect.take())),
            processing=merge((reused, self._processing.take())),
            waiting=merge((reused, self._waiting.take())),
        )
        corrected_times = self._corrected.take()
        if not latencies.total.count:
            return None
        return replace(latencies, corrected=corrected_times) if corrected else latencies

    def restart(self) -> None:
        """Forget everything: the warm-up is over."""
        self.take(corrected=False)
        if self.request_log is not None:
            self.request_log.restart()
        self.counters = Counters()


def _take_microseconds(times: "array[int]") -> list[int]:
    """Return the nanoseconds as microseconds and empty the array."""
    values = [nanoseconds // 1000 for nanoseconds in times]
    del times[:]
    return values
