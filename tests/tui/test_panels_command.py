"""The screen of a command in the cockpit: what it shows, and who gets the keys."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from textual.pilot import Pilot

from loadtop.engines.command import CommandLoad
from loadtop.pipeline.feed import StopLoad
from tests.tui.fake_feed import FakeFeed, feed_of
from tests.tui.stage import ROLES, Shot, lines_of, strips_of, until
from tui.apps.cockpit import Cockpit
from tui.drawing.appearance import UNICODE, Appearance
from tui.drawing.line import Role

ASKING = "printf 'who? '; read name; echo hello $name; stty size; read last; exit 4"


@asynccontextmanager
async def running(
    script: str, feed: FakeFeed, appearance: Appearance
) -> AsyncGenerator[tuple[Cockpit, "Pilot[signal.Signals]", CommandLoad]]:
    """A cockpit with a shell command in it."""
    program = CommandLoad(("sh", "-c", script))
    app = Cockpit(feed, appearance=appearance, program=program)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await program.start()
        try:
            yield app, pilot, program
        finally:
            await program.close()


async def test_keys_go_to_the_command_once_it_is_entered(appearance: Appearance) -> None:
    async with running(ASKING, feed_of("watching"), appearance) as (app, pilot, program):

        def shows(words: str) -> bool:
            return any(words in line for line in lines_of(app))

        await until(lambda: shows("who?"))
        assert shows("arrows: choose panel; enter: type")
        await pilot.press("tab", "enter")
        await until(lambda: shows("ctrl+] back to the cockpit"))
        await pilot.press("q", "z", "left_square_bracket", "enter")
        await until(lambda: shows("hello qz["))
        assert app.is_running
        await until(lambda: shows(f"{app.panels['command'].size.height - 1} "))
        await pilot.press("ctrl+right_square_bracket")
        await until(lambda: shows("press enter to type"))
        await pilot.press("enter", "ctrl+d")
        await asyncio.wait_for(program.wait(), 20)
        await until(lambda: shows("exit code 4"))
    assert program.exit_code == 4


async def test_ctrl_c_is_the_commands_while_it_has_the_keys(appearance: Appearance) -> None:
    async with running("trap 'echo caught; exit 9' INT; echo ready; while :; do sleep 0.1; done",
                       feed_of("watching"), appearance) as (app, pilot, program):  # fmt: skip
        await until(lambda: any("ready" in line for line in lines_of(app)))
        await pilot.press("tab", "enter", "ctrl+c")
        await asyncio.wait_for(program.wait(), 20)
        assert program.exit_code == 9
        assert app.is_running
        await pilot.press("enter", "ctrl+c")
    assert app.return_value is signal.SIGINT


async def test_a_command_that_tells_nothing_of_its_load_is_stopped_by_key(appearance: Appearance) -> None:
    feed = feed_of("watching")
    async with running("read end", feed, appearance) as (app, pilot, program):
        await pilot.press("s")
        assert feed.commands == [StopLoad()]
        await pilot.press("q")
        assert "press q again" in lines_of(app)[-1]
        app.panels["command"].focus()
        await pilot.press("enter", "enter")
        await asyncio.wait_for(program.wait(), 20)
        await until(lambda: any("exit code" in line for line in lines_of(app)))
        await pilot.press("s")
        assert "no load is running" in lines_of(app)[-1]
    assert feed.commands == [StopLoad()]


async def test_a_command_ended_by_a_signal_has_the_exit_code_that_a_shell_reports(appearance: Appearance) -> None:
    async with running("kill -TERM $$", feed_of("watching"), appearance) as (_, __, program):
        await asyncio.wait_for(program.wait(), 20)
    assert program.exit_code == program.failure == 128 + signal.SIGTERM


async def test_past_intervals_can_be_shown_again(appearance: Appearance) -> None:
    async with running("seq 1 60", feed_of("watching"), appearance) as (app, pilot, program):
        await asyncio.wait_for(program.wait(), 20)
        await until(lambda: any(" 60 " in line for line in lines_of(app)))
        await pilot.press("tab", "home")
        await until(lambda: any(line.startswith("│ 1 ") for line in lines_of(app)))
        await pilot.press("end")
        await until(lambda: any(line.startswith("│ 60 ") for line in lines_of(app)))


async def test_the_cursor_is_in_its_cell_after_wide_characters() -> None:
    script = r"printf '\346\227\245\346\234\254ab\033[1;6H'; read end"
    async with running(script, feed_of("watching"), Appearance(ROLES, UNICODE)) as (app, pilot, _):
        await until(lambda: "日本ab" in "".join(lines_of(app)))
        await pilot.press("tab", "enter")
        row = next(row for row in Shot(strips_of(app)).rows if ("日", Role.TEXT) in row)
    assert [cell for cell in row if cell[1] is Role.WARN_BADGE] == [("b", Role.WARN_BADGE)]


async def test_the_output_of_a_command_stays_in_its_panel(appearance: Appearance) -> None:
    script = r"printf '\033]0;title\007\033[?1049h\033[2J\033[50;200Hx\033[31m\342\200\256odd\033[999C|'; read end"
    async with running(script, feed_of("watching"), appearance) as (app, _, __):
        await until(lambda: any("odd" in line for line in lines_of(app)))
        lines = lines_of(app)
        assert all(len(line) == 80 and line.isprintable() for line in lines)
        assert any("no machine" in line or "watching" in line for line in lines)
