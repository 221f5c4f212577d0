"""JMeter's processes: what one gets, what its output means, and remote servers, which run already."""

import asyncio
import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from msgspec.structs import replace

from loadtop.engines.engine import EngineProcess, Machine, read_resource
from loadtop.engines.jmeter.plan import JmeterSettings, jmx, threads_of
from loadtop.engines.jmeter.result_file import ResultReader, Results
from loadtop.generator.plan import Plan
from loadtop.i18n import Message, listed, sentences, verbatim
from loadtop.model import MISSING, EngineWorker

STARTING, RUNNING, STOPPED = "starting", "running", "stopped"

PORT = 1099  # the port of jmeter-server unless JMeter's ``server_port`` says otherwise
CHECK_S = 1.0
CONNECT_S = 1.5  # how long connecting may take. After two failures in a row a server is lost: within 4 s in all
CLEAN_UP_S = 7.5  # how long stopping remote servers may take without their client: it needs a JVM
_RESULT_PROPERTIES = """
    output_format=csv default_delimiter=, print_field_names=true autoflush=true timestamp_format=ms time=true label=true
    response_code=true response_message=true thread_name=true successful=true bytes=true sent_bytes=true
    thread_counts=true latency=true connect_time=true data_type=false assertion_results_failure_message=false
    subresults=false url=false filename=false hostname=false sample_count=false idle_time=false
"""
"""What results hold. Without autoflush they come when a buffer is full."""

PAUSE_S = 0.15
"""How soon the threads of a remote server pause when its client does, once their requests are answered. A thread that
sends results waits for the client, so all threads take turns at sending within this time."""

UNKNOWN_THREADS = 100  # assumed for a user's plan that sets its own, for :data:`PAUSE_S`

_STARTED = ("Starting standalone test @", "Starting the test @", "Remote engines have been started:")
_FINISHED = "Tidying up"
_REFUSED = "The following remote engines have not started"
_NOT_A_REASON = (
    "Picked up ", "WARN ", "WARNING", "INFO", "Creating summariser", "Created the tree", _FINISHED,
    "Waiting for possible", "at ", "java.lang.Throwable: Could not access", "An error occurred", "Detail:", "----",
    "Error in NonGUIDriver", "... end", "summary", *_STARTED,
)  # fmt: skip
_STOP_PORT = re.compile(r"Waiting for possible .{0,200} message on port (\d{1,5})")


class JmeterProcess(EngineProcess):
    """JMeter on one machine, or here as the client of remote servers; ``plan`` is what it runs."""

    engine = "jmeter"
    script = "jmeter/jmeter.sh"
    install: ClassVar[Mapping[str, Message]] = {
        "jmeter": Message("unpack Apache JMeter there, so that `jmeter` is on PATH"),
        "java": Message("install a Java runtime there, for example default-jre-headless"),
    }

    def __init__(self, machine: Machine, settings: JmeterSettings, plan: Plan, results: Results) -> None:
        self.reader = ResultReader(results)
        self.load_started = self.load_finished = False
        self.refused_by = ""  # remote servers that do not make the load
        self.stop_port: int | None = None  # the UDP port here for requests to stop
        self._settings = settings
        self._plan = plan
        user_plan = settings.user_plan
        arguments = (
            "jmeter" if machine.remote else settings.program,
            "-" if user_plan is None or machine.remote else str(user_plan.file),
            ",".join(settings.servers) or "-",
            *arguments_of(settings, plan),
        )
        term_s = CLEAN_UP_S if settings.servers else 1.0
        super().__init__(machine, arguments, self.reader.feed, term_s)

    @property
    def lost(self) -> bool:
        """Whether it has ended before its load was finished."""
        return self.tool_ended and not self.load_finished

    @property
    def worker(self) -> EngineWorker:
        """The machine as a worker; ``users`` are its threads at the last result."""
        state = RUNNING if self.load_started else STARTING
        if self.tool_ended or self.load_finished:
            state = STOPPED if self.load_finished else MISSING
        users = self.reader.threads if state == RUNNING else None
        return EngineWorker(self.machine.name, self.machine.name, state, users)

    @property
    def failure(self) -> Message:
        if not self.refused_by:
            return super().failure
        busy = next((Message(": {reason}", reason=line) for line in self.lines if "busy" in line), None)
        return Message("jmeter-server {server} does not generate load{busy}", server=self.refused_by, busy=busy)

    async def run(self) -> None:
        user_plan = self._settings.user_plan
        text = jmx(self._plan) if user_plan is None else user_plan.text
        await self.start({"plan.jmx": text, "helper.bsh": read_resource("jmeter/helper.bsh")})

    def stop(self) -> None:
        """Ask it to end. A client stops its servers first; if it does not, they are stopped when it is closed."""
        if not self._settings.servers:
            super().stop()
        elif self.stop_port is not None:
            with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"StopTestNow", ("127.0.0.1", self.stop_port))

    def take_line(self, line: str) -> None:
        super().take_line(line)
        if line.startswith(_STARTED):
            self.load_started = True
        elif line.startswith(_FINISHED):
            self.load_finished = True
        elif line.startswith(_REFUSED):
            self.refused_by = line.partition(":")[2].strip("[] ")
        elif found := _STOP_PORT.match(line):
            self.stop_port = int(found[1])

    def _reason(self) -> Message | None:
        line = self._reason_line()
        if "ForbiddenClassException" in line:
            advice = Message("Debian's JMeter 2.13 needs libbsh-java to read plans: install it there.")
        elif "remote engines could not be configured" in line:
            advice = Message(
                "JMeter expects its keys in rmi_keystore.jks in the current directory, or in "
                "server.rmi.ssl.keystore.file of its user.properties. Without keys, set "
                "server.rmi.ssl.disable=true on this machine and on the servers."
            )
        else:
            return verbatim(line) if line else None
        return sentences(Message("{reason}.", reason=line), advice)

    def _reason_line(self) -> str:
        """Return the most telling line: the cause, an error of the driver, or the last line that is not routine."""
        lines = list(self.lines)
        if "Cause:" in lines[:-1]:
            return lines[lines.index("Cause:") + 1]
        for start in ("Error in NonGUIDriver ", "An error occurred: "):
            for line in lines:
                text = line.removeprefix(start).strip()
                if line.startswith(start) and text and not text.startswith("Error in"):
                    return text
        return next((line for line in reversed(lines) if not line.startswith(_NOT_A_REASON)), "")


