"""Frames that change as real ones do, and a way to record them."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model import (
    OTHER,
    CgroupLimits,
    Core,
    Cpu,
    CpuTimes,
    Disk,
    Distribution,
    EngineWorker,
    Failures,
    Frame,
    GeneratorSample,
    HostFacts,
    HostSample,
    HostState,
    Latencies,
    Listener,
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
    StatedTimes,
    Swap,
    Tcp,
)
from loadtop.model.histogram import bounds
from loadtop.model.server import ServerReading
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measurer
from loadtop.recording.container import SessionMeta
from loadtop.recording.recorder import Writer
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS

META = SessionMeta(
    started=1.8e9, command_line=("-c", "8"), url="http://web1/", version="0.1.0", interval_s=1.0, title="a test"
)


class Made:
    """Makes frames: two machines whose parts come and go, counters that begin anew, a load that is restarted."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - made-up figures, no secret
        self._counters: dict[str, int] = {}
        self._last: dict[str, HostSample] = {}

    def frames(self, count: int) -> list[Frame]:
        return [self._frame(number) for number in range(1, count + 1)]

    def _frame(self, number: int) -> Frame:
        marks = ("first", "second \u2713") if number % 40 == 7 else ()
        at = number + self._draw.random() / 100
        hosts = (self._state("web1", "target", number), self._state("gen", "generator", number))
        return Frame(number, at, 1.8e9 + at, self._load(number) if number % 50 != 49 else None, hosts, marks)

    def _state(self, name: str, role: str, number: int) -> HostState:
        stale = name == "web1" and number % 17 in (5, 6)
        if stale or (name == "gen" and number < 3):
            return HostState(name, role, self._last.get(name), fresh=False, problem="no answer for 2 s")
        self._last[name] = self._sample(name, number)
        return HostState(name, role, self._last[name], fresh=True)

    def _grow(self, name: str, most: int) -> int:
        grown = self._counters.get(name, self._draw.randrange(1 << 34)) + self._draw.randrange(most + 1)
        self._counters[name] = 0 if self._draw.random() < 0.004 else grown
        return self._counters[name]

    def _times(self, name: str) -> CpuTimes:
        grow = [self._grow(f"{name} {state}", 40) for state in range(10)]
        steal = None if name.startswith("gen") else grow[7]
        return CpuTimes(grow[0], grow[1], grow[2], grow[3], grow[4], grow[5], grow[6], steal, grow[8], None)

    def _sample(self, name: str, number: int) -> HostSample:
        draw, grow = self._draw, self._grow
        web = name == "web1"
        rare = draw.random() < 0.1
        return HostSample(
            host=name,
            at=5000.0 + number + draw.random(),
            facts=HostFacts(name, "local", "Linux", "6.1", 2, 8_000_000),
            took_s=round(draw.random() / 100, 6),
            cpu=None if rare else Cpu(self._times(name), tuple(Core(n, self._times(f"{name} {n}")) for n in (0, 2))),
            scheduler=Scheduler(round(draw.random() * 9, 2), 1.5, 0.25, draw.randrange(5), 0, 200, grow("switches", 9)),
            memory=Memory(8_000_000, draw.randrange(1000), draw.randrange(1000)),
            swap=Swap(2_000_000, 1_999_000, 4),
            paging=self._paging(name),
            pressure=None if rare else self._pressure(name),
            disks=tuple(self._disk(name, disk) for disk in ("vda", "sdb") if draw.random() < 0.9),
            networks=tuple(self._network(name, net) for net in ("lo", "eth0")),
            tcp=self._tcp(name),
            processes=self._processes(web) if not rare else None,
            cgroup=CgroupLimits("/system.slice/apache2", 2, pressure=Pressure(1, 2, 3)) if web else None,
            servers=self._servers(number, rare=rare) if web else {"haproxy": self._proxies(number)},
            outcomes=(
                Outcome("cpu", State.OK, "", round(draw.random() / 1000, 6)),
                Outcome("apache", State.FAILED if rare else State.OK, "timed out" if rare else "", draw.random()),
            ),
        )

    def _servers(self, number: int, *, rare: bool) -> dict[str, tuple[ServerReading, ...]]:
        found: dict[str, tuple[ServerReading, ...]] = {"fpm": (self._pool(number),)}
        return found if rare else {"apache": (self._status(number),), **found}

    def _proxies(self, number: int) -> tuple[ServerReading, ...]:
        return tuple(self._proxy(server, number) for server in ("FRONTEND", "web1"))

    def _paging(self, host: str) -> Paging:
        g = [self._grow(f"{host} paging {n}", 900) for n in range(9)]
        return Paging(g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], g[8])

    def _pressure(self, host: str) -> Pressure:
        g = [self._grow(f"{host} psi {n}", 900_000) for n in range(5)]
        return Pressure(g[0], g[1], g[2], g[3], g[4], None)

    def _tcp(self, host: str) -> Tcp:
        g = [self._grow(f"{host} tcp {n}", 30) for n in range(6)]
        listeners = (Listener(80, self._draw.randrange(3), 511), Listener(80, 0, None), Listener(22, 0, 128))
        return Tcp(g[0], g[1], g[2], g[3], g[4], g[5], 4, self._draw.randrange(90), 8, listeners)

    def _disk(self, host: str, name: str) -> Disk:
        g = [self._grow(f"{host} {name} {n}", 50) for n in range(8)]
        return Disk(name, g[0], g[1], g[2], g[3], g[4], g[5], 0, g[6], g[7], swap=name == "sdb")

    def _network(self, host: str, name: str) -> Network:
        g = [self._grow(f"{host} {name} {n}", 5_000_000 if n < 2 else 40) for n in range(8)]
        speed = 1000 if name == "eth0" else None
        return Network(name, g[0], g[1], g[2], g[3], g[4], g[5], g[6], g[7], link_mbit=speed)

    def _processes(self, web: bool) -> tuple[Process, ...]:
        draw = self._draw
        names = range(12) if web else range(3)
        return tuple(
            Process(
                100 + n,
                "apache2",
                "httpd" if n % 4 else OTHER,
                draw.choice("SSRD"),
                1 + n % 2,
                self._grow(f"{web} ticks {n}", 60),
                5000 + n,
                9000 + 4 * draw.randrange(3),
                None if n % 5 == 0 else draw.randrange(5000),
            )
            for n in names
            if draw.random() < 0.95
        )

    def _status(self, number: int) -> ApacheStatus:
        letters = "WWK_CGRLD" if number % 10 else "WKCGRLD"
        board = "".join(self._draw.choice(letters) for _ in range(20)) + letters[3] * 6 + "." * 74
        return ApacheStatus(
            "http://127.0.0.1/server-status?auto",
            "prefork",
            "Apache/2.4.57",
            board,
            7 if number == 70 else number + 100,
            self._grow("accesses", 90),
            self._grow("kbytes", 900),
            self._grow("duration", 9000),
            fetch_s=self._draw.random(),
            at=5000.0 + number + self._draw.random() if number % 6 else None,
        )

    def _pool(self, number: int) -> FpmPool:
        if number % 13 == 5:  # its page is silent
            return FpmPool("www", "dynamic", None, 7, 128, None, None, None, None, silent_s=1.5)
        uptime = 3 if number == 80 else number + 100
        at = 5000.0 + number + self._draw.random() if number % 5 else None
        accepted, reached = self._grow("accepted", 50), self._grow("reached", 1)
        return FpmPool("www", "dynamic", accepted, 0, 128, 3, 2, 5, reached, max_children=5, uptime_s=uptime, at=at)

    def _proxy(self, server: str, number: int) -> HaproxyProxy:
        sessions, errors = self._grow(f"sessions {server}", 50), self._grow(f"e {server}", 2)
        requests = self._grow("requests in all", 90) if server == "FRONTEND" else None
        at = 5000.0 + number + self._draw.random() if number % 7 else None
        return HaproxyProxy("web", server, "UP", 1, 2, 3, sessions, 5, 6, errors, requests_total=requests, at=at)

    def _load(self, number: int) -> LoadSample:
        draw = self._draw
        requests = 0 if number == 66 else self._counters.get("requests", 0) + draw.randrange(300)
        self._counters["requests"] = requests
        times = [self._distribution() for _ in range(4)]
        timeout = number // 30 if number % 5 else None
        return LoadSample(
            at=77.0 + number + draw.random(),
            engine="builtin",
            state=LoadState.RUNNING if number > 2 else LoadState.WARMUP,
            model="closed",
            elapsed_s=float(number),
            concurrency=8 if number < 60 else None,
            rate=None if number < 60 else 12.5,
            step=1 + number // 50,
            steps=3,
            in_flight=8,
            connections=8,
            requests=requests,
            failures=Failures(self._grow("connect", 2), None, timeout=timeout) if number % 17 else None,
            non_2xx=number // 9,
            keepalive_requests=0,
            received_bytes=self._grow("received", 900_000) if number % 19 else None,
            body_bytes=9,
            sent_bytes=self._grow("sent", 90_000),
            latencies=Latencies(*times) if number % 11 else None,
            generator=GeneratorSample((number * 0.31, number * 0.1), draw.random(), None) if number % 13 else None,
            server=ServerSeen("Apache", "web1", 80, "/", 12, proxy="cache:3128") if number > 1 else None,
            message="" if number % 21 else "connection refused",
            stated=(StatedTimes("total", p50_ms=1.5, max_ms=number / 4), StatedTimes("connect")) if number > 70 else (),
            workers=_workers(number) if number > 20 else (),
        )

    def _distribution(self) -> Distribution:
        draw = self._draw
        buckets = sorted(draw.sample(range(2400), draw.randrange(60)))
        counts = [1 + int(draw.expovariate(0.2)) for _ in buckets]
        if buckets and draw.random() < 0.1:
            counts[-1] = 1 << 21  # too many for a character
        least, greatest = (bounds(buckets[0])[0], bounds(buckets[-1])[1]) if buckets else (0, 0)
        return Distribution(sum(counts), 5_000, 10**20, least, greatest, tuple(buckets), tuple(counts))


