"""``loadtop replay``: the cockpit again, from a recording."""

import asyncio

from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE
from loadtop.cli.options.command_line import Options, parse
from loadtop.cli.recordings import opened
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session


def main(verb: str, words: list[str]) -> int:
    """Show the recording; the exit code."""
    options = parse([verb, *words])
    with opened(options.session) as session:
        asyncio.run(_replay(session, options))
    return DONE


async def _replay(session: Session, options: Options) -> None:
    if not with_screen(options):
        await show(SessionPlayer(session), options)
        return
    from tui.apps.cockpit import run_app
    from tui.apps.replay import ReplayCockpit

    await run_app(ReplayCockpit(SessionPlayer(session, stay=True)))
