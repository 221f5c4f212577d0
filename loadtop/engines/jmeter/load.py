"""A load that JMeter makes, on this machine and others, as the monitor sees it."""

import asyncio
import contextlib
import socket
import time
from dataclasses import replace

from loadtop.engines.jmeter.crew import Crew, crew, stopped
from loadtop.engines.jmeter.plan import jmx
from loadtop.engines.jmeter.results import Results, Rows
from loadtop.engines.jmeter.servers import Servers, own_address
from loadtop.engines.jmeter.settings import JmeterSettings, part_of, users_of
from loadtop.engines.jmeter.words import begun, ear, has_ended, is_lost, over, problem, refused
from loadtop.engines.member import Member
from loadtop.engines.parts import own_part
from loadtop.generator.plan import Plan
from loadtop.model import GeneratorSample, LoadSample, LoadState
from loadtop.pipeline.commands import Command, SetConcurrency, StopLoad

READY_S = 60.0
"""How long JMeter may take to start everywhere."""

LOOK_S = 0.1
LATE_S = 3.0
"""How much later than asked for the first request after a warm-up may come."""

STOP_S = 3.0
"""How long JMeter may take to end once it was asked to."""

TIDY_S = 8.0
"""How long it may take to begin a JVM that tells jmeter-servers to stop, where their client is gone."""

SILENT_S = 5.0
"""Where a jmeter-server is lost and no other has sent a result for so long, they have ended."""

SAVE = """
    output_format=csv default_delimiter=, print_field_names=true autoflush=true timestamp_format=ms time=true label=true
    response_code=true response_message=true thread_name=true successful=true bytes=true sent_bytes=true
    thread_counts=true latency=true connect_time=true data_type=false assertion_results_failure_message=false
    subresults=false url=false filename=false hostname=false sample_count=false idle_time=false
"""
"""What its results are to hold, and at once: otherwise they come when a buffer is full."""

AT_ONCE = ("-Jmode=StrippedBatch", "-Jnum_sample_threshold=100", "-Jtime_threshold=300")
"""What jmeter-servers send results with: every 0.3 s, without the bodies."""

USAGE_S = 0.5
"""Between two looks at the processor time it takes here."""


