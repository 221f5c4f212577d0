"""Logs of HdrHistogram, read back by its own library."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.model import LoadState
from loadtop.model.histogram import bounds, distribution
from loadtop.pipeline.snapshot import Snapshot
from loadtop.reports.export.hdr import encoded, hdr_log
from tests.unit.recording.made import moments

histogram: Any = importlib.import_module("hdrh.histogram").HdrHistogram
log_reader: Any = importlib.import_module("hdrh.log").HistogramLogReader
LONGEST_US = 7 * 24 * 3600 * 1_000_000


@given(st.lists(st.one_of(st.integers(0, 1000), st.integers(0, LONGEST_US)), min_size=1))
def test_every_count_comes_back_in_its_bucket(values: list[int]) -> None:
    times = distribution(values)
    read = histogram.decode(encoded(times))
    found = {(item.value_iterated_to, item.count_added_in_this_iter_step) for item in read.get_recorded_iterator()}
    assert found == {(bounds(bucket)[1], n) for bucket, n in zip(times.buckets, times.counts, strict=True)}
    assert read.get_total_count() == len(values)


@pytest.fixture(scope="module")
def snapshots() -> list[Snapshot]:
    return moments(60)


def test_a_log_has_the_times_of_each_interval(snapshots: list[Snapshot], tmp_path: Path) -> None:
    file = tmp_path / "times.hlog"
    file.write_text("".join(hdr_log(snapshots, 1_790_000_000.0)))
    reader = log_reader(str(file), histogram(1, LONGEST_US, 2))
    with reader.input_file:
        counts = [read.get_total_count() for read in iter(reader.get_next_interval_histogram, None)]
    loads = [each.load for each in snapshots if each.load is not None and each.load.state is not LoadState.WARMUP]
    times = [load.latencies for load in loads if load.latencies is not None]
    parts = [part for each in times for part in (each.total, each.corrected) if part is not None]
    assert counts == [part.count for part in parts if part.count]
    assert len(counts) > 10
