"""Any command as a load, in a pseudo-terminal or with its output passed on. The output of known tools is read."""

import asyncio
import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from loadtop.engines.cpu_time import CpuTime
from loadtop.engines.guarded_process import GuardedProcess
from loadtop.engines.output import OutputForwarder
from loadtop.engines.terminal import Terminal
from loadtop.engines.tools import reader_of_command, reader_of_line
from loadtop.generator.plan import Plan
from loadtop.i18n import Message, verbatim
from loadtop.model import GeneratorSample, LoadSample, LoadState
from loadtop.pipeline.background import background
from loadtop.pipeline.feed import Command, StopLoad

DRAIN_S = 1.0  # how long remaining output is waited for once the command has ended
STOP_S = 3.0  # how long an interrupted command may take to print its results before it is terminated


class CommandLoad:
    """A command as a :class:`loadtop.pipeline.monitor.LoadSource`. It and all its descendants end with loadtop.

    With ``files``, its output and errors are passed on to these open files; without, it has a pseudo-terminal,
    :attr:`terminal`. A command that is not a known tool gives no samples. ``plan`` is what it seems to request.
    """

    def __init__(self, argv: Sequence[str], files: tuple[int, int] | None = None, *, plan: Plan | None = None) -> None:
        self.argv = tuple(argv)
        self.plan = plan
        self.stopped = False
        self.terminal = Terminal(self._read_line) if files is None else None
        self._files = files or (1, 2)
        self._process = GuardedProcess()
        self._reader = reader_of_command(self.argv)
        self._started_at = self._counted_at = self._ended_at = 0.0
        self._last_line = ""
        self._generator: GeneratorSample | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._done = asyncio.Event()

    @property
    def name(self) -> str:
        """The file of the command, without folders."""
        return Path(self.argv[0]).name

    @property
    def exit_code(self) -> int | None:
        """The command's exit code, or 128 and the number of the signal that ended it; ``None`` while it runs."""
        code = self._process.exit_code
        return code if code is None or code >= 0 else 128 - code

    @property
    def failure(self) -> int:
        """The exit code for a command that failed by itself; 0 if it did not."""
        if self.problem:
            return 2
        return 0 if self.stopped else self.exit_code or 0

    @property
    def failure_message(self) -> Message:
        """What failed, with the command's last line if that printed no results."""
        if self.problem:
            return Message("cannot run {command}: {reason}", command=self.name, reason=self.problem)
        said = None if self._has_results or not self._last_line else Message(": {line}", line=self._last_line)
        text = "{command} ended with exit code {code}{said}"
        return Message(text, command=self.name, code=self.exit_code, said=said)

    @property
    def problem(self) -> Message | None:
        """Why it could not be run, if it could not."""
        return self._process.problem

    async def start(self) -> None:
        self._started_at = self._counted_at = time.monotonic()
        outputs: Sequence[Terminal | OutputForwarder]
        try:
            if self.terminal is not None:
                outputs = (self.terminal,)
                file = self.terminal.open()
                environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
                environment["TERM"] = "linux"
                await self._process.start(self.argv, (file, file, file), terminal=True, environment=environment)
            else:
                out, errors = (OutputForwarder(file, self._read_line) for file in self._files)
                outputs = (out, errors)
                await self._process.start(self.argv, (os.dup(0), out.command_end, errors.command_end))
        except OSError as error:
            self._process.problem = verbatim(error.strerror or str(error))
            self._end()
            return
        self._tasks.append(background(self._finish(*outputs), f"output of {self.name}"))
        if self._process.pid is not None:
            self._tasks.append(background(self._watch_cpu_time(self._process.pid), f"CPU time of {self.name}"))

    async def wait(self) -> None:
        """Wait until it has ended and its output has been read."""
        await self._done.wait()

    def take(self) -> LoadSample | None:
        """Return what it has printed so far; ``None`` if it is not a known tool."""
        reader = self._reader
        if reader is None:
            return None
        at = self._ended_at or time.monotonic()
        failed = self.problem or (self._done.is_set() and self.failure)
        return replace(
            reader.load,
            at=at,
            state=self._state(),
            elapsed_s=reader.seconds if reader.seconds is not None and reader.final else at - self._started_at,
            generator=self._generator,
            message=self.failure_message if failed else "",
            counted_at=self._counted_at,
        )

    def command(self, command: Command) -> None:
        """Stop it, as Ctrl-C does. It has no other commands."""
        if isinstance(command, StopLoad) and not self._process.ended:
            self.stopped = True
            self._process.signal(signal.SIGINT)
            # What an interrupt does not end is terminated.
            asyncio.get_running_loop().call_later(STOP_S, self._process.signal, signal.SIGTERM)

    async def close(self) -> None:
        """End it and all its descendants."""
        if not self._process.ended:
            self.stopped = True
        for task in self._tasks:
            task.cancel()
        await self._process.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self.terminal is not None:
            self.terminal.close()

    async def _finish(self, *outputs: Terminal | OutputForwarder) -> None:
        await self._process.wait()
        for output in outputs:
            await output.drained(DRAIN_S)
        self._end()

    def _end(self) -> None:
        self._ended_at = time.monotonic()
        self._done.set()

    async def _watch_cpu_time(self, pid: int) -> None:
        async for sample in CpuTime(pid).samples():
            self._generator = sample
            if self._process.ended:
                return

    def _read_line(self, line: str) -> None:
        self._last_line = line.strip()
        self._reader = self._reader or reader_of_line(line)
        if self._reader is not None:
            before = self._reader.load.requests
            self._reader.read(line)
            if self._reader.load.requests != before:
                self._counted_at = time.monotonic()

    @property
    def _has_results(self) -> bool:
        return self._reader is not None and self._reader.final

    def _state(self) -> LoadState:
        if self.problem:
            return LoadState.FAILED
        if not self._done.is_set():
            return LoadState.RUNNING
        if self.stopped:
            return LoadState.STOPPED
        return LoadState.FAILED if self.exit_code and not self._has_results else LoadState.DONE
