"""What a worker has counted: time stamps go into arrays and are folded into histograms a few times a second."""

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from operator import mul, sub
from typing import Literal

from loadtop.generator.journal import Journal
from loadtop.model import Distribution, Latencies
from loadtop.model.histogram import EMPTY, buckets_of, merge

Kind = Literal["connect", "receive", "length", "exceptions", "timeout"]
"""The classes of failure, named as the fields of :class:`Counters`."""


class Durations:
    """A histogram in the making: counts by bucket, exact count, sums and extremes, all in microseconds."""

    __slots__ = ("_count", "_counts", "_greatest", "_least", "_squares", "_sum")

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._counts: Counter[int] = Counter()
        self._count = self._sum = self._squares = self._greatest = self._least = 0

    def add(self, values: Sequence[int]) -> None:
        """Count many values in at once; see :mod:`loadtop.model.histogram` for the buckets."""
        if not values:
            return
        least = min(values)
        self._least = min(self._least, least) if self._count else least
        greatest = max(values)
        self._greatest = max(self._greatest, greatest)
        self._count += len(values)
        self._sum += sum(values)
        self._squares += sum(map(mul, values, values))
        self._counts.update(buckets_of(values))

    def take(self) -> Distribution:
        """Everything since the last call."""
        if not self._count:
            return EMPTY
        used = sorted(self._counts)
        counts = tuple(self._counts[each] for each in used)
        taken = Distribution(self._count, self._sum, self._squares, self._least, self._greatest, tuple(used), counts)
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
class Tally:
    """Counters, and the nanoseconds of every response since the last :meth:`take`.

    A response that came in one piece on a reused connection has one number: its total (connect is 0, processing and
    waiting are the total). Any other has three in a row in ``full``: total, connect, waiting. ``corrected`` has one
    per response in the open model. ``journal`` gets a row for each response, where there is one.
    """

    counters: Counters = field(default_factory=Counters)
    simple: "array[int]" = field(default_factory=lambda: array("q"))
    full: "array[int]" = field(default_factory=lambda: array("q"))
    corrected: "array[int]" = field(default_factory=lambda: array("q"))
    journal: Journal | None = None
    _simple: Durations = field(default_factory=Durations)
    _total: Durations = field(default_factory=Durations)
    _connect: Durations = field(default_factory=Durations)
    _processing: Durations = field(default_factory=Durations)
    _waiting: Durations = field(default_factory=Durations)
    _corrected: Durations = field(default_factory=Durations)

    def fold(self) -> None:
        """Empty the arrays into the histograms. The arrays stay the same objects: others hold their methods."""
        self._simple.add(_drain(self.simple))
        full = _drain(self.full)
        total, connect = full[::3], full[1::3]
        self._total.add(total)
        self._connect.add(connect)
        self._processing.add(list(map(sub, total, connect)))
        self._waiting.add(full[2::3])
        self._corrected.add(_drain(self.corrected))
        if self.journal is not None:
            self.journal.flush()

    def take(self, *, corrected: bool) -> Latencies | None:
        """The distributions since the last call, or ``None`` where nothing ended since then."""
        self.fold()
        simple = self._simple.take()
        reused = replace(EMPTY, count=simple.count, buckets=(0,), counts=(simple.count,)) if simple.count else EMPTY
        total = merge((simple, self._total.take()))
        connect = merge((reused, self._connect.take()))
        processing = merge((simple, self._processing.take()))
        waiting = merge((simple, self._waiting.take()))
        late = self._corrected.take()
        return Latencies(total, connect, processing, waiting, late if corrected else None) if total.count else None

    def restart(self) -> None:
        """Forget everything so far: the warm-up is over."""
        self.take(corrected=False)
        if self.journal is not None:
            self.journal.restart()
        self.counters = Counters()


def _drain(stamps: "array[int]") -> list[int]:
    """Nanoseconds to microseconds, and the array emptied."""
    values = [stamp // 1000 for stamp in stamps]
    del stamps[:]
    return values
