"""The knee of a sweep: the fewest connections that give (nearly) the best throughput, and how far that holds.

The Universal Scalability Law is fitted to the sweep: N. J. Gunther, Guerrilla Capacity Planning (Springer 2007),
chapter 4, with the factor for absolute throughput: X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)).
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from operator import itemgetter

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.statistic import Json
from loadtop.analysis.tune.step import StepResult
from loadtop.diagnosis.finding import NONE

KNEE_SHARE = 0.97
"""Share of the best throughput that the knee must give; our own: above the noise of a steady step, and well above the
95 % at which a difference begins to matter."""

LEAST_SHARE = 0.92
"""The least share where two measurements of the best throughput differ: half of their difference is taken off. Our
own."""

WORSE_SHARE = 0.90  # share of the best throughput below which a step with more connections is worse; our own
AGREES = 0.10  # relative difference of two measurements of the same step up to which the second confirms the first
LEAST_POINTS = 4  # distinct concurrencies below which three parameters mean nothing; Gunther asks for six or more


class Usl(Struct, frozen=True):
    """``gamma`` requests/s with one connection, ``alpha`` contention, ``beta`` coherency (both 0 or more).

    ``r2`` is the share of the variance of the throughput that it explains.
    """

    gamma: float
    alpha: float
    beta: float
    r2: float

    @property
    def peak(self) -> float | None:
        """The concurrency of the highest throughput; ``None`` where the law knows none (it rises to a ceiling)."""
        if self.beta <= 0 or self.alpha >= 1:
            return None
        return math.sqrt((1 - self.alpha) / self.beta)

    def throughput(self, concurrency: float) -> float:
        n = concurrency
        return self.gamma * n / (1 + self.alpha * (n - 1) + self.beta * n * (n - 1))


def fit(points: Sequence[tuple[int, float]]) -> Usl | None:
    """Least squares over (concurrency, requests/s); ``None`` with fewer than ``LEAST_POINTS`` concurrencies.

    N / X is linear in (1, N - 1, N (N - 1)). Each row is weighted with X / N, which makes the residuals relative. A
    negative parameter has no meaning: the fit is then made again without it.
    """
    import numpy as np

    known = [(n, x) for n, x in points if n > 0 and x > 0]
    if len({n for n, _ in known}) < LEAST_POINTS:
        return None
    n = np.array([point[0] for point in known], dtype=float)
    x = np.array([point[1] for point in known], dtype=float)
    columns = [x / n, x / n * (n - 1), x / n * n * (n - 1)]
    found: list[tuple[float, Usl]] = []
    for kept in ((0, 1, 2), (0, 1), (0, 2), (0,)):
        matrix = np.column_stack([columns[index] for index in kept])
        solution = np.linalg.lstsq(matrix, np.ones(len(matrix)), rcond=None)[0]
        parameters = {index: float(value) for index, value in zip(kept, solution, strict=True)}
        if parameters[0] <= 0 or any(value < 0 for value in parameters.values()):
            continue
        gamma = 1 / parameters[0]
        usl = Usl(gamma, parameters.get(1, 0.0) * gamma, parameters.get(2, 0.0) * gamma, 0.0)
        fitted = np.array([usl.throughput(each) for each in n])
        total, rest = float(np.sum((x - x.mean()) ** 2)), float(np.sum((x - fitted) ** 2))
        usl = replace(usl, r2=1 - rest / total if total > 0 else 0.0)
        found.append((float(np.sum((fitted / x - 1) ** 2)), usl))
        if len(kept) == 3:
            break
    return min(found, key=itemgetter(0))[1] if found else None


class Point(Struct, frozen=True):
    """All measurements at one concurrency together. ``good`` says that it neither failed nor swapped; ``spread`` is the
    relative difference of the slowest from the fastest measurement (``None`` for one alone)."""

    concurrency: int
    rps: float
    good: bool
    spread: float | None
    results: tuple[StepResult, ...]


class Knee(Struct, frozen=True):
    """``concurrency`` connections give ``rps`` requests/s; throughput is flat up to ``until``.

    ``bounded``: a step with more connections gave no more. ``worse_from`` is the first step that gave less, swapped or
    failed, ``highest`` the last one measured. ``confirmed`` is ``None`` if the knee was measured only once.
    """

    concurrency: int
    rps: float
    until: int
    worse_from: int | None
    bounded: bool
    confirmed: bool | None
    usl: Usl | None
    highest: int

    @property
    def peak_is_measured(self) -> bool:
        return self.usl is not None and self.usl.peak is not None and self.usl.peak <= self.highest

    def as_json(self) -> Json:
        usl = self.usl
        law = (
            None
            if usl is None
            else {
                "gamma": round(usl.gamma, 6),
                "alpha": round(usl.alpha, 8),
                "beta": round(usl.beta, 10),
                "peak": None if usl.peak is None else round(usl.peak, 2),
                "peak_measured": self.peak_is_measured,
                "r2": round(usl.r2, 4),
            }
        )
        return {
            "concurrency": self.concurrency,
            "rps": round(self.rps, 3),
            "until": self.until,
            "worse_from": self.worse_from,
            "bounded": self.bounded,
            "confirmed": self.confirmed,
            "usl": law,
        }


def points(results: Sequence[StepResult]) -> list[Point]:
    """The results by concurrency, lowest first; steps measured twice are averaged by time.

    What swaps below the highest concurrency that was measured without swapping is the aftermath of another step.
    """
    found = defaultdict[int, list[StepResult]](list)
    for result in results:
        found[result.concurrency].append(result)
    calm = max((result.concurrency for result in results if not result.swaps), default=0)
    known: list[Point] = []
    for concurrency, part in sorted(found.items()):
        seconds, rates = sum(result.seconds for result in part), [result.rps for result in part]
        rps = sum(result.requests for result in part) / seconds if seconds > 0 else 0.0
        good = not any(result.fails or (result.swaps and concurrency >= calm) for result in part)
        spread = None if len(part) < 2 or max(rates) <= 0 else 1 - min(rates) / max(rates)
        known.append(Point(concurrency, rps, good, spread, tuple(part)))
    return known


def find_knee(results: Sequence[StepResult]) -> Knee | None:
    """The knee of what was measured; ``None`` where no step served anything without failing or swapping.

    Steps that fail, swap or measure the generator are left out of the fit: the law knows no cliffs.
    """
    known = points(results)
    good = [point for point in known if point.good and point.rps > 0]
    if not good:
        return None
    fastest = max(good, key=lambda point: point.rps)
    best = fastest.rps
    enough = max(LEAST_SHARE, KNEE_SHARE - (fastest.spread or 0.0) / 2) * best
    knee = next(point for point in good if point.rps >= enough)
    beyond = [point for point in known if point.concurrency > knee.concurrency]
    worse = next((point for point in beyond if not point.good or point.rps < WORSE_SHARE * best), None)
    end = worse.concurrency if worse else known[-1].concurrency + 1
    until = max(p.concurrency for p in good if p.rps >= enough and knee.concurrency <= p.concurrency < end)
    own = [p for p in good if all(result.bottleneck != "generator" for result in p.results)]
    return Knee(
        knee.concurrency,
        knee.rps,
        until,
        None if worse is None else worse.concurrency,
        bool(beyond),
        None if knee.spread is None else knee.spread <= AGREES,
        fit([(p.concurrency, p.rps) for p in own]),
        known[-1].concurrency,
    )


def limit_of(results: Sequence[StepResult], knee: Knee | None) -> StepResult | None:
    """The step whose verdict is the limit: at the knee or, if it has no effect there yet, the next above it."""
    known = sorted(results, key=lambda result: result.concurrency)
    first = 0 if knee is None else knee.concurrency
    above = [result for result in known if result.concurrency >= first]
    return next((result for result in above if result.bottleneck != NONE), above[0] if above else None)
