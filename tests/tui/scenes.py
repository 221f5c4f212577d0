"""Realistic moments for tests and benchmarks: raw samples of a small web server, through the real rates and diagnosis.

A scene is a function of time; :class:`Story` plays it through :class:`loadtop.pipeline.snapshot.Measurer` and the
diagnoser, so that what is drawn is what would be drawn live.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from loadtop.analysis.comparison import Comparison, Run, compare
from loadtop.analysis.totals.totals import Totals
from loadtop.analysis.tune.step import Sweep
from loadtop.diagnosis.breakdown import breakdown
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model import (
    OTHER,
    Core,
    Cpu,
    CpuTimes,
    Disk,
    Failures,
    Frame,
    GeneratorSample,
    HostFacts,
    HostSample,
    HostState,
    Latencies,
    LoadSample,
    LoadState,
    Memory,
    Network,
    Outcome,
    Paging,
    Pressure,
    Process,
    Scheduler,
    ServerSeen,
    State,
    Swap,
    Tcp,
)
from loadtop.model.histogram import distribution
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.rates.measured import Measurer
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS
from tests.unit.known import known

URL = "http://web1/index.php"
WALL = 1_780_000_000.0


class Scene(Struct):
    """What the next second is like. Rates per second; shares in percent of the machine; sizes in kB."""

    rps: float = 212.0
    p50_ms: float = 41.0
    p99_ms: float = 118.0
    failed: int = 0
    non_2xx: int = 0
    concurrency: int = 20
    user: float = 22.0
    system: float = 9.0
    iowait: float = 1.0
    steal: float = 0.0
    running: int = 1
    available_kb: int = 310_000
    swap_used_kb: int = 0
    swap_in_kb: int = 0
    swap_out_kb: int = 0
    faults: int = 0
    memory_stall: float = 0.0
    cpu_stall: float = 1.0
    disk_util: float = 3.0
    slots: int = 40
    busy: int = 12
    apache: str = ""
    """Why there is no status page, or empty."""
    present: bool = True
    """Whether the machine gives a sample."""
    problem: str = ""
    state: LoadState = LoadState.RUNNING
    message: str = ""
    marks: tuple[str, ...] = ()


class Story(Struct):
    """Plays scenes. One machine (two with ``database``), two cores, 512 MB, Apache prefork."""

    seconds: float = 60.0
    url: str = URL
    database: bool = False
    load: bool = True
    at: float = 0.0
    _number: int = 0
    _measurer: Measurer = field(default_factory=lambda: Measurer(KINDS))
    _diagnoser: Diagnoser = field(default_factory=lambda: Diagnoser(VERDICTS, DEMANDS))
    _ticks: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    _counters: dict[str, float] = field(default_factory=dict[str, float])
    _last: dict[str, HostSample] = field(default_factory=dict[str, HostSample])

    def play(self, scene: Scene, times: int = 1) -> list[Snapshot]:
        """So many seconds of this scene."""
        return [self._moment(scene) for _ in range(times)]

    def _moment(self, scene: Scene) -> Snapshot:
        if self._number:
            self.at += 1.0
        self._number += 1
        hosts = [self._host("web1", "target+generator", scene)]
        if self.database:
            hosts.append(self._host("db1", "other", Scene(user=5.0, system=2.0, slots=0, apache="no httpd here")))
        load = self._load(scene) if self.load else None
        frame = Frame(self._number, self.at, WALL + self.at, load, tuple(hosts), scene.marks)
        measured = self._measurer.measure(frame)
        return Snapshot(measured, self._diagnoser.diagnose(measured), breakdown(measured))

    def _count(self, name: str, by: float) -> int:
        self._counters[name] = self._counters.get(name, 0.0) + by
        return int(self._counters[name])

    def _load(self, scene: Scene) -> LoadSample:
        ended = scene.state.ended
        began = self._number > 1 and scene.state not in (LoadState.STARTING, LoadState.FAILED)
        done = 0 if ended or not began else round(scene.rps)
        times = [int(1000 * _spread(i, scene.p50_ms, scene.p99_ms)) for i in range(done)]
        total = distribution(times)
        return LoadSample(
            at=self.at,
            engine="builtin",
            state=scene.state,
            model="closed",
            elapsed_s=float(self._count("elapsed", 1 if began and not ended else 0)),
            concurrency=scene.concurrency,
            rate=None,
            step=1,
            steps=1,
            in_flight=0 if ended else scene.concurrency,
            connections=0 if ended else scene.concurrency,
            requests=self._count("requests", done),
            failures=Failures(connect=self._count("failed", scene.failed)),
            non_2xx=self._count("non_2xx", scene.non_2xx),
            keepalive_requests=0,
            received_bytes=self._count("received", done * 5300),
            body_bytes=self._count("body", done * 5000),
            sent_bytes=self._count("sent", done * 120),
            latencies=None if not done else Latencies(total, distribution([]), total, total),
            generator=GeneratorSample((0.08 * self.at,), 0.002),
            server=ServerSeen("Apache/2.4.57", "web1", 80, "/index.php"),
            message=scene.message,
            target_s=self.seconds,
        )

    def _host(self, name: str, role: str, scene: Scene) -> HostState:
        if not scene.present:
            return HostState(name, role, self._last.get(name), False, scene.problem)
        uptime = 50_000.0 + self.at
        processes = self._processes(name, scene)
        outcomes = [Outcome(part, State.OK) for part in ("cpu", "memory", "disks", "networks", "processes")]
        if scene.apache:
            outcomes.append(Outcome("apache", State.ABSENT, scene.apache))
        sample = HostSample(
            host=name,
            at=uptime,
            facts=HostFacts(name, "local" if name == "web1" else f"ssh://{name}", "Debian 12", "6.1.0", 2, 512_000),
            took_s=0.004 if name == "web1" else 0.038,
            cpu=self._cpu(name, scene),
            scheduler=Scheduler(0.01 * self.at + 0.4, 0.4, 0.3, running=scene.running, blocked=0, tasks=140),
            memory=Memory(512_000, 40_000, scene.available_kb, 9_000, 180_000),
            swap=Swap(1_000_000, 1_000_000 - scene.swap_used_kb),
            paging=Paging(
                self._count(name + "in", scene.swap_in_kb),
                self._count(name + "out", scene.swap_out_kb),
                self._count(name + "faults", scene.faults),
            ),
            pressure=Pressure(
                cpu_some_us=self._count(name + "cpu", scene.cpu_stall * 1e4),
                memory_some_us=self._count(name + "mem", scene.memory_stall * 1e4),
                memory_full_us=self._count(name + "full", scene.memory_stall * 7e3),
                io_some_us=self._count(name + "io", scene.iowait * 1e4),
                io_full_us=0,
            ),
            disks=(self._disk(name, scene),),
            networks=(
                Network("eth0", self._count(name + "rx", 25e3), self._count(name + "tx", 9e5), 0, 0, link_mbit=1000),
                Network("lo", self._count(name + "lo", 1.2e6), self._count(name + "lo2", 1.2e6), 0, 0),
            ),
            tcp=Tcp(0, 0, 0, self._count(name + "seg", 900), 0, 0, 24, 130, 60),
            processes=processes,
            servers={} if scene.apache else {"apache": (self._status(scene, uptime),)},
            outcomes=tuple(outcomes),
        )
        self._last[name] = sample
        return HostState(name, role, sample, True)

    def _cpu(self, name: str, scene: Scene) -> Cpu:
        cores: list[Core] = []
        for core, skew in ((0, 1.08), (1, 0.92)):
            used = [min(100.0, share * skew) for share in (scene.user, scene.system)]
            rest = max(0.0, 100.0 - sum(used))
            iowait, steal = min(rest, scene.iowait), min(rest, scene.steal)
            idle = max(0.0, rest - iowait - steal)
            ticks = self._ticks.setdefault(f"{name}{core}", [0.0] * 5)
            for index, share in enumerate((*used, idle, iowait, steal)):
                ticks[index] += share
            user, system, idled, waited, stolen = (int(tick) for tick in ticks)
            cores.append(Core(core, CpuTimes(user, 0, system, idled, waited, 0, 0, stolen)))
        sums = [
            sum(getattr(core.times, state) for core in cores)
            for state in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
        ]
        return Cpu(CpuTimes(*sums), tuple(cores))

    def _disk(self, name: str, scene: Scene) -> Disk:
        return Disk(
            "vda",
            reads=self._count(name + "reads", 40),
            read_kb=self._count(name + "rkb", 300 + scene.swap_in_kb),
            read_ms=self._count(name + "rms", 160),
            writes=self._count(name + "writes", 12),
            write_kb=self._count(name + "wkb", 90 + scene.swap_out_kb),
            write_ms=self._count(name + "wms", 40),
            in_flight=1,
            busy_ms=self._count(name + "busy", scene.disk_util * 10),
        )

    def _processes(self, name: str, scene: Scene) -> tuple[Process, ...]:
        found = [Process(1, "systemd", OTHER, "S", 1, self._count(name + "p1", 0), 10, 11_000, 5_000)]
        for index in range(scene.slots and scene.busy + 4):
            ticks = self._count(f"{name}h{index}", 2 * (scene.user + scene.system) / max(1, scene.busy + 4))
            state = "D" if scene.swap_in_kb and index % 2 else ("R" if index < scene.running else "S")
            wait_ns = round(self.at * 3e7) * (index % 4)
            found.append(
                Process(
                    1200 + index, "apache2", "httpd", state, 1, ticks, 4000 + index, 14_200 + 90 * index, 9_320, wait_ns
                )
            )
        found.append(Process(907, "mariadbd", OTHER, "S", 28, self._count(name + "db", 7), 900, 81_000, 79_000))
        return tuple(found)

    def _status(self, scene: Scene, uptime: float) -> ApacheStatus:
        keep = scene.busy // 6
        board = "W" * (scene.busy - keep) + "K" * keep
        waiting = min(scene.slots - scene.busy, 6)
        board += "_" * waiting + "." * (scene.slots - scene.busy - waiting)
        return ApacheStatus(
            url="http://web1/server-status?auto",
            mpm="prefork",
            version="Apache/2.4.57",
            scoreboard=board,
            uptime_s=int(uptime),
            accesses=self._count("accesses", scene.rps),
            kbytes=self._count("kbytes", scene.rps * 5),
            duration_ms=self._count("duration", scene.rps * scene.p50_ms),
            processes=scene.busy + waiting,
            fetch_s=0.003,
        )


def _spread(index: int, p50: float, p99: float) -> float:
    """Response times with these percentiles, the same every time."""
    rank = (index * 61 % 100 + 0.5) / 100
    return p50 * math.exp(math.log(p99 / p50) * (rank - 0.5) / 0.49) if rank > 0.5 else p50 * (0.6 + 0.8 * rank)


HEADROOM = Scene()
WORKERS = Scene(rps=38.0, p50_ms=980.0, p99_ms=1640.0, user=11.0, system=4.0, busy=40, concurrency=60)
SWAPPING = Scene(
    rps=67.2, p50_ms=290.0, p99_ms=1640.0, user=6.0, system=88.0, iowait=4.0, running=11, available_kb=12_300,
    swap_used_kb=710_000, swap_in_kb=84_000, swap_out_kb=81_000, faults=21_000, memory_stall=54.0, cpu_stall=38.0,
    disk_util=96.0, busy=36, concurrency=40,
)  # fmt: skip
BUSY = Scene(rps=402.0, p50_ms=92.0, p99_ms=310.0, user=71.0, system=26.0, running=9, cpu_stall=61.0, busy=30)


def headroom() -> list[Snapshot]:
    """Twenty calm seconds."""
    return Story().play(HEADROOM, 20)


def cpu_then_swap() -> list[Snapshot]:
    """Headroom, then a full processor, a mark, then swapping."""
    story = Story()
    played = story.play(HEADROOM, 12) + story.play(BUSY, 9)
    played += story.play(replace(BUSY, marks=("40 connections",)), 1)
    return played + story.play(SWAPPING, 20)


def workers() -> list[Snapshot]:
    """A pool of 40 that waits for its pages."""
    story = Story()
    return story.play(HEADROOM, 8) + story.play(WORKERS, 12)


def stale() -> list[Snapshot]:
    """The machine stops answering."""
    story = Story()
    gone = replace(HEADROOM, present=False, problem="ssh: connection to web1 lost, trying again")
    return story.play(HEADROOM, 10) + story.play(gone, 5)


def no_apache() -> list[Snapshot]:
    """A machine without a status page."""
    reason = "no page of mod_status here: enable mod_status, or name it with --apache URL"
    return Story().play(replace(HEADROOM, apache=reason), 8)


def load_failed() -> list[Snapshot]:
    """No one listens."""
    story = Story()
    message = "cannot connect to web1:80: connection refused. Is the server running, and is the port right?"
    return story.play(replace(HEADROOM, state=LoadState.STARTING), 2) + story.play(
        replace(HEADROOM, state=LoadState.FAILED, message=message), 3
    )


def bare() -> list[Snapshot]:
    """A machine that tells little: no iowait, no available memory, no pressure, no paging, no disks."""

    def little(_: int, sample: HostSample) -> HostSample:
        cpu = known(sample.cpu)
        reasons = (("disks", "not permitted here"), ("processes", "no /proc here"), ("apache", "not looked for"))
        return HostSample(
            sample.host, sample.at, sample.facts, sample.took_s,
            cpu=Cpu(_few(cpu.total), tuple(Core(core.id, _few(core.times)) for core in cpu.cores)),
            memory=Memory(512_000, 40_000),
            networks=sample.networks,
            outcomes=tuple(Outcome(name, State.ABSENT, reason) for name, reason in reasons),
        )  # fmt: skip

    return remeasured(headroom()[:8], little)


def remeasured(played: Iterable[Snapshot], change: Callable[[int, HostSample], HostSample]) -> list[Snapshot]:
    """The moments with another sample of their only machine each."""

    def frames() -> Iterator[Frame]:
        for number, frame in enumerate(each.measured.frame for each in played):
            (host,) = frame.hosts
            yield replace(frame, hosts=(replace(host, sample=change(number, known(host.sample))),))

    return list(snapshots(frames()))


def _few(times: CpuTimes) -> CpuTimes:
    return CpuTimes(times.user, times.nice, times.system, times.idle)


def watching() -> list[Snapshot]:
    """No load at all."""
    return Story(load=False).play(HEADROOM, 6)


def done() -> list[Snapshot]:
    """The load has ended after a minute of a full processor."""
    story = Story()
    return (
        story.play(HEADROOM, 10)
        + story.play(BUSY, 50)
        + story.play(replace(HEADROOM, state=LoadState.DONE, user=1.0, system=1.0, busy=1), 4)
    )


def two_hosts() -> list[Snapshot]:
    """A web server and a database."""
    return Story(database=True).play(HEADROOM, 10)


SCENES: dict[str, Callable[[], list[Snapshot]]] = {
    "headroom": headroom,
    "swap": cpu_then_swap,
    "apache-workers": workers,
    "stale": stale,
    "no-apache": no_apache,
    "load-failed": load_failed,
    "done": done,
    "two-hosts": two_hosts,
    "bare": bare,
    "watching": watching,
}


@cache
def moments(name: str) -> Sequence[Snapshot]:
    """Those of a scene, made once."""
    return tuple(SCENES[name]())


def endless() -> Iterator[Snapshot]:
    """A load of which every number changes all the time, for measuring what the cockpit costs."""
    story = Story(seconds=600.0)
    number = 0
    while True:
        wave = math.sin(number / 7.0)
        base = BUSY if number % 120 > 80 else HEADROOM
        scene = replace(
            base,
            rps=base.rps * (1 + 0.2 * wave) + number % 7,
            p50_ms=base.p50_ms * (1 + 0.1 * wave) + number % 3,
            p99_ms=base.p99_ms * (1 + 0.2 * wave) + number % 11,
            user=min(80.0, base.user + 10 * wave + number % 5),
            system=min(19.0, base.system + 3 * wave),
            available_kb=base.available_kb - 900 * (number % 60),
            busy=max(1, min(40, base.busy + number % 9)),
            running=1 + number % 5,
            disk_util=10 + number % 20,
        )
        yield from story.play(scene)
        number += 1


@cache
def compared() -> Comparison:
    """Two scenes as recordings that are compared."""
    return compare([_run_of(name) for name in ("headroom", "swap")], 10)


def _run_of(name: str) -> Run:
    totals = Totals(None)
    for snapshot in moments(name):
        totals.add(snapshot)
    return Run(Path(f"{name}.loadtop"), totals.result())


def sweep_of(name: str) -> Sweep:
    """A sweep whose first step, a scene, is still running."""
    found = Sweep()
    for snapshot in moments(name):
        found.add(snapshot)
    return found
