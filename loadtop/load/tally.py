"""What a worker has counted: time stamps go into arrays and are folded into histograms a few times a second."""

from array import array
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from loadtop.load.histogram import EMPTY
from loadtop.load.journal import Journal
from loadtop.model import Distribution, Latencies

Kind = Literal["connect", "receive", "length", "exceptions", "timeout"]
"""The classes of failure, named as the fields of :class:`Counters`."""

_BUCKETS = 8192
_LONGEST_US = 1 << 60
_Microseconds = NDArray[np.int64]


class Durations:
    """A histogram in the making: dense counts, exact count, sums and extremes, all in microseconds."""

    __slots__ = ("_count", "_counts", "_greatest", "_least", "_squares", "_sum")

    def __init__(self) -> None:
        self._counts = np.zeros(_BUCKETS, np.int64)
        self._clear()

    def _clear(self) -> None:
        self._counts.fill(0)
        self._count = self._sum = self._squares = self._greatest = 0
        self._least = _LONGEST_US

    def add(self, values: _Microseconds) -> None:
        """Count many values in at once; see :mod:`loadtop.load.histogram` for the buckets."""
        if not len(values):
            return
        exponents = np.frexp(values.astype(np.float64))[1]
        shifts = np.maximum(exponents - 8, 0).astype(np.int64)
        found = np.bincount((shifts << 7) + (values >> shifts))
        self._counts[: len(found)] += found
        greatest = int(values.max())
        self._count += len(values)
        self._sum += int(values.sum())
        if greatest * greatest * len(values) < 1 << 62:
            self._squares += int(np.dot(values, values))
        else:
            self._squares += sum(each * each for each in values.tolist())
        self._greatest = max(self._greatest, greatest)
        self._least = min(self._least, int(values.min()))

    def take(self) -> Distribution:
        """Everything since the last call."""
        if not self._count:
            return EMPTY
        used = np.flatnonzero(self._counts)
        taken = Distribution(
            self._count,
            self._sum,
            self._squares,
            self._least,
            self._greatest,
            tuple(used.tolist()),
            tuple(self._counts[used].tolist()),
        )
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
    _total: Durations = field(default_factory=Durations)
    _connect: Durations = field(default_factory=Durations)
    _processing: Durations = field(default_factory=Durations)
    _waiting: Durations = field(default_factory=Durations)
    _corrected: Durations = field(default_factory=Durations)

    def fold(self) -> None:
        """Empty the arrays into the histograms. The arrays stay the same objects: others hold their methods."""
        simple = _drain(self.simple)
        if len(simple):
            for durations in (self._total, self._processing, self._waiting):
                durations.add(simple)
            self._connect.add(np.zeros(len(simple), np.int64))
        full = _drain(self.full).reshape(-1, 3)
        self._total.add(full[:, 0])
        self._connect.add(full[:, 1])
        self._processing.add(full[:, 0] - full[:, 1])
        self._waiting.add(full[:, 2])
        self._corrected.add(_drain(self.corrected))
        if self.journal is not None:
            self.journal.flush()

    def take(self, *, corrected: bool) -> Latencies | None:
        """The distributions since the last call, or ``None`` where nothing ended since then."""
        self.fold()
        total = self._total.take()
        rest = (self._connect.take(), self._processing.take(), self._waiting.take())
        late = self._corrected.take()
        return Latencies(total, *rest, late if corrected else None) if total.count else None

    def restart(self) -> None:
        """Forget everything so far: the warm-up is over."""
        self.take(corrected=False)
        if self.journal is not None:
            self.journal.restart()
        self.counters = Counters()


def _drain(stamps: "array[int]") -> _Microseconds:
    """Nanoseconds to microseconds, and the array emptied."""
    values = np.array(stamps, np.int64) // 1000
    del stamps[:]
    return values
