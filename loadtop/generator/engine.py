"""The course of one worker's load: warm-up, steps, the end."""

import asyncio
import contextlib
import resource
from collections.abc import Callable
from functools import partial
from time import monotonic, perf_counter_ns

from loadtop.generator.alarm import Alarm, make_alarm
from loadtop.generator.beat import Beat
from loadtop.generator.crowd import Crowd
from loadtop.generator.dial import Dialer
from loadtop.generator.exchange import Exchange
from loadtop.generator.journal import Journal
from loadtop.generator.ledger import Ledger
from loadtop.generator.pacing import LATE_NS, ClosedPacing, OpenPacing, Pacing, Picker
from loadtop.generator.plan import Plan, PlanError, Step
from loadtop.generator.ports import Ports
from loadtop.generator.report import Parting
from loadtop.generator.share import ENDLESS, Share
from loadtop.generator.target import request_bytes
from loadtop.generator.transcript import HEADS
from loadtop.model import LoadState

DRAIN_S = 5.0
"""How long requests in flight may take to finish after the time is over. They are counted: so the server's log has as
many lines as are reported. (ab drops them.)"""
STOP_DRAIN_S = 1.0
"""The same, when a person stops the load."""
SPARE_FILES = 32
"""Descriptors that are not for connections."""


class Engine:
    """Makes the load of ``plan``. ``changed`` is called when a step is held for the other workers, when one is over and
    when the state has become final: then there is something to report at once.

    Requests that are in flight when the time is over may finish within :data:`DRAIN_S` and are counted. A step that is
    limited by requests ends with its last response; one limited by time goes over into the next without a gap, so that
    requests in flight count to the next.

    Longer than 200 lines: the course of a load is one machine of states, and its transitions are best read together.
    """

    def __init__(
        self,
        plan: Plan,
        loop: asyncio.AbstractEventLoop,
        share: Share,
        changed: Callable[[], None],
        journal: Journal | None = None,
    ) -> None:
        self.plan = plan
        self.state = LoadState.STARTING
        self.number = -1
        self.held = -1
        self.files_limit = _raise_files()
        self.ports = Ports(loopback=True)
        self.exchanges = _exchanges(plan)
        self.ledger = Ledger(plan, self.exchanges)
        self.ledger.tally.journal = journal
        self.crowd = Crowd(plan, self.ledger, loop, self._quiet, self._hopeless, self._advance)
        self.beat = Beat(loop, self.crowd, plan.timeout_s)
        self._loop = loop
        self._share = share
        self._changed = changed
        self._pacing: Pacing = ClosedPacing(self.crowd, Picker([(self.exchanges[0], 1.0)]), 0)
        self._began = self._stopped = 0.0
        self._ends: float | None = None
        self._step_timer: asyncio.TimerHandle | None = None
        self._alarm: Alarm | None = None
        self._draining = False
        self._final = LoadState.DONE
        self._message = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the load began or the warm-up ended, up to the last response."""
        return 0.0 if not self._began else (self._stopped or monotonic()) - self._began

    @property
    def message(self) -> str:
        journal = self.ledger.tally.journal
        return self._message or self.ledger.message or ("" if journal is None else journal.problem)

    async def prepare(self) -> bool:
        """Look up the hosts; whether the load can begin. Otherwise it has failed, and the message says why."""
        most = max((self._share.of(step.concurrency or 0) for step in self.plan.steps), default=0)
        trouble = await _unresolved(self.crowd.dialer) or _too_many(most, self.files_limit)
        if trouble:
            self._fail(trouble)
            return False
        self.ports = Ports(loopback=self.crowd.dialer.loopback)
        return True

    def begin(self) -> None:
        """Start the load."""
        self._began = monotonic()
        self.beat.start()
        if self.ledger.transcript is not None and self._share.worker == 0:
            self.ledger.transcript.begin(self.exchanges, tuple(target.method for target in self.plan.targets))
        if self.plan.warmup_s > 0:
            self._warm_up(self._began + self.plan.warmup_s)
        else:
            self.state = LoadState.RUNNING
            self.go_on(0)

    def join(self, place: Parting) -> None:
        """Start in the middle, with what the other workers gave away."""
        self._began = place.began
        self.beat.start()
        if place.warm_ends is not None:
            self._warm_up(place.warm_ends)
            return
        self.state = LoadState.RUNNING
        self.number = place.step
        self._limit(place.ends)
        self._follow(self.plan.steps[place.step], ENDLESS if place.ceded is None else place.ceded)
        self._quiet()

    def part(self, share: Share, step: int, fraction: float) -> Parting:
        """Have this share from now on, and give a part of the requests left in ``step`` away."""
        self._share = share
        ceded = self._pacing.cede(fraction) if self.number == step and not self._draining else 0
        parting = Parting(
            over=self._draining or self.state.ended,
            step=self.number,
            ceded=ceded,
            began=self._began,
            ends=self._ends,
            warm_ends=self._ends if self.state is LoadState.WARMUP else None,
            concurrency=self.crowd.limit,
            rate=self.rate,
        )
        self._quiet()
        return parting

    def _warm_up(self, ends: float) -> None:
        self.state = LoadState.WARMUP
        self._ends = ends
        self._step_timer = self._loop.call_later(max(0.0, ends - monotonic()), self._warm)
        self.number = 0
        self._follow(self.plan.steps[0], ENDLESS)

    def go_on(self, number: int) -> None:
        """Begin step ``number`` (from 0), unless it has begun already."""
        if number <= self.number or self.state.ended or self._draining:
            return
        if self.number >= 0:
            self._changed()
        self.number = number
        self.held = -1
        step = self.plan.steps[number]
        self._limit_to(step)
        self._follow(step, self._share.requests(step))
        if not self._pacing.left:
            self._quiet()

    def set_concurrency(self, connections: int) -> None:
        """Change this worker's number of connections while the load runs."""
        self.crowd.limit = max(0, min(connections, self.files_limit - SPARE_FILES))
        self.crowd.adjust()
        self._advance()

    def set_rate(self, rate: float) -> None:
        """Change this worker's rate; nothing happens in the closed model."""
        if isinstance(self._pacing, OpenPacing):
            self._pacing.set_rate(rate, perf_counter_ns())
            self._advance()

    @property
    def late(self) -> int:
        """Requests that were started late, or that are late and not started yet (open model)."""
        return self.ledger.tally.counters.late + self._pacing.overdue(perf_counter_ns() - LATE_NS)

    @property
    def rate(self) -> float | None:
        return self._pacing.rate if isinstance(self._pacing, OpenPacing) else None

    def stop(self) -> None:
        """End the load because a person wants it."""
        self._finish(LoadState.STOPPED, STOP_DRAIN_S)

    def _limit_to(self, step: Step) -> None:
        self._limit(None if step.duration_s is None else monotonic() + step.duration_s)

    def _limit(self, ends: float | None) -> None:
        if self._step_timer is not None:
            self._step_timer.cancel()
            self._step_timer = None
        self._ends = ends
        if ends is not None:
            self._step_timer = self._loop.call_later(max(0.0, ends - monotonic()), self._time_over)

    def _follow(self, step: Step, left: int) -> None:
        numbers = range(len(self.exchanges)) if step.targets is None else step.targets
        picker = Picker([(self.exchanges[each], self.plan.targets[each].weight) for each in numbers])
        self._pacing.stop()
        most = self.files_limit - SPARE_FILES
        limit = most if step.concurrency is None else self._share.of(step.concurrency)
        if step.rate is None:
            self._pacing = ClosedPacing(self.crowd, picker, left)
        else:
            rate, offset = step.rate / self._share.workers, (1 + self._share.worker) / self._share.workers
            caught_up = partial(self._loop.call_soon, self._advance)
            self._pacing = OpenPacing(self.crowd, picker, left, rate, offset, self.ledger.tally, caught_up)
        self.crowd.follow(self._pacing, self.exchanges[numbers[0]], limit)
        self._advance()

    def _advance(self) -> None:
        """Send what is due, and come back when more is."""
        following = self._pacing.advance()
        if following is not None and not self.state.ended:
            if self._alarm is None:
                self._alarm = make_alarm(self._loop, self._advance)
            self._alarm.set(following)

    def _warm(self) -> None:
        """The warm-up is over: count from nothing. Requests in flight count as the first of the first step."""
        self.ledger.restart()
        self._began = monotonic()
        self.state = LoadState.RUNNING
        step = self.plan.steps[0]
        self._limit_to(step)
        if step.requests is not None:
            self._pacing.left = max(0, self._share.requests(step) - self.crowd.busy)

    def _time_over(self) -> None:
        if self.number + 1 < len(self.plan.steps):
            self.go_on(self.number + 1)
        else:
            self._finish(LoadState.DONE, DRAIN_S)

    def _quiet(self) -> None:
        """No connection is busy: where nothing is left to send, the step is over."""
        if self._pacing.left or self.crowd.busy or self.state.ended:
            return
        if self._draining or self.number + 1 >= len(self.plan.steps):
            self._end()
        elif self._share.workers == 1:
            self._loop.call_soon(self.go_on, self.number + 1)
        elif self.held != self.number:
            self.held = self.number
            self._changed()

    def _hopeless(self) -> None:
        self._fail(self.ledger.hopeless)

    def _fail(self, message: str) -> None:
        if not self.state.ended:
            self._message = message
            self._final = LoadState.FAILED
            self._end()

    def _finish(self, final: LoadState, drain_s: float) -> None:
        if self.state.ended or self._draining:
            return
        self._draining = True
        self._final = final
        self._pacing.stop()
        self.crowd.dismiss()
        self._loop.call_later(drain_s, self._end)
        self._quiet()

    def _end(self) -> None:
        if self.state.ended:
            return
        self._stopped = monotonic()
        self._pacing.stop()
        self.state = self._final
        self.beat.stop()
        if self._step_timer is not None:
            self._step_timer.cancel()
        if self._alarm is not None:
            self._alarm.close()
        self.crowd.disband()
        self.ledger.collect()
        self._changed()


