"""A process that makes load: ``python -m loadtop.generator.worker``, started by :mod:`loadtop.generator.pool`.

Standard input: one line of JSON ``{"plan": "...", "bodies": [], "worker": 0, "workers": 1, "request_log": null}`` (the
plan's JSON, the lengths of its bodies in bytes, a descriptor for :class:`RequestLog`), then the bodies one after the
other, then commands, a line each: ``{"start": true}`` or ``{"join": HANDOVER}`` (after the first report),
``{"hand_over": {"worker", "workers", "step", "fraction"}}`` (answered with a :class:`Handover`),
``{"concurrency": n}``, ``{"rate": r}``, ``{"step": n}`` (from 0), ``{"stop": true}``. When standard input ends, the
process exits at once. Standard output: lines of :class:`loadtop.generator.protocol.Output`.
"""

import asyncio
import contextlib
import gc
import json
import os
import select
import signal
import sys
from typing import Any, cast

import msgspec

from loadtop.generator.event_loop import EpollLoop
from loadtop.generator.plan import Plan, PlanError, Portion
from loadtop.generator.protocol import Handover, Output
from loadtop.generator.request_log import RequestLog
from loadtop.generator.runner import LoadRunner

REPORT_PERIOD_S = 0.2
_LAST_REPORT_TIMEOUT_S = 2.0


class Worker(asyncio.Protocol):
    """Reads commands from standard input and writes reports to standard output."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, output: asyncio.StreamWriter, plan: Plan, start: dict[str, Any]
    ) -> None:
        self._loop = loop
        self._output = output
        self._pending = bytearray()
        request_log = None if start["request_log"] is None else RequestLog(start["request_log"])
        portion = Portion(start["worker"], start["workers"])
        self._runner = LoadRunner(plan, loop, portion, self._report, request_log)
        self._reporting: asyncio.Task[None] | None = None
        self._done = asyncio.Event()

    async def run(self) -> None:
        """Work until the load has ended and its last report has been read."""
        if await self._runner.prepare():
            # The modules and the plan stay: only new objects are collected from now on, and they are few.
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 100)
            self._report()
        await self._done.wait()
        self._output.close()
        with contextlib.suppress(OSError):
            await asyncio.wait_for(self._output.wait_closed(), _LAST_REPORT_TIMEOUT_S)

    def data_received(self, data: bytes) -> None:
        self._pending += data
        while (end := self._pending.find(b"\n")) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            self._execute(cast("dict[str, Any]", json.loads(line)))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of asyncio.Protocol
        """The parent has ended."""
        os._exit(0)

    def _execute(self, command: dict[str, Any]) -> None:
        runner = self._runner
        match command:
            case {"start": True}:
                runner.start()
                self._reporting = self._loop.create_task(self._report_periodically())
            case {"join": handover}:
                runner.join(Handover(**handover))
                self._report()
                self._reporting = self._loop.create_task(self._report_periodically())
            case {"hand_over": {"worker": worker, "workers": workers, "step": step, "fraction": fraction}}:
                if not runner.state.ended:
                    self._write(Output(handover=runner.hand_over(Portion(worker, workers), step, fraction)))
            case {"concurrency": int(connections)}:
                runner.set_concurrency(connections)
            case {"rate": int(rate) | float(rate)}:
                runner.set_rate(rate)
            case {"step": int(number)}:
                runner.start_step(number)
            case {"stop": True}:
                runner.stop()
            case _:
                raise ValueError(f"no such command: {command}")

    async def _report_periodically(self) -> None:
        while not self._done.is_set():
            await asyncio.sleep(REPORT_PERIOD_S)
            # If the parent reads slowly, the measurements go with a later report.
            if not self._done.is_set() and not self._output.transport.get_write_buffer_size():
                self._report()

    def _report(self) -> None:
        self._write(Output(report=self._runner.report()))
        if self._runner.state.ended:
            self._done.set()

    def _write(self, output: Output) -> None:
        self._output.write(msgspec.json.encode(output) + b"\n")


def _read_start() -> tuple[dict[str, Any], list[bytes], bytes]:
    """Return the first line of standard input, the bodies, and what came after them. Exits where the input ends."""
    reader = os.fdopen(0, "rb", closefd=False)
    line = reader.readline()
    if not line:
        os._exit(0)
    start: dict[str, Any] = json.loads(line)
    bodies = [reader.read(size) for size in start["bodies"]]
    if [len(body) for body in bodies] != start["bodies"]:
        os._exit(0)
    os.set_blocking(0, False)
    return start, bodies, reader.read() or b""


async def _work(plan: Plan, start: dict[str, Any], pending: bytes) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(1, "wb", buffering=0)
    )
    worker = Worker(loop, asyncio.StreamWriter(transport, protocol, None, loop), plan, start)
    await loop.connect_read_pipe(lambda: worker, os.fdopen(0, "rb", buffering=0))
    worker.data_received(pending)
    await worker.run()


def main() -> None:
    """Run one worker. Ctrl-C reaches every process of the terminal; the parent decides what happens then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    start, bodies, pending = _read_start()
    try:
        plan = Plan.from_json(start["plan"], bodies)
        del bodies
        if hasattr(select, "epoll") and all(target.scheme == "http" for target in plan.targets):
            with asyncio.Runner(loop_factory=EpollLoop) as runner:
                runner.run(_work(plan, start, pending))
        else:
            import uvloop

            uvloop.run(_work(plan, start, pending))
    except PlanError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
