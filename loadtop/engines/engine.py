"""What Locust and JMeter share: their processes, here or over SSH, which cannot outlive loadtop, and their loads."""

import asyncio
import base64
import os
import re
import shlex
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from loadtop.engines.guarded_process import GuardedProcess
from loadtop.engines.output import LineSplitter
from loadtop.generator.plan import Plan, PlanError, total
from loadtop.i18n import Message, MessageError, verbatim
from loadtop.model import EngineWorker, LoadSample, LoadState, places
from loadtop.pipeline.background import background
from loadtop.pipeline.feed import Command, SetConcurrency, StopLoad
from loadtop.pipeline.heartbeat import send_heartbeats

PORT_S = 20.0  # how long the connection and its forwarded port may take
READ_BYTES = 65_536
_PORT = re.compile(r"Allocated port (\d{1,5}) for remote forward")
SSH = (
    "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-o", "ServerAliveInterval=1",
    "-o", "ServerAliveCountMax=3", "-o", "ExitOnForwardFailure=yes", "-o", "ControlPath=none", "-o", "ControlMaster=no",
    "-o", "ForwardAgent=no", "-o", "ForwardX11=no", "-o", "RemoteCommand=none", "-o", "LogLevel=INFO",
)  # fmt: skip
"""OpenSSH's client with the user's own configuration, but without prompts."""

USERS_PER_RATE = 2  # simulated users for each request/s of an open model: enough while responses take up to 2 s

_ADVICE = Message("leave it out, or use the built-in engine")


class EngineError(MessageError):
    """The engine cannot make the load; the message is one line and names the fix if there is one."""


class Machine(Struct, frozen=True):
    """A machine that makes load. ``place`` is ``local`` or ``ssh://[USER@]HOST[:PORT]``."""

    name: str
    place: str

    @property
    def remote(self) -> bool:
        return self.place != places.LOCAL


LOCAL = Machine("this machine", places.LOCAL)


