"""One interval as the diagnosis sees it, with everything calm but what a test is about."""

from typing import Any

from msgspec.structs import replace

from loadtop.diagnosis.verdict import Assessment, Verdict
from loadtop.i18n import Message
from loadtop.model import (
    Frame,
    HostFacts,
    HostSample,
    HostState,
    LoadSample,
    LoadState,
    Memory,
    Process,
    Role,
    Scheduler,
)
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import (
    CpuShares,
    GroupRates,
    HostRates,
    LoadRates,
    PagingRates,
    PressureShares,
    ProcessRates,
    TcpRates,
)
from loadtop.servers.registry import KINDS
from tests.unit.known import known

FACTS = HostFacts("web1", "local", "Linux", "6.1", cores=2)
SAMPLE = HostSample(
    "web1", 100.0, FACTS, scheduler=Scheduler(0, 0, 0, running=1, blocked=0), memory=Memory(1_000_000, 0, 500_000)
)
LOAD = LoadSample(at=100.0, engine="builtin", state=LoadState.RUNNING, model="closed", elapsed_s=100.0, in_flight=10)
LOAD_RATES = LoadRates(1.0, 99.0, 0.0, 0.0, 0.0, 0.0, 0.0, None)
NO_STALL = PressureShares(0.0, 0.0, 0.0, 0.0, 0.0)
NO_PAGING = PagingRates(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def busy(share: float, steal: float = 0.0) -> CpuShares:
    return CpuShares(share, 0.0, 0.0, 100.0 - share - steal, 0.0, 0.0, 0.0, steal)


RATES = HostRates(
    seconds=1.0, cpu=busy(5.0), cores=(), paging=NO_PAGING, pressure=NO_STALL, disks=(), networks=(),
    tcp=TcpRates(0.0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0), processes=(), groups=(), servers={},
)  # fmt: skip


def group(cpu: float = 0.0, *, name: str = "httpd", role: Role | None = Role.WEB, **changes: Any) -> GroupRates:
    made = GroupRates(name, role, processes=1, running=0, blocked=0, threads=1, cpu=cpu, rss_kb=10_000, pss_kb=None)
    return replace(made, **changes)


def process(cpu: float | None, name: str = "apache2", of: str = "httpd", threads: int = 1) -> ProcessRates:
    return ProcessRates(Process(7, name, of, "R", threads, 0, 5, 9_000), cpu)


def host(sample: dict[str, Any] | None = None, role: str = "target", **rates: Any) -> HostView:
    state = HostState("web1", role, replace(SAMPLE, **sample or {}), fresh=True)
    return HostView(state, replace(RATES, **rates), 0.0)


def measured(*hosts: HostView, load: dict[str, Any] | None = None, **rates: Any) -> Measured:
    frame = Frame(1, 1.0, 1.0, replace(LOAD, **load or {}), tuple(each.state for each in hosts))
    return Measured(frame, replace(LOAD_RATES, **rates), hosts, kinds=KINDS)


def assessment(verdict: Verdict, view: HostView, **interval: Any) -> Assessment | None:
    """Return what a verdict says about a host in this interval, or None if it lacks figures."""
    assess = known(verdict.of_generator if view.state.role == "generator" else verdict.of_host)
    return assess(measured(view, **interval), view)


def of_host(verdict: Verdict, view: HostView, **interval: Any) -> Assessment:
    return known(assessment(verdict, view, **interval))


def of_load(verdict: Verdict, *hosts: HostView, load: dict[str, Any] | None = None, **rates: Any) -> Assessment:
    return known(known(verdict.of_load)(measured(*hosts, load=load, **rates)))


def states(found: Assessment) -> tuple[bool, bool]:
    return found.over, found.held


def advice(found: Assessment) -> str:
    return str(found.advice if isinstance(found.advice, Message) else found.advice())


def value(found: Assessment, metric: str) -> float | None:
    return next(row[1] for row in found.evidence if row[0] == metric)
