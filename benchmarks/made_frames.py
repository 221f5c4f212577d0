"""Frames that were never measured: five machines, busy in the way that real ones are, for as long as wanted.

Durations of collectors are whole microseconds here: those that are not cost a recording ten times as much.
"""

import math
import random
from collections.abc import Iterator

from msgspec.structs import replace

from loadtop.model import (
    OTHER,
    CgroupLimits,
    Core,
    Cpu,
    CpuTimes,
    Disk,
    Distribution,
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
    Swap,
    Tcp,
)
from loadtop.model.histogram import distribution
from loadtop.model.server import ServerReading
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy

COLLECTORS = (
    "cpu",
    "scheduler",
    "memory",
    "swap",
    "paging",
    "pressure",
    "disks",
    "networks",
    "tcp",
    "processes",
    "apache",
    "cgroup",
)
BOOTED_S = 30 * 86400.0
"""The machines have been up for a month: their counters are as long as those of real ones."""


class MadeHost:
    """A machine whose counters grow as those of a real one do.

    Longer than 200 lines: it makes one sample of every kind there is.
    """

    def __init__(self, name: str, role: str, *, cores: int, httpd: int, seed: int) -> None:
        self.name = name
        self.role = role
        self._random = random.Random(seed)  # noqa: S311 - generated load, no secret
        self._facts = HostFacts(
            name, "local" if role == "generator" else f"ssh://{name}", "Linux", "6.1.0-18-amd64", cores, 8_152_440
        )
        ticks = int(BOOTED_S * 100)
        self._cores = [
            [ticks // 5, 1200, ticks // 16, ticks // 3 * 2, ticks // 200, 0, ticks // 300, ticks // 900, 0, 0]
            for _ in range(cores)
        ]
        self._counters = [self._random.randrange(1 << 22, 1 << 33) for _ in range(64)]
        self._memory = [self._random.randrange(100_000, 3_000_000) for _ in range(8)]
        self._httpd = httpd
        group = "httpd" if httpd else OTHER
        self._processes = [
            Process(
                900 + 3 * n,
                "apache2" if httpd else f"worker{n % 7}",
                group,
                "S",
                1,
                40 * n,
                262_000_000 + n,
                11_000 + 37 * n,
                4_000 + 11 * n if httpd else None,
            )
            for n in range(httpd + 1 if httpd else 4)
        ]
        self._others = [Process(60 + n, f"kworker/{n}", OTHER, "S", 1, 5000 + n, 90 + n, 0) for n in range(12)]
        self._loads = [3.1, 2.8, 2.9]
        self._second = 0

    def sample(self) -> HostSample:
        """The next second."""
        self._second += 1
        draw = self._random
        cores = tuple(Core(number, self._core(times)) for number, times in enumerate(self._cores))
        total = CpuTimes(*(sum(column) for column in zip(*self._cores, strict=True)))
        if self._second % 5 == 1:
            # The kernel's own decay over 5 s towards the number of running tasks.
            running = draw.uniform(2, 12)
            self._loads = [
                round(load + (running - load) * share, 2)
                for load, share in zip(self._loads, (0.08, 0.017, 0.0055), strict=True)
            ]
        memory = self._memory
        # Free, available, cached and dirty memory change all the time, the rest now and then.
        for position, often in enumerate((1.0, 1.0, 0.1, 0.8, 0.9, 0.05, 0.2, 0.05)):
            if draw.random() < often:
                memory[position] = max(0, memory[position] + draw.randrange(-900, 901))
        took = round(draw.uniform(0.004, 0.012), 6)
        return HostSample(
            host=self.name,
            at=round(BOOTED_S + self._second + draw.uniform(0, 0.01), 2),
            facts=self._facts,
            took_s=took,
            cpu=Cpu(total, cores),
            scheduler=Scheduler(
                self._loads[0],
                self._loads[1],
                self._loads[2],
                draw.randrange(9),
                draw.randrange(2),
                312 + draw.randrange(3),
                self._grow(0, 9000),
                self._grow(1, 3),
            ),
            memory=Memory(8_152_440, *memory),
            swap=Swap(2_097_148, 1_804_120, 8_120),
            paging=Paging(
                self._grow(2, 0), self._grow(3, 0), self._grow(4, 2), self._grow(5, 0), self._grow(6, 0), oom_kills=0
            ),
            pressure=Pressure(
                self._grow(10, 90_000),
                self._grow(11, 0),
                self._grow(12, 0),
                self._grow(13, 9_000),
                self._grow(14, 7_000),
            ),
            disks=(self._disk("vda", 16, 30), self._disk("vdb", 24, 0)),
            networks=(self._network("lo", 32, 300), self._network("eth0", 40, 900_000)),
            tcp=Tcp(
                12,
                12,
                self._grow(48, 2),
                self._grow(49, 900),
                self._grow(50, 300),
                self._grow(51, 20),
                draw.randrange(40, 80),
                draw.randrange(2000, 2400),
                draw.randrange(60, 90),
                (Listener(22, 0, 128), Listener(80, draw.randrange(2) if self._httpd else 0, 511)),
            ),
            processes=self._run(),
            cgroup=CgroupLimits("/system.slice/apache2.service", 2) if self._httpd else None,
            servers=self._servers(),
            outcomes=tuple(Outcome(name, State.OK, "", round(draw.uniform(2e-5, 9e-4), 6)) for name in COLLECTORS),
        )

    def _grow(self, counter: int, mean: int) -> int:
        if mean:
            self._counters[counter] += int(self._random.expovariate(1 / mean))
        return self._counters[counter]

    def _core(self, times: list[int]) -> CpuTimes:
        draw = self._random
        user, system, iowait, softirq, steal = (draw.randrange(n) for n in (60, 20, 3, 4, 2))
        for position, ticks in ((0, user), (2, system), (4, iowait), (6, softirq), (7, steal)):
            times[position] += ticks
        times[3] += max(0, 100 - user - system - iowait - softirq - steal)
        return CpuTimes(*times)

    def _disk(self, name: str, base: int, mean: int) -> Disk:
        reads, writes = self._grow(base, mean), self._grow(base + 1, mean)
        return Disk(
            name,
            reads,
            self._grow(base + 2, mean * 8),
            self._grow(base + 3, mean),
            writes,
            self._grow(base + 4, mean * 12),
            self._grow(base + 5, mean),
            0,
            self._grow(base + 6, mean),
            self._grow(base + 7, mean),
        )

    def _network(self, name: str, base: int, mean: int) -> Network:
        return Network(
            name,
            self._grow(base, mean),
            self._grow(base + 1, mean),
            self._grow(base + 2, mean // 700 + 1),
            self._grow(base + 3, mean // 700 + 1),
            link_mbit=None if name == "lo" else 1000,
        )

    def _run(self) -> tuple[Process, ...]:
        draw = self._random
        for position, process in enumerate(self._processes):
            busy = position % 3 != 0 and bool(self._httpd)
            known = process.pss_kb is not None and draw.randrange(16) == 0
            self._processes[position] = replace(
                process,
                state="R" if busy and draw.randrange(6) == 0 else "S",
                cpu_ticks=process.cpu_ticks + (draw.randrange(7) if busy else draw.randrange(2)),
                rss_kb=process.rss_kb + (4 * draw.randrange(-20, 24) if busy and draw.randrange(4) == 0 else 0),
                pss_kb=draw.randrange(4000, 6000) if known else process.pss_kb,
            )
        if self._httpd and self._second % 30 == 0:
            gone = draw.randrange(1, len(self._processes))
            self._processes[gone] = Process(
                5000 + self._second, "apache2", "httpd", "S", 1, 0, 262_000_000 + 100 * self._second, 11_000, None
            )
        for other in (busiest := draw.sample(range(len(self._others)), 5)):
            self._others[other] = replace(self._others[other], cpu_ticks=self._others[other].cpu_ticks + 1)
        return (*self._processes, *(self._others[other] for other in busiest))

    def _status(self) -> ApacheStatus:
        slots = "".join(self._random.choice("WW_K" if n % 3 else "W_") for n in range(self._httpd))
        return ApacheStatus(
            "http://127.0.0.1/server-status?auto",
            "prefork",
            "Apache/2.4.57 (Debian)",
            slots.ljust(256, "."),
            int(BOOTED_S) + self._second,
            self._grow(52, 300),
            self._grow(53, 2400),
            self._grow(54, 9000),
            fetch_s=self._random.uniform(0.001, 0.03),
            max_request_workers=256,
        )

    def _servers(self) -> dict[str, tuple[ServerReading, ...]]:
        if self._httpd:
            return {"apache": (self._status(),)}
        return {"haproxy": self._proxies()} if self.role == "other" and self.name == "proxy" else {}

    def _proxies(self) -> tuple[HaproxyProxy, ...]:
        draw = self._random
        return tuple(
            HaproxyProxy(
                "web",
                server,
                "UP" if server.startswith("web") else "OPEN",
                draw.randrange(3),
                draw.randrange(60),
                2000,
                self._grow(56 + n, 300),
                self._grow(60 + n, 70_000),
                10**11,
                0,
                0,
                0,
                draw.randrange(4),
                draw.randrange(60, 90),
            )
            for n, server in enumerate(("FRONTEND", "web1", "web2", "BACKEND"))
        )


def made_frames(hosts: int, rps: int) -> Iterator[Frame]:
    """Frames of one second each, without end."""
    kinds = (
        ("web1", "target", 8, 64),
        ("gen", "generator", 4, 0),
        ("web2", "other", 8, 64),
        ("proxy", "other", 4, 0),
        ("db", "other", 8, 0),
    )
    machines = [
        MadeHost(name, role, cores=cores, httpd=httpd, seed=n)
        for n, (name, role, cores, httpd) in enumerate(kinds[:hosts])
    ]
    draw = random.Random(7)  # noqa: S311 - generated load, no secret
    shapes = [_latencies(draw, rps) for _ in range(60)]
    requests = 0
    number = 0
    while True:
        number += 1
        latencies = draw.choice(shapes)
        requests += latencies.total.count
        load = LoadSample(
            at=8000.0 + number * 1.0003,
            engine="builtin",
            state=LoadState.RUNNING,
            model="closed",
            elapsed_s=number * 1.0003,
            concurrency=64,
            rate=None,
            step=1,
            steps=1,
            in_flight=draw.randrange(60, 65),
            connections=64,
            requests=requests,
            failures=Failures(),
            non_2xx=0,
            keepalive_requests=0,
            received_bytes=requests * 8311,
            body_bytes=requests * 8000,
            sent_bytes=requests * 120,
            latencies=latencies,
            generator=GeneratorSample(
                (number * 0.31,),
                draw.uniform(1e-4, 3e-3),
                ports_used=2100,
                ports_limit=28232,
                files_used=80,
                files_limit=1024,
            ),
            server=ServerSeen("Apache/2.4.57 (Debian)", "web1", 80, "/index.php", 8000),
            target_s=86400.0,
        )
        states = tuple(HostState(host.name, host.role, host.sample(), fresh=True) for host in machines)
        yield Frame(number, number + draw.uniform(0, 0.002), 1.8e9 + number, load, states)


def _latencies(draw: random.Random, rps: int) -> Latencies:
    def times(median_us: float, spread: float) -> Distribution:
        return distribution([int(draw.lognormvariate(math.log(median_us), spread)) for _ in range(rps)])

    return Latencies(times(22_000, 0.5), times(140, 0.2), times(21_800, 0.5), times(21_500, 0.5))
