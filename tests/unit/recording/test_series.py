"""Numbers over the intervals of a block."""

import math

from hypothesis import given
from hypothesis import strategies as st

from loadtop.recording.schema import BLOCK
from loadtop.recording.series import (
    RealSeries,
    WholeSeries,
    read_real,
    read_real_series,
    read_whole,
    read_whole_series,
    real,
    whole,
)

WHOLE = st.one_of(st.integers(-9, 9), st.integers(0, 1 << 20), st.integers(-(1 << 80), 1 << 80))
REAL = st.one_of(
    st.floats(),
    st.integers(-(10**9), 10**9).map(lambda hundredths: hundredths / 100),
    st.sampled_from([0.0, -0.0, 0.1, 1e22, 5e-324, 2592000.01]),
)


@given(start=WHOLE, changes=st.dictionaries(st.integers(0, BLOCK - 1), WHOLE), sparse=st.booleans())
def test_whole_numbers_come_back(start: int, changes: dict[int, int], sparse: bool) -> None:
    series, value, wanted = WholeSeries(start, sparse=sparse), start, list[int]()
    for position in range(BLOCK):
        if position in changes:
            value = changes[position]
            series.put(position, value)
        wanted.append(value)
    assert read_whole_series(*series.stored(), BLOCK) == wanted
    assert read_whole_series(*series.stored(), 5) == wanted[:5]


@given(start=REAL, changes=st.dictionaries(st.integers(0, BLOCK - 1), REAL), sparse=st.booleans())
def test_floats_come_back_to_the_bit(start: float, changes: dict[int, float], sparse: bool) -> None:
    series, value, wanted = RealSeries(start, sparse=sparse), start, list[float]()
    for position in range(BLOCK):
        if position in changes:
            value = changes[position]
            series.put(position, value)
        wanted.append(value)
    assert list(map(repr, read_real_series(*series.stored(), BLOCK))) == list(map(repr, wanted))


def test_what_stays_as_it_is_has_no_text() -> None:
    series = WholeSeries(7)
    series.put(3, 7)
    assert series.stored() == (7, None)


def test_a_change_is_a_character() -> None:
    series = WholeSeries(100)
    series.put(0, 101)
    series.put(2, 99)
    assert series.stored() == (100, '+" #')


@given(number=st.integers())
def test_numbers_beyond_64_bits_can_be_stored(number: int) -> None:
    stored = whole(number)
    assert isinstance(stored, bytes) or -(1 << 63) <= stored < 1 << 63
    assert read_whole(stored) == number


@given(number=st.floats())
def test_every_float_can_be_stored(number: float) -> None:
    assert repr(read_real(real(number))) == repr(number)
    assert isinstance(real(number), bytes) == (math.isnan(number) or repr(number) == "-0.0")