class RemoteServers:
    """Connects to each server every second, because JMeter itself waits for a lost one without limit."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._lost: dict[str, Message] = {}

    @property
    def lost(self) -> Message | None:
        """Which servers are lost and why, if any are."""
        lost = [
            Message("lost the connection to jmeter-server {server}: {reason}", server=server, reason=reason)
            for server, reason in self._lost.items()
        ]
        return listed(lost) if lost else None

    @property
    def left(self) -> int:
        return len(self.names) - len(self._lost)

    def workers(self, state: str) -> tuple[EngineWorker, ...]:
        """Return each server as a worker: in ``state``, or missing."""
        return tuple(EngineWorker(name, name, MISSING if name in self._lost else state) for name in self.names)

    async def unreachable(self) -> Message | None:
        """Say which server cannot be reached, if there is one."""
        for server, problem in zip(self.names, await asyncio.gather(*map(_problem, self.names)), strict=True):
            if problem is not None:
                return Message(
                    "cannot reach jmeter-server {server}: {reason}. Start jmeter-server there, or use HOST:PORT",
                    server=server,
                    reason=problem,
                )
        return None

    async def watch(self) -> None:
        """Keep :attr:`lost` up to date, until cancelled."""
        await asyncio.gather(*map(self._watch, self.names))

    async def _watch(self, server: str) -> None:
        while True:
            await asyncio.sleep(CHECK_S)
            if await _problem(server) and (problem := await _problem(server)):
                self._lost[server] = problem
            else:
                self._lost.pop(server, None)


def workers_of(jmeters: Sequence[JmeterProcess], servers: RemoteServers) -> tuple[EngineWorker, ...]:
    """Return each remote server, or else each machine if there are several: one alone is the load itself."""
    if servers.names:
        return servers.workers(RUNNING if any(jmeter.load_started for jmeter in jmeters) else STARTING)
    return tuple(jmeter.worker for jmeter in jmeters) if len(jmeters) > 1 else ()


def stopped(workers: Iterable[EngineWorker]) -> tuple[EngineWorker, ...]:
    return tuple(worker if worker.missing else replace(worker, state=STOPPED, users=None) for worker in workers)


def arguments_of(settings: JmeterSettings, plan: Plan) -> list[str]:
    """Return JMeter's own arguments. They hold no secrets."""
    arguments = [f"-Jjmeter.save.saveservice.{each}" for each in _RESULT_PROPERTIES.split()]
    arguments += ["-Jsummariser.name=summary", "-Jjmeter.exit.check.pause=0"]
    if not settings.servers:
        arguments.append("-Jjmeterengine.nongui.port=0")  # no port where anyone on the machine can stop the load
    else:
        arguments += _sending(settings, plan)
        if (address := local_address(settings.servers[0])) is not None:
            arguments.append(f"-Djava.rmi.server.hostname={address}")
    option = "-G" if settings.servers else "-J"
    user_plan, step = settings.user_plan, plan.steps[0]
    if user_plan is None:
        # Otherwise JMeter closes connections after each round of the plan.
        arguments.append(f"{option}httpclient.reset_state_on_thread_group_iteration=false")
        return arguments
    if settings.sets_threads:
        arguments.append(f"{option}threads={threads_of(step)}")
    if user_plan.duration and settings.time_given and step.duration_s is not None:
        arguments.append(f"{option}duration={max(1, round(step.duration_s))}")
    return arguments


def _sending(settings: JmeterSettings, plan: Plan) -> list[str]:
    """Return how remote servers send their results: without bodies, often enough for :data:`PAUSE_S`."""
    threads = max(map(threads_of, plan.steps)) if settings.sets_threads else UNKNOWN_THREADS
    milliseconds = max(1, int(1000 * PAUSE_S / threads))
    return ["-Jmode=StrippedBatch", "-Jnum_sample_threshold=100", f"-Jtime_threshold={milliseconds}"]


def local_address(server: str) -> str | None:
    """Return the address of this machine on the way to a server, if there is a route. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect(_host_and_port(server))
            address: str = probe.getsockname()[0]
            return address
    except OSError:
        return None


async def _problem(server: str) -> Message | None:
    """Say why no connection to a server is possible, if none is."""
    try:
        async with asyncio.timeout(CONNECT_S):
            _, writer = await asyncio.open_connection(*_host_and_port(server))
    except TimeoutError:
        return Message("no response within {seconds} s", seconds=CONNECT_S)
    except ConnectionRefusedError:
        return verbatim("Connection refused")  # asyncio's own text repeats the address
    except OSError as error:
        return verbatim(error.strerror or str(error))
    writer.close()
    return None


def _host_and_port(server: str) -> tuple[str, int]:
    host, _, port = server.partition(":")
    return host, int(port or PORT)
