"""``loadtop replay``: show a recording in the cockpit again."""

import asyncio

from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE
from loadtop.cli.options.option import Options
from loadtop.cli.recordings import opened
from loadtop.recording.player import SessionPlayer
from loadtop.recording.reader import Session


def main(options: Options) -> int:
    with opened(options.session) as session:
        asyncio.run(_replay(session, options))
    return DONE


async def _replay(session: Session, options: Options) -> None:
    if not with_screen(options):
        await show(SessionPlayer(session), options)
        return
    from tui.apps.cockpit import run_cockpit
    from tui.apps.replay import ReplayCockpit

    await run_cockpit(ReplayCockpit(SessionPlayer(session, stay=True)))
