"""The scoreboard: every letter has its place, however many slots there are."""

from hypothesis import example, given
from hypothesis import strategies as st

from tests.tui.lines import text_of
from tui.drawing.line import length
from tui.panels.apache import counted, legend, slots

BOARDS = st.text(alphabet="WRKDCLGSI_.x", min_size=1, max_size=600)


@given(BOARDS, st.integers(12, 80), st.integers(1, 6))
@example("CDDDGGGIKKKLRSW_.", 12, 1)
def test_slots_fit_and_no_letter_vanishes(board: str, cells: int, rows: int) -> None:
    made = slots(board, cells, rows)
    assert len(made) <= rows
    assert all(length(spans) <= cells for spans in made)
    drawn = "".join(text_of(spans) for spans in made)
    assert set(drawn) == set(board)
    assert len(drawn) == min(len(board), cells * rows)


def test_busy_slots_come_first() -> None:
    assert [text_of(spans) for spans in slots("_W.KW_", 4, 2)] == ["WWK_", "_."]
    assert counted("_W.KW_") == [("W", 2), ("K", 1), ("_", 2), (".", 1)]


def test_many_slots_are_in_proportion() -> None:
    (row,) = slots("W" * 300 + "_" * 100, 40, 1)
    assert text_of(row) == "W" * 30 + "_" * 10


@given(BOARDS, st.integers(20, 80), st.integers(1, 4))
def test_legend_items_are_whole(board: str, cells: int, rows: int) -> None:
    made = legend(board, cells, rows)
    assert len(made) <= rows
    assert all(length(spans) <= cells for spans in made)


def test_legend_counts() -> None:
    assert text_of(legend("WWK_", 60, 1)[0]) == "W 2 sending  K 1 keep-alive  _ 1 waiting"
    assert [text_of(spans) for spans in legend("WWK_", 24, 2)] == ["W 2 sending", "K 1 keep-alive"]
