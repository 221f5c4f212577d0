"""Whether two series of intervals differ by more than chance, and by more than matters.

The test is Welch's (B. L. Welch, Biometrika 34, 1947) on the means, with two changes that the data ask for:

- Neighbouring intervals are alike, so ``n`` of them tell less than ``n`` independent ones. Their number is replaced by
  the equivalent sample size of an autocorrelated series, ``n (1 - r) / (1 + r)`` with ``r`` the correlation of
  neighbours (F. W. Zwiers, H. von Storch: Taking serial correlation into account in tests of the mean, Journal of
  Climate 8, 1995), ``r`` corrected for its bias in short series (F. H. C. Marriott, J. A. Pope, Biometrika 41, 1954).
- Two runs of the same thing never have the same mean: the machine is warmer, the cache fuller. A single run of each
  cannot distinguish that from a difference, so only differences above a margin count: the minimum-effect test (K. R.
  Murphy, B. Myors, Journal of Applied Psychology 84, 1999), whose null hypothesis is "the means differ by no more than
  the margin".

Where many numbers are compared some differ by chance: the p values are corrected by Holm's method (S. Holm,
Scandinavian Journal of Statistics 6, 1979), which holds the chance of even one false alarm below the level.
numpy is all that this needs.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from loadtop.i18n import Translatable

Series = NDArray[np.float64]

LEVEL = 0.05  # the chance of even one false alarm among all comparisons of one table
LEAST = 3  # intervals that each side needs; of fewer nothing can be said
MOST = 86_400  # the most intervals that are recommended

METHOD: Translatable = (
    "Welch's t test, corrected for autocorrelation (Zwiers and von Storch 1995) and for many comparisons (Holm)"
)


class Sample(Struct, frozen=True):
    """A series as the test sees it: mean, variance, how many values, and how many independent ones they are worth.
    Each is the mean of ``width`` intervals."""

    mean: float
    variance: float
    count: int
    worth: float
    width: int = 1

    @property
    def intervals(self) -> int:
        return self.count * self.width


def sample(values: Series, width: int = 1) -> Sample | None:
    """What is known of a series (NaN is not measured); ``None`` where nothing was measured."""
    known = values[~np.isnan(values)]
    count = int(known.size)
    if not count:
        return None
    variance = float(known.var(ddof=1)) if count > 1 else 0.0
    return Sample(float(known.mean()), variance, count, count / _inflation(known), width)


def p_value(before: Sample | None, after: Sample | None, margin: float) -> float | None:
    """The chance of such a difference, or a greater one, where the means differ by ``margin`` at most.

    ``None`` where a side was not measured, or has too few intervals to say anything.
    """
    if before is None or after is None or min(before.count, after.count) < LEAST:
        return None
    beyond = abs(after.mean - before.mean) - margin
    if beyond <= 0:
        return 1.0
    parts = [(each.variance / each.worth, each.worth) for each in (before, after)]
    error = sum(part for part, _ in parts)
    if error <= 0:
        return 0.0
    freedom = error**2 / sum(part**2 / max(worth - 1.0, 0.5) for part, worth in parts)
    return two_sided(beyond / math.sqrt(error), freedom)


def needed(before: Sample, after: Sample, margin: float, level: float) -> int | None:
    """How many intervals each side would need for a p value below ``level``, were they to go on as they began.

    ``None`` where the means differ by no more than the margin, or where :data:`MOST` would not do.
    """

    def longer(known: Sample, intervals: int) -> Sample:
        return replace(known, count=intervals // known.width, worth=known.worth * intervals / known.intervals)

    def enough(intervals: int) -> bool:
        p = p_value(longer(before, intervals), longer(after, intervals), margin)
        return p is not None and p < level

    if not enough(MOST):
        return None
    return 1 + bisect_left(range(1, MOST), True, key=enough)


def holm(values: Sequence[float | None]) -> list[float | None]:
    """The p values corrected for their number; ``None`` stays and does not count."""
    known = sorted((value, i) for i, value in enumerate(values) if value is not None)
    found: list[float | None] = [None] * len(values)
    greatest = 0.0
    for rank, (value, i) in enumerate(known):
        greatest = max(greatest, min(1.0, value * (len(known) - rank)))
        found[i] = greatest
    return found


def two_sided(t: float, freedom: float) -> float:
    """The chance that Student's t is beyond ``t`` on either side (NIST DLMF 8.17: an incomplete beta function)."""
    whole = freedom + t * t
    return _incomplete_beta(freedom / 2, 0.5, freedom / whole, t * t / whole)


def _inflation(known: Series) -> float:
    """How many intervals are worth one independent one: from 1 (independent) to half of all (a slow drift)."""
    count = int(known.size)
    centred: Any = known - known.mean()
    spread = float(centred @ centred)
    if count < LEAST or spread <= 0:
        return 1.0
    neighbours = float(centred[:-1] @ centred[1:]) / spread
    neighbours += (1 + 3 * neighbours) / count  # its bias, to the first order
    held = min(max(neighbours, 0.0), 0.999)
    return min((1 + held) / (1 - held), count / 2)


def _incomplete_beta(a: float, b: float, x: float, rest: float) -> float:
    """The regularised incomplete beta function by its continued fraction (DLMF 8.17.22). ``rest`` is 1 - x: near 1, a
    difference would lose its digits."""
    if x <= 0 or rest <= 0:
        return float(x > 0)
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _incomplete_beta(b, a, rest, x)
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(rest)
    return math.exp(log) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction from its far end; it converges within some square root of ``a`` steps."""
    value = 1.0
    for i in range(100 + 8 * int(math.sqrt(max(a, b))), 0, -1):
        m = i // 2
        if i % 2:
            term = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        else:
            term = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        value = 1 + term / value
    return 1 / value
