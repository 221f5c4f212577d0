"""Fourteen screens as files that a person reviews: the text, and below it the role of each character as a letter.

``LOADTOP_SNAPSHOTS=write`` writes them again; look at the difference before you commit it. What holds for every screen
at every size is in test_screens.py.
"""

import contextlib
import difflib
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct
from msgspec.structs import replace
from rich.style import Style
from textual.app import App
from textual.strip import Strip

from loadtop.engines.command import CommandLoad
from loadtop.i18n import Message
from loadtop.recording.library import Recording
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import compared, moments, sweep_of
from tests.tui.stage import ROLES, speaking, strips_of
from tests.tui.stories import STORIES
from tui.apps.cockpit import Cockpit
from tui.apps.terminal import PageApp
from tui.drawing.appearance import BLOCKS, MONOCHROME, UNICODE, Appearance
from tui.drawing.line import Role, width
from tui.screens.comparison import ComparisonPage
from tui.screens.series import TuneScreen
from tui.screens.sessions import Chosen, SessionsPage

SNAPSHOTS = Path(__file__).parent / "snapshots"
PRINTED = "Benchmarking \x1b[1mweb1\x1b[0m \x1b[7m漢字\x1b[0m\r\n" + "".join(
    f"Completed {done} requests\r\n" for done in range(500, 5001, 500)
)

LETTERS = {
    Role.TEXT: " ", Role.DIM: "d", Role.VALUE: "v", Role.TITLE: "t", Role.FRAME: ".", Role.CHOSEN: "!",
    Role.BRAND: "B", Role.KEY: "k", Role.GOOD: "g", Role.WARN: "w", Role.BAD: "b", Role.GOOD_BADGE: "G",
    Role.WARN_BADGE: "W", Role.BAD_BADGE: "X", Role.ACCENT: "a", Role.GRAPH_LOW: "1", Role.GRAPH: "2",
    Role.GRAPH_TOP: "3", Role.FREE: "4", Role.FILLING: "5", Role.FULL: "6", Role.USER: "u", Role.SYSTEM: "s",
    Role.IOWAIT: "i", Role.STEAL: "z", Role.SWAP: "p", Role.EMPTY: "-", Role.TAB: "T", Role.LIMIT: "l",
    Role.SELECTED: "#", Role.PART_1: "P", Role.PART_2: "Q", Role.PART_3: "R", Role.PART_4: "S", Role.PART_5: "V",
}  # fmt: skip
OF_ROLES = {style: LETTERS[role] for role, style in ROLES.items()}
OF_WEIGHTS = {
    Style.null(): " ", Style.parse("dim"): "d", Style.parse("bold"): "b", Style.parse("bold reverse"): "R",
    Style.parse("dim underline"): "u", Style.parse("reverse"): "r",
}  # fmt: skip
ON_GROUND = {*"GWX#Rr"}  # letters of what shows on blanks too

Make = Callable[[Appearance, Path, contextlib.ExitStack], "App[Any]"]


def cockpit(story: str) -> Make:
    return lambda appearance, _, __: Cockpit(FakeFeed(STORIES[story]()), appearance=appearance)


def command(appearance: Appearance, _: Path, __: contextlib.ExitStack) -> Cockpit:
    program = CommandLoad(("ab", "-n", "5000", "-c", "20", "http://web1/"))
    assert program.terminal is not None
    program.terminal.screen.feed(PRINTED.encode())
    return Cockpit(FakeFeed(STORIES["ab"]()), appearance=appearance, program=program)


def tune(appearance: Appearance, _: Path, __: contextlib.ExitStack) -> Cockpit:
    sweep = sweep_of("headroom")
    step = sweep.running
    assert step is not None
    for c, rps in ((1, 70.0), (2, 131.0), (4, 212.0), (8, 214.0), (16, 180.0)):
        sweep.results.append(replace(step, concurrency=c, requests=round(rps * step.seconds)))
    why = Message("throughput at {c} connections is far below its best", c=16)
    return Cockpit(
        FakeFeed(moments("done")),
        appearance=appearance,
        first=lambda appearance, view: TuneScreen(appearance, view, lambda: sweep, lambda: why),
    )


