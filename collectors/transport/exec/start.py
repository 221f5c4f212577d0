"""Starts the user's command, and in the shell at its far end a script of ours."""

import asyncio
import os
from collections.abc import Sequence

from collectors.errors import TransportError
from collectors.transport.shell.frames import bootstrap
from collectors.transport.shell.line import FRAME_BYTES


async def start_command(argv: Sequence[str], *, messages: bool = True) -> asyncio.subprocess.Process:
    """Start it in a session of its own, so that nothing in it can ask on the terminal. Its
    ``messages`` come on its standard error, if wanted. Raises :class:`TransportError`."""
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if messages else asyncio.subprocess.DEVNULL,
            limit=FRAME_BYTES,
            start_new_session=True,
        )
    except OSError as error:
        raise TransportError(
            "cannot run {program}: {error}", program=argv[0], error=os.strerror(error.errno or 0)
        ) from None


def first_line(script: str, mark: str) -> str:
    """What the shell is told first: to print an empty frame with the mark, then to run the script that follows.

    Some shells read more of their input than a line. The script is therefore to be sent when the frame has come. Where
    the command brings a terminal, that passes everything on as it is; it has no second stream, which is left out. The
    mark is in two parts, or the echo of a terminal would look like it."""
    halves = f"{mark[:8]} {mark[8:]}"
    ready = "if test -t 1; then stty raw -echo; exec 2>/dev/null; fi; "
    ready += rf'printf "\n#%s%s\n\n#%s%s.\n" {halves} {halves}; '
    return f"exec sh -c '{ready}{bootstrap(script)}'\n"
