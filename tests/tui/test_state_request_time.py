"""The parts of a request's time as the cockpit keeps them: calm, the largest first, each in one colour."""

from copy import copy

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.diagnosis.breakdown import Breakdown, Part, Share
from tests.tui.stories import view_after
from tui.drawing.appearance import ASCII, BLOCKS, UNICODE, Appearance, Glyphs
from tui.drawing.line import length
from tui.panels.breakdown import ROLES, BreakdownPanel, part_in_words
from tui.state.request_time import RECENT, RequestTime, Times

MS = st.floats(0.0, 1000.0)
SHARES = st.builds(
    Share, st.sampled_from(Part), st.sampled_from(["web1", "web2"]), st.sampled_from(["a", "日本", None]), MS
)
BREAKDOWNS = st.builds(
    Breakdown, st.integers(1, 500), st.floats(0.1, 1000.0), st.none() | st.lists(SHARES, max_size=12).map(tuple)
)


def after(*found: Breakdown | None, over: bool = False) -> RequestTime:
    times = RequestTime()
    for each in found:
        times.add(each, over=over)
    return times


def one(ms: float, name: str = "10.0.0.5:3306", part: Part = Part.DEPENDENCY, requests: int = 100) -> Breakdown:
    return Breakdown(requests, 100.0, (Share(part, "web1", name, ms, "mysql" if part is Part.DEPENDENCY else None),))


def now_of(times: RequestTime) -> Times:
    now = times.now()
    assert now is not None
    return now


def test_it_is_the_mean_of_the_newest_intervals_by_requests() -> None:
    times = after(one(90.0), *[one(60.0, requests=300)] * (RECENT - 1), one(20.0))
    assert now_of(times).parts[0].ms == round((4 * 300 * 60.0 + 100 * 20.0) / 1300, 3)


def test_a_part_keeps_its_colour_when_another_outgrows_it() -> None:
    first, then = one(60.0), Breakdown(900, 100.0, (*(one(20.0).shares or ()), Share(Part.CPU, "web1", "apache", 70.0)))
    hues = [{part.name: part.hue for part in now_of(times).parts} for times in (after(first), after(first, then))]
    assert now_of(after(first, then)).parts[0].name == "apache"
    assert hues[0]["10.0.0.5:3306"] == hues[1]["10.0.0.5:3306"] == 0
    assert hues[1]["apache"] == 1


def test_locks_of_ever_new_files_take_one_colour() -> None:
    times = after(*(one(50.0, f"/sessions/{number}", Part.LOCK) for number in range(10)), one(90.0))
    assert {part.hue for part in now_of(times).parts if part.part is Part.LOCK} == {0}


def test_what_was_known_stays_when_the_load_has_ended() -> None:
    times = after(one(60.0))
    for _ in range(2 * RECENT):
        times.add(None, over=True)
    assert now_of(times).mean_ms == 100.0
    for _ in range(RECENT):
        times.add(None, over=False)
    assert times.now() is None


def test_a_part_is_named_after_the_service() -> None:
    assert [part_in_words(part) for part in now_of(after(one(60.0))).parts] == ["mysql 10.0.0.5:3306", "unexplained"]
    watched = Share(Part.DEPENDENCY, "web1", "10.0.0.5:3306", 60.0, "mysql", service_host="db1")
    assert part_in_words(now_of(after(Breakdown(9, 100.0, (watched,)))).parts[0]) == "mysql db1:3306"


@given(st.lists(BREAKDOWNS, min_size=1, max_size=9), st.sampled_from([UNICODE, BLOCKS, ASCII]), st.integers(20, 200))
def test_the_bar_is_full_and_its_parts_are_in_their_order(found: list[Breakdown], glyphs: Glyphs, cells: int) -> None:
    times = after(*found)
    view = view_after([])
    view = replace(view, history=copy(view.history))
    view.history.request_time = times
    lines = BreakdownPanel(Appearance({}, glyphs)).content(view, cells, 6)
    assert all(length(line) <= cells for line in lines)
    now = times.now()
    if now is None:
        return
    assert [part.ms for part in now.parts] == sorted((part.ms for part in now.parts), reverse=True)
    assert abs(sum(part.ms for part in now.parts) - now.mean_ms) < 0.01 * len(now.parts)
    drawn = list(dict.fromkeys(span.role for span in lines[0]))
    expected = dict.fromkeys(ROLES[-1] if part.part is None else ROLES[part.hue] for part in now.parts if part.ms > 0)
    assert length(lines[0]) == cells or not expected
    assert drawn == [role for role in expected if role in drawn]
