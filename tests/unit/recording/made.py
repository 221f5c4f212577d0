"""Frames that change as real ones do, and a way to record them."""

import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from loadtop import model
from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.diagnosis.breakdown import breakdown
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model.histogram import bounds
from loadtop.model.server import ServerReading
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import Measurer
from loadtop.recording.container import SessionMeta
from loadtop.recording.recorder import Recorder
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.registry import DEMANDS, KINDS, VERDICTS
from tests.unit.known import known

META = SessionMeta(
    started=1.8e9, command_line=("-c", "8"), url="http://web1/", version="0.1.0", interval_s=1.0, title="a test"
)


class Made:
    """Makes frames: both use the name whose parts come and go, counters that begin again, a load that is restarted."""

    def __init__(self, seed: int) -> None:
        self._draw = random.Random(seed)  # noqa: S311 - generated figures, no secret
        self._known: dict[str, int] = {}
        self._last: dict[str, model.HostSample] = {}

    def frame(self, number: int) -> model.Frame:
        marks = ("first", "second \u2713") if number % 40 == 7 else ()
        at = number + self._draw.random() / 100
        hosts = (self._state("web1", "target", number), self._state("gen", "generator", number))
        profile = model.Profile("web1", "perf", (("httpd;main;md5", number), ("httpd;main", 1)), (("httpd;read", 2),))
        profiles = (profile,) if number % 40 == 9 else ()
        load = self._load(number) if number % 50 != 49 else None
        return model.Frame(number, at, 1.8e9 + at, load, hosts, marks, profiles)

    def _state(self, name: str, role: str, number: int) -> model.HostState:
        stale = name == "web1" and number % 17 in (5, 6)
        if stale or (name == "gen" and number < 3):
            return model.HostState(name, role, self._last.get(name), fresh=False, problem="no response for 2 s")
        self._last[name] = self._sample(name, number)
        return model.HostState(name, role, self._last[name], fresh=True)

    def _grow(self, name: str, most: int) -> int:
        grown = self._known.get(name, self._draw.randrange(1 << 34)) + self._draw.randrange(most + 1)
        self._known[name] = 0 if self._draw.random() < 0.004 else grown
        return self._known[name]

    def _times(self, name: str) -> model.CpuTimes:
        grow = [self._grow(f"{name} {state}", 40) for state in range(10)]
        steal = None if name.startswith("gen") else grow[7]
        return model.CpuTimes(grow[0], grow[1], grow[2], grow[3], grow[4], grow[5], grow[6], steal, grow[8], None)

    def _sample(self, name: str, number: int) -> model.HostSample:
        draw, grow = self._draw, self._grow
        web = name == "web1"
        rare = draw.random() < 0.1
        return model.HostSample(
            host=name,
            at=5000.0 + number + draw.random(),
            facts=model.HostFacts(name, "local", "Linux", "6.1", 2, 8_000_000),
            took_s=round(draw.random() / 100, 6),
            cpu=None
            if rare
            else model.Cpu(self._times(name), tuple(model.Core(n, self._times(f"{name} {n}")) for n in (0, 2))),
            scheduler=model.Scheduler(
                round(draw.random() * 9, 2), 1.5, 0.25, draw.randrange(5), 0, 200, grow("switches", 9)
            ),
            memory=model.Memory(8_000_000, draw.randrange(1000), draw.randrange(1000)),
            swap=model.Swap(2_000_000, 1_999_000, 4),
            paging=model.Paging(*self._counters(f"{name} paging", 9, 900)),
            pressure=None if rare else model.Pressure(*self._counters(f"{name} psi", 5, 900_000)),
            disks=tuple(self._disk(name, disk) for disk in ("vda", "sdb") if draw.random() < 0.9),
            networks=tuple(self._network(name, net) for net in ("lo", "eth0")),
            tcp=self._tcp(name),
            processes=self._processes(web) if not rare else None,
            cgroup=model.CgroupLimits("/system.slice/apache2", 2, pressure=model.Pressure(1, 2, 3)) if web else None,
            servers=self._servers(number, rare=rare) if web else {"haproxy": self._proxies(number)},
            outcomes=(
                model.Outcome("cpu", model.State.OK, "", round(draw.random() / 1000, 6)),
                model.Outcome(
                    "apache", model.State.FAILED if rare else model.State.OK, "timed out" if rare else "", draw.random()
                ),
            ),
        )

    def _servers(self, number: int, *, rare: bool) -> dict[str, tuple[ServerReading, ...]]:
        found: dict[str, tuple[ServerReading, ...]] = {"fpm": (self._pool(number),)}
        return found if rare else {"apache": (self._status(number),), **found}

    def _proxies(self, number: int) -> tuple[ServerReading, ...]:
        return tuple(self._proxy(server, number) for server in ("FRONTEND", "web1"))

    def _counters(self, name: str, number: int, most: int) -> list[Any]:
        return [self._grow(f"{name} {n}", most) for n in range(number)]

    def _tcp(self, host: str) -> model.Tcp:
        listeners = (
            model.Listener(80, self._draw.randrange(3), 511),
            model.Listener(80, 0, None),
            model.Listener(22, 0, 128),
        )
        counted = model.Tcp(*self._counters(f"{host} tcp", 6, 30))
        return replace(counted, established=4, time_wait=self._draw.randrange(90), in_use=8, listeners=listeners)

    def _disk(self, host: str, name: str) -> model.Disk:
        requests, times = self._counters(f"{host} {name}", 6, 50), self._counters(f"{host} {name} ms", 2, 50)
        disk = model.Disk(name, *requests)
        return replace(disk, in_flight=0, busy_ms=times[0], queue_ms=times[1], swap=name == "sdb")

    def _network(self, host: str, name: str) -> model.Network:
        traffic, others = self._counters(f"{host} {name}", 2, 5_000_000), self._counters(f"{host} {name} others", 6, 40)
        return replace(model.Network(name, *[*traffic, *others]), link_mbit=1000 if name == "eth0" else None)

    def _processes(self, web: bool) -> tuple[model.Process, ...]:
        draw = self._draw
        names = range(12) if web else range(3)
        return tuple(
            model.Process(
                100 + n, "apache2", "httpd" if n % 4 else model.OTHER, draw.choice("SSRD"), 1 + n % 2,
                self._grow(f"{web} ticks {n}", 60), 5000 + n, 9000 + 4 * draw.randrange(3),
                None if n % 5 == 0 else draw.randrange(5000),
            )
            for n in names
            if draw.random() < 0.95
        )  # fmt: skip

    def _status(self, number: int) -> ApacheStatus:
        letters = "WWK_CGRLD" if number % 10 else "WKCGRLD"
        board = "".join(self._draw.choice(letters) for _ in range(20)) + letters[3] * 6 + "." * 74
        accesses, kbytes, duration = (
            self._grow(*each) for each in (("accesses", 90), ("kbytes", 900), ("duration", 9000))
        )
        return ApacheStatus(
            "http://127.0.0.1/server-status?auto", "prefork", "Apache/2.4.57", board,
            7 if number == 70 else number + 100, accesses, kbytes, duration, fetch_s=self._draw.random(),
            at=5000.0 + number + self._draw.random() if number % 6 else None,
        )  # fmt: skip

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

    def _load(self, number: int) -> model.LoadSample:
        draw = self._draw
        requests = 0 if number == 66 else self._known.get("requests", 0) + draw.randrange(300)
        self._known["requests"] = requests
        times = [self._distribution() for _ in range(4)]
        timeout = number // 30 if number % 5 else None
        generator = model.GeneratorSample((number * 0.31, number * 0.1), draw.random(), None)
        stated = (model.StatedTimes("total", p50_ms=1.5, max_ms=number / 4), model.StatedTimes("connect"))
        return model.LoadSample(
            at=77.0 + number + draw.random(), engine="builtin",
            state=model.LoadState.RUNNING if number > 2 else model.LoadState.WARMUP, model="closed",
            elapsed_s=float(number), concurrency=8 if number < 60 else None, rate=None if number < 60 else 12.5,
            step=1 + number // 50, steps=3, in_flight=8, connections=8, requests=requests,
            failures=model.Failures(self._grow("connect", 2), None, timeout=timeout) if number % 17 else None,
            non_2xx=number // 9, keepalive_requests=0,
            received_bytes=self._grow("received", 900_000) if number % 19 else None, body_bytes=9,
            sent_bytes=self._grow("sent", 90_000), latencies=model.Latencies(*times) if number % 11 else None,
            generator=generator if number % 13 else None,
            server=model.ServerSeen("Apache", "web1", 80, "/", 12, proxy="cache:3128") if number > 1 else None,
            message="" if number % 21 else "connection refused",
            stated=stated if number > 70 else (),
            workers=_workers(number) if number > 20 else (),
        )  # fmt: skip

    def _distribution(self) -> model.Distribution:
        draw = self._draw
        buckets = sorted(draw.sample(range(2400), draw.randrange(60)))
        counts = [1 + int(draw.expovariate(0.2)) for _ in buckets]
        if buckets and draw.random() < 0.1:
            counts[-1] = 1 << 21  # too many for a character
        least, greatest = (bounds(buckets[0])[0], bounds(buckets[-1])[1]) if buckets else (0, 0)
        return model.Distribution(sum(counts), 5_000, 10**20, least, greatest, tuple(buckets), tuple(counts))


