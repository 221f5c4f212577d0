"""Every key: what it asks of the test, in which order, and what it shows."""

import signal
from pathlib import Path
from typing import Any, cast

import pytest
from textual import events

from loadtop.model import LoadSample
from loadtop.pipeline.feed import Mark, SetConcurrency, StopLoad
from tests.tui.fake_feed import FakeFeed, feed_of
from tests.tui.scenes import moments
from tests.tui.stage import lines_of, running, until
from tui.drawing.appearance import Appearance
from tui.screens.cockpit import CockpitScreen
from tui.screens.evidence import EvidenceScreen
from tui.screens.help import HelpScreen


@pytest.mark.parametrize(("scene", "offered"), [("headroom", True), ("watching", False)])
async def test_keys_of_the_load_are_offered_where_there_is_one(
    scene: str, offered: bool, appearance: Appearance
) -> None:
    async with running(feed_of(scene), appearance, (200, 30)) as (app, pilot):
        keys = lines_of(app)[-1]
        assert "q quit" in keys
        assert [words in keys for words in ("+ - load", "1..9 set", "s stop", "r restart", "t steps")] == [offered] * 5
        await pilot.press("colon", *"stop the")
        assert any("stop the load; keep watching" in line for line in lines_of(app)) == offered


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_leaving_without_load(key: str, appearance: Appearance) -> None:
    feed = feed_of("done")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press(key)
    assert not app.is_running
    assert app.return_value is (None if key == "q" else signal.SIGINT)
    assert feed.commands == []


