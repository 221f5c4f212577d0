"""``loadtop replay``: the cockpit again, from a recording."""

import asyncio

from loadtop.cli.ends import DONE
from loadtop.cli.recordings import opened
from loadtop.cli.screen import show
from loadtop.options import parse
from loadtop.session.replay import ReplayFeed


def main(verb: str, words: list[str]) -> int:
    """Show the recording; the exit code."""
    options = parse([verb, *words])
    with opened(options.session) as session:
        title = f"replay of {session.path.name}"
        asyncio.run(show(ReplayFeed(title, session.meta.interval_s, session.frames()), options))
    return DONE
