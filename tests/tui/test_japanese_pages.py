"""The pages beside the cockpit in Japanese at 80x24, as text: no line is longer or shorter than the screen."""

import os
import re
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.app import App

from loadtop.comparing.comparison import compare
from loadtop.comparing.run import read
from loadtop.experiment.plan import Cell, Level, Variant
from loadtop.experiment.runner import Progress
from loadtop.session import file
from loadtop.session.meta import SessionMeta
from loadtop.session.player import SessionPlayer
from loadtop.session.reader import Session
from loadtop.session.writer import Writer
from loadtop.tuning.sweep import Sweep
from loadtop.words import language, speak
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.app import Cockpit
from tui.comparing import ComparisonApp
from tui.look import Look
from tui.replay import ReplayCockpit
from tui.screens.experiment import ExperimentScreen
from tui.screens.tune import TuneScreen

PICTURES = Path(__file__).parent / "pictures"
SIZE = (80, 24)
ENGLISH = re.compile(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}")


@pytest.fixture(autouse=True)
def japanese() -> Generator[None]:
    before = language()
    speak("ja")
    yield
    speak(before)


async def shown(app: "App[Any]", *keys: str) -> list[str]:
    """What the terminal gets."""
    async with app.run_test(size=SIZE) as pilot:
        for key in ("", *keys):
            await pilot.press(*([key] if key else []))
            for _ in range(3):
                await pilot.pause()
        strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        return ["".join(segment.text for segment in strip) for strip in strips]


def same_as_stored(lines: list[str], name: str) -> None:
    assert [cell_len(line) for line in lines] == [SIZE[0]] * SIZE[1]
    assert [line for line in lines if ENGLISH.search(line) and "Zwiers" not in line] == []
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    stored = PICTURES / f"page-japanese-{name}-80x24.txt"
    if os.environ.get("LOADTOP_PICTURES") == "write":
        stored.write_text(text, encoding="utf-8")
    assert text == stored.read_text(encoding="utf-8")


@pytest.mark.parametrize("scene", ["headroom", "done"])
async def test_tune(look: Look, scene: str) -> None:
    sweep = Sweep()
    moments = SCENES["headroom"]()
    for moment in moments:
        sweep.add(moment)
    step = sweep.running
    assert step is not None
    for c, rps in ((1, 70.0), (2, 131.0), (4, 212.0), (8, 214.0), (16, 180.0)):
        sweep.results.append(replace(step, concurrency=c, requests=round(rps * step.seconds)))
    app = Cockpit(
        FakeFeed(SCENES[scene]()),
        look=look,
        first=lambda look, view: TuneScreen(look, view, sweep, lambda: "throughput falls at 16 connections"),
    )
    same_as_stored(await shown(app), f"tune-{scene}")


async def test_experiment(look: Look) -> None:
    cell = Cell(Variant("10 プロセス", ("true",)), "", "http://web1/", Level(concurrency=20), 1, ("http://web1/",))
    progress = Progress(3, 12, cell, 75.0)
    rows = ["構成         req/s", "10 プロセス    212"]
    app = Cockpit(
        FakeFeed(SCENES["headroom"]()),
        look=look,
        first=lambda look, view: ExperimentScreen(look, view, lambda: progress, lambda _: rows),
    )
    same_as_stored(await shown(app), "experiment")


async def test_compare(look: Look) -> None:
    runs = [read(Path(f"{name}.loadtop"), "", (), SCENES[name]()) for name in ("headroom", "swap")]
    comparison = compare(runs, 10)
    same_as_stored(await shown(ComparisonApp(comparison, look=look)), "compare")
    same_as_stored(await shown(ComparisonApp(comparison, look=look), "end"), "compare-end")


@pytest.mark.parametrize("key", ["v", "question_mark"])
async def test_replay(look: Look, tmp_path: Path, key: str) -> None:
    path = tmp_path / "swap.loadtop"
    file.create(path, SessionMeta(1.8e9, (), "http://web1/", "0.1.0", 1.0))
    writer = Writer(path)
    for moment in SCENES["swap"]():
        writer.take(moment)
        writer.write()
    writer.close()
    with Session(path) as session:
        app = ReplayCockpit(SessionPlayer(session, stay=True), look=look)
        same_as_stored(await shown(app, "space", "end", key), f"replay-{key}")
        await app.follower.close()
