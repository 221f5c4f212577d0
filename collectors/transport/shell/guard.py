"""Ends all connections within 2 s if this program dies, hangs or is stopped.

A separate process (:mod:`collectors.transport.shell.guard_process`) knows every ssh or other command and the directory
of its sockets, and receives a heartbeat four times a second. Without one, it ends the commands; each remote shell then
ends with its input. If this program is gone, it also removes the directories, which ssh does not.
"""

import asyncio
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from collectors.background import guarded
from loadtop.i18n import Message

HUNG_S = 1.8  # without a word from it, this program counts as hung: it is late by half a second on a busy machine
_BEAT_S = 0.25
_END_S = 1.0
_PROCESS = str(Path(__file__).with_name("guard_process.py"))


class _Guard:
    """The process that guards all connections of this program, for as long as there are any."""

    def __init__(self) -> None:
        self._groups: dict[Path, int] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._beating: asyncio.Task[None] | None = None

    def keep(self, directory: Path, group: int = 0) -> None:
        """Remove this directory if this program is gone, and end this group of processes if it hangs."""
        self._groups[directory] = group
        self._say(f"{group} {directory}\n")
        if group and (self._beating is None or self._beating.done()):
            self._beating = asyncio.create_task(guarded(self._beat, self._fail), name="heartbeat of connections")

    def forget(self, directory: Path) -> None:
        if self._groups.pop(directory, None) is None:
            return
        self._say(f"- {directory}\n")
        if not self._groups:
            self._end()

    async def _beat(self) -> None:
        while True:
            self._say("\n")
            await asyncio.sleep(_BEAT_S)

    def _fail(self, _: Message) -> None:
        """Without its heartbeat, every connection ends with that reason."""
        self._end()

    def _say(self, line: str) -> None:
        """Tell the process; it is started if there is none, or if it was killed."""
        for _ in range(2):
            process = self._process
            if process is None:
                process = self._process = _start()
                line = "".join(f"{group} {directory}\n" for directory, group in self._groups.items())
            if process is None or process.stdin is None:
                return  # no process can be started: ssh will say so
            try:
                os.write(process.stdin.fileno(), line.encode())
            except BlockingIOError:
                return  # it is stopped
            except OSError:
                self._end()
            else:
                return

    def _end(self) -> None:
        process, self._process = self._process, None
        if self._beating is not None and not self._groups:
            self._beating.cancel()
        if process is None:
            return
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            process.communicate(timeout=_END_S)
        if process.returncode is None:
            process.kill()
            process.wait()


def _start() -> "subprocess.Popen[bytes] | None":
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", _PROCESS, str(HUNG_S)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # what ends this program's group, or its terminal, is no end of it
        )
    except OSError:
        return None
    if process.stdin is not None:
        os.set_blocking(process.stdin.fileno(), False)
    return process


_GUARD = _Guard()


class SocketDirectory:
    """A private temporary directory for the sockets of one connection, which is gone with this program, however it
    ends. Raises ``OSError`` where there can be no directory."""

    def __init__(self) -> None:
        # not where the name of a socket would be too long (108 bytes at most)
        short = None if len(tempfile.gettempdir()) < 50 else "/tmp"  # noqa: S108 - mkdtemp makes an unguessable one
        self.path = Path(tempfile.mkdtemp(prefix="loadtop-", dir=short))
        _GUARD.keep(self.path)

    def opened_by(self, group: int) -> None:
        """The connection belongs to this process group, which ends if loadtop hangs or is stopped."""
        _GUARD.keep(self.path, group)

    def remove(self) -> None:
        """Remove it with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        _GUARD.forget(self.path)
