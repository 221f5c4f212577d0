"""A process that makes load: ``python -m loadtop.generator.worker``, started by :mod:`loadtop.generator.pool`.

On standard input comes one line of JSON ``{"plan": "...", "bodies": [], "worker": 0, "workers": 1, "journal": null}``
(the lengths of the plan's bodies in bytes; a descriptor for a row per request, see
:mod:`loadtop.generator.journal`), then the bodies as they are, one after the other, then commands, a line each:
``{"go": true}`` or ``{"join": ...}`` (after the worker said that it is ready), ``{"part": ...}`` (answered with
``{"parted": ...}``, see :class:`loadtop.generator.report.Parting`), ``{"concurrency": n}``, ``{"rate": r}``,
``{"step": n}`` (from 0), ``{"stop": true}``. The end of standard input means that nobody wants the load any more:
the process ends at once, whatever it was doing. On standard output go reports (:mod:`loadtop.generator.report`), a
line each.
"""

import asyncio
import gc
import json
import os
import signal
import sys
import time
from dataclasses import asdict
from typing import Any, cast

from loadtop.generator.engine import Engine
from loadtop.generator.hub import Hub, HubLoop
from loadtop.generator.journal import Journal
from loadtop.generator.plan import Plan, PlanError
from loadtop.generator.report import Parting, Report
from loadtop.generator.share import Share
from loadtop.model import LoadState

REPORT_S = 0.2
FILES_OF_ITS_OWN = 12
"""Descriptors that a worker has open beside its connections: pipes, event loop, timers."""
_LAST_WORDS_S = 2.0
_PIPE = 1 << 16
"""Bytes that a pipe holds (pipe(7))."""


class Worker(asyncio.Protocol):
    """Reads commands and writes reports."""

    def __init__(self, loop: asyncio.AbstractEventLoop, plan: Plan, what: dict[str, Any], pending: bytes) -> None:
        self._loop = loop
        self._pending = bytearray(pending)
        share = Share(what["worker"], what["workers"])
        journal = None if what.get("journal") is None else Journal(what["journal"])
        self._engine = Engine(plan, loop, share, self._report, journal)
        self._out: asyncio.WriteTransport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.done = loop.create_future()

    async def run(self) -> None:
        """Work until the load has ended or nobody wants it."""
        pipe = await self._loop.connect_write_pipe(asyncio.BaseProtocol, os.fdopen(1, "wb", buffering=0))
        self._out = pipe[0]
        await self._loop.connect_read_pipe(lambda: self, os.fdopen(0, "rb", buffering=0))
        self.data_received(b"")
        if await self._engine.prepare():
            # The modules and the plan stay: what is collected is only what comes now, and that is little.
            gc.collect()
            gc.freeze()
            gc.set_threshold(50_000, 20, 100)
            self._report()
        await self.done

    def data_received(self, data: bytes) -> None:
        """Take commands, in pieces of any size."""
        self._pending += data
        while (end := self._pending.find(b"\n")) >= 0:
            line = bytes(self._pending[:end])
            del self._pending[: end + 1]
            self._obey(self._engine, cast("dict[str, Any]", json.loads(line)))

    def eof_received(self) -> None:
        """Nobody wants the load any more."""
        os._exit(0)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - every reason is the same
        os._exit(0)

    def _obey(self, engine: Engine, command: dict[str, Any]) -> None:
        match command:
            case {"go": True}:
                engine.begin()
                self._timer = self._loop.call_later(REPORT_S, self._report_often)
            case {"concurrency": int(connections)}:
                engine.set_concurrency(connections)
            case {"rate": int(rate) | float(rate)}:
                engine.set_rate(rate)
            case {"join": _}:
                engine.join(Parting(**command["join"]))
                self._report()
                self._timer = self._loop.call_later(REPORT_S, self._report_often)
            case {"part": _}:
                self._part(engine, command["part"])
            case {"step": int(number)}:
                engine.go_on(number)
            case {"stop": True}:
                engine.stop()
            case _:
                raise ValueError(f"no such command: {command}")

    def _part(self, engine: Engine, part: dict[str, Any]) -> None:
        if self._out is not None and not engine.state.ended:
            parting = engine.part(Share(part["worker"], part["workers"]), part["step"], part["fraction"])
            self._out.write(json.dumps({"parted": asdict(parting)}).encode() + b"\n")

    def _report_often(self) -> None:
        self._timer = self._loop.call_later(REPORT_S, self._report_often)
        # Where the reader is slow, what was counted stays here and goes with a later report.
        if self._out is not None and not self._out.get_write_buffer_size():
            self._report()

    def _report(self) -> None:
        engine = self._engine
        if self._out is None:
            return
        self._out.write(_report(engine).to_json().encode() + b"\n")
        if engine.state.ended:
            if self._timer is not None:
                self._timer.cancel()
            self._loop.call_later(_LAST_WORDS_S, self._leave)
            self._leave_when_heard()

    def _leave_when_heard(self) -> None:
        if self._out is None or not self._out.get_write_buffer_size():
            self._leave()
        else:
            self._loop.call_later(0.01, self._leave_when_heard)

    def _leave(self) -> None:
        if not self.done.done():
            self.done.set_result(None)


