"""Bars, graphs and the time strip: as long as they must be; gaps are gaps, axes do not jump, no limit vanishes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.stage import text_of
from tui.drawing.appearance import ASCII, BLOCKS, UNICODE, Glyphs
from tui.drawing.graph import (
    PATIENCE,
    STEPS,
    Ring,
    against,
    ceiling,
    ceiling_of_size,
    gauge,
    graph,
    layers,
    level,
    meter,
    share_out,
    stacked,
    top_of,
    utilisation,
)
from tui.drawing.line import Line, Role, Span, length
from tui.drawing.numbers import size
from tui.panels.timeline import NICE, axis, cell_seconds, names_in

ROLES = (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL)
SETS = st.sampled_from([UNICODE, BLOCKS, ASCII])
VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1e6)), max_size=120)
SHARES = st.lists(st.floats(0, 100), min_size=1, max_size=4).map(
    lambda shares: [share * 100 / max(100.0, sum(shares)) for share in shares]
)


@given(SHARES, st.integers(0, 80))
def test_shares_fill_what_their_sum_fills(shares: list[float], cells: int) -> None:
    sizes = share_out(shares, cells)
    assert sum(sizes) == min(cells, round(sum(share * cells / 100 for share in shares)))
    assert all(abs(size - share * cells / 100) < 1.01 for size, share in zip(sizes, shares, strict=True))


@given(SHARES, st.integers(0, 80), SETS)
def test_stacked_bars_have_their_length(shares: list[float], cells: int, glyphs: Glyphs) -> None:
    assert length(stacked(list(zip(shares, ROLES, strict=False)), cells, glyphs)) == cells


def test_states_are_distinguished_without_colour() -> None:
    parts = [(50.0, Role.USER), (20.0, Role.SYSTEM), (10.0, Role.IOWAIT), (10.0, Role.STEAL)]
    assert text_of(stacked(parts, 10, UNICODE)) == "━━━━━╍╍┅┉─"
    assert text_of(stacked(parts, 10, BLOCKS)) == "█████▓▓▒░─"
    assert text_of(stacked(parts, 10, ASCII)) == "#####==~:-"


@given(st.one_of(st.none(), st.floats(-10, 300)), st.integers(0, 60), SETS)
def test_gauges_have_their_length(share: float | None, cells: int, glyphs: Glyphs) -> None:
    assert length(gauge(share, cells, Role.GOOD, glyphs)) == cells


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.sampled_from(["%", "kB/s", "slots"]), st.integers(0, 60), SETS)
def test_meters_have_their_length(value: float, threshold: float, unit: str, cells: int, glyphs: Glyphs) -> None:
    assert length(meter(value, threshold, unit, cells, Role.BAD, glyphs)) == cells


def test_a_meter_shows_its_threshold() -> None:
    assert text_of(meter(95.0, 90.0, "%", 10, Role.BAD, UNICODE)) == "━━━━━━━━╂━"
    assert text_of(meter(30.0, 90.0, "%", 10, Role.GOOD, UNICODE)) == "━━━─────╂─"
    assert text_of(meter(9000.0, 40.0, "kB/s", 10, Role.BAD, UNICODE)) == "━━━━━╂━━━━"


def test_no_value_no_bar() -> None:
    assert gauge(None, 4, Role.GOOD, UNICODE) == (Span("    "),)
    assert level(None, UNICODE) == "?"


@pytest.mark.parametrize(("share", "shown"), [(0.0, "·"), (0.1, "▁"), (50.0, "▄"), (100.0, "█")])
def test_any_use_shows(share: float, shown: str) -> None:
    assert level(share, UNICODE) == shown


@given(SHARES)
def test_ascii_bars_are_ascii(shares: list[float]) -> None:
    made = [stacked(list(zip(shares, ROLES, strict=False)), 20, ASCII), meter(3, 2, "x", 20, Role.BAD, ASCII)]
    assert all(text_of(spans).isascii() for spans in made)
    assert level(shares[0], ASCII).isascii()


def texts(lines: list[Line]) -> list[str]:
    return [text_of(spans) for spans in lines]


@given(VALUES, st.integers(1, 50), st.integers(1, 10), SETS)
def test_graphs_have_their_size(values: list[float | None], cells: int, rows: int, glyphs: Glyphs) -> None:
    assert [length(spans) for spans in graph(values, cells, rows, 100.0, glyphs)] == [cells] * rows


@given(st.lists(st.one_of(st.none(), st.tuples(*[st.integers(0, 25)] * 4)), max_size=80), st.integers(1, 6), SETS)
def test_layers_have_their_size(values: list[tuple[int, ...] | None], rows: int, glyphs: Glyphs) -> None:
    assert [length(spans) for spans in layers(values, ROLES, 30, rows, glyphs)] == [30] * rows


def test_blocks_rise() -> None:
    assert texts(graph([0, 12.5, 50, 100, 1000, None, 100], 8, 1, 100.0, BLOCKS)) == [" ▁▁▄██ █"]
    assert texts(graph([25, 50, 75, 100], 4, 2, 100.0, BLOCKS)) == ["  ▄█", "▄███"]


def test_dots_hold_two_intervals_a_cell() -> None:
    assert texts(graph([100, 100, 50, 100], 3, 1, 100.0, UNICODE)) == [" ⣿⣼"]
    assert texts(graph([0, 0], 1, 2, 100.0, UNICODE)) == [" ", "⣀"]
    assert texts(graph([None, None], 1, 1, 100.0, UNICODE)) == [" "]


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60), st.integers(2, 12))
def test_a_cell_keeps_its_content(values: list[float], cells: int) -> None:
    """Only the newest cell changes, or everything moves by a whole cell."""
    before = text_of(graph(values[:-1], cells, 1, 100.0, UNICODE)[0])
    after = text_of(graph(values, cells, 1, 100.0, UNICODE)[0])
    assert before[:-1] == after[:-1] if len(values) % 2 == 0 else before[1:] == after[:-1]


def test_the_total_says_which_intervals_share_a_cell() -> None:
    values = [100.0, 50.0, 100.0]
    assert texts(graph(Ring(values, 400), 2, 1, 100.0, UNICODE)) == ["⢸⣼"]
    assert texts(graph(Ring(values, 401), 2, 1, 100.0, UNICODE)) == ["⣧⡇"]


@given(st.floats(1e-6, 1e12))
def test_ceilings_are_round_and_near(value: float) -> None:
    top = ceiling(value)
    assert value <= top <= 2.0001 * value


@given(st.floats(1, 1e12))
def test_ceilings_of_sizes_are_round_as_written(kilobytes: float) -> None:
    top = ceiling_of_size(kilobytes)
    assert kilobytes <= top * (1 + 1e-9)
    assert top <= 2.0001 * kilobytes
    assert float(size(top).split()[0]) in {step * power for step in STEPS for power in (1, 10, 100)}


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=200), st.integers(1, 60))
def test_axes_cover_the_data(values: list[float], shown: int) -> None:
    assert top_of(values, shown) >= max(values[-shown:])


def test_axes_rise_at_once_and_fall_late() -> None:
    calm, peak = [10.0] * 30, [90.0]
    assert top_of(calm, 20) == 10.0
    assert top_of(calm + peak, 20) == 100.0
    assert top_of(calm + peak + [10.0] * (19 + PATIENCE), 20) == 100.0
    assert top_of(calm + peak + [10.0] * (20 + PATIENCE), 20) == 10.0


def test_layers_without_colour_have_fillings() -> None:
    assert texts(layers([(50, 30, 0, 0)] * 2, ROLES, 2, 5, BLOCKS)) == ["  ", "▓▓", "██", "██", "██"]


def test_layers_are_in_the_role_that_fills_most_of_the_cell() -> None:
    (row,) = layers([(20, 70, 5, 0)] * 2, ROLES, 1, 1, UNICODE)
    assert row[0].role is Role.SYSTEM
    (row,) = layers([(30, 2, 1, 0)] * 2, ROLES, 1, 1, UNICODE)
    assert row[0].role is Role.USER


def test_full_is_bad_only_at_the_top() -> None:
    roles = [spans[0].role for spans in graph([100.0] * 4, 2, 10, 100.0, UNICODE, utilisation)]
    assert roles[0] is Role.FULL
    assert roles[-1] is Role.FREE


@given(VALUES)
def test_ascii_graphs_are_ascii(values: list[float | None]) -> None:
    assert all(text.isascii() for text in texts(graph(values, 20, 3, 100.0, ASCII)))


def test_a_threshold_is_a_level_where_no_value_covers_it() -> None:
    lines = against([None, 0.0, 80.0, 90.0], 75.0, 4, 4, 100.0, BLOCKS, Role.FULL)
    text = [text_of(line) for line in lines]
    assert [line[:2] for line in text] == ["  ", "┈┈", "  ", " ▁"]
    assert text[1][2:] == "██"
    assert {span.role for span in lines[1]} == {Role.LIMIT, Role.FULL}


def test_a_threshold_above_the_axis_is_at_its_top() -> None:
    assert [text_of(line) for line in against([], 500.0, 3, 2, 100.0, BLOCKS, Role.FULL)] == ["┈┈┈", "   "]


@given(st.floats(0, 1e6), st.integers(1, 200))
def test_everything_fits_into_the_strip(seconds: float, cells: int) -> None:
    per_cell = cell_seconds(seconds, cells)
    assert per_cell * cells >= seconds - 1e-6
    assert per_cell in NICE or per_cell > NICE[-1]


def test_a_cell_is_never_shorter_than_an_interval() -> None:
    assert cell_seconds(10.0, 80, 5.0) == 5.0
    assert cell_seconds(60.0, 60) == 1.0
    assert cell_seconds(61.0, 60) == 2.0


@pytest.mark.parametrize(
    ("stretches", "per_cell", "names"),
    [
        ([(0, 3, "none"), (3, 5, "cpu")], 1.0, ["none"] * 3 + ["cpu"] * 2 + [None] * 2),
        ([(0, 8, "none"), (8, 9, "swap"), (9, 20, "none")], 10.0, ["swap", "none"]),  # a short limit does not vanish
        ([(0, 3, "cpu"), (3, 10, "swap")], 10.0, ["swap"]),  # the longest limit wins
        ([(0, 10, "none"), (0, 0, "blind"), (6, 10, "blind")], 1.0, ["none"] * 6 + ["blind"] * 4),  # they overlap
    ],
)
def test_letters_follow_the_verdicts(
    stretches: list[tuple[float, float, str]], per_cell: float, names: list[str | None]
) -> None:
    assert names_in(stretches, len(names), per_cell, "none") == names


@given(st.integers(1, 240), st.sampled_from(NICE))
def test_the_axis_is_as_long_as_the_strip(cells: int, per_cell: int) -> None:
    assert len(axis(cells, float(per_cell), "─")) == cells


def test_the_axis_has_its_times_where_they_begin() -> None:
    assert axis(26, 1.0, "─") == "00:00─────00:10─────00:20─"
    assert axis(26, 1.0, "─", {2, 17, 40}, "▴") == "──▴───────00:10──▴──00:20─"
