"""The time strip: round stretches, and a short limit in a long stretch does not vanish."""

from hypothesis import given
from hypothesis import strategies as st

from tui.panels.timeline import NICE, Stretch, axis, cell_seconds, names_in


@given(st.floats(0, 1e6), st.integers(1, 200))
def test_everything_fits_into_the_strip(seconds: float, cells: int) -> None:
    per_cell = cell_seconds(seconds, cells)
    assert per_cell * cells >= seconds - 1e-6
    assert per_cell in NICE or per_cell > NICE[-1]


def test_a_cell_is_never_shorter_than_an_interval() -> None:
    assert cell_seconds(10.0, 80, 5.0) == 5.0
    assert cell_seconds(60.0, 60) == 1.0
    assert cell_seconds(61.0, 60) == 2.0


def test_letters_follow_the_verdicts() -> None:
    stretches = [Stretch(0, 3, "none"), Stretch(3, 5, "cpu")]
    assert names_in(stretches, 7, 1.0, "none") == ["none"] * 3 + ["cpu"] * 2 + [None] * 2


def test_a_short_limit_does_not_vanish() -> None:
    stretches = [Stretch(0, 8, "none"), Stretch(8, 9, "swap"), Stretch(9, 20, "none")]
    assert names_in(stretches, 2, 10.0, "none") == ["swap", "none"]


def test_the_longest_limit_wins() -> None:
    stretches = [Stretch(0, 3, "cpu"), Stretch(3, 10, "swap")]
    assert names_in(stretches, 1, 10.0, "none") == ["swap"]


def test_overlapping_stretches_do_no_harm() -> None:
    stretches = [Stretch(0, 10, "none"), Stretch(0, 0, "blind"), Stretch(6, 10, "blind")]
    assert names_in(stretches, 10, 1.0, "none") == ["none"] * 6 + ["blind"] * 4


@given(st.integers(1, 240), st.sampled_from(NICE))
def test_the_axis_is_as_long_as_the_strip(cells: int, per_cell: int) -> None:
    assert len(axis(cells, float(per_cell), "─")) == cells


def test_the_axis_has_its_times_where_they_begin() -> None:
    assert axis(26, 1.0, "─") == "00:00─────00:10─────00:20─"
