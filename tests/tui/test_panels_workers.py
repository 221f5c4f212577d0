"""The workers of another engine: each with its state, also where there is little room."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loadtop.model import MISSING, EngineWorker, Failures
from loadtop.pipeline.snapshot import Snapshot
from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.screens.cockpit import CockpitScreen

AnyLook = tuple[str, Appearance]
ScreenText = Callable[[Cockpit], list[str]]

CALM = tuple(
    EngineWorker(f"g{1 + number // 8}-{1 + number % 8}", f"g{1 + number // 8}", "running", 25, 41.0 + number, 62_000)
    for number in range(16)
)
TROUBLED = (
    EngineWorker("g1-1", "g1", "running", 1250, 96.4, 1_262_000),
    EngineWorker("g1-2", "g1", MISSING),
    EngineWorker("\x1b[2Jgen-of-the-month-1", "gen", "cleanup", 12, 3.0, 61_000),
    EngineWorker("gen-of-the-month-2", "gen", "ready", 0),
)


def by_locust(workers: tuple[EngineWorker, ...]) -> list[Snapshot]:
    """Moments with a load as Locust tells of it: much it does not say."""
    snapshots: list[Snapshot] = []
    for snapshot in SCENES["headroom"]()[-20:]:
        load = snapshot.measured.frame.load
        assert load is not None
        load = replace(
            load, engine="locust", in_flight=None, non_2xx=None, received_bytes=None, server=None, workers=workers,
            failures=Failures.undivided(0),
        )  # fmt: skip
        measured = replace(snapshot.measured, frame=replace(snapshot.measured.frame, load=load))
        snapshots.append(replace(snapshot, measured=measured))
    return snapshots


@pytest.mark.parametrize("any_appearance", ["colour", "no-colour", "japanese"], indirect=True)
async def test_picture(any_appearance: AnyLook, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    await pictures(Cockpit(FakeFeed(by_locust(TROUBLED)), appearance=appearance), f"workers{suffix}", appearance)


async def test_those_in_trouble_first_where_not_all_have_room(appearance: Appearance, screen_text: ScreenText) -> None:
    many = (*CALM, *TROUBLED[:2])
    app = Cockpit(FakeFeed(by_locust(many)), appearance=appearance)
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(4):
            await pilot.pause()
        small = "\n".join(screen_text(app))
        screen = app.screen
        assert isinstance(screen, CockpitScreen)
        screen.action_zoom("workers")
        for _ in range(4):
            await pilot.pause()
        large = "\n".join(screen_text(app))
    assert "17 of 18" in small
    assert "17 workers" in small
    assert "missing" in small
    assert "16 more, at most 56 % of a core" in small
    assert [each.name for each in many if f"{each.name} " not in large] == []


async def test_no_workers_no_panel(appearance: Appearance, screen_text: ScreenText) -> None:
    app = Cockpit(FakeFeed(by_locust(())), appearance=appearance)
    async with app.run_test(size=(200, 60)) as pilot:
        for _ in range(4):
            await pilot.pause()
        text = "\n".join(screen_text(app))
    assert "workers of" not in text
    assert "- in flight" in text
