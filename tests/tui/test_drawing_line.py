"""Lines: exactly as wide as they must be, and compared cell by cell."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tests.tui.lines import text_of
from tui.drawing.line import Line, Role, Span, beside, changed, fit, length, line, safe, spread, width


def cells_of(spans: Line) -> list[tuple[str, Role]]:
    """Character and role of each cell; an empty string for the second cell of a wide character."""
    return [(part, role) for text, role in spans for each in text for part in (each, "")[: width(each)]]


TEXTS = st.text(alphabet="ab 1─⣿漢字W", max_size=12)
SPANS = st.lists(st.builds(Span, TEXTS, st.sampled_from([Role.TEXT, Role.DIM, Role.BAD])), max_size=6).map(tuple)


@given(SPANS, st.integers(0, 40))
def test_a_fitted_line_has_its_size(spans: Line, cells: int) -> None:
    made = fit(spans, cells)
    assert length(made) == cells
    assert len(cells_of(made)) == cells
    if length(spans) <= cells:
        assert text_of(made).startswith(text_of(spans))


@given(SPANS, SPANS, st.integers(1, 40))
def test_a_spread_line_has_its_size(left: Line, right: Line, cells: int) -> None:
    assert length(spread(left, right, cells)) == cells


@given(SPANS, SPANS, st.integers(1, 40))
def test_what_changed_is_all_that_changed(old: Line, new: Line, cells: int) -> None:
    before, after = fit(old, cells), fit(new, cells)
    made = cells_of(before)
    stretches = changed(before, after)
    for first, last in stretches:
        assert 0 <= first < last <= cells
        made[first:last] = cells_of(after)[first:last]
    assert made == cells_of(after)
    assert all(a[1] < b[0] for a, b in pairwise(stretches))


@given(SPANS, SPANS, st.integers(1, 40))
def test_no_stretch_cuts_a_wide_character(old: Line, new: Line, cells: int) -> None:
    before, after = fit(old, cells), fit(new, cells)
    for first, last in changed(before, after):
        for cells_ in (cells_of(before), cells_of(after)):
            assert cells_[first][0] != ""
            assert last == cells or cells_[last][0] != ""


def test_far_changes_are_sent_apart_and_near_ones_together() -> None:
    old = line("1" + " " * 30 + "1" + " " * 3 + "1")
    new = line("2" + " " * 30 + "2" + " " * 3 + "2")
    assert changed(old, new) == [(0, 1), (31, 36)]
    assert changed(old, old) == []


def test_another_role_is_a_change() -> None:
    assert changed(line("a", Span("bc")), line("a", Span("bc", Role.BAD))) == [(1, 3)]


def test_columns_stand_beside_each_other() -> None:
    made = beside([line("12"), line("3")], [line("x")], 4, 3)
    assert [text_of(spans) for spans in made] == ["12  x", "3   ", "    "]


def test_wide_names_are_measured_in_cells() -> None:
    assert text_of(fit(line(safe("ウェブ一号")), 7)) == "ウェブ…"
    assert length(fit(line("ウェブ一号"), 8)) == 8
