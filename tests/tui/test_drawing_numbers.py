"""Numbers: in their columns, and never 0 where there was no measurement."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.i18n import clock, duration
from tui.drawing import numbers

VALUES = st.one_of(st.none(), st.floats(0, 1e7, allow_nan=False))


@given(VALUES)
def test_columns_are_kept(value: float | None) -> None:
    assert len(numbers.per_second(value, 9)) == 9
    assert len(numbers.milliseconds(value, 9)) == 9
    assert len(numbers.count(value, 9)) == 9
    assert len(numbers.size(value, 7)) == 7
    assert len(numbers.speed(value, 9)) == 9
    assert len(numbers.percent(None if value is None else value % 100, 3)) == 3


@given(st.floats(0, 1e15, allow_nan=False))
def test_sizes_never_outgrow_seven_cells(kilobytes: float) -> None:
    assert len(numbers.size(kilobytes)) <= 7


@pytest.mark.parametrize(
    "made", [f(None) for f in (numbers.count, numbers.per_second, numbers.milliseconds, numbers.size, numbers.speed)]
)
def test_what_was_not_measured_is_a_dash(made: str) -> None:
    assert made == "-"


@pytest.mark.parametrize(
    ("made", "shown"),
    [
        (numbers.per_second(0), "0"),
        (numbers.per_second(0.004), "0.00"),
        (numbers.per_second(6.724), "6.72"),
        (numbers.per_second(67.24), "67.2"),
        (numbers.per_second(99.96), "100"),
        (numbers.per_second(21_000), "21 000"),
        (numbers.per_second(2_345_678), "2.3 M"),
        (numbers.milliseconds(0.001), "0.01"),
        (numbers.milliseconds(0.42), "0.42"),
        (numbers.milliseconds(4.24), "4.2"),
        (numbers.milliseconds(1640.4), "1 640"),
        (numbers.percent(0.2), " <1"),
        (numbers.percent(99.7), " 99"),
        (numbers.percent(100.0), "100"),
        (numbers.percent(None), "  -"),
        (numbers.size(12), "12 kB"),
        (numbers.size(9318), "9.1 MB"),
        (numbers.size(84_000), "82 MB"),
        (numbers.size(999), "999 kB"),
        (numbers.size(1_023_900), "1.0 GB"),
        (numbers.speed(1229), "1.2 MB/s"),
        (duration(9.9), "9 s"),
        (duration(125), "2 min 5 s"),
        (duration(4320), "1 h 12 min"),
        (clock(42), "00:42"),
        (clock(3723), "1:02:03"),
        (numbers.quantity(84_000, "kB/s"), "82 MB/s"),
        (numbers.quantity(54.2, "%"), "54 %"),
        (numbers.quantity(20.0, "slots"), "20 slots"),
        (numbers.quantity(21_000.0, "/s"), "21 000/s"),
    ],
)
def test_as_people_read_it(made: str, shown: str) -> None:
    assert made == shown
