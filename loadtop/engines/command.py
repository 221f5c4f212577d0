"""Any command as a load: run in a pseudo-terminal or with its output passed on, and read where it is a known tool."""

import asyncio
import contextlib
import os
import signal
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from loadtop.engines.figures import Figures
from loadtop.engines.kept import KeptProcess
from loadtop.engines.passing import Passage
from loadtop.engines.terminal import Terminal
from loadtop.engines.tools import Tool, read, tool_of_command, tool_of_line
from loadtop.generator.plan import Plan
from loadtop.model import GeneratorSample, LoadSample, LoadState
from loadtop.pipeline.commands import Command, StopLoad

PATIENCE_S = 1.0
"""How long output that is on its way is waited for once the command has ended."""

STOP_S = 3.0
"""How long a command that was interrupted may take to print its figures before it is terminated."""

LOOK_S = 0.5
"""Between two looks at its processor time."""


@dataclass(frozen=True, slots=True)
class Outlets:
    """Where output goes that no pseudo-terminal takes: the numbers of open files."""

    out: int
    error: int


class CommandLoad:
    """A command as a :class:`loadtop.pipeline.monitor.LoadSource`. It and all that descends from it end with us,
    whatever happens.

    With ``outlets`` its output is passed on there; without, it has a pseudo-terminal, :attr:`terminal`. Samples there
    are none of a command that is no known tool: nothing is measured of its load.

    Longer than 200 lines: the ends of a command are many, and each must leave nothing behind.
    """

    def __init__(self, argv: Sequence[str], outlets: Outlets | None = None, *, plan: Plan | None = None) -> None:
        """``plan`` says what it seems to load."""
        self.argv = tuple(argv)
        self.plan = plan
        self.stopped = False
        self.terminal = Terminal(self._hear) if outlets is None else None
        self._outlets = outlets
        self._process = KeptProcess()
        self._tool: Tool | None = tool_of_command(self.argv)
        self._began = self._changed = self._over = 0.0
        self._last_words: deque[str] = deque(maxlen=3)
        self._generator: GeneratorSample | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._done = asyncio.Event()

    @property
    def name(self) -> str:
        """What the command is called: its file without folders."""
        return Path(self.argv[0]).name

    @property
    def exit_code(self) -> int | None:
        """That of the command, 128 and the signal's number where one ended it; ``None`` while it runs."""
        code = self._process.exit_code
        return code if code is None or code >= 0 else 128 - code

    @property
    def failure(self) -> int:
        """The exit code with which to end where the command failed of itself; 0 where it did not."""
        if self.problem:
            return 2
        return 0 if self.stopped else self.exit_code or 0

    @property
    def complaint(self) -> str:
        """What is to be said of a failure, in the command's own last words where it gave no figures."""
        if self.problem:
            return f"{self.name} cannot be run: {self.problem}"
        final = self._tool is not None and self._tool.figures.final
        words = f": {self._last_words[-1]}" if self._last_words and not final else ""
        return f"{self.name} ended with exit code {self.exit_code}{words}"

    @property
    def problem(self) -> str:
        """Why it could not be run; empty where it could."""
        return self._process.problem

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def start(self) -> None:
        """Run it."""
        self._began = self._changed = time.monotonic()
        try:
            if self.terminal is not None:
                await self._start_in_terminal(self.terminal)
            else:
                await self._start_passing(self._outlets or Outlets(1, 2))
        except OSError as error:
            self._process.problem = error.strerror or str(error)
            self._finish()
            return
        if self._process.pid is not None:
            self._tasks.append(asyncio.create_task(self._look(self._process.pid)))

    async def wait(self) -> None:
        """Return when it has ended and its output has been read."""
        await self._done.wait()

    def take(self) -> LoadSample | None:
        """What it has said so far; ``None`` where it is no known tool."""
        tool = self._tool
        if tool is None:
            return None
        now = tool.figures
        at = self._over or time.monotonic()
        state, message = self._state(now)
        return LoadSample(
            at=at,
            engine=tool.name,
            state=state,
            model="closed",
            elapsed_s=now.seconds if now.seconds is not None and now.final else at - self._began,
            concurrency=now.concurrency,
            rate=None,
            step=1,
            steps=1,
            in_flight=now.in_flight,
            connections=None,
            requests=now.requests,
            failures=now.failures,
            non_2xx=now.non_2xx,
            keepalive_requests=now.keepalive_requests,
            received_bytes=now.received_bytes,
            body_bytes=now.body_bytes,
            sent_bytes=now.sent_bytes,
            generator=self._generator,
            server=now.server,
            message=message,
            target_requests=now.target_requests,
            target_s=now.target_s,
            keepalive=now.keepalive,
            with_body=now.with_body,
            counted_at=self._changed,
            stated_rps=now.rps,
            stated=now.times,
        )

    def command(self, command: Command) -> None:
        """Stop it, as Ctrl-C does; anything else is the command's own business."""
        if isinstance(command, StopLoad) and not self._process.ended:
            self.stopped = True
            self._process.signal(signal.SIGINT)
            self._tasks.append(asyncio.create_task(self._insist()))

    async def close(self) -> None:
        """End it and all that descends from it."""
        if not self._process.ended:
            self.stopped = True
        for task in self._tasks:
            task.cancel()
        await self._process.close()
        if self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.terminal is not None:
            self.terminal.close()

    async def _start_in_terminal(self, terminal: Terminal) -> None:
        side = terminal.open()
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        environment["TERM"] = "linux"
        await self._process.start(self.argv, (side, side, side), terminal=True, environment=environment)
        terminal.hand_over()
        self._tasks.append(asyncio.create_task(self._follow(terminal)))

    async def _start_passing(self, outlets: Outlets) -> None:
        passages = [Passage(outlets.out, self._hear), Passage(outlets.error, self._hear)]
        own = os.dup(0)
        try:
            await self._process.start(self.argv, (own, passages[0].command_end, passages[1].command_end))
        finally:
            os.close(own)
            for passage in passages:
                passage.start()
        self._tasks.append(asyncio.create_task(self._follow(*passages)))

    async def _follow(self, *readers: Terminal | Passage) -> None:
        await self._process.wait()
        for reader in readers:
            await reader.drained(PATIENCE_S)
        self._finish()

    def _finish(self) -> None:
        self._over = time.monotonic()
        self._done.set()

    async def _insist(self) -> None:
        """Terminate what an interrupt does not end."""
        await asyncio.sleep(STOP_S)
        self._process.signal(signal.SIGTERM)

    async def _look(self, pid: int) -> None:
        """Keep an eye on its processor time."""
        from loadtop.engines.usage import Usage

        usage = Usage(pid)
        while not self._process.ended:
            with contextlib.suppress(OSError):
                seconds = await asyncio.to_thread(usage.read)
                if seconds:
                    self._generator = GeneratorSample(seconds, None, None, None)
            await asyncio.sleep(LOOK_S)

    def _hear(self, line: str) -> None:
        self._last_words.append(line.strip())
        if self._tool is None:
            self._tool = tool_of_line(line)
        if self._tool is not None:
            before = self._tool.figures
            read(self._tool, line)
            if self._tool.figures.requests != before.requests:
                self._changed = time.monotonic()

    def _state(self, now: Figures) -> tuple[LoadState, str]:
        if self.problem:
            return LoadState.FAILED, self.complaint
        if not self._done.is_set():
            return LoadState.RUNNING, now.message
        if self.stopped:
            return LoadState.STOPPED, now.message
        if self.exit_code:
            return LoadState.DONE if now.final else LoadState.FAILED, self.complaint
        return LoadState.DONE, now.message