def _workers(number: int) -> tuple[EngineWorker, ...]:
    """Two of Locust's, of which one is lost for a while; they change places."""
    first = EngineWorker("g1-1", "g1", "running", number, number / 7 if number % 9 else None, 61_000 + number)
    second = EngineWorker("g2-1", "g2", "running", 7, 99.5, 62_000)
    lost = EngineWorker("g2-1", "g2", "missing")
    return (second, first) if number % 13 == 0 else (first, lost if 40 < number < 70 else second)


@pytest.fixture(scope="session")
def made_moments() -> Callable[[int], list[Snapshot]]:
    """A function: so many moments of a made-up session."""

    def make(count: int) -> list[Snapshot]:
        measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
        measured = [measurer.measure(frame) for frame in Made(3).frames(count)]
        return [Snapshot(each, diagnoser.diagnose(each)) for each in measured]

    return make


@pytest.fixture(scope="session")
def meta() -> SessionMeta:
    return META


@pytest.fixture(scope="session")
def record() -> Callable[[Path, Sequence[Snapshot]], None]:
    """A function: make a recording of these moments, each in a transaction of its own."""

    def write(path: Path, snapshots: Sequence[Snapshot]) -> None:
        writer = Writer(path, META)
        for snapshot in snapshots:
            writer.take(snapshot)
            writer.write()
        writer.close()

    return write
