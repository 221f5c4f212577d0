"""Pictures of the pages that other verbs show (tune, experiment, replay, compare, sessions), in every size, in colour
and without, and in Japanese."""

import time
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import pytest

from loadtop.analysis.comparison import compare
from loadtop.analysis.experiment.plan import Cell, Level, Variant
from loadtop.analysis.experiment.runner import Progress
from loadtop.analysis.tune.step import Sweep
from loadtop.i18n import Message
from loadtop.recording.container import SessionMeta
from loadtop.recording.library import Recording
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Writer
from tests.tui.conftest import Pictures
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES, run_of
from tui.apps.cockpit import Cockpit
from tui.apps.replay import ReplayCockpit
from tui.apps.terminal import PageApp
from tui.drawing.appearance import Appearance
from tui.screens.comparison import ComparisonPage
from tui.screens.series import ExperimentScreen, TuneScreen
from tui.screens.sessions import Chosen, SessionsPage

AnyAppearance = tuple[str, Appearance]
pytestmark = pytest.mark.parametrize("any_appearance", ["colour", "no-colour", "japanese"], indirect=True)


@pytest.fixture(autouse=True)
def clock_of_nobody(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Times are shown in UTC."""
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("scene", ["headroom", "done"])
async def test_tune(scene: str, any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    sweep = Sweep()
    for snapshot in SCENES["headroom"]():
        sweep.add(snapshot)
    step = sweep.running
    assert step is not None
    for c, rps in ((1, 70.0), (2, 131.0), (4, 212.0), (8, 214.0), (16, 180.0)):
        sweep.results.append(replace(step, concurrency=c, requests=round(rps * step.seconds)))
    app = Cockpit(
        FakeFeed(SCENES[scene]()),
        appearance=appearance,
        first=lambda appearance, view: TuneScreen(
            appearance, view, lambda: sweep, lambda: Message("throughput falls at {c} connections", c=16)
        ),
    )
    await pictures(app, f"tune-{scene}{suffix}", appearance)


async def test_experiment(any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    cell = Cell(
        Variant(name="10 プロセス", apply=("true",)), "", "http://web1/", Level(concurrency=20), 1, ("http://web1/",)
    )
    progress = Progress(3, 12, cell, 75.0)
    rows = ["構成         req/s", "10 プロセス    212"]
    app = Cockpit(
        FakeFeed(SCENES["headroom"]()),
        appearance=appearance,
        first=lambda appearance, view: ExperimentScreen(appearance, view, lambda: progress, lambda _: rows),
    )
    await pictures(app, f"experiment{suffix}", appearance)


@pytest.mark.parametrize("keys", [(), ("end",), ("a",)])
async def test_compare(keys: tuple[str, ...], any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    runs = [run_of(name, SCENES[name]()) for name in ("headroom", "swap")]
    name = "-".join(("compare", *keys))
    await pictures(PageApp[None](ComparisonPage(appearance, compare(runs, 10))), f"{name}{suffix}", appearance, *keys)


@pytest.mark.parametrize("key", ["v", "question_mark", "t", "T"])
async def test_replay(key: str, any_appearance: AnyAppearance, pictures: Pictures, tmp_path: Path) -> None:
    suffix, appearance = any_appearance
    path = tmp_path / "swap.loadtop"
    writer = Writer(path, SessionMeta(1.8e9, (), "http://web1/", "0.1.0", 1.0))
    for snapshot in SCENES["swap"]():
        writer.take(snapshot)
        writer.write()
    writer.close()
    with Session(path) as session:
        app = ReplayCockpit(SessionPlayer(session, stay=True), appearance=appearance)
        name = "steps" if key == "T" else key
        await pictures(app, f"replay-{name}{suffix}", appearance, "space", "end", key)
        await app.reader.close()


@pytest.mark.parametrize("keys", [("space", "space", "down"), ("end", "enter")], ids=["marked", "damaged"])
async def test_sessions(keys: tuple[str, ...], any_appearance: AnyAppearance, pictures: Pictures) -> None:
    suffix, appearance = any_appearance
    limits = ("none", "swap", "apache-workers", "cpu", "fpm-workers")
    found = [
        Recording(Path(f"/state/run-{i}.loadtop"), 1.8e9 + 3600 * i, 17.0 * i, f"http://web{i}/", limits[i % 5])
        for i in range(30)
    ]
    found.append(Recording(Path("/state/漢字.loadtop"), problem="it was written by a newer loadtop"))
    await pictures(PageApp[Chosen](SessionsPage(appearance, found)), f"sessions-{keys[0]}{suffix}", appearance, *keys)
