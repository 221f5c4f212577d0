"""A process that makes load: ``python -m loadtop.generator.worker``, started by :mod:`loadtop.generator.pool`.

Standard input: pickled, the plan, the worker's :class:`Portion` of it and a descriptor for :class:`RequestLog` or None;
then commands, each a line of JSON with the name of a method of :class:`LoadRunner` and its arguments: ``["stop"]``.
An empty line is a heartbeat: without any, the load pauses (:mod:`loadtop.pipeline.heartbeat`). When standard input
ends, the process exits at once. Standard output: lines of JSON, each a :class:`Report`. An exception that nothing
handles ends the process, with the reason in the last line of standard error.
"""

import asyncio
import contextlib
import gc
import json
import os
import pickle
import select
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from time import monotonic, perf_counter_ns, process_time
from typing import Any, NoReturn

import msgspec

from loadtop.generator.aggregation import COUNTERS, Handover, Report
from loadtop.generator.connections import Connections
from loadtop.generator.event_loop import EpollLoop, PreciseTimer
from loadtop.generator.exchange import Exchange
from loadtop.generator.limits import cpu_wait_s, local_ports, ports_in_time_wait, raise_file_limit
from loadtop.generator.load_model import LATE_NS, ClosedModel, LoadModel, OpenModel, TargetMix
from loadtop.generator.plan import UNLIMITED, Plan, PlanError, Portion, request_bytes
from loadtop.generator.request_log import VERBOSE_HEADS, RequestLog
from loadtop.generator.results import Results
from loadtop.i18n import Message
from loadtop.model import Failures, GeneratorSample, LoadSample, LoadState
from loadtop.model.load import RESERVED_FILES, TOO_MANY_CONNECTIONS
from loadtop.pipeline.background import background, described, mistake
from loadtop.pipeline.heartbeat import SILENCE_S

REPORT_PERIOD_S = 0.2
_LAST_REPORT_TIMEOUT_S = 2.0
DRAIN_S = 1.0  # how long requests in flight may take at the end; they count, as in the server's log (ab drops them)
OTHER_FILES = 12  # descriptors that a worker has open besides its connections: pipes, event loop, timers
_DELAY_PERIOD_S = 0.05  # how often to measure how late the event loop runs its timers


