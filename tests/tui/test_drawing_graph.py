"""Graphs: gaps are gaps, nothing is a floor, axes do not jump, and cells stay what they are."""

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.lines import text_of
from tui.drawing.appearance import ASCII, BLOCKS, UNICODE, Glyphs
from tui.drawing.graph import (
    PATIENCE,
    STEPS,
    Ring,
    against,
    ceiling,
    ceiling_of_size,
    graph,
    layers,
    top_of,
    utilisation,
)
from tui.drawing.line import Line, Role, length
from tui.drawing.numbers import size

VALUES = st.lists(st.one_of(st.none(), st.floats(0, 1e6)), max_size=120)
SETS = st.sampled_from([UNICODE, BLOCKS, ASCII])
ROLES = (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL)


def texts(lines: list[Line]) -> list[str]:
    return [text_of(spans) for spans in lines]


@given(VALUES, st.integers(1, 50), st.integers(1, 10), SETS)
def test_graphs_have_their_size(values: list[float | None], cells: int, rows: int, glyphs: Glyphs) -> None:
    made = graph(values, cells, rows, 100.0, glyphs)
    assert [length(spans) for spans in made] == [cells] * rows


@given(st.lists(st.one_of(st.none(), st.tuples(*[st.integers(0, 25)] * 4)), max_size=80), st.integers(1, 6), SETS)
def test_layers_have_their_size(values: list[tuple[int, ...] | None], rows: int, glyphs: Glyphs) -> None:
    made = layers(values, ROLES, 30, rows, glyphs)
    assert [length(spans) for spans in made] == [30] * rows


def test_blocks_rise() -> None:
    assert texts(graph([0, 12.5, 50, 100, 1000, None, 100], 8, 1, 100.0, BLOCKS)) == [" ▁▁▄██ █"]
    assert texts(graph([25, 50, 75, 100], 4, 2, 100.0, BLOCKS)) == ["  ▄█", "▄███"]


def test_dots_hold_two_intervals_a_cell() -> None:
    assert texts(graph([100, 100, 50, 100], 3, 1, 100.0, UNICODE)) == [" ⣿⣼"]
    assert texts(graph([0, 0], 1, 2, 100.0, UNICODE)) == [" ", "⣀"]
    assert texts(graph([None, None], 1, 1, 100.0, UNICODE)) == [" "]


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60), st.integers(2, 12))
def test_a_cell_stays_what_it_is(values: list[float], cells: int) -> None:
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
def test_axes_hold_what_is_shown(values: list[float], shown: int) -> None:
    assert top_of(values, shown) >= max(values[-shown:])


def test_axes_rise_at_once_and_fall_late() -> None:
    calm, peak = [10.0] * 30, [90.0]
    assert top_of(calm, 20) == 10.0
    assert top_of(calm + peak, 20) == 100.0
    assert top_of(calm + peak + [10.0] * (19 + PATIENCE), 20) == 100.0
    assert top_of(calm + peak + [10.0] * (20 + PATIENCE), 20) == 10.0


def test_layers_without_colour_have_fillings() -> None:
    made = texts(layers([(50, 30, 0, 0)] * 2, ROLES, 2, 5, BLOCKS))
    assert made == ["  ", "▓▓", "██", "██", "██"]


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
def test_ascii_is_ascii(values: list[float | None]) -> None:
    assert all(text.isascii() for text in texts(graph(values, 20, 3, 100.0, ASCII)))


def test_a_threshold_is_a_level_where_no_value_covers_it() -> None:
    lines = against([None, 0.0, 80.0, 90.0], 75.0, 4, 4, 100.0, BLOCKS, Role.FULL)
    text = [text_of(line) for line in lines]
    assert [line[:2] for line in text] == ["  ", "┈┈", "  ", " ▁"]
    assert text[1][2:] == "██"
    assert {span.role for span in lines[1]} == {Role.LIMIT, Role.FULL}


def test_a_threshold_above_the_axis_is_at_its_top() -> None:
    lines = against([], 500.0, 3, 2, 100.0, BLOCKS, Role.FULL)
    assert [text_of(line) for line in lines] == ["┈┈┈", "   "]
