"""An experiment in the cockpit: the table and how far it is; cells follow each other on one time axis."""

from collections.abc import Callable
from pathlib import Path

import pytest

from loadtop.analysis.experiment.plan import Cell, Level, Variant
from loadtop.analysis.experiment.runner import ExperimentFeed, Progress, later
from loadtop.pipeline.snapshot import Snapshot
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.screens.series import ExperimentScreen

URL = "http://web1/"


@pytest.fixture
def progress() -> Progress:
    cell = Cell(Variant(name="ten\x1b[31m processes", apply=("true",)), "", URL, Level(concurrency=20), 1, (URL,))
    return Progress(3, 12, cell, 75.0)


async def test_the_table_and_how_far_it_is(
    appearance: Appearance,
    progress: Progress,
    screen_text: Callable[[Cockpit], list[str]],
    feed_of: Callable[[str], FakeFeed],
) -> None:
    rows = ["variant  req/s", "ten        212"]
    app = Cockpit(
        feed_of("headroom"),
        appearance=appearance,
        first=lambda appearance, view: ExperimentScreen(
            appearance, view, lambda: progress, lambda wide: [*rows, str(wide)]
        ),
    )
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            await pilot.pause()
        text = screen_text(app)
    assert "cell 3 of 12  about 1 min 15 s left" in text[2]
    assert "ten?[31m processes c=20" in text[3]
    assert "variant  req/s" in text[5]
    assert "False" in text[7]


async def test_cells_follow_each_other_on_one_axis(tmp_path: Path) -> None:
    shown: list[Snapshot] = []
    snapshots = list(SCENES["swap"]())
    cell = FakeFeed(snapshots, stay=False)

    async def go() -> None:
        await feed.show_cell(cell)
        await feed.show_cell(cell)

    feed = ExperimentFeed(str(tmp_path), go)
    await feed.run(shown.append)
    assert len(shown) == 2 * len(snapshots)
    times = [snapshot.at for snapshot in shown]
    assert times == sorted(times)
    first, second = shown[len(snapshots) - 1], shown[-1]
    assert second.at == pytest.approx(2 * first.at)
    before, after = first.diagnosis.verdict, second.diagnosis.verdict
    assert after.since_s == pytest.approx(before.since_s + first.at)
    assert after.bottleneck is before.bottleneck


def test_nothing_else_changes() -> None:
    snapshot = list(SCENES["swap"]())[-1]
    assert later(later(snapshot, 7.0), -7.0).measured.hosts == snapshot.measured.hosts