class JmeterLoad:
    """A :class:`loadtop.pipeline.monitor.LoadSource`. Everything it starts, on whatever machine, ends with it.

    JMeter cannot change its number of threads while it runs: it is ended and begun again with another one, and what
    was counted goes on.

    Longer than 200 lines: beginning, following and ending its processes share all of their state.
    """

    def __init__(self, settings: JmeterSettings) -> None:
        self._settings = settings
        self._plan = settings.plan
        self._results = Results()
        self._servers = Servers(settings.servers)
        self._heard, self._heard_at = 0, 0.0
        self._ear: int | None = None
        self._members: list[tuple[Member, Rows]] = []
        self._crew: Crew = ()
        self._state = LoadState.STARTING
        self._message = ""
        self._users = users_of(self._plan.steps[0])
        self._wanted = self._users
        self._passed = self._began = self._ended_at = 0.0
        self._generator: GeneratorSample | None = None
        self._used: tuple[float, ...] = ()
        self._conductor: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()

    async def start(self) -> None:
        """Start everything in the background; what goes wrong is in the samples."""
        self._conductor = asyncio.create_task(self._conduct(), name="jmeter")

    async def wait(self) -> None:
        """Return when the load has ended."""
        if self._conductor is not None:
            await asyncio.wait({self._conductor})

    def command(self, command: Command) -> None:
        """Stop, or go on with another number of threads where that is possible."""
        if isinstance(command, StopLoad):
            self._stop.set()
        elif isinstance(command, SetConcurrency) and not self._state.ended:
            machines = self._settings.machines
            if command.connections < machines:
                self._message = "JMeter needs a thread on each machine"
            elif self._settings.servers and command.connections % machines:
                self._message = f"every jmeter-server does the same: give a multiple of {machines}"
            elif self._settings.can_change:
                self._wanted = command.connections
            else:
                self._message = "JMeter cannot change the threads of such a plan while it runs"

    async def close(self) -> None:
        """End it on every machine."""
        if self._conductor is not None:
            self._conductor.cancel()
            await asyncio.gather(self._conductor, return_exceptions=True)
        await self._end_members()

    def take(self) -> LoadSample | None:
        """What has been counted so far; response times are those of the interval, to the millisecond."""
        now = self._ended_at or time.monotonic()
        results, plan = self._results, self._plan
        step = plan.steps[min(results.step, len(plan.steps)) - 1]
        counted = self._state is not LoadState.STARTING or results.requests > 0
        return LoadSample(
            at=now,
            engine="jmeter",
            state=self._state,
            model="closed" if step.rate is None else "open",
            elapsed_s=self._elapsed(now),
            concurrency=self._threads() if len(plan.steps) == 1 else users_of(step),
            rate=step.rate,
            step=results.step,
            steps=len(plan.steps),
            in_flight=None,
            connections=None,
            requests=results.requests if counted else None,
            failures=results.failures if counted else None,
            non_2xx=results.non_2xx if counted else None,
            keepalive_requests=None,
            received_bytes=results.received_bytes if counted else None,
            body_bytes=None,
            sent_bytes=results.sent_bytes if counted else None,
            latencies=results.latencies() if counted else None,
            generator=self._generator,
            message=self._message or results.error,
            target_requests=_requests(plan) if self._settings.own is None else None,
            target_s=self._settings.end_s,
            keepalive=plan.keepalive if self._settings.own is None else None,
            with_body=any(target.body is not None for target in plan.targets),
            workers=self._crew,
        )

    def _elapsed(self, now: float) -> float:
        """Seconds of load, without those in which JMeter began again."""
        return self._passed + (now - self._began if self._began else 0.0)

    def _threads(self) -> int | None:
        """Those that were asked for; of a plan that says itself how many, those that ran last."""
        if self._settings.own is None or (self._settings.counted and self._settings.own.threads):
            return self._users
        known = [rows.threads for _, rows in self._members if rows.threads is not None]
        return sum(known) if known and not self._settings.servers else None

    async def _conduct(self) -> None:
        try:
            while await self._run():
                self._users = self._wanted
        except JmeterError as error:
            self._end(LoadState.FAILED, str(error))
            return
        self._end(LoadState.STOPPED if self._stop.is_set() else LoadState.DONE)

    async def _run(self) -> bool:
        """One run of JMeter to its end; True where it is to be begun again with other threads. Raises JmeterError."""
        self._state = LoadState.STARTING
        await self._begin()
        usage = asyncio.create_task(self._look_at_usage())
        try:
            again = await self._follow()
        finally:
            usage.cancel()
            await self._servers.close()
            self._passed, self._began = self._elapsed(self._ended_at or time.monotonic()), 0.0
            self._used = () if self._generator is None else self._generator.worker_cpu_s
        await self._end_members()
        return again

    async def _begin(self) -> None:
        """Start it everywhere, and wait until the load has begun everywhere."""
        script, settings = own_part("jmeter", "tool"), self._settings
        if reason := await self._servers.unreachable():
            raise JmeterError(reason)
        self._members, self._ear = [], None
        files: list[dict[str, str]] = []
        for number, generator in enumerate(settings.generators):
            plan = self._part(number)
            own = "-" if settings.own is None or generator.far else str(settings.own.file)
            program = "jmeter" if generator.far else settings.program
            words = (program, own, ",".join(settings.servers) or "-", *_properties(settings, plan))
            rows = Rows(self._results)
            patience_s = TIDY_S if settings.servers else 1.0
            self._members.append((Member(generator, script, words, rows.feed, patience_s), rows))
            files.append(
                {
                    "plan.jmx": jmx(plan) if settings.own is None else settings.own.text,
                    "beside.bsh": own_part("jmeter", "beside"),
                }
            )
        members = [member for member, _ in self._members]
        self._crew = crew(self._members, self._servers)
        await asyncio.gather(*(member.start(each) for member, each in zip(members, files, strict=True)))
        end = time.monotonic() + READY_S
        while not self._stop.is_set() and not all(begun(member.words) for member in members):
            gone = next((member for member in members if member.ended and not begun(member.words)), None)
            gone = gone or next((member for member in members if refused(member.words)), None)
            if gone is not None:
                raise JmeterError(problem(gone))
            if time.monotonic() > end:
                raise JmeterError(f"JMeter did not begin everywhere within {READY_S:.0f} s")
            await asyncio.sleep(LOOK_S)
        self._began = time.monotonic()
        self._state = LoadState.RUNNING
        self._servers.watch()

    def _part(self, number: int) -> Plan:
        """What one machine is to do: of a load that goes on, what is left of it."""
        (step, *more), passed = self._plan.steps, self._passed
        if self._users != users_of(step) or passed:
            left = None if step.duration_s is None else max(1.0, step.duration_s - passed)
            step = replace(step, concurrency=self._users, duration_s=left)
        plan = replace(self._plan, steps=(step, *more), warmup_s=0.0 if passed else self._plan.warmup_s)
        return part_of(plan, number, self._settings.machines) if self._shares() else plan

    def _shares(self) -> bool:
        """Whether the machines share the plan; one of the user's that says itself what it does is run by each."""
        own = self._settings.own
        return own is None or (own.threads and self._settings.counted)

    async def _follow(self) -> bool:
        """Watch until it ends or is to end; True where it is to be begun again. Raises JmeterError where it broke."""
        warm_until = self._began + self._plan.warmup_s if self._plan.warmup_s and not self._passed else 0.0
        if warm_until:
            self._state = LoadState.WARMUP
            self._results.counting = self._settings.own is None  # a plan of ours tells its warm-up by its threads
        if self._settings.own is None:
            warm_until += LATE_S
        while not self._stop.is_set() and not all(_has_ended(member) for member, _ in self._members):
            now = time.monotonic()
            if self._state is LoadState.WARMUP and (now >= warm_until or self._results.requests):
                self._state, self._began, self._results.counting = LoadState.RUNNING, now, True
            if self._is_time(now) or self._is_silent(now):
                break
            if self._wanted != self._users:
                await (self._ask_servers_to_end() if self._settings.servers else self._ask_to_end())
                return True
            if (refusing := next((member for member, _ in self._members if refused(member.words)), None)) is not None:
                raise JmeterError(problem(refusing))
            self._ear = self._ear or ear(self._members[0][0].words)
            self._note_lost()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), LOOK_S)
        self._ended_at = time.monotonic()
        broken = [member for member, _ in self._members if is_lost(member)]
        self._note_lost()
        if not self._settings.servers:
            await self._ask_to_end()
        elif self._servers.left:
            await self._ask_servers_to_end()
        self._judge(broken)
        return False

    def _is_silent(self, now: float) -> bool:
        """Whether jmeter-servers are lost and the others have ended, which their client does not see."""
        if self._results.requests != self._heard:
            self._heard, self._heard_at = self._results.requests, now
        return bool(self._servers.lost) and (not self._servers.left or now - self._heard_at > SILENT_S)

    def _is_time(self, now: float) -> bool:
        """Whether a plan of the user has run for as long as was asked for; plans of ours end by themselves."""
        end_s = self._settings.end_s
        timed = self._settings.own is not None and end_s is not None and self._state is LoadState.RUNNING
        return timed and self._elapsed(now) >= (end_s or 0.0)

    async def _ask_to_end(self) -> None:
        """Ask it to end, and hear what it still says."""
        members = [member for member, _ in self._members]
        for member in members:
            member.stop()
        waiting = [asyncio.ensure_future(member.wait()) for member in members]
        await asyncio.wait(waiting, timeout=STOP_S)
        for task in waiting:
            task.cancel()

    async def _ask_servers_to_end(self) -> None:
        """Let their client tell them, which runs already; where it does not, they are told when it is ended."""
        if self._ear is not None:
            with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"StopTestNow", ("127.0.0.1", self._ear))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._members[0][0].wait(), STOP_S)

    def _note_lost(self) -> None:
        """Say what each machine does, and which is lost while the others go on."""
        self._crew = crew(self._members, self._servers)
        lost = [member for member, _ in self._members if is_lost(member)]
        left = len([member for member, _ in self._members if not has_ended(member)])
        if lost and left:
            self._message = f"{problem(lost[0])}; {left} of {len(self._members)} go on"
        if self._servers.lost:
            self._message = f"{self._servers.lost}; {self._servers.left} of {self._settings.machines} go on"

    def _judge(self, broken: list[Member]) -> None:
        """Raise JmeterError where it broke everywhere, or measured nothing although nobody stopped it."""
        if self._stop.is_set():
            return
        if len(broken) == len(self._members):
            raise JmeterError(problem(broken[0]))
        if self._servers.lost and not self._servers.left:
            raise JmeterError(self._servers.lost)
        results = self._results
        if results.requests and results.failures.connect == results.requests:
            raise JmeterError(f"nothing can be connected to: {results.error}")
        if not results.requests:
            raise JmeterError("the plan ended without a request: does it have a thread group with samplers?")

    async def _look_at_usage(self) -> None:
        """Keep an eye on the processor time of what runs here."""
        from loadtop.engines.usage import Usage

        pids = [member.pid for member, _ in self._members if not member.generator.far and member.pid is not None]
        usage = Usage(*pids)
        while pids:
            with contextlib.suppress(OSError):
                if seconds := await asyncio.to_thread(usage.read):
                    self._generator = GeneratorSample((*self._used, *seconds), None, None, None)
            await asyncio.sleep(USAGE_S)

    async def _end_members(self) -> None:
        await asyncio.gather(*(member.close() for member, _ in self._members))

    def _end(self, state: LoadState, message: str = "") -> None:
        self._state = state
        self._crew = stopped(self._crew)
        self._message = message or self._message
        self._ended_at = self._ended_at or time.monotonic()