async def _unresolved(dialer: Dialer) -> str:
    """Look up the hosts; what is wrong, or nothing."""
    try:
        await dialer.resolve()
    except PlanError as error:
        return str(error)
    return ""


def _too_many(connections: int, files_limit: int) -> str:
    """What is wrong with so many connections, or nothing."""
    if connections + SPARE_FILES <= files_limit:
        return ""
    return (
        f"{connections} connections need more files than the limit of {files_limit}: "
        f"raise it (ulimit -n {connections + SPARE_FILES}) or use more --workers"
    )


def _exchanges(plan: Plan) -> tuple[Exchange, ...]:
    proxied: tuple[tuple[str, str], ...] | None = None
    if plan.proxy is not None:
        authorization = plan.proxy.authorization
        proxied = () if authorization is None else (("Proxy-Authorization", authorization),)
    return tuple(
        Exchange(
            number,
            target,
            request_bytes(
                target,
                keepalive=plan.keepalive,
                user_agent=plan.user_agent,
                proxy_headers=proxied if target.scheme == "http" else None,
            ),
            learns=plan.verbosity < HEADS,
        )
        for number, target in enumerate(plan.targets)
    )


def _raise_files() -> int:
    """Raise the limit of open files as far as it goes without privileges; the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1 << 20 if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if soft == resource.RLIM_INFINITY else soft
