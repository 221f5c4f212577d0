"""The knee of a sweep: the fewest connections that give (nearly) the best throughput, and how far that holds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from loadtop.analysis.tune.step import StepResult
from loadtop.analysis.tune.usl import Usl, fit
from loadtop.diagnosis.finding import NONE

KNEE_SHARE = 0.97
"""Share of the best throughput that the knee must give; our own: above the noise of a steady step, and well above the
95 % at which a difference begins to matter."""

WORSE_SHARE = 0.90
"""Share of the best throughput below which a step with more connections is worse; our own."""

AGREES = 0.10
"""Relative difference of two measurements of the same step up to which the second confirms the first."""


@dataclass(frozen=True, slots=True)
class Point:
    """All measurements at one concurrency together. ``good`` says that it neither failed nor swapped; ``spread`` is the
    relative difference of the slowest from the fastest measurement (``None`` for one alone)."""

    concurrency: int
    rps: float
    good: bool
    spread: float | None
    results: tuple[StepResult, ...]


@dataclass(frozen=True, slots=True)
class Knee:
    """``concurrency`` connections give ``rps`` requests/s, and up to ``until`` it stays so.

    ``bounded`` says that a step with more connections was seen to give no more; ``worse_from`` is the first one seen to
    give less, to swap or to fail; ``highest`` the last one measured.
    ``confirmed`` is ``None`` where the knee was measured once only.
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
    def peak(self) -> float | None:
        return None if self.usl is None else self.usl.peak

    @property
    def peak_is_measured(self) -> bool:
        """Whether the law's peak lies within what was measured."""
        return self.peak is not None and self.peak <= self.highest

    def as_json(self) -> dict[str, Any]:
        """``knee`` of the JSON summary."""
        usl = self.usl
        return {
            "concurrency": self.concurrency,
            "rps": round(self.rps, 3),
            "until": self.until,
            "worse_from": self.worse_from,
            "bounded": self.bounded,
            "confirmed": self.confirmed,
            "usl": None
            if usl is None
            else {
                "gamma": round(usl.gamma, 6),
                "alpha": round(usl.alpha, 8),
                "beta": round(usl.beta, 10),
                "peak": None if usl.peak is None else round(usl.peak, 2),
                "peak_measured": self.peak_is_measured,
                "r2": round(usl.r2, 4),
            },
        }


def points(results: Sequence[StepResult]) -> list[Point]:
    """The results by concurrency, lowest first; steps measured twice are averaged by time."""
    found: dict[int, list[StepResult]] = {}
    for result in results:
        found.setdefault(result.concurrency, []).append(result)
    calm = max((result.concurrency for result in results if not result.swaps), default=0)
    return [_point(concurrency, tuple(part), calm) for concurrency, part in sorted(found.items())]


def _point(concurrency: int, part: tuple[StepResult, ...], calm: int) -> Point:
    """``calm`` is the highest concurrency that was measured without swapping: what swaps below it is the aftermath of
    another step."""
    seconds = sum(result.seconds for result in part)
    rates = [result.rps for result in part]
    return Point(
        concurrency,
        sum(result.requests for result in part) / seconds if seconds > 0 else 0.0,
        not any(result.fails or (result.swaps and concurrency >= calm) for result in part),
        None if len(part) < 2 or max(rates) <= 0 else 1 - min(rates) / max(rates),
        part,
    )


def find_knee(results: Sequence[StepResult]) -> Knee | None:
    """The knee of what was measured; ``None`` where no step served anything without failing or swapping.

    Steps that fail, swap or measure the generator are left out of the fit: the law knows no cliffs.
    """
    known = points(results)
    good = [point for point in known if point.good and point.rps > 0]
    if not good:
        return None
    best = max(point.rps for point in good)
    knee = next(point for point in good if point.rps >= KNEE_SHARE * best)
    beyond = [point for point in known if point.concurrency > knee.concurrency]
    worse = next((point for point in beyond if not point.good or point.rps < WORSE_SHARE * best), None)
    end = worse.concurrency if worse else known[-1].concurrency + 1
    until = max(p.concurrency for p in good if p.rps >= KNEE_SHARE * best and knee.concurrency <= p.concurrency < end)
    fitted = [(p.concurrency, p.rps) for p in good if not _by_generator(p)]
    return Knee(
        knee.concurrency,
        knee.rps,
        until,
        None if worse is None else worse.concurrency,
        bool(beyond),
        None if knee.spread is None else knee.spread <= AGREES,
        fit(fitted),
        known[-1].concurrency,
    )


def _by_generator(point: Point) -> bool:
    return any(result.bottleneck == "generator" for result in point.results)


def limit_of(results: Sequence[StepResult], knee: Knee | None) -> StepResult | None:
    """The step whose verdict says what the limit is: at the knee or, before that is felt there, next above it."""
    known = sorted(results, key=lambda result: result.concurrency)
    first = 0 if knee is None else knee.concurrency
    above = [result for result in known if result.concurrency >= first]
    return next((result for result in above if result.bottleneck != NONE), above[0] if above else None)