class LoadRunner:
    """Makes this worker's ``portion`` of the load of ``plan``.

    ``report_now`` is called when a step ends, when the worker waits for the others, and at the end of the load. A step
    limited by requests ends with its last response. One limited by time is followed by the next without a gap:
    requests in flight count in the next one. Steps count from 0.
    """

    def __init__(
        self,
        plan: Plan,
        loop: asyncio.AbstractEventLoop,
        portion: Portion,
        report_now: Callable[[Handover | None], None],
        request_log: RequestLog | None = None,
    ) -> None:
        self.state = LoadState.STARTING
        self.commands = 0  # executed so far
        self._plan = plan
        self._loop = loop
        self._portion = portion
        self._report_now = report_now
        self._step = self._waits_after = -1
        """The current step, and the one after which this worker waits for the others."""
        self._file_limit = raise_file_limit()
        self._port_limit = local_ports()
        learns = plan.verbosity < VERBOSE_HEADS
        self._exchanges = tuple(
            Exchange(each, request_bytes(each, plan), learns, plan.traceparent) for each in plan.targets
        )
        first_connected = partial(loop.call_soon, self._send_due)
        self._results = Results(plan, self._exchanges, first_connected, self._fail, request_log)
        self._connections = Connections(plan, self._results, loop, self._check_step_end)
        self._model: LoadModel = ClosedModel(self._connections, TargetMix([(self._exchanges[0], 1.0)]), 0)
        self._tasks: list[asyncio.Task[None]] = []
        self._loop_delay_s = 0.0
        self._started = self._stopped = self._paused = 0.0
        self._heard = monotonic()
        self._step_ends: float | None = None
        self._step_timer: asyncio.TimerHandle | None = None
        self._send_timer: PreciseTimer | None = None
        self._draining = False
        self._drained = (0.0, 0)
        """When this worker began to wait for the requests in flight at the end, and how many had ended before."""
        self._pending: int | None = None
        self._final_state = LoadState.DONE
        self._problem: Message | None = None

    def report(self, handover: Handover | None = None) -> Report:
        """Return how things stand; durations and the text of -v are those since the last report."""
        results, connections, at = self._results, self._connections, monotonic()
        results.count_hits()
        counters, log = results.counters, results.request_log
        rate = self._model.rate
        latencies = results.take(corrected=rate is not None)
        loop_delay_s, self._loop_delay_s = self._loop_delay_s, 0.0
        load = LoadSample(
            at=at,
            engine="builtin",
            state=self.state,
            model="closed" if rate is None else "open",
            elapsed_s=(self._stopped or self._paused or at) - self._started if self._started else 0.0,
            concurrency=connections.limit,
            rate=rate,
            step=self._step + 1,
            in_flight=connections.busy,
            pending=self._pending,
            connections=connections.open,
            failures=Failures(**counters.failures),
            latencies=None if self.state is LoadState.WARMUP else latencies,
            server=results.server,
            message=self._problem or results.message or (log and log.problem) or "",
            noted=results.notable.take(),
            **{name: getattr(counters, name) for name in COUNTERS},
        )
        wait_s = cpu_wait_s()
        generator = GeneratorSample(
            worker_cpu_s=(process_time(),),
            worker_wait_s=() if wait_s is None else (wait_s,),
            loop_delay_s=loop_delay_s,
            # Arrivals that are late and not sent yet count as well.
            late=counters.late + self._model.overdue(perf_counter_ns() - LATE_NS),
            unsent=counters.unsent,
            # Over the loopback they do not count: Linux reuses them at once there (net.ipv4.tcp_tw_reuse = 2, the
            # default, see the kernel's ip-sysctl documentation).
            ports_used=0 if connections.connector.loopback else ports_in_time_wait(),
            ports_limit=self._port_limit,
            files_used=connections.open + OTHER_FILES,
            files_limit=self._file_limit,
        )
        verbose_text = "" if results.verbose_log is None else results.verbose_log.take()
        return Report(load, generator, self._waits_after + 1, self.commands, handover, verbose_text)

    async def prepare(self) -> bool:
        """Look up the hosts; return whether the load can start. If not, it has failed, and the message says why."""
        try:
            await self._connections.connector.resolve()
        except PlanError as error:
            self._fail(error.message)
        connections = max(self._portion.of(step.concurrency or 0) for step in self._plan.steps)
        needed, limit = connections + RESERVED_FILES, self._file_limit
        if needed > limit:
            self._fail(Message(TOO_MANY_CONNECTIONS, connections=connections, limit=limit, needed=str(needed)))
        return not self.state.ended

    def start(self) -> None:
        if self._results.verbose_log is not None and self._portion.worker == 0:
            self._results.verbose_log.add_requests(self._exchanges)
        now = monotonic()
        warmup_ends = now + self._plan.warmup_s if self._plan.warmup_s > 0 else None
        self.join(0, self._portion.requests(self._plan.steps[0]), now, self._end_of(0), warmup_ends)

    def join(
        self, step: int, requests: int | None, started: float, ends: float | None, warmup_ends: float | None
    ) -> None:
        """Start in the middle of the load, with what the other workers gave away: see :class:`Handover`."""
        self._started = started
        self._tasks = [
            background(self._watch_time(), "watch the time"),
            background(self._connections.give_up_late(self._plan.timeout_s), "give up late requests"),
        ]
        if warmup_ends is None:
            self.state = LoadState.RUNNING
            self._begin(step, UNLIMITED if requests is None else requests, ends)
        else:
            self.state = LoadState.WARMUP
            self._begin(0, UNLIMITED, warmup_ends)

    def hand_over(self, worker: int, workers: int, step: int, fraction: float) -> None:
        """Be one of ``workers`` from now on, and give away a part of the requests left in ``step``."""
        if self.state.ended:
            return
        self._portion = Portion(worker, workers)
        handover = Handover(
            finishing=self._draining,
            step=self._step,
            requests=self._model.give_away(fraction) if self._step == step and not self._draining else 0,
            started=self._started,
            ends=self._step_ends,
            warmup_ends=self._step_ends if self.state is LoadState.WARMUP else None,
            concurrency=self._connections.limit,
            rate=self._model.rate,
        )
        self._report_now(handover)
        self._check_step_end()

    def start_step(self, number: int) -> None:
        """Start step ``number``, unless it has started already."""
        if number <= self._step or self.state.ended or self._draining:
            return
        self._report_now(None)
        self._begin(number, self._portion.requests(self._plan.steps[number]), self._end_of(number))

    def set_concurrency(self, connections: int) -> None:
        self._connections.set_limit(max(0, min(connections, self._file_limit - RESERVED_FILES)))
        self._send_due()

    def set_rate(self, rate: float) -> None:
        """Change this worker's rate; the closed model has none."""
        if isinstance(self._model, OpenModel):
            self._model.set_rate(rate, perf_counter_ns())
            self._send_due()

    def stop(self) -> None:
        """End the load at the user's request."""
        self._drain(LoadState.STOPPED)

    def hear(self) -> None:
        """The parent is alive: go on if its silence paused the load."""
        self._heard = monotonic()
        if self._paused:
            self._resume(self._heard - self._paused)

    def _pause(self) -> None:
        """Send nothing more for now. Requests in flight end as usual; the clocks of the load and its steps stop."""
        if self._paused or self._draining or self.state not in (LoadState.WARMUP, LoadState.RUNNING):
            return
        self._paused = monotonic()
        self._model.pause()
        if self._step_timer is not None:
            self._step_timer.cancel()
        self._connections.close_idle()

    def _resume(self, paused_s: float) -> None:
        self._paused = 0.0
        if self.state.ended:
            return
        self._started += paused_s
        self._model.resume(round(paused_s * 1e9))
        self._end_step_at(None if self._step_ends is None else self._step_ends + paused_s)
        self._send_due()
        self._check_step_end()

    async def _watch_time(self) -> None:
        """Measure how late the event loop runs its timers, and pause the load when the parent falls silent."""
        while True:
            due = monotonic() + _DELAY_PERIOD_S
            await asyncio.sleep(_DELAY_PERIOD_S)
            now = monotonic()
            self._loop_delay_s = max(self._loop_delay_s, now - due)
            # After a delay of its own, this process has not read yet what the parent sent meanwhile.
            if now - self._heard > SILENCE_S and now - due < SILENCE_S / 2:
                self._pause()

    def _begin(self, number: int, requests: int, ends: float | None) -> None:
        """Send the requests of step ``number`` until ``ends``."""
        self._step = number
        self._waits_after = -1
        self._end_step_at(ends)
        step, portion = self._plan.steps[number], self._portion
        targets = range(len(self._exchanges)) if step.targets is None else step.targets
        mix = TargetMix([(self._exchanges[each], self._plan.targets[each].weight) for each in targets])
        self._model.stop()
        limit = self._file_limit - RESERVED_FILES if step.concurrency is None else portion.of(step.concurrency)
        if step.rate is None:
            self._model = ClosedModel(self._connections, mix, requests)
        else:
            rate, offset = step.rate / portion.workers, (1 + portion.worker) / portion.workers
            caught_up = partial(self._loop.call_soon, self._send_due)
            self._model = OpenModel(self._connections, mix, requests, rate, offset, caught_up)
        self._connections.use(self._model, limit)
        self._send_due()
        self._check_step_end()

    def _end_warm_up(self) -> None:
        """Restart all counters. Requests in flight count as the first of the first step."""
        self._results.restart()
        self._started = monotonic()
        self.state = LoadState.RUNNING
        self._end_step_at(self._end_of(0))
        step = self._plan.steps[0]
        if step.requests is not None:
            self._model.left = max(0, self._portion.requests(step) - self._connections.busy)

    def _end_of(self, step: int) -> float | None:
        """Return when a step ends that starts now."""
        duration = self._plan.steps[step].duration_s
        return None if duration is None else monotonic() + duration

    def _end_step_at(self, ends: float | None) -> None:
        if self._step_timer is not None:
            self._step_timer.cancel()
            self._step_timer = None
        self._step_ends = ends
        if ends is not None:
            self._step_timer = self._loop.call_later(max(0.0, ends - monotonic()), self._time_over)

    def _time_over(self) -> None:
        if self.state is LoadState.WARMUP:
            self._end_warm_up()
        elif self._step + 1 < len(self._plan.steps):
            self.start_step(self._step + 1)
        else:
            self._drain(LoadState.DONE)

    def _send_due(self) -> None:
        """Send the requests that are due, and again when more are."""
        next_due = self._model.send_due()
        if next_due is not None and not self.state.ended:
            if self._send_timer is None:
                self._send_timer = PreciseTimer(self._loop, self._send_due)
            self._send_timer.set(next_due)

    def _check_step_end(self) -> None:
        """End the step if no connection is busy and no request is left."""
        if self._model.left or self._connections.busy or self._paused or self.state.ended:
            return
        if self._draining or self._step + 1 >= len(self._plan.steps):
            self._end()
        elif self._portion.workers == 1:
            self._loop.call_soon(self.start_step, self._step + 1)
        elif self._waits_after != self._step:
            self._waits_after = self._step
            self._report_now(None)

    def _fail(self, problem: Message) -> None:
        if not self.state.ended:
            self._problem = problem
            self._final_state = LoadState.FAILED
            self._end()

    def _drain(self, final: LoadState) -> None:
        """Send nothing more, and end when the requests in flight have ended, or after :data:`DRAIN_S`."""
        if self.state.ended or self._draining:
            return
        self._draining = True
        self._final_state = final
        self._model.stop()
        self._results.count_hits()
        self._drained = monotonic(), self._results.counters.requests
        self._connections.close_idle()
        self._loop.call_later(DRAIN_S, self._end)
        self._check_step_end()

    def _end(self) -> None:
        if self.state.ended:
            return
        self._results.count_hits()
        drained_at, requests = self._drained
        in_vain = requests == self._results.counters.requests  # time in which nothing ended is no part of the load
        self._stopped = drained_at if in_vain and drained_at else monotonic()
        self._pending = self._connections.busy
        self._model.stop()
        self.state = self._final_state
        for task in self._tasks:
            task.cancel()
        if self._step_timer is not None:
            self._step_timer.cancel()
        if self._send_timer is not None:
            self._send_timer.close()
        self._connections.close()
        self._report_now(None)


