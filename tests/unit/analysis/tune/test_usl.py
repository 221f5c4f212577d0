"""The law fitted: exact where points follow it, without parameters that mean nothing, silent on too few points."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.analysis.tune.knee import Usl, fit
from tests.unit.known import known

CONCURRENCIES = (1, 2, 4, 8, 16, 32, 64)


@given(gamma=st.floats(0.5, 5000), alpha=st.floats(0, 0.5), beta=st.floats(0, 0.01))
def test_points_of_the_law_give_its_parameters(gamma: float, alpha: float, beta: float) -> None:
    law = Usl(gamma, alpha, beta, 1.0)
    found = known(fit([(n, law.throughput(n)) for n in CONCURRENCIES]))
    assert found.gamma == pytest.approx(gamma, rel=1e-3)
    assert found.alpha == pytest.approx(alpha, abs=1e-3)
    assert found.beta == pytest.approx(beta, abs=1e-4)
    assert found.r2 == pytest.approx(1.0, abs=1e-3)


@given(st.lists(st.tuples(st.integers(1, 500), st.floats(0.1, 1e5)), max_size=20))
def test_parameters_are_never_negative(points: list[tuple[int, float]]) -> None:
    found = fit(points)
    if found is None:
        assert len({n for n, _ in points}) < 4
        return
    assert found.gamma > 0
    assert found.alpha >= 0
    assert found.beta >= 0
    assert found.throughput(1) == pytest.approx(found.gamma)


def test_the_peak_is_where_throughput_is_highest() -> None:
    law = Usl(100.0, 0.05, 0.002, 1.0)
    assert law.peak == pytest.approx((0.95 / 0.002) ** 0.5)
    highest = max(range(1, 100), key=law.throughput)
    assert highest == pytest.approx(law.peak, abs=1)


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 0.0), (1.0, 0.1)])
def test_without_coherency_there_is_no_peak(alpha: float, beta: float) -> None:
    assert Usl(10.0, alpha, beta, 1.0).peak is None


@pytest.mark.parametrize(
    "points", [[], [(1, 5.0), (2, 9.0), (4, 12.0)], [(1, 5.0)] * 9, [(1, 0.0), (2, 0.0), (4, 0.0), (8, 0.0)]]
)
def test_too_few_points_say_nothing(points: list[tuple[int, float]]) -> None:
    assert fit(points) is None
