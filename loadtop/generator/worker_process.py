"""A worker process as the pool sees it: start, commands, reports, end."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import loadtop
from loadtop.generator.aggregation import WorkerProgress
from loadtop.generator.plan import Plan
from loadtop.generator.protocol import Handover, Output, Report
from loadtop.i18n.message import Message, verbatim

_MAX_LINE = 1 << 24
_STOP_TIMEOUT_S = 1.0
"""How long a worker may take to stop before it is killed."""


class WorkerProcess:
    """One worker process. Each report, and its end, set ``changed``. ``print_text`` is called with the text of -v."""

    def __init__(self, number: int, print_text: Callable[[str], None], changed: asyncio.Event) -> None:
        self.number = number
        self.progress = WorkerProgress()
        self._print_text = print_text
        self._changed = changed
        self._process: asyncio.subprocess.Process | None = None
        self._last_error = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._new_report = asyncio.Event()
        self._handover: asyncio.Future[Handover | None] | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def report(self) -> Report | None:
        return self.progress.current.report

    @property
    def ended(self) -> bool:
        return self.progress.current.ended

    async def start(self, plan: Plan, workers: int, request_log: int | None = None) -> None:
        """Start the process and send it its plan, through a pipe: everyone can read arguments. It inherits the
        descriptor ``request_log``. Raises OSError."""
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        package = str(Path(loadtop.__file__).parent.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH", "")]))
        self._process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-P", "-m", "loadtop.generator.worker"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_MAX_LINE,
            env=environment,
            pass_fds=() if request_log is None else (request_log,),
            # Ctrl-C is for the parent, which decides what happens to the load. No session of its own: Linux shares the
            # CPUs among sessions (autogroups, see sched(7)), so the load would get another share than ab.
            process_group=0,
        )
        sizes = [len(body) for body in plan.bodies]
        place = {"worker": self.number, "workers": workers, "request_log": request_log}
        self.send({"plan": plan.to_json(), "bodies": sizes, **place}, plan.bodies)
        self._tasks = [
            asyncio.create_task(self._read_output(self._process)),
            asyncio.create_task(self._read_errors(self._process)),
        ]

    async def wait_until(self, condition: Callable[[Report], bool]) -> None:
        """Return when ``condition`` holds for the newest report, or when the worker has ended."""
        while not self.ended and (self.report is None or not condition(self.report)):
            self._new_report.clear()
            await self._new_report.wait()

    def send(self, command: dict[str, Any], bodies: Iterable[bytes] = ()) -> None:
        """Send a command and the bytes that follow it, unless the process has ended."""
        if self._process is not None and self._process.stdin is not None and self._process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                for body in bodies:
                    self._process.stdin.write(body)

    async def hand_over(self, workers: int, step: int, fraction: float) -> Handover | None:
        """Make it one of ``workers`` and let it give away this part of its requests in ``step``; None if it ended."""
        if self.ended:
            return None
        self._handover = asyncio.get_running_loop().create_future()
        self.send({"hand_over": {"worker": self.number, "workers": workers, "step": step, "fraction": fraction}})
        try:
            return await self._handover
        finally:
            self._handover = None

    async def close(self) -> None:
        """Let the process end; kill it after :data:`_STOP_TIMEOUT_S`."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _STOP_TIMEOUT_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _read_output(self, process: asyncio.subprocess.Process) -> None:
        import msgspec

        while process.stdout is not None and (line := await process.stdout.readline()):
            output = msgspec.json.decode(line, type=Output)
            if output.handover is not None:
                self._answer_handover(output.handover)
            if output.report is not None:
                if output.report.verbose_text:
                    self._print_text(output.report.verbose_text)
                self.progress.add(output.report)
                self._notify()
        if not self.ended:
            code = await process.wait()
            await asyncio.sleep(0)
            self.progress.current.problem = Message(
                "a load worker ended unexpectedly (exit code {code}){error}",
                code=code,
                error=Message(": {text}", text=verbatim(self._last_error)) if self._last_error else None,
            )
        self._notify()

    def _notify(self) -> None:
        if self.ended:
            self._answer_handover(None)
        self._changed.set()
        self._new_report.set()

    def _answer_handover(self, handover: Handover | None) -> None:
        if self._handover is not None and not self._handover.done():
            self._handover.set_result(handover)

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        while process.stderr is not None and (line := await process.stderr.readline()):
            self._last_error = line.decode("utf-8", "replace").strip() or self._last_error
