"""One part of another engine on one machine, here or by SSH. It cannot outlive us."""

import asyncio
import base64
import contextlib
import os
import re
import shlex
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from loadtop.engines.generator import Generator
from loadtop.engines.kept import KeptProcess

BEAT_S = 2.0
"""Between two signs of life; the other side ends 15 s after the last."""

PAUSE_S = 0.05
"""Between two looks at what is to be said."""

PORT_S = 20.0
"""How long a connection may take."""

_PORT = re.compile(r"Allocated port (\d+) for remote forward")
PIECE = 65_536
SSH = (
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=1",
    "-o", "ServerAliveCountMax=3", "-o", "ExitOnForwardFailure=yes", "-o", "ControlPath=none", "-o", "ControlMaster=no",
    "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "RemoteCommand=none", "-o", "LogLevel=INFO",
)  # fmt: skip
"""OpenSSH's client with the user's own configuration, but without asking anything."""


class Member:
    """``script`` defines what is run (see ``runner.txt``), with ``words`` as its arguments. ``rows`` is given whatever
    it writes to standard output; what it says on standard error is kept for :attr:`words`. At its end it has
    ``patience_s`` to tidy up elsewhere."""

    def __init__(
        self,
        generator: Generator,
        script: str,
        words: tuple[str, ...],
        rows: Callable[[bytes], None] | None = None,
        patience_s: float = 1.0,
    ) -> None:
        self.generator = generator
        self._patience_s = patience_s
        self._script = script
        self._arguments = words
        self._rows = rows
        self._process = KeptProcess()
        self._words: deque[str] = deque(maxlen=60)
        self._input = -1
        self._said = b""
        self._tasks: list[asyncio.Task[None]] = []
        self._port = asyncio.Event()
        self._allocated = 0
        self._over = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether it is gone, and all it said was heard."""
        return self._over.is_set()

    @property
    def pid(self) -> int | None:
        """The process that is it, or that is the connection to it."""
        return self._process.pid

    @property
    def words(self) -> tuple[str, ...]:
        """The last lines it said."""
        return tuple(self._words)

    @property
    def where(self) -> str:
        """`` on NAME`` where it is another machine."""
        return f" on {self.generator.name}" if self.generator.far else ""

    @property
    def problem(self) -> str:
        """Why it could not be run; empty where it could."""
        return self._process.problem

    async def start(self, files: Mapping[str, str], port: int | None = None) -> None:
        """Start it with these files, by name. ``port`` is one here that it is to reach."""
        script = ["sh", "-c", self._script + _part("runner"), "loadtop", *self._arguments]
        far = self.generator.far
        argv = [*_ssh(self.generator.place, port), shlex.join(script)] if far else script
        taken, self._input = os.pipe()
        rows, measured = os.pipe()
        heard, said = os.pipe()
        os.set_blocking(self._input, False)
        await self._process.start(argv, (taken, measured, said), patience_s=self._patience_s)
        for end in (taken, measured, said):
            os.close(end)
        self._tasks.append(asyncio.create_task(self._hear(heard, rows)))
        if far and port is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._port.wait(), PORT_S)
            port = self._allocated
        if self.ended or port == 0:
            return
        lines = [f"{name} {_line(text)}" for name, text in files.items()]
        self._said = "\n".join([*lines, f". {port or 0}"]).encode() + b"\n"
        self._tasks.append(asyncio.create_task(self._speak()))

    async def wait(self) -> None:
        """Return when it is gone."""
        await self._over.wait()

    def stop(self) -> None:
        """Ask the tool to end; what it measured until then still comes."""
        self._said += b"stop\n"

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to what runs here of it."""
        self._process.signal(number)

    async def close(self) -> None:
        """End it, and what it started."""
        for task in self._tasks[1:]:
            task.cancel()
        if self._input >= 0:
            os.close(self._input)
            self._input = -1
        if self._process.pid is not None and not self.ended:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), 2.0)
        await self._process.close()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _speak(self) -> None:
        """Write what it is to run, then a sign of life every now and then."""
        rest = 0.0
        while self._input >= 0:
            try:
                if self._said:
                    self._said = self._said[os.write(self._input, self._said) :]
            except BlockingIOError:
                pass
            except OSError:
                return
            await asyncio.sleep(PAUSE_S)
            rest += PAUSE_S
            if not self._said and rest >= BEAT_S:
                self._said, rest = b"\n", 0.0

    async def _hear(self, heard: int, rows: int) -> None:
        try:
            await asyncio.gather(self._hear_words(heard), self._hear_rows(rows))
        finally:
            self._over.set()
            self._port.set()

    async def _hear_rows(self, rows: int) -> None:
        async for data in _read(rows):
            if self._rows is not None:
                self._rows(data)

    async def _hear_words(self, heard: int) -> None:
        rest = b""
        async for data in _read(heard):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._note(line)
            rest = rest[-PIECE:]
        self._note(rest)

    def _note(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if found := _PORT.search(text):
            self._allocated = int(found[1])
            self._port.set()
        elif text:
            self._words.append(text)


async def _read(file: int) -> AsyncIterator[bytes]:
    """What comes through a pipe, to its end; the pipe is closed then."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(file, "rb"))
    try:
        while data := await reader.read(PIECE):
            yield data
    finally:
        transport.close()


def _part(name: str) -> str:
    return Path(__file__).with_name(f"{name}.txt").read_text(encoding="utf-8")


def _line(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _ssh(place: str, port: int | None) -> list[str]:
    """The connection, with a port there that leads to ``port`` here, where one is given."""
    parts = urlsplit(place)
    user = [] if parts.username is None else ["-l", parts.username]
    number = [] if parts.port is None else ["-p", str(parts.port)]
    host = place.removeprefix("ssh://").rpartition("@")[2]
    host = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    back = [] if port is None else ["-R", f"127.0.0.1:0:127.0.0.1:{port}"]
    return [*SSH, *user, *number, *back, "--", host]
