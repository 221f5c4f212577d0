"""The comparison on the screen."""

import os
from pathlib import Path

import pytest

from loadtop.analysis.comparison import Comparison, compare
from tests.tui.lines import text_of
from tests.tui.scenes import SCENES, run_of
from tui.apps.terminal import PageApp
from tui.drawing.appearance import Appearance
from tui.drawing.line import Role
from tui.screens.comparison import ComparisonPage


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    runs = [run_of(name, SCENES[name]()) for name in ("headroom", "swap")]
    return compare(runs, 10)


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (60, 20)])
async def test_page_can_be_read_to_its_end(
    comparison: Comparison, appearance: Appearance, size: tuple[int, int]
) -> None:
    app = PageApp[None](ComparisonPage(appearance, comparison))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.pause()
        shown = "\n".join(map(text_of, app.shown.page.lines))
        assert "A  headroom" in shown
        assert "B  swap" in shown
        await pilot.press("end")
        await pilot.pause()
        assert "level 0.05" in "\n".join(map(text_of, app.shown.page.lines))
        await pilot.press("home", "a")
        await pilot.pause()
        assert "a what differs" in text_of(app.shown.page.lines[-1])


async def test_worse_is_said_in_words_and_in_colour(comparison: Comparison, appearance: Appearance) -> None:
    app = PageApp[None](ComparisonPage(appearance, comparison))
    async with app.run_test(size=(120, 60)) as pilot:
        await pilot.pause()
        await pilot.pause()
        bad = [span.text for line in app.shown.page.lines for span in line if span.role is Role.BAD]
    assert "worse" in bad


async def test_a_picture_of_it_can_be_saved(
    comparison: Comparison, appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = PageApp[None](ComparisonPage(appearance, comparison))
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in ((), ("p",)):
            await pilot.press(*keys)
            await pilot.pause()
        assert "picture saved" in text_of(app.shown.page.lines[-1])
        await pilot.press("down")
        await pilot.pause()
        assert "q quit" in text_of(app.shown.page.lines[-1])
    assert len(os.listdir(tmp_path)) == 1  # noqa: PTH208 (pathlib's blocks)
