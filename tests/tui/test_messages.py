"""Every action: asked for by key, by a click on the last line and from the palette; and what it leads to, in order."""

from pathlib import Path

import pytest
from textual.dom import DOMNode
from textual.message import Message

from loadtop.pipeline.feed import Command
from tests.tui.fake_feed import FakeFeed
from tests.tui.scenes import moments
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import Appearance
from tui.drawing.line import Role
from tui.widgets.keybar import KEYS, Key, arrange
from tui.widgets.palette import Palette
from tui.widgets.panel import Panel
from tui.widgets.question import Question

DONE = {
    "leave": ["says a load is running"],
    "pause": ["shows paused"],
    "turn_load(True)": ["SetConcurrency(connections=25)", "says from 20 to 25"],
    "turn_load(False)": ["SetConcurrency(connections=15)", "says from 20 to 15"],
    "type_load": ["asks load"],
    "stop_load": ["StopLoad()", "says stopping"],
    "restart_load": ["RestartLoad()", "says restarting"],
    "next_step": ["says "],
    "first_page": ["opens StepsScreen"],
    "evidence": ["opens EvidenceScreen"],
    "requests": ["opens RequestsScreen"],
    "profile": ["TakeProfile(host='web1')", "opens ProfileScreen"],
    "mark": ["asks mark"],
    "picture": ["says picture saved"],
    "screen.zoom": ["shows load alone"],
    "screen.zoom('breakdown')": ["shows breakdown alone"],
    "next_host": ["says only one host is watched: add more with --host"],
    "screen.order": ["shows processes by wait%"],
    "screen.reverse": ["shows processes turned"],
    "screen.filter": ["asks filter"],
    "copy": ["says copied"],
    "palette": ["offers"],
    "help": ["opens HelpScreen"],
}
"""What each action leads to, in this order, after the message that asked for it. What is said: how it begins."""


class Recorded:
    """A cockpit, and what happened in it."""

    def __init__(self, appearance: Appearance, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened: list[str] = []
        feed = FakeFeed(moments("headroom")[-2:])

        def command(given: Command) -> None:
            self.happened.append(str(given))

        def told(text: str, role: Role = Role.VALUE) -> None:
            self.happened.append(f"says {text}")
            say(text, role)

        monkeypatch.setattr(feed, "command", command)
        self.app = Cockpit(feed, appearance=appearance)
        say = self.app.say
        monkeypatch.setattr(self.app, "say", told)

    def hear(self, message: Message) -> None:
        """Every message that arrives anywhere; those of the cockpit's own are kept."""
        if isinstance(message, Palette.Done):
            self.happened.append(f"chosen {message.action}")
        elif isinstance(message, Question.Answered):
            self.happened.append(f"answered {message.purpose} {message.text} {message.final}")
        elif isinstance(message, Panel.Picked):
            self.happened.append(f"picked {message.panel}")

    def shown(self) -> list[str]:
        """What happened, and what is on the screen now that was not there before."""
        cockpit = self.app._cockpit  # pyright: ignore[reportPrivateUsage]
        found = list(dict.fromkeys(self.happened))
        if self.app.screen is not cockpit:
            found.append(f"opens {type(self.app.screen).__name__}")
        if cockpit.question is not None:
            found.append(f"asks {next(iter(self.app.screen.query(Question))).purpose}")
        if cockpit.palette is not None:
            found.append("offers")
        if cockpit.zoomed:
            found.append(f"shows {cockpit.chosen} alone")
        if self.app.reader.view.paused:
            found.append("shows paused")
        processes = cockpit.processes
        if processes.chosen:
            found.append("shows processes turned" if processes.reversed else f"shows processes by {processes.column}")
        return found


async def test_every_action_can_be_started_in_three_ways(
    appearance: Appearance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By each of its keys, by a click on the last line, and by its words in the palette."""
    app = Cockpit(FakeFeed(moments("headroom")), appearance=appearance)
    run_action, asked = app.run_action, list[str]()

    async def ask(action: str, namespace: DOMNode | None = None) -> bool:
        if action == "palette":
            return await run_action(action, namespace)
        asked.append(action)
        return True

    monkeypatch.setattr(app, "run_action", ask)
    places = {key.action: first for key, first, _ in arrange(200)}
    async with app.run_test(size=(200, 30)) as pilot:
        await pilot.pause()
        for key in KEYS:
            if key.action == "palette":
                continue
            wanted = f"{key.action}('1')" if key.key == "1" else key.action
            for name in key.key.split(","):
                await pilot.press(name)
                assert asked.pop() == wanted
            if key.footer:
                await pilot.click(offset=(places[key.action], 29))
                assert asked.pop() == key.action
            await pilot.press("colon", *key.help[:8], "enter")
            assert asked.pop() == key.action
        for way in ("colon", "ctrl+p"):
            await pilot.press(way)
            assert next(iter(app.screen.query(Palette)), None) is not None
            await pilot.press("escape")
        await pilot.click(offset=(places["palette"], 29))
        assert next(iter(app.screen.query(Palette)), None) is not None
    assert asked == []


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.action)
async def test_the_result_of_an_action(
    key: Key, appearance: Appearance, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    recorded = Recorded(appearance, monkeypatch)
    async with recorded.app.run_test(size=(80, 24), message_hook=recorded.hear) as pilot:
        await pilot.pause()
        await pilot.press(key.key.split(",")[0])
        happened = recorded.shown()
    wanted = [*(["answered load 1 False"] if key.key == "1" else []), *DONE[key.action]]
    assert len(happened) == len(wanted), happened
    assert all(found.startswith(word) for found, word in zip(happened, wanted, strict=True)), happened


@pytest.mark.parametrize(
    ("keys", "wanted"),
    [
        (("4", "0", "enter"), ["answered load 4 False", "answered load 40 False", "answered load 40 True",
                               "SetConcurrency(connections=40)", "says from 20 to 40 connections"]),
        (("m", "x", "enter"), ["answered mark x False", "answered mark x True", "Mark(text='x')", "says marked: x"]),
        (("m", "x", "escape"), ["answered mark x False"]),
        (("slash", "x", "enter"), ["answered filter x False", "answered filter x True"]),
        (("colon", "escape"), ["chosen "]),
    ],
)  # fmt: skip
async def test_questions(
    keys: tuple[str, ...], wanted: list[str], appearance: Appearance, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Recorded(appearance, monkeypatch)
    async with recorded.app.run_test(size=(80, 24), message_hook=recorded.hear) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
    assert list(dict.fromkeys(recorded.happened)) == wanted


async def test_a_click_on_a_panel_chooses_it_and_another_zooms(
    appearance: Appearance, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = Recorded(appearance, monkeypatch)
    async with recorded.app.run_test(size=(80, 24), message_hook=recorded.hear) as pilot:
        await pilot.pause()
        for _ in range(2):
            await pilot.click(offset=(50, 8))
        assert recorded.shown() == ["picked cpu", "shows cpu alone"]


def test_every_key_is_listed() -> None:
    assert {key.action for key in KEYS} == set(DONE)
