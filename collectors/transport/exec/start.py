"""Starts the user's command, and in the shell at its remote end a script of ours."""

import asyncio
import contextlib
import os
from collections.abc import Sequence

from collectors.errors import TransportError
from collectors.parsing import count_or_none
from collectors.transport.shell.connection import FRAME_BYTES
from collectors.transport.shell.frames import LOOP_SILENCE_S
from collectors.transport.shell.guard import SocketDirectory

TERMINAL = "terminal"
TERMINAL_SILENCE_S = 4


async def start_command(
    argv: Sequence[str], *, messages: bool = True
) -> tuple[asyncio.subprocess.Process, SocketDirectory]:
    """Start it in a new session, so that it cannot prompt on the terminal. Its ``messages`` come on its standard error,
    if wanted. Returns it with a directory for its sockets. Raises :class:`TransportError`."""
    with contextlib.ExitStack() as unfinished:
        directory = SocketDirectory()
        unfinished.callback(directory.remove)
        try:
            process = await asyncio.create_subprocess_exec(
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
        unfinished.pop_all()
    return process, directory


def first_line(mark: str) -> str:
    """The first line for the shell. It prints a frame with the mark and runs the script that follows (:func:`sent`).
    The text of the frame is for :func:`started`: the shell's process ID, and :data:`TERMINAL` where there is one.

    Some shells read more of their input than a line, so send the script only after the frame has arrived. A terminal
    is put into raw mode. It has no separate error stream, so errors are dropped. The mark is sent in two parts because
    the echo of a terminal would otherwise look like it."""
    halves = f"{mark[:8]} {mark[8:]}"
    terminal = f"t=; if test -t 1; then t={TERMINAL}; stty raw -echo; exec 2>/dev/null; fi; "
    ready = rf'printf "\n#%s%s\n$$ $t\n#%s%s.\n" {halves} {halves}; '
    return f"exec sh -c '{terminal}{ready}read -r bytes; eval \"$(dd bs=1 count=$bytes 2>/dev/null)\"'\n"


def sent(script: str) -> str:
    """A script as the shell waits for it."""
    return f"{len(script.encode())}\n{script}"


def started(frame: str) -> tuple[int, int]:
    """The process ID there of the shell that printed this first, and the seconds without orders after which it is to
    end. Through some terminals (that of ``podman exec -it``) the end of its input does not reach it. Raises
    :class:`TransportError`."""
    word, _, terminal = frame.strip().partition(" ")
    pid = count_or_none(word)
    if not pid:
        raise TransportError("no connection")
    return pid, TERMINAL_SILENCE_S if terminal == TERMINAL else LOOP_SILENCE_S
