"""Runs one worker's load: warm-up, steps, end."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import monotonic, perf_counter_ns, process_time

from loadtop.generator.connections import Connections, RequestTimeouts
from loadtop.generator.event_loop import LoopDelay, PreciseTimer
from loadtop.generator.exchange import Exchange
from loadtop.generator.limits import RESERVED_FILES, LocalPorts, raise_file_limit, too_many_connections
from loadtop.generator.load_model import LATE_NS, ClosedModel, LoadModel, OpenModel, TargetMix
from loadtop.generator.plan import UNLIMITED, Plan, PlanError, Portion
from loadtop.generator.protocol import Handover, Report
from loadtop.generator.request_log import VERBOSE_HEADS, RequestLog
from loadtop.generator.results import Results
from loadtop.generator.target import request_bytes
from loadtop.i18n.message import Message
from loadtop.model import LoadState

DRAIN_S = 5.0
"""How long requests in flight may take after the time is over. They are counted, so that the server's log has as many
lines as are reported. (ab drops them.)"""
STOP_DRAIN_S = 1.0
"""The same, when a person stops the load."""
OTHER_FILES = 12
"""Descriptors that a worker has open besides its connections: pipes, event loop, timers."""


class LoadRunner:
    """Makes this worker's ``portion`` of the load of ``plan``.

    ``report_now`` is called when a step ends, when the worker waits for the others, and at the end of the load. A step
    limited by requests ends with its last response. One limited by time is followed by the next without a gap:
    requests in flight count in the next one.
    """

    def __init__(
        self,
        plan: Plan,
        loop: asyncio.AbstractEventLoop,
        portion: Portion,
        report_now: Callable[[], None],
        request_log: RequestLog | None = None,
    ) -> None:
        self.plan = plan
        self.state = LoadState.STARTING
        self.step = self.waits_after = -1
        """Steps counted from 0: the current one, and the one after which this worker waits for the others."""
        self.file_limit = raise_file_limit()
        self.ports = LocalPorts(loopback=True)
        self.exchanges = _exchanges(plan)
        self.results = Results(plan, self.exchanges)
        self.results.measurements.request_log = request_log
        self.connections = Connections(plan, self.results, loop, self._check_step_end, self._fail, self._send_due)
        self.loop_delay = LoopDelay(loop)
        self._timeouts = RequestTimeouts(loop, self.connections, plan.timeout_s)
        self._loop = loop
        self._portion = portion
        self._report_now = report_now
        self._model: LoadModel = ClosedModel(self.connections, TargetMix([(self.exchanges[0], 1.0)]), 0)
        self._started = self._stopped = 0.0
        self._step_ends: float | None = None
        self._step_timer: asyncio.TimerHandle | None = None
        self._send_timer: PreciseTimer | None = None
        self._draining = False
        self._final_state = LoadState.DONE
        self._problem: Message | None = None

    @property
    def rate(self) -> float | None:
        return self._model.rate if isinstance(self._model, OpenModel) else None

    def report(self) -> Report:
        """Return how things stand; durations and the text of -v are those since the last report."""
        results, open_connections = self.results, self.connections.open
        results.count_hits()
        latencies = results.measurements.take(corrected=self.rate is not None)
        log = results.measurements.request_log
        # Arrivals that are late and not sent yet count as well.
        late = results.measurements.counters.late + self._model.overdue(perf_counter_ns() - LATE_NS)
        return Report(
            at=monotonic(),
            state=self.state,
            message=self._problem or results.message or (None if log is None else log.problem),
            elapsed_s=(self._stopped or monotonic()) - self._started if self._started else 0.0,
            step=self.step + 1,
            waits_after=self.waits_after + 1,
            concurrency=self.connections.limit,
            rate=self.rate,
            in_flight=self.connections.busy,
            connections=open_connections,
            counters=replace(results.measurements.counters, late=late),
            cpu_s=process_time(),
            loop_delay_s=self.loop_delay.take_s(),
            files_used=open_connections + OTHER_FILES,
            files_limit=self.file_limit,
            ports_used=self.ports.used(open_connections),
            ports_limit=self.ports.limit,
            latencies=None if self.state is LoadState.WARMUP else latencies,
            server=results.server,
            verbose_text="" if results.verbose_log is None else results.verbose_log.take(),
        )

    async def prepare(self) -> bool:
        """Look up the hosts; return whether the load can start. If not, it has failed, and the message says why."""
        connections = max((self._portion.of(step.concurrency or 0) for step in self.plan.steps), default=0)
        try:
            await self.connections.connector.resolve()
            problem = too_many_connections(connections, self.file_limit)
        except PlanError as error:
            problem = error.message
        if problem is not None:
            self._fail(problem)
            return False
        self.ports = LocalPorts(loopback=self.connections.connector.loopback)
        return True

    def start(self) -> None:
        self._start_timers(monotonic())
        if self.results.verbose_log is not None and self._portion.worker == 0:
            self.results.verbose_log.add_requests(self.exchanges)
        if self.plan.warmup_s > 0:
            self._warm_up(self._started + self.plan.warmup_s)
        else:
            self.state = LoadState.RUNNING
            self.start_step(0)

    def join(self, handover: Handover) -> None:
        """Start in the middle of the load, with what the other workers gave away."""
        self._start_timers(handover.started)
        if handover.warmup_ends is not None:
            self._warm_up(handover.warmup_ends)
            return
        self.state = LoadState.RUNNING
        self.step = handover.step
        self._end_step_at(handover.ends)
        self._use_step(UNLIMITED if handover.requests is None else handover.requests)
        self._check_step_end()

    def hand_over(self, portion: Portion, step: int, fraction: float) -> Handover:
        """Have this portion from now on, and give away a part of the requests left in ``step``."""
        self._portion = portion
        handover = Handover(
            finishing=self._draining or self.state.ended,
            step=self.step,
            requests=self._model.give_away(fraction) if self.step == step and not self._draining else 0,
            started=self._started,
            ends=self._step_ends,
            warmup_ends=self._step_ends if self.state is LoadState.WARMUP else None,
            concurrency=self.connections.limit,
            rate=self.rate,
        )
        self._check_step_end()
        return handover

    def start_step(self, number: int) -> None:
        """Start step ``number`` (from 0), unless it has started already."""
        if number <= self.step or self.state.ended or self._draining:
            return
        if self.step >= 0:
            self._report_now()
        self.step = number
        self.waits_after = -1
        self._limit_duration()
        self._use_step(self._portion.requests(self.plan.steps[number]))
        if not self._model.left:
            self._check_step_end()

    def set_concurrency(self, connections: int) -> None:
        self.connections.set_limit(max(0, min(connections, self.file_limit - RESERVED_FILES)))
        self._send_due()

    def set_rate(self, rate: float) -> None:
        """Change this worker's rate; the closed model has none."""
        if isinstance(self._model, OpenModel):
            self._model.set_rate(rate, perf_counter_ns())
            self._send_due()

    def stop(self) -> None:
        """End the load because a person wants it."""
        self._drain(LoadState.STOPPED, STOP_DRAIN_S)

    def _start_timers(self, started: float) -> None:
        self._started = started
        self.loop_delay.start()
        self._timeouts.start()

    def _warm_up(self, ends: float) -> None:
        self.state = LoadState.WARMUP
        self._end_step_at(ends)
        self.step = 0
        self._use_step(UNLIMITED)

    def _end_warm_up(self) -> None:
        """Restart all counters. Requests in flight count as the first of the first step."""
        self.results.restart()
        self._started = monotonic()
        self.state = LoadState.RUNNING
        self._limit_duration()
        step = self.plan.steps[0]
        if step.requests is not None:
            self._model.left = max(0, self._portion.requests(step) - self.connections.busy)

    def _limit_duration(self) -> None:
        duration = self.plan.steps[self.step].duration_s
        self._end_step_at(None if duration is None else monotonic() + duration)

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
        elif self.step + 1 < len(self.plan.steps):
            self.start_step(self.step + 1)
        else:
            self._drain(LoadState.DONE, DRAIN_S)

    def _use_step(self, left: int) -> None:
        """Send ``left`` requests as the current step says."""
        step, portion = self.plan.steps[self.step], self._portion
        numbers = range(len(self.exchanges)) if step.targets is None else step.targets
        mix = TargetMix([(self.exchanges[each], self.plan.targets[each].weight) for each in numbers])
        self._model.stop()
        limit = self.file_limit - RESERVED_FILES if step.concurrency is None else portion.of(step.concurrency)
        if step.rate is None:
            self._model = ClosedModel(self.connections, mix, left)
        else:
            rate, offset = step.rate / portion.workers, (1 + portion.worker) / portion.workers
            caught_up = partial(self._loop.call_soon, self._send_due)
            self._model = OpenModel(self.connections, mix, left, rate, offset, caught_up)
        self.connections.use(self._model, self.exchanges[numbers[0]], limit)
        self._send_due()

    def _send_due(self) -> None:
        """Send the requests that are due, and again when more are."""
        next_due = self._model.send_due()
        if next_due is not None and not self.state.ended:
            if self._send_timer is None:
                self._send_timer = PreciseTimer(self._loop, self._send_due)
            self._send_timer.set(next_due)

    def _check_step_end(self) -> None:
        """End the step if no connection is busy and no request is left."""
        if self._model.left or self.connections.busy or self.state.ended:
            return
        if self._draining or self.step + 1 >= len(self.plan.steps):
            self._end()
        elif self._portion.workers == 1:
            self._loop.call_soon(self.start_step, self.step + 1)
        elif self.waits_after != self.step:
            self.waits_after = self.step
            self._report_now()

    def _fail(self, problem: Message) -> None:
        if not self.state.ended:
            self._problem = problem
            self._final_state = LoadState.FAILED
            self._end()

    def _drain(self, final: LoadState, drain_s: float) -> None:
        """Send nothing more, and end when the requests in flight have ended, or after ``drain_s``."""
        if self.state.ended or self._draining:
            return
        self._draining = True
        self._final_state = final
        self._model.stop()
        self.connections.close_idle()
        self._loop.call_later(drain_s, self._end)
        self._check_step_end()

    def _end(self) -> None:
        if self.state.ended:
            return
        self._stopped = monotonic()
        self._model.stop()
        self.state = self._final_state
        self.loop_delay.stop()
        self._timeouts.stop()
        if self._step_timer is not None:
            self._step_timer.cancel()
        if self._send_timer is not None:
            self._send_timer.close()
        self.connections.close()
        self.results.count_hits()
        self._report_now()


def _exchanges(plan: Plan) -> tuple[Exchange, ...]:
    proxy_headers: tuple[tuple[str, str], ...] | None = None
    if plan.proxy is not None:
        authorization = plan.proxy.authorization
        proxy_headers = () if authorization is None else (("Proxy-Authorization", authorization),)
    return tuple(
        Exchange(
            target,
            request_bytes(
                target,
                keepalive=plan.keepalive,
                user_agent=plan.user_agent,
                proxy_headers=proxy_headers if target.scheme == "http" else None,
            ),
            learns=plan.verbosity < VERBOSE_HEADS,
        )
        for target in plan.targets
    )
