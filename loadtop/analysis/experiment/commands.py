"""The commands of a PLAN: they run here, over SSH or in a container, within a time limit, and end with loadtop."""

import asyncio
import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit, urlunsplit

from loadtop.engines.guarded_process import GuardedProcess
from loadtop.i18n import Message, MessageError
from loadtop.model.places import HERE, exec_command
from loadtop.model.secrets import place_without_secrets

MOST_SHOWN = 4_000  # characters of the end of the output that are shown when a command fails
MOST_LINES = 200  # in which the status of a server's answer must come

_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})\b", re.ASCII)
_REMOTE = (Path(__file__).parent / "remote_command.sh").read_text(encoding="utf-8")


class CommandError(MessageError):
    """A command failed or took too long; ``output`` is the end of its output."""

    def __init__(self, message: Message, output: str) -> None:
        super().__init__(message)
        self.output = output


def is_remote(place: str | None) -> bool:
    """Whether commands at a place run on another machine or in a container; ``None`` is this machine."""
    return place is not None and place not in HERE


def command_line(command: str, place: str | None) -> list[str]:
    """How a shell command is run at a place. A remote one ends with its standard input."""
    if place is None or not is_remote(place):
        return ["sh", "-c", command]
    if shell := exec_command(place):  # it takes our command
        return [*shell, "-c", _REMOTE, "loadtop", command]
    # Host keys are checked, and there is no prompt for a password.
    remote = shlex.join(["sh", "-c", _REMOTE, "loadtop", command])
    return [
        "ssh",
        "-o",
        "BatchMode=yes",
        "-o",
        "ConnectTimeout=10",
        "-o",
        "RemoteCommand=none",
        "-T",
        "--",
        place,
        remote,
    ]


async def run_commands(commands: Sequence[str], *, place: str | None, directory: Path, seconds: float) -> None:
    """Run them one after another, each in its own session; raises :class:`CommandError` at the first that fails.

    Output goes to a file, not through a pipe: a server that a command starts may keep it open for as long as it runs.
    """
    for command in commands:
        with tempfile.TemporaryFile() as output:
            message = await _run(command_line(command, place), output, is_remote(place), directory, seconds)
            if message is not None:
                output.seek(max(0, output.seek(0, os.SEEK_END) - MOST_SHOWN))
                text = "'{command}' on {place} {message}" if is_remote(place) else "'{command}' {message}"
                shown = place_without_secrets(place or "")
                failure = Message(text, command=command, place=shown, message=message)
                raise CommandError(failure, output.read().decode("utf-8", "replace"))


async def _run(argv: Sequence[str], output: IO[bytes], remote: bool, directory: Path, seconds: float) -> Message | None:
    """Run one command; say how it failed, if it did."""
    stdin, held = os.pipe()
    if not remote:
        os.close(stdin)
        stdin = os.open(os.devnull, os.O_RDONLY)
    process = GuardedProcess()
    try:
        await process.start(
            argv, (stdin, os.dup(output.fileno()), os.dup(output.fileno())), directory=directory, leaves=True
        )
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        return Message("did not end within {seconds} s", seconds=f"{seconds:g}")
    finally:
        os.close(held)
        await process.close()
    if process.problem is not None:
        return Message("cannot be run: {reason}", reason=process.problem)
    return Message("ended with exit code {code}", code=process.exit_code) if process.exit_code else None


async def wait_until_ready(ready: str, *, place: str | None, directory: Path, seconds: float) -> None:
    """Return when a URL answers below 500, or a command succeeds; raises :class:`CommandError` after ``seconds``."""
    if not ready:
        return
    deadline = asyncio.get_running_loop().time() + seconds
    said = ""
    while True:
        left = deadline - asyncio.get_running_loop().time()
        if ready.startswith(("http://", "https://")):
            said = await _refusal(ready, max(0.5, min(5.0, left)))
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


async def _refusal(url: str, seconds: float) -> str:
    """Why the server at a URL is not ready; empty if it is. The server can send any amount of data."""
    parts = urlsplit(url)
    secure, host = parts.scheme == "https", parts.netloc.rpartition("@")[2]
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    try:
        port = parts.port or (443 if secure else 80)
        request = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("ascii")
    except ValueError as error:
        return str(error)
    try:
        async with asyncio.timeout(seconds):
            reader, writer = await asyncio.open_connection(parts.hostname, port, ssl=secure or None)
            try:
                writer.write(request)
                for _ in range(MOST_LINES):  # of interim responses, which may come first
                    status = _STATUS.match(await reader.readline())
                    if status is not None and status[1] >= b"200":
                        return "" if status[1] < b"500" else f"it answers with {status[1].decode()}"
            finally:
                writer.close()
    except TimeoutError:
        return f"no response within {seconds:.1f} s"
    except ConnectionError as error:  # asyncio names the call that failed, not why
        return os.strerror(error.errno) if error.errno else str(error)
    except OSError as error:
        return str(error)
    except ValueError:  # a line longer than any
        pass
    return "its response is not HTTP"
