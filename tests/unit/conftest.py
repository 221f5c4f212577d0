"""Builders of raw samples with everything at rest, so that a test names only what it is about."""

from collections.abc import Generator
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop import model
from loadtop.i18n import language, set_language
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.registry import KINDS
from tests.unit.course import Course, Run

FACTS = model.HostFacts("web1", "local", "Linux", "6.1", 2, 4_000_000)


class Machine:
    """A machine whose counters move on by what each interval says."""

    def __init__(self, name: str = "web1", role: str = "target") -> None:
        self.name = name
        self.role = role
        self.at = 100.0
        self.cores = [model.CpuTimes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)] * 2
        self.paging = model.Paging(0, 0, 0)
        self.pressure = model.Pressure(0, 0, 0, 0, 0)
        self.process_ticks: dict[str, int] = {}

    def sample(
        self,
        *,
        busy: tuple[float, float] = (5.0, 5.0),
        system: float = 0.0,
        iowait: float = 0.0,
        running: int = 1,
        cpu_stall: float = 0.0,
        memory_stall: float = 0.0,
        swap_in: float = 0.0,
        swap_out: float = 0.0,
        faults: float = 0.0,
        swap_used: int = 0,
        board: str | None = "W" + "_" * 9,
        processes: dict[str, float] | None = None,
        changes: dict[str, Any] | None = None,
        seconds: float = 1.0,
    ) -> model.HostSample:
        """The next sample; shares in percent, traffic in kB/s, ``processes`` as name -> % of a core. ``changes`` are
        fields of the sample, or readings of a kind of server."""
        self.at += seconds
        ticks = round(100 * seconds)
        self.cores = [
            self._core(times, share, system, iowait, ticks) for times, share in zip(self.cores, busy, strict=True)
        ]
        self.paging = model.Paging(
            self.paging.swap_in_kb + round(swap_in * seconds),
            self.paging.swap_out_kb + round(swap_out * seconds),
            (self.paging.major_faults or 0) + round(faults * seconds),
        )
        micro = 10_000 * seconds
        self.pressure = replace(
            self.pressure,
            cpu_some_us=(self.pressure.cpu_some_us or 0) + round(cpu_stall * micro),
            memory_some_us=(self.pressure.memory_some_us or 0) + round(memory_stall * micro),
        )
        fields: dict[str, Any] = {
            "cpu": model.Cpu(_sum(self.cores), tuple(model.Core(i, times) for i, times in enumerate(self.cores))),
            "scheduler": model.Scheduler(0.5, 0.5, 0.5, running, 0, 100),
            "memory": model.Memory(4_000_000, 1_000_000, 2_000_000),
            "swap": model.Swap(1_000_000, 1_000_000 - swap_used),
            "paging": self.paging,
            "pressure": self.pressure,
            "tcp": model.Tcp(0, 0, 0),
            "processes": tuple(
                self._process(i, name, share, ticks) for i, (name, share) in enumerate((processes or {}).items())
            ),
        }
        page = None if board is None else (ApacheStatus("http://x/server-status?auto", "prefork", "Apache", board, 10),)
        fields |= changes or {}
        known = {kind.name: fields.pop(kind.name, page if kind is APACHE else None) for kind in KINDS}
        servers = {name: readings for name, readings in known.items() if readings is not None}
        return model.HostSample(self.name, self.at, FACTS, servers=servers, **fields)

    def state(self, **settings: Any) -> model.HostState:
        return model.HostState(self.name, self.role, self.sample(**settings), fresh=True)

    def _core(self, times: model.CpuTimes, busy: float, system: float, iowait: float, ticks: int) -> model.CpuTimes:
        user, kernel, waiting = (round(ticks * share / 100) for share in (busy - system, system, iowait))
        return replace(
            times,
            user=times.user + user,
            system=times.system + kernel,
            iowait=(times.iowait or 0) + waiting,
            idle=times.idle + ticks - user - kernel - waiting,
        )

    def _process(self, number: int, name: str, share: float, ticks: int) -> model.Process:
        self.process_ticks[name] = self.process_ticks.get(name, 0) + round(ticks * share / 100)
        group = {"apache2": "httpd", "loadtop": model.LOADTOP}.get(name, model.OTHER)
        return model.Process(1000 + number, name, group, "S", 1, self.process_ticks[name], 5, 9_000)


def _sum(cores: list[model.CpuTimes]) -> model.CpuTimes:
    names = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
    return model.CpuTimes(**{name: sum(getattr(core, name) for core in cores) for name in names})


class Load:
    """A load whose counters move on by what each interval says."""

    def __init__(self) -> None:
        self.newest = model.LoadSample(
            at=0.0, engine="builtin", state=model.LoadState.RUNNING, model="closed", elapsed_s=0.0, concurrency=10,
            in_flight=10, connections=10, requests=0, failures=model.Failures(), non_2xx=0, keepalive_requests=0,
            received_bytes=0, body_bytes=0, sent_bytes=0, generator=model.GeneratorSample((0.0,), 0.0),
        )  # fmt: skip

    def sample(
        self, *, rps: float = 100.0, cpu: float = 20.0, seconds: float = 1.0, **changes: Any
    ) -> model.LoadSample:
        """The next sample, ``seconds`` later; ``cpu`` is the worker's share of a core in percent."""
        old = self.newest
        spent = old.generator.worker_cpu_s[0] if old.generator else 0.0
        fields: dict[str, Any] = {
            "at": old.at + seconds,
            "elapsed_s": old.elapsed_s + seconds,
            "requests": (old.requests or 0) + round(rps * seconds),
            "received_bytes": (old.received_bytes or 0) + round(rps * seconds) * 1000,
            "generator": model.GeneratorSample((spent + cpu / 100 * seconds,), 0.001),
        }
        self.newest = replace(old, **{**fields, **changes})
        return self.newest


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def load() -> Load:
    return Load()


@pytest.fixture
def course(machine: Machine, load: Load) -> Course:
    """A test as it continues, interval by interval."""
    return Course(machine, load)


@pytest.fixture
def run(machine: Machine, load: Load) -> Run:
    """A test that is added up as it goes."""
    return Run(machine, load)


@pytest.fixture
def watch(machine: Machine) -> Run:
    """A machine that is watched without a load, added up as it goes."""
    return Run(machine)


@pytest.fixture
def japanese() -> Generator[None]:
    """Japanese is spoken while the test runs."""
    before = language()
    set_language("ja")
    yield
    set_language(before)