class EngineProcess:
    """A process of another engine: ``script`` defines the functions that ``run_process.sh`` calls with ``arguments``.

    ``on_data`` gets the standard output of the tool; the last lines of standard error are in :attr:`lines`. ``term_s``
    is the time between SIGTERM and SIGKILL at the end, in which it may clean up elsewhere.
    """

    engine: ClassVar[str]
    script: ClassVar[str]
    install: ClassVar[Mapping[str, Message]]  # how to install the programs that it needs

    def __init__(
        self,
        machine: Machine,
        arguments: tuple[str, ...],
        on_data: Callable[[bytes], None] = lambda _: None,
        term_s: float = 1.0,
    ) -> None:
        self.machine = machine
        self.lines: deque[str] = deque(maxlen=60)
        self.missing = ""  # the program that is not installed there
        self.directory: Path | None = None  # where it runs, for its user alone
        self.tool_ended = False  # whether the tool has ended, though cleaning up may still take a while
        self._own: Path | None = None  # its directory here, which its guard removes if the script is killed
        self._arguments = arguments
        self._on_data = on_data
        self._term_s = term_s
        self._process = GuardedProcess()
        self._error_lines = LineSplitter()
        self._input: asyncio.WriteTransport | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._forwarded_port = 0
        self._port_known = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether it has ended and all its output has been read."""
        return self._ended.is_set()

    @property
    def pid(self) -> int | None:
        """The local process: the script itself, or ssh."""
        return self._process.pid

    @property
    def failure(self) -> Message:
        """Why it ended, in its own words if possible."""
        process = verbatim(self.engine)
        if self.machine.remote:
            process = Message("{engine} on {machine}", engine=self.engine, machine=self.machine.name)
        if self._process.problem is not None:
            return Message("cannot run {process}: {reason}", process=process, reason=self._process.problem)
        if self.missing:
            return Message(
                "{program} is not installed on {machine}: {advice}",
                program=self.missing,
                machine=self.machine.name,
                advice=self.install.get(self.missing, Message("install it there, so that it is on PATH")),
            )
        if (reason := self._reason()) is None:
            return Message("{process} ended", process=process)
        return Message("{process} ended: {reason}", process=process, reason=reason)

    async def start(self, files: Mapping[str, str], port: int | None = None) -> None:
        """Start it with these files, by name. It can reach ``port`` of this machine."""
        script = read_resource(self.script) + read_resource("run_process.sh")
        command = ["sh", "-c", script, "loadtop", *self._arguments]
        remote = self.machine.remote
        environment: dict[str, str] | None = None
        if remote:
            # sshd chooses a port there that leads to ours.
            forward = [] if port is None else ["-R", f"127.0.0.1:0:127.0.0.1:{port}"]
            command = [*SSH, *forward, "--", self.machine.place, shlex.join(command)]
        else:
            with suppress(OSError):  # the script, which cannot make a directory either, says why
                self._own = Path(tempfile.mkdtemp(prefix="loadtop."))
                environment = os.environ | {"LOADTOP_DIRECTORY": str(self._own)}
        (stdin, commands), (output, stdout), (errors, stderr) = os.pipe(), os.pipe(), os.pipe()
        await self._process.start(
            command, (stdin, stdout, stderr), environment=environment, term_s=self._term_s, remove=self._own
        )
        self._tasks.append(background(self._read(errors, output), f"output of {self.engine}"))
        loop = asyncio.get_running_loop()
        self._input, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(commands, "wb", 0))
        if remote and port is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(PORT_S):
                    await self._port_known.wait()
            port = self._forwarded_port
        if self.ended or port == 0:
            return
        lines = [f"{name} {base64.b64encode(text.encode()).decode('ascii')}" for name, text in files.items()]
        self._input.write("\n".join([*lines, f". {port or 0}\n"]).encode())
        self._tasks.append(background(send_heartbeats(partial(self._write, b"\n")), f"heartbeats for {self.engine}"))

    async def wait(self) -> None:
        await self._ended.wait()

    def stop(self) -> None:
        """Ask the tool to end; its last results can still be read."""
        self._write(b"stop\n")

    async def close(self) -> None:
        for task in self._tasks[1:]:
            task.cancel()
        if self._input is not None and not self._input.is_closing():
            self._input.abort()
        if self._process.pid is not None and not self.ended:
            with suppress(TimeoutError):
                async with asyncio.timeout(2.0):
                    await self._ended.wait()
        await self._process.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._own is not None:  # still there if its guard was killed
            await asyncio.to_thread(shutil.rmtree, self._own, ignore_errors=True)

    def take_line(self, line: str) -> None:
        """Take a line of standard error: of ssh, of the script or of the tool."""
        event, _, value = line.partition(" ")
        if found := _PORT.search(line):
            self._forwarded_port = int(found[1])
            self._port_known.set()
        elif event == "loadtop:ended":
            self.tool_ended = True
        elif event == "loadtop:missing":
            self.missing = value
        elif event == "loadtop:directory" and self.directory is None:  # the script says so before the tool starts
            self.directory = Path(value)
        else:
            self.lines.append(line)

    def _reason(self) -> Message | None:
        return verbatim(self.lines[-1]) if self.lines else None

    def _write(self, data: bytes) -> None:
        if self._input is not None and not self._input.is_closing():
            self._input.write(data)

    async def _read(self, errors: int, output: int) -> None:
        try:
            await asyncio.gather(_read_pipe(errors, self._take_errors), _read_pipe(output, self._on_data))
            self._take_errors(b"\n")
        finally:
            self.tool_ended = True
            self._ended.set()
            self._port_known.set()

    def _take_errors(self, data: bytes) -> None:
        for line in self._error_lines.feed(data):
            self.take_line(line.strip())


class EngineLoad(ABC):
    """A :class:`loadtop.pipeline.monitor.LoadSource`. Everything it starts, on any machine, ends with it."""

    engine: ClassVar[str]

    def __init__(self, plan: Plan, users: int, *, user_plan: bool) -> None:
        """``users`` are simulated at first; ``user_plan``: a plan of the user says what is requested."""
        self._plan = plan
        self._users: int = users
        self._user_plan = user_plan
        self._state = LoadState.STARTING
        self._message: Message | None = None
        self._started_at = self._ended_at = 0.0
        self._earlier_s = 0.0  # seconds of load before the last restart
        self._workers: tuple[EngineWorker, ...] = ()
        self._processes: Sequence[EngineProcess] = ()
        self._runner: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Start everything in the background; samples say what goes wrong."""
        self._runner = background(self._run_to_end(), self.engine)

    async def wait(self) -> None:
        if self._runner is not None:
            await asyncio.wait({self._runner})

    def command(self, command: Command) -> None:
        if isinstance(command, StopLoad):
            self._stop.set()
        elif isinstance(command, SetConcurrency) and not self._state.ended:
            self._set_users(command.connections)

    async def close(self) -> None:
        if self._runner is not None:
            self._runner.cancel()
            await asyncio.gather(self._runner, return_exceptions=True)
        await self._close_processes()

    @abstractmethod
    async def _run(self) -> None:
        """Make the load. Raises EngineError."""

    @abstractmethod
    def _set_users(self, users: int) -> None:
        """Continue with this number of users, or say in the message why that is not possible."""

    async def _run_to_end(self) -> None:
        try:
            await self._run()
        except EngineError as error:
            self._end(LoadState.FAILED, error.message)
        else:
            self._end(LoadState.STOPPED if self._stop.is_set() else LoadState.DONE)

    def _end(self, state: LoadState, message: Message | None = None) -> None:
        self._state = state
        self._message = message or self._message
        self._ended_at = self._ended_at or time.monotonic()

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    async def _close_processes(self) -> None:
        await asyncio.gather(*(process.close() for process in self._processes))

    def _elapsed(self, now: float) -> float:
        return self._earlier_s + (now - self._started_at if self._started_at else 0.0)

    def _sample(self, step_number: int, **measured: Any) -> LoadSample:
        """Return what is known without results, replaced and completed by ``measured``."""
        plan = self._plan
        step = plan.steps[min(step_number, len(plan.steps)) - 1]
        now = self._ended_at or time.monotonic()
        known: dict[str, Any] = {
            "concurrency": self._users,
            "message": self._message or "",
            "target_s": total(each.duration_s for each in plan.steps),
            "workers": self._workers,
        }
        return LoadSample(
            at=now,
            engine=self.engine,
            state=self._state,
            model="closed" if step.rate is None else "open",
            elapsed_s=self._elapsed(now),
            rate=step.rate,
            step=step_number,
            steps=len(plan.steps),
            keepalive=None if self._user_plan else plan.keepalive,
            with_body=any(target.body is not None for target in plan.targets),
            **known | measured,
        )


def users_for_rate(rate: float) -> int:
    """Return how many simulated users an open model of ``rate`` requests/s needs."""
    return max(1, ceil(rate * USERS_PER_RATE))


def impossible(option: str | Message, engine: str, advice: Message = _ADVICE) -> PlanError:
    return PlanError(
        "{option} does not work with --engine {engine}: {advice}", option=option, engine=engine, advice=advice
    )


def read_resource(path: str) -> str:
    return (Path(__file__).parent / path).read_text(encoding="utf-8")


async def _read_pipe(file: int, on_data: Callable[[bytes], None]) -> None:
    """Read a pipe to its end, then close it."""
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(file, "rb"))
    try:
        while data := await reader.read(READ_BYTES):
            on_data(data)
    finally:
        transport.close()
