"""Text, numbers and lines: safe, measured in cells, in their columns, and compared cell by cell."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from loadtop.i18n import clock, duration
from tests.tui.stage import text_of
from tui.drawing import numbers
from tui.drawing.line import (
    Line,
    Role,
    Span,
    beside,
    changed,
    clip,
    clip_middle,
    clip_title,
    fit,
    fitting,
    hanging,
    length,
    line,
    safe,
    spread,
    width,
    wrap,
)


def cells_of(spans: Line) -> list[tuple[str, Role]]:
    """Character and role of each cell; an empty string for the second cell of a wide character."""
    return [(part, role) for text, role in spans for each in text for part in (each, "")[: width(each)]]


TEXTS = st.text(alphabet="ab 1─⣿漢字W", max_size=12)
WORDS = st.text(max_size=60)
VALUES = st.one_of(st.none(), st.floats(0, 1e7, allow_nan=False))
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
def test_only_the_changed_part_changes(old: Line, new: Line, cells: int) -> None:
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
    assert changed(old, line("2" + " " * 30 + "2" + " " * 3 + "2")) == [(0, 1), (31, 36)]
    assert changed(old, old) == []


def test_another_role_is_a_change() -> None:
    assert changed(line("a", Span("bc")), line("a", Span("bc", Role.BAD))) == [(1, 3)]


def test_columns_stand_beside_each_other() -> None:
    made = beside([line("12"), line("3")], [line("x")], 4, 3)
    assert [text_of(spans) for spans in made] == ["12  x", "3   ", "    "]


def test_wide_names_are_measured_in_cells() -> None:
    assert text_of(fit(line(safe("ウェブ一号")), 7)) == "ウェブ…"
    assert length(fit(line("ウェブ一号"), 8)) == 8


@given(WORDS)
@example("\x1b[31mred\x1b[0m")
@example("a\u202eb\u200bc\u2066")
@example("web\r\nhost\t1")
@example("\x9b31m")
def test_nothing_that_moves_a_terminal_survives(text: str) -> None:
    made = safe(text)
    assert all(unicodedata.category(c)[0] != "C" and unicodedata.category(c) not in ("Zl", "Zp") for c in made)
    assert safe(made) == made


def test_safe_text_stays_readable() -> None:
    assert safe("web1.example.org") == "web1.example.org"
    assert safe("ウェブ一号") == "ウェブ一号"
    assert safe("cafe\u0301") == "café"
    assert safe("か\u3099") == "が"
    assert safe("[red]no markup[/]") == "[red]no markup[/]"
    assert safe("a\x1b]0;evil\x07b") == "a?]0;evil?b"


@given(WORDS)
@example("\u0903")
@example("\U0001f44d\U0001f3fd \u1161")
def test_width_is_the_terminals(text: str) -> None:
    made = safe(text)
    assert width(made) == cell_len(made)
    assert all(width(character) in (1, 2) for character in made)


@given(WORDS, st.integers(0, 40))
def test_clipped_text_fits(text: str, cells: int) -> None:
    made = safe(text)
    assert width(clip(made, cells)) <= cells
    assert width(clip_middle(made, cells)) <= cells
    if width(made) <= cells:
        assert clip(made, cells) == clip_middle(made, cells) == made


def test_clipping_shows_where() -> None:
    assert clip("mariadbd", 6) == "maria…"
    assert clip("データベース", 6) == "デー…"
    assert clip_middle("http://web1/a/long/way/index.php", 16) == "http://w…dex.php"


def test_a_url_in_a_title_loses_its_scheme_first() -> None:
    cut = [clip_title("http://127.0.0.1:8080/light", cells) for cells in (27, 26, 20, 12)]
    assert cut == ["http://127.0.0.1:8080/light", "127.0.0.1:8080/light", "127.0.0.1:8080/light", "127.0.…light"]
    assert clip_title("https://web1/index.php", 16) == "https://…dex.php"


@given(WORDS, st.integers(1, 40), st.integers(1, 5))
def test_wrapped_text_fits(text: str, cells: int, lines: int) -> None:
    made = wrap(safe(text), cells, lines)
    assert len(made) <= lines
    assert all(width(line) <= cells for line in made)


def test_wrapping_keeps_every_word_that_fits() -> None:
    assert wrap("one two three four", 9, 3) == ["one two", "three", "four"]
    assert wrap("one two three four", 9, 2) == ["one two", "three fo…"]
    assert wrap("", 9, 2) == []
    assert wrap("限界です。CPU が", 6, 5) == ["限界で", "す。", "CPU が"]


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
def test_unmeasured_values_are_dashes(made: str) -> None:
    assert made == "-"


@pytest.mark.parametrize(("made", "shown"), [
    (numbers.per_second(0), "0"), (numbers.per_second(0.004), "0.00"), (numbers.per_second(6.724), "6.72"),
    (numbers.per_second(67.24), "67.2"), (numbers.per_second(99.96), "100"), (numbers.per_second(21_000), "21,000"),
    (numbers.per_second(2_345_678), "2.3 M"), (numbers.milliseconds(0.001), "0.01"),
    (numbers.milliseconds(0.42), "0.42"), (numbers.milliseconds(4.24), "4.2"), (numbers.milliseconds(1640.4), "1,640"),
    (numbers.percent(0.2), " <1"), (numbers.percent(99.7), " 99"), (numbers.percent(100.0), "100"),
    (numbers.percent(None), "  -"), (numbers.size(12), "12 kB"), (numbers.size(9318), "9.1 MB"),
    (numbers.size(84_000), "82 MB"), (numbers.size(999), "999 kB"), (numbers.size(1_023_900), "1.0 GB"),
    (numbers.speed(1229), "1.2 MB/s"), (duration(9.9), "9 s"), (duration(125), "2 min 5 s"), (duration(120), "2 min"),
    (duration(4320), "1 h 12 min"), (clock(42), "00:42"), (clock(3723), "1:02:03"),
    (numbers.quantity(84_000, "kB/s"), "82 MB/s"), (numbers.quantity(54.2, "%"), "54 %"),
    (numbers.quantity(20.0, "slots"), "20 slots"), (numbers.quantity(21_000.0, "/s"), "21,000/s"),
])  # fmt: skip
def test_as_people_read_it(made: str, shown: str) -> None:
    assert made == shown


@given(WORDS, st.integers(8, 60))
def test_a_hanging_text_keeps_every_word_that_fits(text: str, cells: int) -> None:
    head = line("  ", Span("key", Role.KEY))
    made = hanging(head, safe(text), cells)
    assert text_of(made[0]).startswith("  key")
    assert all(length(each) <= cells for each in made)
    assert all(text_of(each)[:5] in ("  key", "     ") for each in made)
    room = cells - length(head)
    if all(width(word) <= room for word in safe(text).split()):
        assert "".join("".join(text_of(each)[5:].split()) for each in made) == "".join(safe(text).split())


def test_the_fullest_line_that_fits_is_chosen() -> None:
    variants = (line("in 12 out 34"), line("in+out 46"), line("46"))
    assert [text_of(fitting(cells, *variants)) for cells in (12, 11, 9, 8, 1)] == [
        "in 12 out 34", "in+out 46", "in+out 46", "46", "46",
    ]  # fmt: skip