class JmeterError(Exception):
    """JMeter cannot make the load; the message is one line with its own words."""


def _has_ended(member: Member) -> bool:
    return has_ended(member) or over(member.words)


def _properties(settings: JmeterSettings, plan: Plan) -> list[str]:
    """What JMeter is told on its command line: no secrets."""
    words = [f"-Jjmeter.save.saveservice.{each}" for each in SAVE.split()] + [
        "-Jsummariser.name=summary",
        "-Jjmeter.exit.check.pause=0",
    ]
    where = "-G" if settings.servers else "-J"
    if settings.servers:
        words += AT_ONCE
        if (address := own_address(settings.servers[0])) is not None:
            words.append(f"-Djava.rmi.server.hostname={address}")
    if settings.own is None:
        # Otherwise connections would be closed after each round of the plan.
        words.append(f"{where}httpclient.reset_state_on_thread_group_iteration=false")
        return words
    step = plan.steps[0]
    if settings.own.threads and settings.counted:
        words.append(f"{where}threads={users_of(step)}")
    if settings.own.duration and settings.timed and step.duration_s is not None:
        words.append(f"{where}duration={max(1, round(step.duration_s))}")
    return words


def _requests(plan: Plan) -> int | None:
    numbers = [step.requests for step in plan.steps]
    return None if None in numbers else sum(number for number in numbers if number is not None)
