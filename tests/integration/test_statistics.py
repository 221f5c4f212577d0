"""Our statistics beside SciPy's and those of HdrHistogram."""

import importlib
import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from loadtop.analysis.significance import Sample, p_value, two_sided
from loadtop.model.histogram import bucket_of, distribution, mean, merge, percentile, sd
from tests.servers.reference import Reference

SIDES = st.tuples(st.floats(-1e3, 1e3), st.floats(0.01, 1e3), st.integers(3, 10_000))
LONGEST_US = 10**8
DIGITS = 3  # significant ones that HdrHistogram keeps
TIMES = st.lists(st.integers(1, LONGEST_US), min_size=1, max_size=300)


@pytest.fixture(autouse=True)
def versions(reference: Reference) -> None:
    reference.library("scipy")
    reference.library("hdrhistogram")


def stats() -> Any:
    """SciPy takes more than a second to import: not in each process that collects tests. It comes without types."""
    return importlib.import_module("scipy.stats")


def histogram(digits: int) -> Any:
    return importlib.import_module("hdrh.histogram").HdrHistogram(1, LONGEST_US, digits)


@given(st.floats(0, 50), st.floats(0.5, 1e6))
@example(1e-5, 285161.0)
def test_students_t_is_scipys(t: float, freedom: float) -> None:
    assert two_sided(t, freedom) == pytest.approx(2 * float(stats().t.sf(t, freedom)), rel=1e-6, abs=1e-12)


@given(SIDES, SIDES)
def test_independent_intervals_without_a_margin_are_welchs_test(
    before: tuple[float, float, int], after: tuple[float, float, int]
) -> None:
    first, second = (Sample(mean, sd**2, count, float(count)) for mean, sd, count in (before, after))
    ours = p_value(first, second, 0.0)
    theirs = stats().ttest_ind_from_stats(*before, *after, equal_var=False).pvalue
    assert ours == pytest.approx(float(theirs), rel=1e-6, abs=1e-12)


@given(TIMES)
def test_a_value_of_each_rank_is_hdr_histograms(values: list[int]) -> None:
    """At exact ranks, where nothing is interpolated: half a bucket of ours is 0.4 %, one of theirs 0.1 %."""
    ours, theirs = distribution(values), _hdr(values)
    last = len(values) - 1
    for rank in range(0, len(values), max(1, last // 20)):
        known = percentile(ours, 100 * rank / last if last else 50.0)
        found = float(theirs.get_value_at_percentile(100 * (rank + 1) / len(values)))
        assert known == pytest.approx(found, rel=0.006, abs=1.0)


@given(TIMES, TIMES)
@settings(max_examples=settings().max_examples // 10)  # HdrHistogram goes through 18,000 buckets for each
def test_merged_they_have_the_same_count_mean_and_deviation(one: list[int], other: list[int]) -> None:
    ours, theirs = merge([distribution(one), distribution(other)]), _hdr(one + other)
    assert ours.count == theirs.get_total_count()
    assert mean(ours) == pytest.approx(theirs.get_mean_value(), rel=0.002)
    population = math.sqrt((ours.count - 1) / ours.count) * sd(ours)
    assert population == pytest.approx(theirs.get_stddev(), rel=0.01, abs=0.002 * mean(ours))


@given(st.integers(1, LONGEST_US))
def test_our_buckets_are_as_wide_as_those_of_two_digits(value: int) -> None:
    assert bucket_of(value) == bucket_of(int(histogram(2).get_lowest_equivalent_value(value)))


def _hdr(values: list[int]) -> Any:
    made = histogram(DIGITS)
    for value in values:
        made.record_value(value)
    return made
