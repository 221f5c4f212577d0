"""The command palette, typed numbers, the process table, copying: what each asks for and shows."""

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loadtop.i18n import LANGUAGES
from loadtop.pipeline.feed import Command, NextStep, RestartLoad, SetConcurrency, StopLoad
from tests.tui.fake_feed import feed_of
from tests.tui.scenes import moments
from tests.tui.stage import lines_of, running, speaking, text_of
from tests.tui.stories import view_of
from tui.apps.cockpit import Cockpit
from tui.apps.terminal import clipboard
from tui.drawing.appearance import Appearance
from tui.panels.processes import ORDERS, ordered
from tui.screens.help import HelpScreen
from tui.widgets.keybar import GAP, KEYS, arrange
from tui.widgets.palette import Entry, matching


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("stop the load;", [StopLoad()]),
        ("restart the", [RestartLoad()]),
        ("more conn", [SetConcurrency(25)]),
        ("next step", []),
    ],
)
async def test_the_palette_finds_and_does(typed: str, asked: list[Command], appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("colon")
        assert "commands" in "".join(lines_of(app)[1:4])
        await pilot.press(*typed)
        assert feed.commands == []
        await pilot.press("enter")
        assert "commands" not in "".join(lines_of(app)[1:4])
    assert feed.commands == asked


async def test_the_palette_moves_and_can_be_left(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("ctrl+p", "q", "u", "i", "down", "up", "backspace", "escape")
        assert "q quit" in lines_of(app)[-1]
        await pilot.press("colon", "x", "x", "x", "enter")
        assert app.is_running
        await pilot.press("colon", "pagedown", "pageup", *"zoom panel cpu", "enter")
        assert [name for name, panel in app.panels.items() if panel.placement] == ["cpu"]
    assert feed.commands == []


async def test_the_palette_can_be_clicked(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.click(offset=(lines_of(app)[-1].index(": cmd"), 23))
        lines = lines_of(app)
        row = next(y for y, text in enumerate(lines) if "stop the load;" in text)
        await pilot.click(offset=(lines[row].index("stop the load;"), row))
        assert app._cockpit.palette is None  # pyright: ignore[reportPrivateUsage]
    assert feed.commands == [StopLoad()]


async def test_the_palette_opens_from_a_page(appearance: Appearance) -> None:
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await pilot.press("e")
        await pilot.press("colon")
        assert "commands" in "".join(lines_of(app)[1:4])


def test_matching_begins_with_words_that_begin_so() -> None:
    entries = [Entry("unstop it", "", "a"), Entry("now stop", "s", "b"), Entry("go", "g", "c")]
    assert [entry.action for entry in matching(entries, "stop")] == ["b", "a"]
    assert [entry.action for entry in matching(entries, "u")] == ["a"]
    assert [entry.action for entry in matching(entries, "s")] == ["b", "a"]
    assert [entry.action for entry in matching(entries, "")] == ["a", "b", "c"]
    assert matching(entries, "stop go") == []


async def test_a_number_sets_the_load(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("5")
        assert lines_of(app)[-1].startswith(" connections: 5")
        await pilot.press("x", "0", "enter")
        assert lines_of(app)[-1].strip() == "from 20 to 50 connections"
        await pilot.press("7", "escape")
    assert feed.commands == [SetConcurrency(50)]


async def test_a_number_without_load_says_why(appearance: Appearance) -> None:
    feed = feed_of("watching")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("5")
        assert lines_of(app)[-1].strip() == "there is no load to change"
    assert feed.commands == []


async def test_again_and_next_step(appearance: Appearance) -> None:
    feed = feed_of("done")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("n")
        assert lines_of(app)[-1].strip() == "no load is running"
        await pilot.press("r")
    assert feed.commands == [RestartLoad()]
    assert NextStep() not in feed.commands


async def test_processes_are_filtered_while_typed(appearance: Appearance) -> None:
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        await pilot.press("slash", *"maria")
        text = "".join(lines_of(app))
        assert "processes with maria" in text
        assert "apache2" not in text
        await pilot.press("enter")
        assert "q quit" in lines_of(app)[-1]
        await pilot.press("escape")
        assert "apache2" in "".join(lines_of(app))
        await pilot.press("slash", *"nothing like it", "enter")
        assert "No process matches." in "".join(lines_of(app))


async def test_processes_are_ordered_by_key_and_click(appearance: Appearance) -> None:
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        assert "▾cpu%" in "".join(lines_of(app))
        await pilot.press("o")
        assert "▾wait%" in "".join(lines_of(app))
        await pilot.press("o")
        assert "▾rss" in "".join(lines_of(app))
        await pilot.press("O")
        assert "▴rss" in "".join(lines_of(app))
        lines = lines_of(app)
        row = next(y for y, text in enumerate(lines) if "▴rss" in text)
        await pilot.click(offset=(lines[row].index(" pid") + 2, row))
        assert "▴pid" in "".join(lines_of(app))
        assert [text for text in lines_of(app)[row + 1 :] if "systemd" in text] == [lines_of(app)[row + 1]]


def test_every_order_keeps_every_process() -> None:
    rates = moments("swap")[-1].measured.hosts[0].rates
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


async def test_the_report_is_copied(appearance: Appearance, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[str] = []

    def keep(_: Cockpit, text: str) -> None:
        copied.append(text)

    monkeypatch.setattr(Cockpit, "copy_to_clipboard", keep)
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await pilot.press("y")
        assert lines_of(app)[-1].startswith(" copied the report so far, ")
    assert "[swap]" in copied[0] or "[cpu]" in copied[0]


async def test_panels_that_share_a_place_come_to_the_front(appearance: Appearance) -> None:
    async with running(feed_of("headroom"), appearance, (60, 20)) as (app, pilot):
        text = lines_of(app)
        row = next(y for y, line in enumerate(text) if "apache prefork" in line)
        assert "procs" in text[row]
        await pilot.click(offset=(text[row].index("procs") + 2, row))
        assert app.panels["processes"].placement
        assert not app.panels["apache"].placement
        await pilot.press("left")
        assert app.panels["apache"].placement


async def test_tab_turns_to_the_next_machine_and_back(appearance: Appearance) -> None:
    async with running(feed_of("two-hosts"), appearance) as (app, pilot):
        await pilot.press("tab")
        assert "db1 cpu" in "".join(lines_of(app))
        await pilot.press("shift+tab")
        assert "web1 cpu" in "".join(lines_of(app))
        await pilot.press("colon", *"host db1", "enter")
        assert "db1 cpu" in "".join(lines_of(app))


@given(st.integers(60, 240), st.sampled_from(LANGUAGES))
def test_the_footer_shows_the_important_keys(cells: int, spoken: str) -> None:
    with speaking(spoken):
        shown = arrange(cells)
    actions = {key.action for key, _, _ in shown}
    assert actions >= {"leave", "turn_load(True)", "turn_load(False)", "stop_load", "evidence", "help"}
    assert actions >= ({"palette"} if spoken == "en" else set())
    assert actions >= ({"mark", "picture"} if cells >= 80 and spoken == "en" else set())
    assert shown[-1][2] - GAP <= cells
    left_out = [key.rank for key in KEYS if key.footer and key.action not in actions]
    assert max(key.rank for key, _, _ in shown) < min(left_out, default=100)


def test_every_key_is_in_the_help(appearance: Appearance) -> None:
    text = [text_of(line) for line in HelpScreen(appearance, view_of("headroom")).text(156)]
    for key in KEYS:
        assert any(key.shown in line and key.help in line for line in text), key
