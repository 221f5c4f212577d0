"""The arrangement: everything has its place at every size, and frames join."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.drawing.appearance import ASCII, UNICODE
from tui.drawing.layout import NARROW, Band, bands_for, boxes, chosen_panels, fit_rows, framed, tabs

SERVERS = ("apache", "fpm", "haproxy")
WIDTHS, HEIGHTS = st.integers(24, 260), st.integers(8, 90)


@given(WIDTHS, HEIGHTS)
def test_every_cell_of_the_middle_has_one_owner(width: int, height: int) -> None:
    rows = height - 2
    placed = framed(boxes(bands_for(width, height, SERVERS), width, 1, rows), UNICODE)
    owners: dict[tuple[int, int], str] = {}
    for one in placed:
        assert len(one.ceiling) == one.region.width
        assert len(one.walls) == one.inner[1]
        assert len(one.edge) in (0, one.inner[1])
        assert len(one.floor) in (0, one.region.width)
        for x in range(one.region.x, one.region.x + one.region.width):
            for y in range(one.region.y, one.region.y + one.region.height):
                assert owners.setdefault((x, y), one.panel) == one.panel
    lines = {y for _, y in owners}
    assert {x for x, _ in owners} == set(range(width))
    assert lines == set(range(1, 1 + len(lines)))
    assert len(lines) <= max(rows, 3)


@given(WIDTHS, HEIGHTS)
def test_the_verdict_is_always_there(width: int, height: int) -> None:
    assert boxes(bands_for(width, height, SERVERS), width, 1, height - 2)[0].panel == "verdict"


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60), (60, 20), (100, 30), (132, 43)])
def test_the_whole_screen_is_used(width: int, height: int) -> None:
    placed = framed(boxes(bands_for(width, height, SERVERS), width, 1, height - 2), UNICODE)
    assert sum(one.region.width * one.region.height for one in placed) == width * (height - 2)


def test_an_arrangement_has_room_for_all_its_panels() -> None:
    assert [len(bands_for(168, height, SERVERS)) for height in (34, 33)] == [5, 4]


def test_the_least_important_part_is_dropped_first() -> None:
    known = ("verdict", "load", "cpu", "memory", "devices", "apache", "processes", "time")

    def bands(height: int) -> list[Band]:
        return chosen_panels(bands_for(60, height, SERVERS), known, ())

    shown = {height: [box.panel for box in boxes(bands(height), 60, 1, height - 2)] for height in (20, 14, 8)}
    assert shown[20] == ["verdict", "load", "cpu", "memory", "apache", "time"]
    assert shown[14] == ["verdict", "load", "cpu", "time"]
    assert shown[8] == ["verdict"]


def test_frames_join() -> None:
    placed = {one.panel: one for one in framed(boxes(bands_for(80, 24, SERVERS), 80, 1, 22), UNICODE)}
    assert placed["verdict"].ceiling[0] == "╭"
    assert placed["verdict"].ceiling[-1] == "╮"
    assert placed["load"].ceiling[0] == "├"
    assert placed["cpu"].ceiling[0] == "┬"
    assert placed["devices/breakdown"].ceiling[0] == "┼"
    assert placed["devices/breakdown"].ceiling[-1] == "┤"
    assert placed["time"].floor[0] == "╰"
    assert "┴" in placed["time"].ceiling


def test_ascii_frames_are_ascii() -> None:
    for one in framed(boxes(bands_for(80, 24, SERVERS), 80, 1, 22), ASCII):
        assert (one.ceiling + one.walls + one.edge + one.floor).isascii()


def test_one_of_those_that_share_a_place_is_shown_the_one_chosen_last() -> None:
    known = ("verdict", "load", "cpu", "memory", "devices", "fpm", "haproxy", "processes")
    middle, huge = bands_for(80, 24, SERVERS), bands_for(200, 60, SERVERS)
    assert chosen_panels(middle, known, ())[-1].panels == ("fpm", "processes")
    assert chosen_panels(middle, known, ("cpu", "haproxy", "fpm"))[-1].panels == ("haproxy", "processes")
    assert chosen_panels(huge, known, ())[-1].panels == ("fpm", "haproxy", "processes")
    assert chosen_panels(huge, ("time",), ()) == [Band(("time",), 2, rank=2, max_rows=2)]


def test_tabs_are_those_that_share_a_place() -> None:
    assert tabs(bands_for(60, 20, SERVERS), ("memory", "devices", "apache", "load")) == dict.fromkeys(
        ("memory", "devices"), ("memory", "devices")
    )


def test_where_there_is_little_room_the_load_comes_in_short() -> None:
    """Rather than blank rows below the verdict."""
    shown = {rows: [(band.panels[0], size) for band, size in fit_rows(NARROW, rows)] for rows in (6, 8, 9)}
    assert shown == {6: [("verdict", 3)], 8: [("verdict", 3), ("load", 2)], 9: [("verdict", 3), ("load", 3)]}
