"""The test behind a comparison: against published tables, and how often it errs."""

import numpy as np
import pytest
from numpy.typing import NDArray

from loadtop.analysis.significance import LEVEL, holm, p_value, sample, two_sided
from tests.unit.known import known


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [
        (12.7062, 1, 0.05),
        (4.3027, 2, 0.05),
        (2.2281, 10, 0.05),
        (3.1693, 10, 0.01),
        (2.0423, 30, 0.05),
        (3.6460, 30, 0.001),
        (1.96, 1e6, 0.05),
        (0.0, 7, 1.0),
    ],
)
def test_student_is_that_of_the_tables(t: float, freedom: float, p: float) -> None:
    assert two_sided(t, freedom) == pytest.approx(p, rel=1e-3)


def _drifting(draw: np.random.Generator, runs: int, count: int, held: float) -> NDArray[np.float64]:
    """Series in which each interval holds that share of the one before (AR(1)), all with the mean 100."""
    steps = draw.normal(0, 5, (runs, count + 50))
    series = np.zeros_like(steps)
    for i in range(1, count + 50):
        series[:, i] = held * series[:, i - 1] + steps[:, i]
    return 100 + series[:, 50:]


@pytest.mark.parametrize("held", [0.0, 0.5, 0.8])
@pytest.mark.parametrize("count", [10, 60])
def test_false_alarms_are_rare_however_much_intervals_are_alike(held: float, count: int) -> None:
    draw = np.random.default_rng(1)
    before, after = (_drifting(draw, 400, count, held) for _ in range(2))
    found = [_p(a, b, 0.0) for a, b in zip(before, after, strict=True)]
    alarms = sum(p < LEVEL for p in found) / len(found)
    # The correction is approximate in short series that drift; a plain t test is wrong in over 40 % of them.
    assert alarms <= (0.08 if held < 0.8 else 0.16)


def test_a_difference_within_the_margin_does_not_count() -> None:
    draw = np.random.default_rng(2)
    a = draw.normal(100, 0.1, 60)
    assert _p(a, a + 4, 5.0) == 1.0
    assert _p(a, a + 6, 5.0) < 1e-6


def test_real_difference_is_found() -> None:
    draw = np.random.default_rng(3)
    found = [_p(a, 0.7 * b, 10.0) for a, b in zip(*(_drifting(draw, 200, 20, 0.3) for _ in range(2)), strict=True)]
    assert sum(p < 0.01 for p in found) > 190


def test_constant_series_differ_surely_and_short_ones_never() -> None:
    assert _p(np.full(5, 3.0), np.full(5, 9.0), 1.0) == 0.0
    assert p_value(sample(np.array([1.0, 2.0])), sample(np.array([50.0, 51.0])), 0.0) is None


def test_unmeasured_values_do_not_count() -> None:
    found = known(sample(np.array([np.nan, 2.0, np.nan, 4.0])))
    assert (found.mean, found.count) == (3.0, 2)
    assert sample(np.array([np.nan])) is None


def test_holm_is_that_of_his_paper() -> None:
    # 0.01 x 4, 0.02 x 3, 0.03 x 2, 0.04 x 1, none below the one before.
    assert holm([0.04, 0.01, None, 0.03, 0.02]) == [0.06, 0.04, None, 0.06, 0.06]


def _p(before: NDArray[np.float64], after: NDArray[np.float64], margin: float) -> float:
    return known(p_value(sample(before), sample(after), margin))
