"""Show a feed to its end: in the cockpit, or line by line."""

import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

from loadtop.cli.options.table import Options
from loadtop.pipeline.feed import Feed

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from tui.apps.cockpit import FirstPage
    from tui.apps.load_control import LoadOwner
    from tui.panels.header import Caption

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SECOND_SIGNAL_S = 2.0
"""A signal that comes later than this after the first one also stops the last figures. An earlier one is the same
signal twice: timeout(1) signals the program and then its process group."""

CANNOT_DRAW = ("", "dumb", "unknown")  # values of TERM for terminals that only take lines, such as an editor's shell


def can_draw() -> bool:
    """Whether standard output is a terminal that can show the cockpit."""
    return sys.stdout.isatty() and os.environ.get("TERM", "") not in CANNOT_DRAW


def on_terminal() -> bool:
    """Whether the cockpit can be shown, and keys reach it."""
    return can_draw() and sys.stdin.isatty()


def with_screen(options: Options) -> bool:
    return can_draw() and not options.headless


async def show(
    feed: Feed,
    options: Options,
    first: "FirstPage | None" = None,
    program: "CommandLoad | None" = None,
    caption: "Caption | None" = None,
) -> bool:
    """Show the feed to its end, in the cockpit or line by line; returns whether a signal cut it short. ``program`` is a
    command that the feed runs, ``caption`` what the cockpit says above its panels."""
    seconds = options.time if options.command == "watch" else None
    if with_screen(options):
        from tui.apps.cockpit import Cockpit, run_cockpit

        load_owner: LoadOwner = "tune" if options.command == "tune" else "hand"
        most = options.most_by_hand
        app = Cockpit(feed, first=first, program=program, caption=caption, load_owner=load_owner, most=most)
        return await run_cockpit(app, seconds) is not None
    return await _print(feed, options, seconds)


async def _print(feed: Feed, options: Options, seconds: float | None) -> bool:
    """Run the feed to its end, or that many seconds, a line per interval; returns whether a signal cut it short."""
    from loadtop.cli.printer import Printer

    quiet = options.quiet or options.command == "tune"
    task = asyncio.ensure_future(feed.run((lambda _: None) if quiet else Printer().show))
    loop = asyncio.get_running_loop()
    interrupted: list[float] = []

    def interrupt() -> None:
        interrupted.append(loop.time())
        if len(interrupted) == 1 or interrupted[-1] - interrupted[0] >= SECOND_SIGNAL_S:
            task.cancel()

    # Under nohup, the hang-up stays ignored.
    heard = [each for each in SIGNALS if each is not signal.SIGHUP or signal.getsignal(each) is not signal.SIG_IGN]
    for number in heard:
        loop.add_signal_handler(number, interrupt)
    try:
        if seconds is not None:
            await asyncio.wait({task}, timeout=seconds)
            task.cancel()
        await task
    except asyncio.CancelledError:
        pass
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
    return bool(interrupted)
