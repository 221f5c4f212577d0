"""The parts of the test of significance, worked out by hand."""

import math

import numpy as np
import pytest

from loadtop.analysis.significance import LEAST, MOST, Sample, needed, p_value, sample, two_sided


@pytest.mark.parametrize(
    ("values", "worth"),
    [
        ([1.0, 2.0, 3.0, 4.0, 5.0], 2.0),  # r = 0.4 + (1 + 1.2) / 5: a slow drift, of which half of all counts at most
        ([1.0, -1.0, 1.0, -1.0], 4.0),  # neighbours that differ are no less than independent
        ([3.0, 3.0, 3.0], 3.0),
        ([1.0, 9.0], 2.0),
        ([2.0, 2.0, 2.0, 1.0, 2.0, 2.0, 1.0, 1.0, 1.0, 2.0, 1.0, 1.0], 12 * 0.8125 / 1.1875),  # 1/12 + (1 + 3/12) / 12
    ],
)
def test_what_neighbouring_intervals_are_worth(values: list[float], worth: float) -> None:
    found = sample(np.array(values), width=3)
    assert found is not None
    assert found.worth == pytest.approx(worth)
    assert (found.count, found.width, found.intervals) == (len(values), 3, 3 * len(values))
    assert found.mean == pytest.approx(np.mean(values))
    assert found.variance == pytest.approx(np.var(values, ddof=1))


def test_one_value_has_no_variance() -> None:
    found = sample(np.array([5.0]))
    assert found == Sample(5.0, 0.0, 1, 1.0)


def known(mean: float, *, variance: float = 4.0, count: int = 8, worth: float = 8.0, width: int = 1) -> Sample:
    return Sample(mean, variance, count, worth, width)


@pytest.mark.parametrize(
    ("before", "after", "margin", "t", "freedom"),
    [
        (known(10.0), known(13.0), 1.0, 2.0 / 1.0, 14.0),
        (known(13.0), known(10.0), 1.0, 2.0 / 1.0, 14.0),
        (known(10.0), known(13.0, variance=12.0), 0.0, 3.0 / math.sqrt(2.0), 4 / (0.25 / 7 + 2.25 / 7)),
        (known(10.0, worth=4.0), known(13.0), 0.0, 3.0 / math.sqrt(1.5), 2.25 / (1.0 / 3 + 0.25 / 7)),
        (known(10.0, worth=1.0), known(13.0), 0.0, 3.0 / math.sqrt(4.5), 4.5**2 / (16.0 / 0.5 + 0.25 / 7)),
        (known(10.0, worth=1.6), known(13.0), 0.0, 3.0 / math.sqrt(3.0), 9.0 / (6.25 / 0.6 + 0.25 / 7)),
    ],
)  # fmt: skip
def test_welchs_t_beyond_the_margin(before: Sample, after: Sample, margin: float, t: float, freedom: float) -> None:
    assert p_value(before, after, margin) == pytest.approx(two_sided(t, freedom))


def test_when_there_is_no_t() -> None:
    assert p_value(known(10.0), known(11.0), 1.0) == 1.0
    assert p_value(known(10.0), None, 0.0) is None
    assert p_value(None, known(10.0), 0.0) is None
    assert p_value(known(10.0, count=LEAST), known(11.0, count=LEAST), 0.0) is not None
    assert p_value(known(10.0, count=LEAST - 1), known(11.0), 0.0) is None
    assert p_value(known(10.0), known(11.0, count=LEAST - 1), 0.0) is None
    assert p_value(known(10.0, variance=0.0), known(11.0, variance=0.0), 0.5) == 0.0
    assert p_value(known(10.0, variance=0.0), known(11.0, variance=0.0), 1.0) == 1.0


def test_the_intervals_needed_are_whole_values_of_their_width() -> None:
    one, wide = (needed(known(10.0, width=width), known(11.0, width=width), 0.0, 0.01) for width in (1, 5))
    assert one is not None
    assert wide is not None
    assert wide == pytest.approx(5 * one, abs=5)
    for enough in (one, one - 1):
        p = p_value(known(10.0, count=enough, worth=float(enough)), known(11.0, count=enough, worth=float(enough)), 0.0)
        assert p is not None
        assert (p < 0.01) is (enough == one)
    assert needed(known(10.0), known(10.0 + 0.04), 0.0, 0.01) is not None
    assert needed(known(10.0), known(10.0 + 0.02), 0.0, 0.01) is None
    assert MOST == 86_400


@pytest.mark.parametrize(("t", "freedom"), [(0.0, 1.0), (1.0, 1.0), (10.0, 1.0), (1000.0, 1.0), (0.001, 1.0)])
def test_one_degree_of_freedom_is_cauchys(t: float, freedom: float) -> None:
    assert two_sided(t, freedom) == pytest.approx(1 - 2 * math.atan(t) / math.pi, rel=1e-9)


@pytest.mark.parametrize("t", [0.0, 0.1, 1.0, 3.0, 30.0])
def test_two_degrees_have_a_closed_form(t: float) -> None:
    assert two_sided(t, 2.0) == pytest.approx(1 - t / math.sqrt(2 + t * t), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("t", [0.5, 1.0, 2.0, 4.0, 6.0])
def test_many_degrees_are_the_normal_distribution(t: float) -> None:
    assert two_sided(t, 1e9) == pytest.approx(math.erfc(t / math.sqrt(2)), rel=1e-5)