async def test_q_asks_once_while_load_runs(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("q")
        assert app.is_running
        assert lines_of(app)[-1].strip() == "a load is running: press q again to stop it and quit"
        await pilot.press("q")
    assert not app.is_running
    assert app.return_value is None


async def test_the_question_of_q_is_forgotten(appearance: Appearance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.apps.cockpit.MESSAGE_S", 0.01)
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        await pilot.press("q")
        await until(lambda: "q quit" in lines_of(app)[-1])
        await pilot.press("q")
        assert app.is_running


async def test_ctrl_c_quits_at_once(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("ctrl+c")
    assert app.return_value is signal.SIGINT
    await app.reader.close()
    assert feed.cancelled


async def test_stop_without_load(appearance: Appearance) -> None:
    feed = feed_of("done")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("s", "+")
        assert lines_of(app)[-1].strip() == "the load has ended: r restarts it"
    assert feed.commands == []


async def test_hosts_take_turns(appearance: Appearance) -> None:
    async with running(feed_of("two-hosts"), appearance) as (app, pilot):
        assert "web1 cpu" in "".join(lines_of(app))
        await pilot.press("h")
        assert "db1 cpu" in "".join(lines_of(app))
        assert "no httpd here" in "".join(lines_of(app))
        await pilot.press("h")
        assert "web1 cpu" in "".join(lines_of(app))


async def test_a_message_ends_behind_a_page_too(appearance: Appearance) -> None:
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        await pilot.press("h", "e")
        cast("Any", app)._end_message()
        await pilot.press("q")
        assert lines_of(app)[-1].startswith(" q quit")


async def test_pause_holds_the_picture_and_data_continues(appearance: Appearance) -> None:
    snapshots = moments("swap")
    feed = FakeFeed(snapshots[:12])
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("space")
        held = lines_of(app)
        assert "display held" in held[0]
        for snapshot in snapshots[12:]:
            app.reader.receive(snapshot)
        await pilot.pause()
        assert lines_of(app) == held
        await pilot.press("space")
        assert "SWAP" in lines_of(app)[1]
        assert "SSSS" in "".join(lines_of(app))


async def test_evidence(appearance: Appearance) -> None:
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await pilot.press("e")
        assert isinstance(app.screen, EvidenceScreen)
        text = "\n".join(lines_of(app))
        for words in ("swap in", "threshold 40 kB/s", "atop: 10 pages/s", "memory stall", "┈┈┈"):
            assert words in text
        await pilot.press("pagedown")
        assert all(words in "\n".join(lines_of(app)) for words in ("follows from the verdict", "CPU busy"))
        await pilot.press("e")
        assert isinstance(app.screen, CockpitScreen)


async def test_help_and_evidence_replace_each_other(appearance: Appearance) -> None:
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        assert "save the screen as an SVG file" in "\n".join(lines_of(app))
        before = lines_of(app)
        await pilot.press("down", "pagedown")
        assert lines_of(app) != before
        await pilot.press("e")
        assert isinstance(app.screen, EvidenceScreen)
        await pilot.press("escape")
        assert isinstance(app.screen, CockpitScreen)


async def test_zoom_and_back(appearance: Appearance) -> None:
    async with running(feed_of("headroom"), appearance) as (app, pilot):
        await pilot.press("z")
        assert [name for name, panel in app.panels.items() if panel.placement] == ["load"]
        assert "load" in lines_of(app)[1]
        assert "memory" not in "".join(lines_of(app))
        await pilot.press("tab", "tab")
        assert [name for name, panel in app.panels.items() if panel.placement] == ["memory"]
        await pilot.press("escape")
        assert len([name for name, panel in app.panels.items() if panel.placement]) == 8
        await pilot.press("shift+tab", "z")
        assert [name for name, panel in app.panels.items() if panel.placement] == ["cpu"]


async def test_mark(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("m")
        assert "text of the mark" in lines_of(app)[-1]
        await pilot.press(*"q [r]+", "enter")
        assert lines_of(app)[-1].strip() == "marked: q [r]+"
    assert feed.commands == [Mark("q [r]+")]


async def test_keys_that_come_at_once_are_not_lost(appearance: Appearance) -> None:
    """As typed over a slow line, or pasted: none waits for what the one before it has opened."""
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        for keys in (("5", "0", "enter"), ("m", "x", "y", "enter")):
            for key in keys:
                app.post_message(events.Key(key, "\r" if key == "enter" else key))
            await pilot.pause()
    assert feed.commands == [SetConcurrency(50), Mark("xy")]


async def test_mark_taken_back(appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.press("m", "x", "escape")
        assert "q quit" in lines_of(app)[-1]
        await pilot.press("m", "space", "enter")
        assert "q quit" in lines_of(app)[-1]
    assert feed.commands == []


async def test_picture(appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await pilot.press("p")
        assert lines_of(app)[-1].startswith(" picture saved: ")
    (path,) = tmp_path.iterdir()  # noqa: ASYNC240 (a test may wait for its own file)
    assert path.name.startswith("loadtop-web1-index.php-")
    assert "SWAP" in path.read_text(encoding="utf-8")


async def test_picture_that_cannot_be_written(
    appearance: Appearance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere(_: str) -> Path:
        return tmp_path / "no such directory" / "x.svg"

    monkeypatch.setattr("tui.widgets.picture.file_name", nowhere)
    async with running(feed_of("swap"), appearance) as (app, pilot):
        await pilot.press("p")
        assert lines_of(app)[-1].rstrip() == " cannot save the picture: No such file or directory"
        assert app.is_running


@pytest.mark.parametrize(
    ("label", "command"), [("+", SetConcurrency(25)), ("- load", SetConcurrency(15)), ("s stop", StopLoad())]
)
async def test_keys_can_be_clicked(label: str, command: object, appearance: Appearance) -> None:
    feed = feed_of("headroom")
    async with running(feed, appearance) as (app, pilot):
        await pilot.click(offset=(lines_of(app)[-1].index(label), 23))
    assert feed.commands == [command]


async def test_a_caption_has_a_separate_line(appearance: Appearance) -> None:
    def caption(load: LoadSample | None) -> str:
        return f"state {load and load.state}"

    async with running(feed_of("swap"), appearance, caption=caption) as (app, _):
        first, second, third, *_, last = lines_of(app)
        assert first.startswith(" loadtop")
        assert second.strip() == "state running"
        assert third.startswith("╭")
        assert "q quit" in last
