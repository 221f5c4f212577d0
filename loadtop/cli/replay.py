"""``loadtop replay``: the cockpit again, from a recording."""

import asyncio

from loadtop.cli.ends import DONE
from loadtop.cli.recordings import opened
from loadtop.cli.screen import show, with_screen
from loadtop.feed import WatchedFeed
from loadtop.options import parse
from loadtop.session.replay import ReplayFeed
from loadtop.tuning.sweep import Sweep


def main(verb: str, words: list[str]) -> int:
    """Show the recording; the exit code."""
    options = parse([verb, *words])
    with opened(options.session) as session:
        title = f"replay of {session.path.name}"
        feed = ReplayFeed(title, session.meta.interval_s, session.frames())
        if session.meta.command_line[:1] == ("tune",) and with_screen(options):
            from tui.screens.tune import TuneScreen

            sweep = Sweep()
            watched = WatchedFeed(feed, sweep.add)
            asyncio.run(show(watched, options, lambda look, view: TuneScreen(look, view, sweep, lambda: "")))
        else:
            asyncio.run(show(feed, options))
    return DONE