def comparison(appearance: Appearance, _: Path, __: contextlib.ExitStack) -> PageApp[None]:
    return PageApp[None](ComparisonPage(appearance, compared()))


def sessions(appearance: Appearance, _: Path, __: contextlib.ExitStack) -> PageApp[Chosen]:
    limits = ("none", "swap", "nginx-connections", "cpu", "fpm-workers")
    found = [
        Recording(Path(f"/state/run-{i}.loadtop"), 1.8e9 + 3600 * i, 17.0 * i, f"http://web{i}/", limits[i % 5])
        for i in range(30)
    ]
    found.append(Recording(Path("/state/漢字.loadtop"), problem="it was written by a newer loadtop"))
    return PageApp[Chosen](SessionsPage(appearance, found))


class Picture(Struct, frozen=True):
    """An app in a size, after some keys; ``plain``: as a terminal without colours shows it."""

    make: Make
    keys: tuple[str, ...] = ()
    size: tuple[int, int] = (80, 24)
    spoken: str = "en"
    plain: bool = False


PICTURES = {
    "headroom": Picture(cockpit("headroom")),
    "swap": Picture(cockpit("swap"), size=(120, 40)),
    "swap-japanese": Picture(cockpit("swap"), spoken="ja"),
    "apache-workers-plain": Picture(cockpit("apache-workers"), plain=True),
    "stale": Picture(cockpit("stale")),
    "load-failed": Picture(cockpit("load-failed")),
    "dependency": Picture(cockpit("dependency"), size=(120, 40)),
    "breakdown": Picture(cockpit("dependency"), ("b",)),
    "nginx": Picture(cockpit("nginx"), ("colon", "s", "t")),
    "command": Picture(command, ("tab", "enter")),
    "evidence": Picture(cockpit("swap"), ("e",)),
    "tune": Picture(tune),
    "compare": Picture(comparison),
    "sessions": Picture(sessions, ("space", "space", "down")),
}


@pytest.mark.parametrize("name", PICTURES)
async def test_snapshot(name: str, tmp_path: Path) -> None:
    picture = PICTURES[name]
    appearance = Appearance(MONOCHROME, BLOCKS) if picture.plain else Appearance(ROLES, UNICODE)
    with speaking(picture.spoken), contextlib.ExitStack() as stack:
        app = picture.make(appearance, tmp_path, stack)
        async with app.run_test(size=picture.size) as pilot:
            await pilot.pause()
            await pilot.press(*picture.keys)
            strips = strips_of(app)
            if isinstance(app, Cockpit):
                await app.reader.close()
    drawn = [*texts(strips), "-- roles --", *letters(strips, OF_WEIGHTS if picture.plain else OF_ROLES)]
    stored = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("LOADTOP_SNAPSHOTS") == "write":
        stored.write_text("\n".join(drawn) + "\n", encoding="utf-8")
    expected = stored.read_text(encoding="utf-8").splitlines()
    assert drawn == expected, "\n".join(difflib.unified_diff(expected, drawn, stored.name, "now", n=1, lineterm=""))


def test_no_snapshot_is_left_over() -> None:
    assert {path.stem for path in SNAPSHOTS.iterdir()} == set(PICTURES)


def texts(strips: list[Strip]) -> list[str]:
    return [strip.text.rstrip() for strip in strips]


def letters(strips: list[Strip], known: Mapping[Style, str]) -> list[str]:
    """The letter of each cell; blanks have one only where they show it. ``?``: a style that is none of ours."""
    rows: list[str] = []
    for strip in strips:
        row = ""
        for text, style, _ in strip:
            letter = known.get(style or Style.null(), "?")
            row += "".join(width(c) * (letter if c != " " or letter in ON_GROUND else " ") for c in text)
        rows.append(row.rstrip())
    return rows
