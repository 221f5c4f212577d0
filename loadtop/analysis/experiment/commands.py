"""Runs the commands of a PLAN, locally or over SSH, within a time limit; keeps the output of one that fails."""

import asyncio
import os
import signal
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from loadtop.i18n import Message, MessageError

MOST_SHOWN = 4_000
"""Characters of the end of the output that are shown when a command fails."""


class CommandError(MessageError):
    """A command failed or took too long; ``output`` is the end of its output."""

    def __init__(self, message: Message, output: str) -> None:
        super().__init__(message)
        self.output = output


def command_line(command: str, place: str | None) -> list[str]:
    """How a shell command is run: ``place`` is ``None``, ``local`` or ``ssh://[USER@]HOST[:PORT]``."""
    if place is None or place == "local":
        return ["sh", "-c", command]
    # The far shell gets the command as one word; host keys are checked, and there is no prompt for a password.
    return ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T", "--", place, command]


async def run_commands(commands: Sequence[str], *, place: str | None, directory: Path, seconds: float) -> None:
    """Run them one after another, each in its own session; raises :class:`CommandError` at the first that fails.

    Output goes to a file, not through a pipe: a server that a command starts may keep it open for as long as it runs.
    """
    for command in commands:
        with tempfile.TemporaryFile() as output:
            process = await asyncio.create_subprocess_exec(
                *command_line(command, place),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=directory,
                start_new_session=True,
            )
            try:
                code = await asyncio.wait_for(process.wait(), seconds)
                message = Message("ended with {code}", code=code) if code else None
            except TimeoutError:
                message = Message("did not end within {seconds} s", seconds=f"{seconds:g}")
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                    await process.wait()
            if message is not None:
                output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_SHOWN))
                said = output.read().decode("utf-8", "replace")
                if place in (None, "local"):
                    raise CommandError(Message("'{command}' {message}", command=command, message=message), said)
                failure = Message("'{command}' on {place} {message}", command=command, place=place, message=message)
                raise CommandError(failure, said)


async def wait_until_ready(ready: str, *, place: str | None, directory: Path, seconds: float) -> None:
    """Return when a URL answers below 500, or a command succeeds; raises :class:`CommandError` after ``seconds``."""
    if not ready:
        return
    deadline = asyncio.get_running_loop().time() + seconds
    said = ""
    while True:
        left = deadline - asyncio.get_running_loop().time()
        if ready.startswith(("http://", "https://")):
            said = await asyncio.to_thread(_answer, ready, max(0.5, min(5.0, left)))
        else:
            try:
                await run_commands([ready], place=place, directory=directory, seconds=max(0.5, left))
                said = ""
            except CommandError as error:
                said = error.output or str(error)
        if not said:
            return
        if asyncio.get_running_loop().time() >= deadline:
            text = "the server is not ready after {seconds} s: {ready}"
            raise CommandError(Message(text, seconds=f"{seconds:g}", ready=ready), said)
        await asyncio.sleep(0.1)


def _answer(url: str, seconds: float) -> str:
    """What is wrong with the answer; empty where it is one below 500."""
    import urllib.error
    import urllib.request

    # The server itself is asked, whatever proxy the environment names.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=seconds):
            return ""
    except urllib.error.HTTPError as error:
        return "" if error.code < 500 else f"it answers with {error.code}"
    except (OSError, ValueError) as error:
        return str(error)
