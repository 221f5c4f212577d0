"""The Universal Scalability Law, fitted to a sweep.

N. J. Gunther, Guerrilla Capacity Planning (Springer 2007), chapter 4, with the factor for absolute throughput:
X(N) = gamma N / (1 + alpha (N - 1) + beta N (N - 1)).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

LEAST_POINTS = 4
"""Distinct concurrencies below which three parameters mean nothing; Gunther asks for six or more."""


@dataclass(frozen=True, slots=True)
class Usl:
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
        """Requests/s at that many connections."""
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
        solution = _solve([columns[index] for index in kept])
        parameters = dict(zip(kept, solution, strict=True))
        if parameters[0] <= 0 or any(value < 0 for value in parameters.values()):
            continue
        gamma = 1 / parameters[0]
        usl = Usl(gamma, parameters.get(1, 0.0) * gamma, parameters.get(2, 0.0) * gamma, 0.0)
        misfit = float(np.sum((np.array([usl.throughput(each) for each in n]) / x - 1) ** 2))
        found.append((misfit, usl))
        if len(kept) == 3:
            break
    if not found:
        return None
    best = min(found, key=lambda pair: pair[0])[1]
    return Usl(best.gamma, best.alpha, best.beta, _explained(best, known))


def _solve(columns: "list[NDArray[Any]]") -> list[float]:
    import numpy as np

    matrix = np.column_stack(columns)
    return [float(value) for value in np.linalg.lstsq(matrix, np.ones(len(matrix)), rcond=None)[0]]


def _explained(usl: Usl, points: Sequence[tuple[int, float]]) -> float:
    mean = sum(x for _, x in points) / len(points)
    total = sum((x - mean) ** 2 for _, x in points)
    rest = sum((x - usl.throughput(n)) ** 2 for n, x in points)
    return 1 - rest / total if total > 0 else 0.0