def _report(engine: Engine) -> Report:
    engine.ledger.collect()
    tally, crowd = engine.ledger.tally, engine.crowd
    counters = tally.counters
    latencies = tally.take(corrected=engine.rate is not None)
    connections = crowd.connected_now
    if engine.state is LoadState.WARMUP:
        latencies = None
    return Report(
        at=time.monotonic(),
        state=engine.state.value,
        message=engine.message,
        elapsed_s=engine.elapsed_s,
        step=engine.number + 1,
        held=engine.held + 1,
        concurrency=crowd.limit,
        rate=engine.rate,
        in_flight=crowd.busy,
        connections=connections,
        requests=counters.requests,
        connect=counters.connect,
        receive=counters.receive,
        length=counters.length,
        exceptions=counters.exceptions,
        timeout=counters.timeout,
        non_2xx=counters.non_2xx,
        keepalive=counters.keepalive,
        received=counters.received,
        body=counters.body,
        sent=counters.sent,
        late=engine.late,
        unsent=counters.unsent,
        cpu_s=time.process_time(),
        loop_delay_s=engine.beat.take_delay_s(),
        files_used=connections + FILES_OF_ITS_OWN,
        files_limit=engine.files_limit,
        ports_used=engine.ports.used(connections),
        ports_limit=engine.ports.limit,
        latencies=latencies,
        server=engine.ledger.server,
        said="" if engine.ledger.transcript is None else engine.ledger.transcript.take(),
    )


class Orders:
    """What to do, from standard input, before there is an event loop. ``rest`` came after what was taken already."""

    def __init__(self) -> None:
        line = bytearray()
        while b"\n" not in line:
            data = os.read(0, _PIPE)
            if not data:
                os._exit(0)
            line += data
        first, _, rest = line.partition(b"\n")
        self.rest = bytes(rest)
        self.what = cast("dict[str, Any]", json.loads(first))
        self.bodies = [self._take(size) for size in self.what["bodies"]]

    def _take(self, size: int) -> bytes:
        body = bytearray(size)
        there = min(size, len(self.rest))
        body[:there] = self.rest[:there]
        self.rest = self.rest[there:]
        with memoryview(body) as room:
            while there < size:
                count = os.readv(0, [room[there:]])
                if not count:
                    os._exit(0)
                there += count
        return bytes(body)


async def _work(plan: Plan, what: dict[str, Any], pending: bytes) -> None:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, lambda: os._exit(0))
    await Worker(loop, plan, what, pending).run()


def main() -> None:
    """Run one worker. Ctrl-C reaches every process of the terminal; what to do then is for the parent to decide."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    orders = Orders()
    what, pending = orders.what, orders.rest
    try:
        plan = Plan.from_json(what["plan"], orders.bodies)
        del orders
        if Hub.available() and all(target.scheme == "http" for target in plan.targets):
            with asyncio.Runner(loop_factory=HubLoop) as runner:
                runner.run(_work(plan, what, pending))
        else:
            import uvloop

            uvloop.run(_work(plan, what, pending))
    except PlanError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
