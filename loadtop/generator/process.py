"""A worker process as the pool sees it: started, told what to do, heard, and ended."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import loadtop
from loadtop.generator.passage import StepEnd, StepEnds
from loadtop.generator.plan import Plan
from loadtop.generator.report import Parting, Report
from loadtop.model import Latencies, LoadState

_LONGEST_LINE = 1 << 24
_PATIENCE_S = 1.0
"""How long a worker may take to stop before it is killed."""


class WorkerProcess:
    """One worker: its process, its newest report, and the latencies that nobody took yet."""

    def __init__(self, number: int, said: Callable[[str], None]) -> None:
        self.number = number
        self.said = said
        """Called with what is told of requests and responses (-v)."""
        self.report: Report | None = None
        self.latencies: list[Latencies] = []
        self.ends = StepEnds()
        self.loop_delay_s = 0.0
        self.problem = ""
        self._process: asyncio.subprocess.Process | None = None
        self._last_words = ""
        self._tasks: list[asyncio.Task[None]] = []
        self._heard = asyncio.Event()
        self._parting: asyncio.Future[Parting | None] | None = None

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def ready(self) -> bool:
        return self.report is not None

    @property
    def ended(self) -> bool:
        return bool(self.problem) or (self.report is not None and LoadState(self.report.state).ended)

    @property
    def failed(self) -> bool:
        return bool(self.problem) or (self.report is not None and self.report.state == "failed")

    async def start(self, plan: Plan, workers: int, changed: "asyncio.Event", journal: int | None = None) -> None:
        """Start the process and give it its plan, through the pipe: arguments can be read by everyone. ``journal`` is a
        descriptor that it inherits."""
        environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        package = str(Path(loadtop.__file__).parent.parent)
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, [package, environment.get("PYTHONPATH", "")]))
        self._process = await asyncio.create_subprocess_exec(
            *[sys.executable, "-P", "-m", "loadtop.generator.worker"],
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=_LONGEST_LINE,
            env=environment,
            pass_fds=() if journal is None else (journal,),
            # Ctrl-C is for the parent, which decides what becomes of the load. No session of its own: Linux gives each
            # session its share of the processors (autogroups, see sched(7)), and so a load would get another than ab.
            process_group=0,
        )
        sizes = [len(body) for body in plan.bodies]
        share = {"worker": self.number, "workers": workers, "journal": journal}
        self.tell({"plan": plan.to_json(), "bodies": sizes, **share}, plan.bodies)
        self._tasks = [
            asyncio.create_task(self._listen(self._process, changed)),
            asyncio.create_task(self._hear_errors(self._process)),
        ]

    async def until(self, holds: Callable[[Report], bool]) -> None:
        """Return when ``holds`` of the newest report, or when the worker has ended."""
        while not self.ended and (self.report is None or not holds(self.report)):
            self._heard.clear()
            await self._heard.wait()

    def tell(self, command: dict[str, Any], bodies: Iterable[bytes] = ()) -> None:
        """Send a command, and the bytes that follow it; a worker that is gone is told nothing."""
        if self._process is not None and self._process.stdin is not None and self._process.returncode is None:
            with contextlib.suppress(OSError, RuntimeError):
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                for body in bodies:
                    self._process.stdin.write(body)

    async def part(self, workers: int, step: int, fraction: float) -> "Parting | None":
        """Make the worker one of ``workers`` and have it give away a part of the requests that it has left in ``step``;
        what it gave, and where it stands. ``None`` when it has ended."""
        if self.ended:
            return None
        self._parting = asyncio.get_running_loop().create_future()
        self.tell({"part": {"worker": self.number, "workers": workers, "step": step, "fraction": fraction}})
        try:
            return await self._parting
        finally:
            self._parting = None

    async def close(self) -> None:
        """Let the process end; after a second, kill it."""
        process = self._process
        if process is None:
            return
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), _PATIENCE_S)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _listen(self, process: asyncio.subprocess.Process, changed: "asyncio.Event") -> None:
        if process.stdout is None:
            return
        while line := await process.stdout.readline():
            data: dict[str, Any] = json.loads(line)
            if "parted" in data:
                if self._parting is not None and not self._parting.done():
                    self._parting.set_result(Parting(**data["parted"]))
                continue
            report = Report.from_data(data)
            if report.said:
                self.said(report.said)
            if self.report is not None and 0 < self.report.step < report.step:
                # A worker tells how a step ended before it begins the next.
                self.ends.note(StepEnd(self.report, self.latencies), self.report.step)
                self.latencies = []
            if report.latencies is not None:
                self.latencies.append(report.latencies)
            self.loop_delay_s = max(self.loop_delay_s, report.loop_delay_s)
            self.report = replace(report, latencies=None, said="")
            if self.ended:
                self._part_with_nothing()
            changed.set()
            self._heard.set()
        self._part_with_nothing()
        if not self.ended:
            code = await process.wait()
            await asyncio.sleep(0)
            words = f": {self._last_words}" if self._last_words else ""
            self.problem = f"a load worker ended unexpectedly (exit code {code}){words}"
        changed.set()
        self._heard.set()

    def _part_with_nothing(self) -> None:
        if self._parting is not None and not self._parting.done():
            self._parting.set_result(None)

    async def _hear_errors(self, process: asyncio.subprocess.Process) -> None:
        if process.stderr is None:
            return
        while line := await process.stderr.readline():
            self._last_words = line.decode("utf-8", "replace").strip() or self._last_words