class Commands(asyncio.Protocol):
    """Executes the commands of standard input."""

    def __init__(self, runner: LoadRunner) -> None:
        self._runner = runner
        self._pending = b""

    def data_received(self, data: bytes) -> None:
        self._runner.hear()
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in filter(None, lines):
            command, *values = json.loads(line)
            getattr(self._runner, command)(*values)
            self._runner.commands += 1

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - part of asyncio.Protocol
        """The parent has ended."""
        os._exit(0)


def _handle_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    if (error := mistake(context)) is not None:
        _exit_because_of(error)
    loop.default_exception_handler(context)


def _exit_because_of(error: BaseException) -> NoReturn:
    """Exit, rather than go on with a load that is not what it seems. The parent reports the last line."""
    traceback.print_exception(error)
    print(described(error), file=sys.stderr, flush=True)
    os._exit(1)


async def _work(plan: Plan, portion: Portion, request_log: int | None, commands: bytes) -> None:
    """Work until the load has ended and its last report has been read. ``commands`` have been read already."""
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(_handle_exception)
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
            async with asyncio.timeout(REPORT_PERIOD_S):
                await ended.wait()
        # If the parent reads slowly, the measurements go with a later report.
        if not ended.is_set() and not transport.get_write_buffer_size():
            report()
    output.close()
    with contextlib.suppress(OSError):
        async with asyncio.timeout(_LAST_REPORT_TIMEOUT_S):
            await output.wait_closed()


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
    try:
        if hasattr(select, "epoll") and all(target.origin.scheme == "http" for target in plan.targets):
            with asyncio.Runner(loop_factory=EpollLoop) as runner:
                runner.run(work)
        else:
            import uvloop

            uvloop.run(work)
    except Exception as error:  # whatever it is
        _exit_because_of(error)


if __name__ == "__main__":
    main()
