"""A process that makes load: ``python -m loadtop.generator.worker``, started by :mod:`loadtop.generator.pool`.

Standard input: pickled, the plan, the worker's :class:`Portion` of it and a descriptor for :class:`RequestLog` or None;
then commands, each a line of JSON with the name of a method of :class:`LoadRunner` and its arguments: ``["stop"]``.
When standard input ends, the process exits at once. Standard output: lines of JSON, each a :class:`Report`.
"""

import asyncio
import contextlib
import gc
import json
import os
import pickle
import select
import signal

import msgspec

from loadtop.generator.aggregation import Handover
from loadtop.generator.event_loop import EpollLoop
from loadtop.generator.plan import Plan, Portion
from loadtop.generator.request_log import RequestLog
from loadtop.generator.runner import LoadRunner

REPORT_PERIOD_S = 0.2
_LAST_REPORT_TIMEOUT_S = 2.0


class Commands(asyncio.Protocol):
    """Executes the commands of standard input."""

    def __init__(self, runner: LoadRunner) -> None:
        self._runner = runner
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            command, *values = json.loads(line)
            getattr(self._runner, command)(*values)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of asyncio.Protocol
        """The parent has ended."""
        os._exit(0)


async def _work(plan: Plan, portion: Portion, request_log: int | None, commands: bytes) -> None:
    """Work until the load has ended and its last report has been read. ``commands`` have been read already."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
    transport, protocol = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(1, "wb", buffering=0)
    )
    output = asyncio.StreamWriter(transport, protocol, None, loop)
    ended = asyncio.Event()

    def report(handover: Handover | None = None) -> None:
        output.write(msgspec.json.encode(runner.report(handover)) + b"\n")
        if runner.state.ended:
            ended.set()

    log = None if request_log is None else RequestLog(request_log)
    runner = LoadRunner(plan, loop, portion, report, log)
    executor = Commands(runner)
    await loop.connect_read_pipe(lambda: executor, os.fdopen(0, "rb", buffering=0))
    executor.data_received(commands)
    if await runner.prepare():
        # The modules and the plan stay: only new objects are collected from now on, and they are few.
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        report()
    while not ended.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), REPORT_PERIOD_S)
        # If the parent reads slowly, the measurements go with a later report.
        if not ended.is_set() and not transport.get_write_buffer_size():
            report()
    output.close()
    with contextlib.suppress(OSError):
        await asyncio.wait_for(output.wait_closed(), _LAST_REPORT_TIMEOUT_S)


def main() -> None:
    """Run one worker. Ctrl-C reaches every process of the terminal; the parent decides what happens then."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reader = os.fdopen(0, "rb", closefd=False)
    try:
        plan, portion, request_log = pickle.load(reader)  # noqa: S301 - written by the pool that started this process
    except (EOFError, pickle.UnpicklingError):  # the parent has ended
        os._exit(0)
    os.set_blocking(0, False)
    work = _work(plan, portion, request_log, reader.read() or b"")
    if hasattr(select, "epoll") and all(target.scheme == "http" for target in plan.targets):
        with asyncio.Runner(loop_factory=EpollLoop) as runner:
            runner.run(work)
    else:
        import uvloop

        uvloop.run(work)


if __name__ == "__main__":
    main()
