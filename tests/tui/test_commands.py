"""The command palette, typed numbers, the process table, copying: what each asks for and shows."""

import base64
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from signal import Signals

import pytest
from textual.pilot import Pilot

from loadtop.pipeline.feed import Command, NextStep, RestartLoad, SetConcurrency, StopLoad
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import SCENES
from tui.apps.cockpit import Cockpit
from tui.apps.terminal import clipboard
from tui.drawing.appearance import Appearance
from tui.panels.processes import ORDERS, ordered
from tui.widgets.keybar import KEYS
from tui.widgets.palette import Entry, matching

FeedOf = Callable[[str], FakeFeed]
Text = Callable[[Cockpit], list[str]]


@asynccontextmanager
async def running(
    feed: FakeFeed, appearance: Appearance, size: tuple[int, int] = (80, 24)
) -> AsyncGenerator[tuple[Cockpit, "Pilot[Signals]"]]:
    app = Cockpit(feed, appearance=appearance)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot


async def settle(pilot: "Pilot[Signals]") -> None:
    for _ in range(4):
        await pilot.pause()


async def type_in(pilot: "Pilot[Signals]", *keys: str) -> None:
    await pilot.press(*keys)
    await settle(pilot)


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("stop the load;", [StopLoad()]),
        ("begin again", [RestartLoad()]),
        ("more conn", [SetConcurrency(25)]),
        ("next step", []),
    ],
)
async def test_the_palette_finds_and_does(
    typed: str, asked: list[Command], feed_of: FeedOf, appearance: Appearance, screen_text: Text
) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await type_in(pilot, "colon")
        assert "commands" in "".join(screen_text(app)[1:4])
        await type_in(pilot, *typed)
        assert feed.commands == []
        await type_in(pilot, "enter")
        assert "commands" not in "".join(screen_text(app)[1:4])
    assert feed.commands == asked


