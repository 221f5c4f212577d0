"""One part of Locust, the master or the workers of one machine, here or by SSH. It cannot outlive us."""

import asyncio
import base64
import contextlib
import os
import re
import shlex
import signal
from collections import deque
from urllib.parse import urlsplit

from loadtop.engines.kept import KeptProcess
from loadtop.engines.locust.settings import Generator, own_part

BEAT_S = 2.0
"""Between two signs of life; the other side ends 15 s after the last."""

PORT_S = 20.0
"""How long a connection may take."""

_PORT = re.compile(r"Allocated port (\d+) for remote forward")
_ENDED = re.compile(r"loadtop: ended (\d+)")
_NO_REASON = ("Traceback", "loadtop:", "File ", "Warning: Permanently")
SSH = (
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=2",
    "-o", "ServerAliveCountMax=2", "-o", "ExitOnForwardFailure=yes", "-o", "ControlPath=none", "-o", "ControlMaster=no",
    "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "RemoteCommand=none", "-o", "LogLevel=INFO",
)  # fmt: skip
"""OpenSSH's client with the user's own configuration, but without asking anything."""


class Member:
    """``mode`` is ``master`` or ``worker``; ``last`` the web port or the number of worker processes."""

    def __init__(self, generator: Generator, mode: str, program: str, last: int) -> None:
        self.generator = generator
        self._mode = mode
        self._program = program
        self._last = last
        self._process = KeptProcess()
        self._words: deque[str] = deque(maxlen=20)
        self._input = -1
        self._tasks: list[asyncio.Task[None]] = []
        self._port = asyncio.Event()
        self._allocated = 0
        self._over = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether it is gone."""
        return self._over.is_set()

    @property
    def pid(self) -> int | None:
        """The process that is it, or that is the connection to it."""
        return self._process.pid

    async def start(self, port: int, parts: tuple[str, str, str | None]) -> None:
        """Start it. ``port`` is where the master listens here; ``parts`` our part of the plan, the plan, the user's."""
        script = ["sh", "-c", own_part("runner"), "loadtop", self._mode, self._program, str(self._last)]
        far = self.generator.place != "local"
        argv = [*_ssh(self.generator.place, port), shlex.join(script)] if far else script
        taken, self._input = os.pipe()
        heard, said = os.pipe()
        os.set_blocking(self._input, False)
        await self._process.start(argv, (taken, said, said))
        os.close(taken)
        os.close(said)
        self._tasks.append(asyncio.create_task(self._hear(heard)))
        if far:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._port.wait(), PORT_S)
            port = self._allocated
        if self.ended or not port:
            return
        lines = [_line(parts[0]), _line(parts[1]), "-" if parts[2] is None else _line(parts[2]), str(port)]
        self._tasks.append(asyncio.create_task(self._speak("\n".join(lines).encode() + b"\n")))

    async def wait(self) -> None:
        """Return when it is gone."""
        await self._over.wait()

    def problem(self) -> str:
        """Why it has ended, in the tool's own words and one line."""
        where = "" if self.generator.place == "local" else f" on {self.generator.name}"
        if self._process.problem:
            return f"locust{where} cannot be run: {self._process.problem}"
        if any("loadtop: no locust" in word for word in self._words):
            return f"locust is not installed{where}: pip install locust there, so that `locust` is on PATH"
        said = [
            word for word in self._words if not word.startswith(("Traceback", "loadtop:", "File ", "Warning: Perm"))
        ]
        words = f": {said[-1]}" if said else ""
        return f"locust ({self._mode}{where}) ended{words}"

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

    async def _speak(self, data: bytes) -> None:
        """Write what it is to run, then a sign of life every now and then."""
        while self._input >= 0:
            try:
                data = data[os.write(self._input, data) :] if data else b""
            except BlockingIOError:
                await asyncio.sleep(0.05)
                continue
            except OSError:
                return
            if not data:
                await asyncio.sleep(BEAT_S)
                data = b"\n"

    async def _hear(self, heard: int) -> None:
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(heard, "rb")
        )
        try:
            while line := await reader.readline():
                text = line.decode("utf-8", "replace").strip()
                if found := _PORT.search(text):
                    self._allocated = int(found[1])
                    self._port.set()
                elif text:
                    self._words.append(text)
        except ValueError:  # a line without an end
            pass
        finally:
            transport.close()
            self._over.set()
            self._port.set()


def _line(text: str) -> str:
    return base64.b64encode(text.encode()).decode("ascii")


def _ssh(place: str, port: int) -> list[str]:
    """The connection, with a port there that leads to the master here."""
    parts = urlsplit(place)
    user = [] if parts.username is None else ["-l", parts.username]
    number = [] if parts.port is None else ["-p", str(parts.port)]
    host = place.removeprefix("ssh://").rpartition("@")[2]
    host = host.partition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return [*SSH, *user, *number, "-R", f"127.0.0.1:0:127.0.0.1:{port}", "--", host]
