"""A load that JMeter makes on one or more machines, or with remote servers."""

import asyncio
import contextlib
import time
from typing import Any

from msgspec.structs import replace

from loadtop.engines.cpu_time import CpuTime
from loadtop.engines.engine import EngineError, EngineLoad
from loadtop.engines.jmeter.plan import JmeterSettings, share_of, threads_of
from loadtop.engines.jmeter.process import JmeterProcess, RemoteServers, stopped, workers_of
from loadtop.engines.jmeter.result_file import Results
from loadtop.generator.plan import Plan, total
from loadtop.i18n import Message
from loadtop.model import GeneratorSample, LoadSample, LoadState
from loadtop.pipeline.background import background

READY_S = 60.0  # how long JMeter may take to start on all machines
POLL_S = 0.1
WARMUP_DELAY_S = 3.0  # how late the first request after a warm-up may come
STOP_S = 3.0  # how long JMeter may take to end once it was asked to
SILENT_S = 5.0  # if a remote server is lost and there are no results for this time, the others have ended


class JmeterLoad(EngineLoad):
    """JMeter cannot change its number of threads while it runs, so it is restarted; the counters continue."""

    engine = "jmeter"

    def __init__(self, settings: JmeterSettings) -> None:
        plan = settings.plan
        super().__init__(plan, threads_of(plan.steps[0]), user_plan=settings.user_plan is not None)
        self._settings = settings
        self._results = Results()
        self._servers = RemoteServers(settings.servers)
        self._jmeters: list[JmeterProcess] = []
        self._wanted_users: int = self._users
        self._earlier: GeneratorSample | None = None  # of the processes before a restart
        self._last_requests, self._last_result_at = 0, 0.0
        self._generator: GeneratorSample | None = None

    def take(self) -> LoadSample | None:
        """Return the results so far; response times are those of the interval, to the millisecond."""
        results, steps = self._results, self._plan.steps
        known: dict[str, Any] = {}
        started = self._state not in (LoadState.STARTING, LoadState.WARMUP)
        if self._state is not LoadState.STARTING or results.requests:
            known = {
                "requests": results.requests,
                "failures": results.failures,
                "non_2xx": results.non_2xx,
                "received_bytes": results.received_bytes,
                "sent_bytes": results.sent_bytes,
                "latencies": results.latencies() if started else None,  # kept until then
                "noted": results.noted(),
            }
        return self._sample(
            results.step,
            concurrency=self._threads() if len(steps) == 1 else threads_of(steps[min(results.step, len(steps)) - 1]),
            generator=self._generator,
            message=self._message or results.error,
            target_requests=None if self._user_plan else total(step.requests for step in steps),
            target_s=self._settings.duration_s,
            **known,
        )

    def _set_users(self, users: int) -> None:
        machines = self._settings.machine_count
        if users < machines:
            self._message = Message("JMeter needs a thread on each machine: use {machines} or more", machines=machines)
        elif self._settings.servers and users % machines:
            self._message = Message(
                "each remote server runs the same number of threads: use a multiple of {machines}", machines=machines
            )
        elif not self._settings.can_restart:
            self._message = Message("JMeter cannot change the threads of this plan while it runs")
        else:
            self._wanted_users = users

    @property
    def _warms_up(self) -> bool:
        """Whether this run begins with a warm-up: a restart does not."""
        return self._plan.warmup_s > 0 and not self._earlier_s

    def _threads(self) -> int | None:
        """Return the threads that were set; with a user's plan that sets its own, those at the last results."""
        if self._settings.sets_threads:
            return self._users
        known = [jmeter.reader.threads for jmeter in self._jmeters if jmeter.reader.threads is not None]
        return sum(known) if known and not self._settings.servers else None

    async def _run(self) -> None:
        while await self._run_once():
            self._users = self._wanted_users

    async def _run_once(self) -> bool:
        """Run JMeter to its end; True if it is to be restarted with other threads."""
        self._state = LoadState.STARTING
        # Our plan has its warm-up in threads of its own.
        self._results.counting = not (self._user_plan and self._warms_up)
        await self._start_processes()
        watches = [
            background(self._watch_cpu_time(), "CPU time of JMeter"),
            background(self._servers.watch(), "watch remote servers"),
        ]
        try:
            restart = await self._watch()
        finally:
            for each in watches:
                each.cancel()
            self._earlier_s, self._started_at = self._elapsed(self._ended_at or time.monotonic()), 0.0
            self._earlier = self._generator
        await self._close_processes()
        return restart

    async def _start_processes(self) -> None:
        """Start JMeter on all machines, and wait until the load has started everywhere."""
        settings = self._settings
        if problem := await self._servers.unreachable():
            raise EngineError(problem)
        self._processes = self._jmeters = [
            JmeterProcess(machine, settings, self._share(number), self._results)
            for number, machine in enumerate(settings.machines)
        ]
        self._workers = workers_of(self._jmeters, self._servers)
        await asyncio.gather(*(jmeter.run() for jmeter in self._jmeters))
        timeout_at = time.monotonic() + READY_S
        while not self._stop.is_set() and not all(jmeter.load_started for jmeter in self._jmeters):
            for jmeter in self._jmeters:
                if jmeter.refused_by or (jmeter.ended and not jmeter.load_started):
                    raise EngineError(jmeter.failure)
            if time.monotonic() > timeout_at:
                raise EngineError("JMeter did not start on all machines within {seconds:.0f} s", seconds=READY_S)
            await asyncio.sleep(POLL_S)
        self._started_at = time.monotonic()
        self._state = LoadState.RUNNING

    def _share(self, number: int) -> Plan:
        """Return what one machine is to do; after a restart, of what is left of the load."""
        (step, *more), earlier_s = self._plan.steps, self._earlier_s
        if self._users != threads_of(step) or earlier_s:
            left = None if step.duration_s is None else max(1.0, step.duration_s - earlier_s)
            step = replace(step, concurrency=self._users, duration_s=left)
        plan = replace(self._plan, steps=(step, *more), warmup_s=0.0 if earlier_s else self._plan.warmup_s)
        return share_of(plan, number, self._settings.machine_count) if self._settings.sets_threads else plan

    async def _watch(self) -> bool:
        """Follow the load to its end; True if it is to be restarted. Raises EngineError if it failed."""
        warmup_end, duration_s = 0.0, self._settings.duration_s
        if self._warms_up:
            self._state = LoadState.WARMUP
            warmup_end = self._started_at + self._plan.warmup_s + (0.0 if self._user_plan else WARMUP_DELAY_S)
        while not self._stop.is_set() and not all(each.tool_ended or each.load_finished for each in self._jmeters):
            now = time.monotonic()
            if self._state is LoadState.WARMUP and (now >= warmup_end or self._results.requests):
                self._state, self._started_at, self._results.counting = LoadState.RUNNING, now, True
            # A user's plan is ended when its time is over; our plans end by themselves.
            timed = self._user_plan and duration_s is not None and self._state is LoadState.RUNNING
            if (timed and self._elapsed(now) >= (duration_s or 0.0)) or self._is_silent(now):
                break
            if self._wanted_users != self._users:
                await self._stop_processes()
                return True
            if (refusing := next((jmeter for jmeter in self._jmeters if jmeter.refused_by), None)) is not None:
                raise EngineError(refusing.failure)
            self._note_lost()
            await self._pause(POLL_S)
        self._ended_at = time.monotonic()
        lost = [jmeter for jmeter in self._jmeters if jmeter.lost]
        self._note_lost()
        if self._servers.left or not self._settings.servers:
            await self._stop_processes()
        if not self._stop.is_set():
            self._check_results(lost)
        return False

    def _is_silent(self, now: float) -> bool:
        """Return whether remote servers are lost and the others have ended, which their client does not notice."""
        if self._results.requests != self._last_requests:
            self._last_requests, self._last_result_at = self._results.requests, now
        return self._servers.lost is not None and (not self._servers.left or now - self._last_result_at > SILENT_S)

    async def _stop_processes(self) -> None:
        for jmeter in self._jmeters:
            jmeter.stop()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await asyncio.gather(*(jmeter.wait() for jmeter in self._jmeters))

    def _note_lost(self) -> None:
        self._workers = workers_of(self._jmeters, self._servers)
        lost = next((jmeter.failure for jmeter in self._jmeters if jmeter.lost), None)
        left, total = sum(not jmeter.tool_ended for jmeter in self._jmeters), len(self._jmeters)
        if self._servers.lost:
            lost, left, total = self._servers.lost, self._servers.left, self._settings.machine_count
        if lost is not None and (left or self._servers.lost):
            self._message = Message("{problem}; {left} of {total} continue", problem=lost, left=left, total=total)

    def _check_results(self, lost: list[JmeterProcess]) -> None:
        """Raise EngineError if all machines are lost or nothing was measured."""
        if len(lost) == len(self._jmeters):
            raise EngineError(lost[0].failure)
        if self._servers.lost is not None and not self._servers.left:
            raise EngineError(self._servers.lost)
        results = self._results
        if results.requests and results.failures.connect == results.requests:
            raise EngineError("no connection succeeded: {reason}", reason=results.error)
        if not results.requests:
            raise EngineError("the plan ended without a request: does it have a thread group with samplers?")

    async def _watch_cpu_time(self) -> None:
        pids = [jmeter.pid for jmeter in self._jmeters if not jmeter.machine.remote and jmeter.pid is not None]
        async for sample in CpuTime(*pids).samples():
            self._generator = sample if self._earlier is None else _after(self._earlier, sample)

    def _end(self, state: LoadState, message: Message | None = None) -> None:
        super()._end(state, message)
        self._workers = stopped(self._workers)


def _after(earlier: GeneratorSample, now: GeneratorSample) -> GeneratorSample:
    """The counters of processes that went on where earlier ones ended. Waits are known if they were known of both."""
    waits = (*earlier.worker_wait_s, *now.worker_wait_s)
    known = earlier.worker_wait_s and now.worker_wait_s
    return replace(now, worker_cpu_s=(*earlier.worker_cpu_s, *now.worker_cpu_s), worker_wait_s=waits if known else ())