async def test_the_palette_moves_and_can_be_left(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await type_in(pilot, "ctrl+p", "q", "u", "i", "down", "up", "backspace", "escape")
        assert "q quit" in screen_text(app)[-1]
        await type_in(pilot, "colon", "x", "x", "x", "enter")
        assert app.is_running
        await type_in(pilot, "colon", "pagedown", "pageup", *"zoom panel cpu", "enter")
        assert [name for name, panel in app.panels.items() if panel.placement] == ["cpu"]
    assert feed.commands == []


async def test_the_palette_can_be_clicked(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.click(offset=(screen_text(app)[-1].index(": all"), 23))
        await settle(pilot)
        lines = screen_text(app)
        row = next(y for y, text in enumerate(lines) if "stop the load;" in text)
        await pilot.click(offset=(lines[row].index("stop the load;"), row))
        await settle(pilot)
        assert app._cockpit.palette is None  # pyright: ignore[reportPrivateUsage]
    assert feed.commands == [StopLoad()]


async def test_the_palette_opens_from_a_page(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await type_in(pilot, "e")
        await type_in(pilot, "colon")
        assert "commands" in "".join(screen_text(app)[1:4])


def test_matching_begins_with_words_that_begin_so() -> None:
    entries = [Entry("unstop it", "", "a"), Entry("now stop", "s", "b"), Entry("go", "g", "c")]
    assert [entry.action for entry in matching(entries, "stop")] == ["b", "a"]
    assert [entry.action for entry in matching(entries, "u")] == ["a"]
    assert [entry.action for entry in matching(entries, "s")] == ["b", "a"]
    assert [entry.action for entry in matching(entries, "")] == ["a", "b", "c"]
    assert matching(entries, "stop go") == []


async def test_a_number_sets_the_load(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await type_in(pilot, "5")
        assert screen_text(app)[-1].startswith(" connections: 5")
        await type_in(pilot, "x", "0", "enter")
        assert screen_text(app)[-1].strip() == "20 to 50 connections"
        await type_in(pilot, "7", "escape")
    assert feed.commands == [SetConcurrency(50)]


async def test_a_number_without_load_says_why(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    feed = feed_of("watching")
    async with running(feed, appearance) as (app, pilot):
        await type_in(pilot, "5")
        assert screen_text(app)[-1].strip() == "there is no load to change"
    assert feed.commands == []


async def test_again_and_next_step(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    feed = feed_of("done")
    async with running(feed, appearance) as (app, pilot):
        await type_in(pilot, "n")
        assert screen_text(app)[-1].strip() == "no load is running"
        await type_in(pilot, "r")
    assert feed.commands == [RestartLoad()]
    assert NextStep() not in feed.commands


async def test_processes_are_filtered_while_typed(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        await type_in(pilot, "slash", *"maria")
        text = "".join(screen_text(app))
        assert "processes with maria" in text
        assert "apache2" not in text
        await type_in(pilot, "enter")
        assert "q quit" in screen_text(app)[-1]
        await type_in(pilot, "escape")
        assert "apache2" in "".join(screen_text(app))
        await type_in(pilot, "slash", *"nothing like it", "enter")
        assert "None of them." in "".join(screen_text(app))


async def test_processes_are_ordered_by_key_and_click(
    feed_of: FeedOf, appearance: Appearance, screen_text: Text
) -> None:
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        assert "▾cpu%" in "".join(screen_text(app))
        await type_in(pilot, "o")
        assert "▾rss" in "".join(screen_text(app))
        await type_in(pilot, "O")
        assert "▴rss" in "".join(screen_text(app))
        lines = screen_text(app)
        row = next(y for y, text in enumerate(lines) if "▴rss" in text)
        await pilot.click(offset=(lines[row].index(" pid") + 2, row))
        await settle(pilot)
        assert "▴pid" in "".join(screen_text(app))
        shown = [text for text in screen_text(app)[row + 1 :] if "systemd" in text]
        assert shown == [screen_text(app)[row + 1]]


def test_every_order_keeps_every_process() -> None:
    rates = SCENES["swap"]()[-1].measured.hosts[0].rates
    assert rates is not None
    assert rates.processes is not None
    for column in ORDERS:
        up = ordered(rates.processes, column)
        down = ordered(rates.processes, column, reverse=True)
        assert {p.process.pid for p in up} == {p.process.pid for p in rates.processes}
        assert sorted(p.process.pid for p in up) == sorted(p.process.pid for p in down)


@pytest.mark.parametrize("length", [1, 5000])
def test_gnu_screen_gets_the_clipboard_wrapped_and_in_pieces(length: int) -> None:
    text = "頁" * length
    plain = clipboard(text, {})
    assert plain == f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"
    wrapped = clipboard(text, {"STY": "1.tty"})
    pieces = re.findall(r"\x1bP(.*?)\x1b\\", wrapped, re.DOTALL)
    assert "".join(pieces) == plain
    assert wrapped == "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    assert max(map(len, pieces)) < 768


async def test_the_report_is_copied(
    feed_of: FeedOf, appearance: Appearance, screen_text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied: list[str] = []

    def keep(_: Cockpit, text: str) -> None:
        copied.append(text)

    monkeypatch.setattr(Cockpit, "copy_to_clipboard", keep)
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await type_in(pilot, "y")
        assert screen_text(app)[-1].startswith(" copied: the report so far, ")
    assert "[swap]" in copied[0] or "[cpu]" in copied[0]


async def test_panels_that_share_a_place_come_to_the_front(
    feed_of: FeedOf, appearance: Appearance, screen_text: Text
) -> None:
    async with running(feed_of("headroom"), appearance, (60, 20)) as (app, pilot):
        text = screen_text(app)
        row = next(y for y, line in enumerate(text) if "apache prefork" in line)
        assert "procs" in text[row]
        await pilot.click(offset=(text[row].index("procs") + 2, row))
        await settle(pilot)
        assert app.panels["processes"].placement
        assert not app.panels["apache"].placement
        await type_in(pilot, "left")
        assert app.panels["apache"].placement


async def test_tab_turns_to_the_next_machine_and_back(
    feed_of: FeedOf, appearance: Appearance, screen_text: Text
) -> None:
    async with running(feed_of("two-hosts"), appearance) as (app, pilot):
        await type_in(pilot, "tab")
        assert "db1 cpu" in "".join(screen_text(app))
        await type_in(pilot, "shift+tab")
        assert "web1 cpu" in "".join(screen_text(app))
        await type_in(pilot, "colon", *"machine db1", "enter")
        assert "db1 cpu" in "".join(screen_text(app))


@pytest.mark.parametrize("size", [(60, 20), (80, 24), (120, 40)])
async def test_the_footer_shows_the_important_keys(
    size: tuple[int, int], feed_of: FeedOf, appearance: Appearance, screen_text: Text
) -> None:
    async with running(feed_of("headroom"), appearance, size) as (app, _):
        footer = screen_text(app)[-1]
    for words in ("q quit", "+ - load", "s stop", "e why", "? help", ": all"):
        assert words in footer
    if size[0] >= 80:
        assert "m mark" in footer
        assert "p picture" in footer


async def test_every_key_is_in_help_and_palette(feed_of: FeedOf, appearance: Appearance, screen_text: Text) -> None:
    async with running(feed_of("headroom"), appearance, (160, 60)) as (app, pilot):
        await type_in(pilot, "question_mark")
        text = "\n".join(screen_text(app))
        for key in KEYS:
            assert key.help in text
