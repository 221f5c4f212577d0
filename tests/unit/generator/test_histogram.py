"""Histograms: exact where they say so, within 1 % elsewhere, the same whatever the order of merging."""

import statistics
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.model.histogram import (
    BUCKETS,
    EMPTY,
    Merger,
    bounds,
    bucket_of,
    buckets_of,
    distribution,
    distribution_of_milliseconds,
    mean,
    merge,
    percentile,
    percentile_ms,
    sd,
)
from loadtop.model.load import Latencies, LoadSample, LoadState

DURATIONS = st.lists(st.integers(0, 2**45) | st.integers(0, 300) | st.integers(900, 1100), max_size=60)
SOME = st.lists(st.integers(0, 2**40), min_size=1, max_size=200)


@given(st.integers(0, 2**60))
def test_a_value_lies_within_its_bucket(value: int) -> None:
    low, high = bounds(bucket_of(value))
    assert low <= value <= high
    assert high - low <= low / 128


def test_the_last_bucket_holds_the_greatest_value_of_63_bits() -> None:
    assert bounds(BUCKETS - 1)[1] == 2**63 - 1


@given(st.lists(st.integers(0, 70_000)))
def test_many_values_find_their_buckets(values: list[int]) -> None:
    assert buckets_of(values) == [bucket_of(value) for value in values]


@given(st.integers(0, 6000))
def test_buckets_follow_each_other_without_gap(bucket: int) -> None:
    low, high = bounds(bucket)
    assert bucket_of(low) == bucket_of(high) == bucket
    assert bounds(bucket + 1)[0] == high + 1


@given(st.lists(DURATIONS, max_size=6))
def test_merging_is_exact_and_associative(groups: list[list[int]]) -> None:
    parts = [distribution(group) for group in groups]
    whole = distribution([value for group in groups for value in group])
    assert merge(parts) == whole
    assert merge([merge(parts[:2]), *parts[2:]]) == merge([*parts[:1], merge(parts[1:])]) == whole


@given(SOME)
def test_a_distribution_counts_each_value_exactly(values: list[int]) -> None:
    made = distribution(values)
    counts = Counter(bucket_of(value) for value in values)
    assert dict(zip(made.buckets, made.counts, strict=True)) == counts
    assert list(made.buckets) == sorted(counts)
    assert (made.count, made.sum_us, made.min_us, made.max_us) == (len(values), sum(values), min(values), max(values))
    assert made.sum_squares_us2 == sum(value**2 for value in values)


@given(SOME, st.floats(0, 100))
def test_percentiles_agree_with_numpy(values: list[int], percent: float) -> None:
    found = percentile(distribution(values), percent)
    assert found == pytest.approx(float(np.percentile(values, percent)), rel=1 / 256, abs=0.5)


@given(SOME)
def test_the_ends_are_exact(values: list[int]) -> None:
    made = distribution(values)
    assert percentile(made, 0) == min(values)
    assert percentile(made, 100) == max(values)


@given(SOME)
def test_mean_and_median_and_sd_agree_with_statistics(values: list[int]) -> None:
    made = distribution(values)
    assert mean(made) == pytest.approx(statistics.mean(values))
    assert percentile(made, 50) == pytest.approx(statistics.median(values), rel=1 / 256, abs=0.5)
    assert sd(made) == pytest.approx(statistics.stdev(values) if len(values) > 1 else 0.0, rel=1e-9, abs=1e-6)


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two() -> None:
    assert percentile(distribution([10, 20, 30, 40]), 50) == 25


def test_nothing_has_no_statistics() -> None:
    assert merge([]) == merge([EMPTY, EMPTY]) == distribution([]) == EMPTY
    with pytest.raises(ValueError, match="empty"):
        mean(EMPTY)
    with pytest.raises(ValueError, match="empty"):
        percentile(EMPTY, 50)
    with pytest.raises(ValueError, match="percentage"):
        percentile(distribution([1]), 101)


def test_unmeasured_values_add_nothing() -> None:
    merger = Merger()
    merger.add(None)
    merger.add(EMPTY)
    assert merger.merged == merge([None]) == EMPTY


@given(st.dictionaries(st.integers(0, 10_000), st.integers(-2, 5)))
def test_whole_milliseconds_that_were_counted(counts: dict[int, int]) -> None:
    """A count below 1, which only another program can send, counts nothing."""
    values = [1000 * value for value, count in counts.items() for _ in range(count)]
    assert distribution_of_milliseconds(counts) == distribution(values)


def test_percentiles_of_a_load_in_ms() -> None:
    load = LoadSample(1.0, "builtin", LoadState.RUNNING, "closed", 1.0)
    assert percentile_ms(None, 50.0) is None
    assert percentile_ms(load, 50.0) is None
    assert percentile_ms(replace(load, latencies=Latencies(EMPTY)), 50.0) is None
    timed = replace(load, latencies=Latencies(distribution([1000, 200_000, 300_000])))
    assert percentile_ms(timed, 0.0) == 1.0
    assert percentile_ms(timed, 50.0) == pytest.approx(200.0, rel=0.01)