def _workers(number: int) -> tuple[model.EngineWorker, ...]:
    """Two of Locust's, of which one is lost for a while; they change places."""
    first = model.EngineWorker("g1-1", "g1", "running", number, number / 7 if number % 9 else None, 61_000 + number)
    second = model.EngineWorker("g2-1", "g2", "running", 7, 99.5, 62_000)
    lost = model.EngineWorker("g2-1", "g2", "missing")
    return (second, first) if number % 13 == 0 else (first, lost if 40 < number < 70 else second)


def _going_on() -> Iterator[Snapshot]:
    made, measurer, diagnoser = Made(3), Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
    for number in count(1):
        measured = measurer.measure(made.frame(number))
        yield Snapshot(measured, diagnoser.diagnose(measured), breakdown(measured))


_source, _made = _going_on(), list[Snapshot]()


def moments(number: int) -> list[Snapshot]:
    """So many moments of a generated session, always the same."""
    _made.extend(islice(_source, max(0, number - len(_made))))
    return _made[:number]


def with_frame(snapshot: Snapshot, **changes: Any) -> Snapshot:
    """The moment with these fields of its frame changed."""
    measured = snapshot.measured
    return replace(snapshot, measured=replace(measured, frame=replace(measured.frame, **changes)))


def under_load(snapshot: Snapshot, at: float, rps: float | None, step: int = 1, **load: Any) -> Snapshot:
    """The moment at that time, in that step of a load that serves ``rps`` requests/s without a failure."""
    changes = {"state": model.LoadState.RUNNING, "step": step, "concurrency": 2**step, "rate": None, **load}
    rates = snapshot.measured.load_rates
    if rates is not None:
        rates = None if rps is None else replace(rates, rps=rps, failed_share=0.0, non_2xx_share=0.0)
    found = with_frame(snapshot, at=at, load=replace(known(snapshot.load), **changes))
    return Snapshot(replace(found.measured, load_rates=rates), snapshot.diagnosis)


def added_up(
    snapshots: Iterable[Snapshot], url: str | None = "http://web1/", command_line: Sequence[str] = ()
) -> RunResult:
    totals = Totals(url, tuple(command_line))
    for snapshot in snapshots:
        totals.add(snapshot)
    return totals.result()


def record(
    path: Path, snapshots: Sequence[Snapshot], meta: SessionMeta = META, totals: Callable[[], RunResult] | None = None
) -> Recorder:
    """Record these moments as a live test does, each in a transaction of its own."""
    recorder = Recorder(path, meta=meta)
    for snapshot in snapshots:
        recorder.record(snapshot)
        recorder.flush()
    recorder.close(totals)
    return recorder


def alter(path: Path, statement: str, *values: object) -> None:
    """Change a recording, or any other database, with a statement of SQL."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(statement, values)
