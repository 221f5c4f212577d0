"""Bars: as long as they must be, with every part in its own filling."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tui.lines import text_of
from tui.drawing.appearance import ASCII, BLOCKS, UNICODE, Glyphs
from tui.drawing.graph import gauge, level, meter, share_out, stacked
from tui.drawing.line import Role, Span, length

ROLES = (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL)
SETS = st.sampled_from([UNICODE, BLOCKS, ASCII])
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
    made = stacked(list(zip(shares, ROLES, strict=False)), cells, glyphs)
    assert length(made) == cells


def test_states_are_told_apart_without_colour() -> None:
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
def test_ascii_is_ascii(shares: list[float]) -> None:
    made = [stacked(list(zip(shares, ROLES, strict=False)), 20, ASCII), meter(3, 2, "x", 20, Role.BAD, ASCII)]
    assert all(text_of(spans).isascii() for spans in made)
    assert level(shares[0], ASCII).isascii()
