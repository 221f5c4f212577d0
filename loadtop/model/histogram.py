"""Log-linear histograms of durations in microseconds: constant memory, relative error below 1 %, exact merging.

Every octave is cut into 128 buckets, so a bucket is at most 1/128 (0.8 %) of its lower bound wide; below 256 µs
buckets are 1 µs wide and exact. Bucket ``b`` of a value ``v``: with ``s = max(0, bit_length(v) - 8)``,
``b = 128 s + (v >> s)``. The idea is that of HdrHistogram (http://hdrhistogram.org/).
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from math import floor, sqrt
from operator import mul

from loadtop.model import Distribution, LoadSample

EMPTY = Distribution(0, 0, 0, 0, 0, (), ())  # the distribution of nothing; merging it changes nothing


def bucket_of(us: int) -> int:
    """The bucket that ``us`` (0 or more) falls into."""
    shift = max(0, us.bit_length() - 8)
    return (shift << 7) + (us >> shift)


BUCKETS = bucket_of((1 << 63) - 1) + 1  # of all values that fit 63 bits

_FIRST = list(range(256))
for _bucket in range(256, 1280):
    _FIRST.extend([_bucket] * (1 << ((_bucket >> 7) - 1)))
"""The buckets of all values below 65.5 ms: looking them up takes a third of the time of computing them."""


def buckets_of(values: Sequence[int]) -> list[int]:
    """:func:`bucket_of` of many values at once."""
    try:
        return list(map(_FIRST.__getitem__, values))
    except IndexError:
        return list(map(bucket_of, values))


def bounds(bucket: int) -> tuple[int, int]:
    """The least and the greatest value of a bucket, both in it."""
    shift = max(0, (bucket >> 7) - 1)
    low = (bucket - (shift << 7)) << shift
    return low, low + (1 << shift) - 1


def distribution(values: Sequence[int]) -> Distribution:
    if not values:
        return EMPTY
    counts = Counter(buckets_of(values))
    order = sorted(counts)
    return Distribution(
        count=len(values),
        sum_us=sum(values),
        sum_squares_us2=sum(map(mul, values, values)),
        min_us=min(values),
        max_us=max(values),
        buckets=tuple(order),
        counts=tuple(counts[each] for each in order),
    )


def distribution_of_milliseconds(counts: Mapping[int, int]) -> Distribution:
    """The distribution of values in whole milliseconds, each as often as ``counts`` says."""
    known = ((value_ms * 1000, count) for value_ms, count in counts.items() if count > 0)
    return merge(Distribution(n, n * us, n * us**2, us, us, (bucket_of(us),), (n,)) for us, n in known)


class Merger:
    """Merges distributions one by one: exact, whatever the order or the grouping."""

    def __init__(self) -> None:
        self._count = self._sum_us = self._sum_squares_us2 = self._min_us = self._max_us = 0
        self._counts: dict[int, int] = {}

    def add(self, part: Distribution | None) -> None:
        """Count all values of another distribution. ``None`` was not measured and adds nothing."""
        if part is None or not part.count:
            return
        self._min_us = min(self._min_us, part.min_us) if self._count else part.min_us
        self._max_us = max(self._max_us, part.max_us) if self._count else part.max_us
        self._count += part.count
        self._sum_us += part.sum_us
        self._sum_squares_us2 += part.sum_squares_us2
        counts, known = self._counts, self._counts.get
        for bucket, count in zip(part.buckets, part.counts, strict=True):
            counts[bucket] = known(bucket, 0) + count

    @property
    def merged(self) -> Distribution:
        buckets = tuple(sorted(self._counts))
        counts = tuple(map(self._counts.__getitem__, buckets))
        sums = (self._count, self._sum_us, self._sum_squares_us2)
        return Distribution(*sums, self._min_us, self._max_us, buckets, counts)


def merge(distributions: Iterable[Distribution | None]) -> Distribution:
    """All of them as one, see :class:`Merger`."""
    parts = [each for each in distributions if each is not None and each.count]
    if len(parts) <= 1:
        return parts[0] if parts else EMPTY
    merger = Merger()
    for part in parts:
        merger.add(part)
    return merger.merged


def percentile(values: Distribution, percent: float) -> float:
    """The value in microseconds below which ``percent`` (0 to 100) of the values lie.

    Interpolated linearly between neighbouring values, as numpy's default does; a value is known to half a bucket, the
    least and the greatest exactly. An empty distribution has none: ``ValueError``.
    """
    if not values.count:
        raise ValueError("an empty distribution has no percentiles")
    if not 0 <= percent <= 100:
        raise ValueError(f"{percent} is not a percentage")
    place = (values.count - 1) * percent / 100
    rank = min(floor(place), values.count - 1)
    cumulative = list(accumulate(values.counts))
    lower = _at(values, rank, cumulative)
    part = place - rank
    return lower if part == 0 else lower + part * (_at(values, rank + 1, cumulative) - lower)


def percentile_ms(load: LoadSample | None, percent: float) -> float | None:
    """A percentile of an interval's response times in ms; ``None`` where no request ended in it."""
    if load is None or load.latencies is None or not load.latencies.total.count:
        return None
    return percentile(load.latencies.total, percent) / 1000.0


def mean(values: Distribution) -> float:
    """The arithmetic mean in microseconds, exact. An empty distribution has none: ``ValueError``."""
    if not values.count:
        raise ValueError("an empty distribution has no mean")
    return values.sum_us / values.count


def sd(values: Distribution) -> float:
    """The sample standard deviation (n - 1) in microseconds, as ab gives it; 0 for fewer than two values."""
    if values.count < 2:
        return 0.0
    spread = values.sum_squares_us2 * values.count - values.sum_us * values.sum_us
    return sqrt(max(0, spread) / (values.count * (values.count - 1)))


def _at(values: Distribution, rank: int, cumulative: Sequence[int]) -> float:
    """The value of the given rank (from 0 in ascending order), as the middle of its bucket."""
    if rank <= 0:
        return float(values.min_us)
    position = bisect_right(cumulative, rank)
    if rank >= values.count - 1 or position == len(cumulative):
        return float(values.max_us)
    low, high = bounds(values.buckets[position])
    return min(max((low + high) / 2, values.min_us), values.max_us)
