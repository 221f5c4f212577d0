"""A process that cannot outlive loadtop: it runs under a guard (:mod:`loadtop.engines.process_guard`)."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from pathlib import Path

from loadtop.i18n import Message, verbatim
from loadtop.pipeline.background import background
from loadtop.pipeline.heartbeat import SILENCE_S, end_process, send_heartbeats, write_input

_GUARD = str(Path(__file__).with_name("process_guard.py"))
_END_S = 4.0  # how long a guard may take to end everything, besides the time between SIGTERM and SIGKILL


class GuardedProcess:
    """One command. After :meth:`start`, ``pid`` is set, or ``problem`` says why it could not be started. ``exit_code``
    is negative for the signal that ended the command; ``None`` while it runs."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.exit_code: int | None = None
        self.problem: Message | None = None
        self._end_s = _END_S
        self._guard: Process | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._started = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether the command has ended or could not be started."""
        return self._ended.is_set()

    async def start(
        self,
        argv: Sequence[str],
        files: tuple[int, int, int],
        *,
        terminal: bool = False,
        environment: dict[str, str] | None = None,
        term_s: float = 1.0,
        remove: Path | None = None,
        directory: Path | None = None,
        leaves: bool = False,
    ) -> None:
        """Run ``argv`` with these open files as its input, output and error; they are closed here.

        ``terminal``: the files are a terminal that it controls. ``term_s`` is the time between SIGTERM and SIGKILL.
        The directory ``remove`` is removed by :meth:`close`, or when loadtop is gone. ``directory`` is where it runs.
        With ``leaves``, daemons that it starts stay, and so does what it leaves running if it succeeds.
        """
        self._end_s = _END_S + term_s
        request = {
            "argv": argv, "files": files, "terminal": terminal, "environment": environment, "term_s": term_s,
            "silence_s": SILENCE_S, "remove": remove and str(remove),
            "directory": directory and str(directory), "leaves": leaves,
        }  # fmt: skip
        try:
            self._guard = await asyncio.create_subprocess_exec(
                *[sys.executable, "-I", "-S", _GUARD],
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                pass_fds=tuple(set(files)),
                start_new_session=True,  # Ctrl-C is for loadtop, which decides what happens to the command
            )
        except OSError as error:
            self.problem = verbatim(error.strerror or str(error))
            self._started.set()
            self._ended.set()
            return
        finally:
            for file in set(files):
                os.close(file)
        self._write(json.dumps(request))
        self._tasks = [
            background(self._listen(self._guard), f"guard of {argv[0]}"),
            background(send_heartbeats(lambda: self._write("")), f"heartbeats for {argv[0]}"),
        ]
        await self._started.wait()

    def signal(self, number: signal.Signals) -> None:
        if not self.ended:
            self._write(str(int(number)))

    async def wait(self) -> None:
        """Wait until the command has ended; its descendants may take a moment longer."""
        await self._ended.wait()

    async def close(self) -> None:
        """End the command and all its descendants, and wait until they are gone."""
        guard = self._guard
        if guard is None:
            return
        listening, heartbeats = self._tasks
        heartbeats.cancel()
        await end_process(guard, self._end_s)
        await asyncio.gather(listening, return_exceptions=True)

    def _write(self, line: str) -> None:
        write_input(self._guard, line.encode() + b"\n")

    async def _listen(self, guard: Process) -> None:
        group: int | None = None
        while guard.stdout is not None and (line := await guard.stdout.readline()):
            event = json.loads(line)
            if "group" in event:
                group = event["group"]
                continue
            self.pid = event.get("pid", self.pid)
            self.exit_code = event.get("exit", self.exit_code)
            if "problem" in event:
                self.problem = verbatim(event["problem"])
            self._started.set()
            if "exit" in event or self.problem:
                self._ended.set()
        if not self.ended:
            self.problem = self.problem or Message("its supervisor process ended unexpectedly")
            if group is not None:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
        self._started.set()
        self._ended.set()
