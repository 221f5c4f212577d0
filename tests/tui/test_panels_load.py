"""What the load panel says: what failed in the room there is, and nothing that is not so."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadtop.model import Failures
from tests.tui.fake_feed import FakeFeed
from tests.tui.lines import text_of
from tests.tui.scenes import HEADROOM, Story
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.panels.load import LoadPanel
from tui.panels.verdict import VerdictPanel
from tui.state.view import History, Phase, View

BROKEN = Failures(length=8270, timeout=12)


def last_line(appearance: Appearance, cells: int, failures: Failures, verdict: str = "none", **changes: object) -> str:
    """The last line of a load of which some failed."""
    snapshot = Story().play(HEADROOM, 2)[-1]
    load = snapshot.measured.load
    assert load is not None
    load = replace(load, failures=failures, non_2xx=8270, **changes)  # type: ignore[arg-type]
    snapshot = replace(snapshot, measured=replace(snapshot.measured, frame=replace(snapshot.measured.frame, load=load)))
    finding = replace(snapshot.diagnosis.verdict, bottleneck=verdict)
    snapshot = replace(snapshot, diagnosis=replace(snapshot.diagnosis, verdict=finding))
    view = View("", "", 1.0, History(1.0), snapshot, phase=Phase.LIVE)
    return text_of(LoadPanel(appearance).content(view, cells, 4)[-1])


@pytest.mark.parametrize("cells", range(20, 60))
def test_no_class_of_failures_is_cut(cells: int, appearance: Appearance) -> None:
    said = last_line(appearance, cells, BROKEN)
    assert len(said) <= cells or cells < 30
    assert said.split("8 270")[-1].strip() in ("", "length +1", "length timeout", "timeout 12")


def test_the_classes_lose_their_numbers_first(appearance: Appearance) -> None:
    one = replace(BROKEN, timeout=0)
    assert last_line(appearance, 50, one).endswith("not 2xx 8 270  length 8 270")
    assert last_line(appearance, 36, one).endswith("not 2xx 8 270  length")
    assert last_line(appearance, 50, BROKEN).endswith("  length timeout")


def test_a_message_that_the_verdict_tells_leaves_the_figures(appearance: Appearance) -> None:
    assert "trouble ahead" in last_line(appearance, 40, BROKEN, message="trouble ahead")
    assert "failed" in last_line(appearance, 40, BROKEN, verdict="errors", message="trouble ahead")


def test_before_the_first_figures_nothing_is_claimed(appearance: Appearance) -> None:
    view = View("", "", 1.0, History(1.0))
    assert text_of(LoadPanel(appearance).content(view, 60, 4)[0]) == "waiting for the first figures"
    snapshot = Story().play(HEADROOM, 1)[0]
    bare = replace(snapshot.diagnosis.verdict, evidence=())
    view = replace(
        view, snapshot=replace(snapshot, diagnosis=replace(snapshot.diagnosis, verdict=bare)), phase=Phase.LIVE
    )
    said = " ".join(text_of(each) for each in VerdictPanel(appearance).content(view, 60, 4))
    assert "headroom" not in said


async def test_the_end_of_a_page_is_a_key_away(
    appearance: Appearance, screen_text: Callable[[Cockpit], list[str]]
) -> None:
    async with (app := Cockpit(FakeFeed([]), appearance=appearance)).run_test(size=(80, 24)) as pilot:
        for key, seen in (("question_mark", " more ─╯"), ("end", "never as 0"), ("home", "Keys")):
            await pilot.press(key)
            await pilot.pause()
            await pilot.pause()
            assert seen in "".join(screen_text(app))
