"""What a worker measures: counters and durations."""

from array import array
from dataclasses import dataclass, field, replace
from operator import sub
from typing import Literal

from loadtop.generator.request_log import RequestLog
from loadtop.model import Latencies
from loadtop.model.histogram import EMPTY, distribution, merge

FailureKind = Literal["connect", "receive", "length", "exceptions", "timeout"]
"""The classes of failed requests, named like the fields of :class:`Counters`."""


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

    def take(self, *, corrected: bool) -> Latencies | None:
        """Return the distributions since the last call; None where no request ended since then."""
        # The arrays stay the same objects: connections hold their append methods.
        reused = distribution(_take_microseconds(self.totals))
        parts = _take_microseconds(self.parts)
        intended = _take_microseconds(self.corrected)
        if self.request_log is not None:
            self.request_log.flush()
        total, connect = parts[::3], parts[1::3]
        if not reused.count and not total:
            return None
        zeros = replace(EMPTY, count=reused.count, buckets=(0,), counts=(reused.count,)) if reused.count else EMPTY
        return Latencies(
            total=merge((reused, distribution(total))),
            connect=merge((zeros, distribution(connect))),
            processing=merge((reused, distribution(list(map(sub, total, connect))))),
            waiting=merge((reused, distribution(parts[2::3]))),
            corrected=distribution(intended) if corrected else None,
        )

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
