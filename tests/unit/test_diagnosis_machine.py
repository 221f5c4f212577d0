"""Limits of machines: memory, disks, stolen and throttled processors, lines; and what looks like one."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop import model
from loadtop.diagnosis.finding import Finding
from loadtop.pipeline.snapshot import Pipeline
from tests.unit.conftest import Machine
from tests.unit.course import FULL, Counted, Course, counted, frame_of, generator, named
from tests.unit.known import known

Settings = dict[str, Any]


def process(
    pid: int, name: str, group: str = "httpd", state: str = "S", threads: int = 1, ticks: int = 10
) -> model.Process:
    return model.Process(pid, name, group, state, threads, ticks, 5, 9_000)


def short_of_memory(*, available_kb: int = 200_000, refaults: int = 3000, stall: float = 30.0) -> Settings:
    return {
        "memory": model.Memory(4_000_000, 100_000, available_kb),
        "paging": counted(lambda number: model.Paging(0, 0, 0, 0, 0, 0, 0, refaults * number)),
        "pressure": counted(lambda number: model.Pressure(0, round(stall * 10_000 * number), 0, 0, 0)),
    }


GROUP_OF_97_MB = model.CgroupLimits("/web", 2, memory_limit_kb=100_000, memory_used_kb=99_000)
SWAPPING: Settings = {"swap_in": 5000.0, "swap_out": 5000.0, "faults": 500.0, "memory_stall": 40.0}
OF_600_MB = tuple(model.Process(2000 + n, "apache2", "httpd", "S", 1, 10, 5, 20_000, 15_000) for n in range(40))
"""600 MB here and 400 MB swapped out: 25 MB each; 80 MB are free."""
ADVISED_ON_SWAP = {
    "processes": OF_600_MB, "swap": model.Swap(1_000_000, 600_000), "memory": model.Memory(800_000, 50_000, 100_000),
    "cgroup": model.CgroupLimits("/web", 2, memory_limit_kb=800_000, memory_used_kb=600_000),
}  # fmt: skip


def swapping_and_short() -> Settings:
    def paging(n: int) -> model.Paging:
        return model.Paging(90_000 * n, 80_000 * n, 500 * n, 0, 0, 0, 0, 3000 * n)

    return {**short_of_memory(), "paging": counted(paging), "swap": model.Swap(1_000_000, 500_000)}


def busy_disk(
    *, blocked: int, wait_ms: float = 25.0, queue: float = 0.0, group: str = "httpd", swap: bool = False
) -> Settings:
    """A disk that does 40 requests a second, and ``blocked`` processes of ``group`` that wait for it."""

    def disks(n: int) -> tuple[model.Disk, ...]:
        waited, queued = round(40 * wait_ms * n), round(1000 * queue * n)
        return (model.Disk("vda", 40 * n, 160 * n, waited, 0, 80 * n, 0, 1, 1000 * n, queued, swap),)

    states = ["D"] * blocked + ["S"] * (12 - blocked)
    rows = (process(2999, "apache2"), *(process(3000 + n, "a", group, state) for n, state in enumerate(states)))
    return {"disks": disks, "processes": rows, "scheduler": model.Scheduler(1, 1, 1, 1, blocked)}


def threaded_server_beside(writers: int) -> Settings:
    """Three tasks wait for a busy disk, of which so many are other programs'."""
    return {
        "disks": counted(lambda n: (model.Disk("vda", 0, 0, 0, 60 * n, 240 * n, 1900 * n, 3, 990 * n, 3000 * n),)),
        "scheduler": model.Scheduler(3.0, 3.0, 3.0, 1, 3, 100),
        "processes": (
            process(9, "apache2", threads=27),
            *(process(50 + n, "dd", model.OTHER, "D", ticks=0) for n in range(writers)),
        ),
    }


def stolen(busy: float, steal: float) -> Settings:
    def cpu(number: int) -> model.Cpu:
        used, idle, taken = (round(2 * number * share) for share in (busy, 100 - busy - steal, steal))
        return model.Cpu(model.CpuTimes(used, 0, 0, idle, 0, 0, 0, taken), ())

    return {"cpu": counted(cpu)}


def throttled(share: float, lost_ms: float = 400.0, quota_us: int | None = 50_000) -> Settings:
    def group(n: int) -> model.CgroupLimits:
        return model.CgroupLimits(
            "/web", 2, quota_us, 100_000, 10 * n, round(share / 10 * n), round(1000 * lost_ms * n)
        )

    return {"cgroup": counted(group)}


def line(mbit_s: float, link: int | None, name: str = "eth0", *, received: bool = False) -> Settings:
    def networks(number: int) -> tuple[model.Network, ...]:
        carried = round(mbit_s * 125_000 * number)
        rx, tx = (carried, 0) if received else (0, carried)
        return (model.Network(name, rx, tx, 0, 0, link_mbit=link),)

    return {"networks": counted(networks)}


def stall_of_the_server(percent: int) -> Settings:
    pressure = counted(
        lambda n: model.CgroupLimits("/web", 2, pressure=model.Pressure(0, 10_000 * percent * n, 0, 0, 0))
    )
    return {"cgroup": pressure}


NEARLY_FULL: Settings = {"busy": (88.0, 86.0), "running": 2, "cpu_stall": 8.0}
SWAPS_HARD: Settings = {"swap_in": 9_000.0, "swap_out": 9_000.0, "faults": 2_000.0, "memory_stall": 50.0}


def one_process(threads: int) -> Counted:
    return lambda number: (process(7, "server", state="R", threads=threads, ticks=100 * number),)


def eight_beside(stranger: int, taken: int = 12, wait_ms: int = 0, other_core: float = 9.0) -> Settings:
    """Eight processes of the server that share one core, and another program that takes so much of it (percent, as what
    each process takes)."""

    def processes(n: int) -> tuple[model.Process, ...]:
        server = process(0, "apache2", state="R", ticks=taken * n)
        servers = (replace(server, pid=7 + i, wait_ns=1_000_000 * wait_ms * n) for i in range(8))
        return (*servers, process(70, "backup", model.OTHER, "R", ticks=stranger * n))

    load = {"in_flight": 20, "concurrency": 20, "connections": 20}
    return {"changes": {"processes": counted(processes)}, "load": load, "busy": (99.0, other_core), "board": "W" * 8}


CORE: Settings = {"busy": (99.0, 10.0)}
STRANGER = {"backup": 97.0, "apache2": 5.0}

LIMITS: dict[str, tuple[Settings, str, list[str]]] = {
    "a full pool on a free CPU": ({"board": "W" * 10}, "apache-workers", ["MaxRequestWorkers"]),
    "a full pool of processes whose memory is known": (
        {"board": "W" * 10, "processes": {"apache2": 1.0}},
        "apache-workers",
        ["8.8 MB each (RSS", "about 178", "to 11 (10 requests in flight, 1 for the status page)"],
    ),
    "a full pool on a full CPU": ({"board": "W" * 10, **FULL}, "cpu <- apache-workers", []),
    "a full CPU that a stranger takes": (
        {"processes": {"backup": 97.0, "apache2": 50.0}, **FULL},
        "cpu",
        ["backup (pid 1000), which is not part of the web server, takes 48 % of the CPU"],
    ),
    "a full CPU that a generator shares": ({"processes": {"loadtop": 60.0}, **FULL}, "cpu", ["takes 30 % of its CPU"]),
    "one full core while requests wait": ({"processes": {"nginx": 97.0}, **CORE}, "cpu-core", ["nginx"]),
    "one full core under an engine that tells connections": (
        {"processes": {"nginx": 97.0}, "load": {"in_flight": None, "concurrency": 8}, **CORE}, "cpu-core", [],
    ),
    "one full core under an engine that tells nothing": (
        {"processes": {"nginx": 97.0}, "load": {"in_flight": None, "concurrency": None}, **CORE}, "cpu-core", [],
    ),
    "memory that is given up and wanted again": ({"changes": short_of_memory()}, "memory", []),
    "a full control group": (
        {"changes": {**short_of_memory(available_kb=2_000_000), "cgroup": GROUP_OF_97_MB}}, "memory", ["97 MB limit"],
    ),
    "swapping, which explains the short memory": (
        {"processes": {"apache2": 50.0}, "changes": {**swapping_and_short(), "cgroup": GROUP_OF_97_MB}},
        "swap <- memory", ["raise the control group's limit of 97 MB"],
    ),
    "swapping, with what is swapped out": (
        {"board": "W" * 40, "changes": ADVISED_ON_SWAP, **SWAPPING},
        "swap",
        ["Lower MaxRequestWorkers from 40 to about 25, or add memory. Each process takes 24.4 MB (PSS"],
    ),
    "swapping that the server feels": ({"changes": stall_of_the_server(30), **SWAPS_HARD}, "swap", []),
    "a disk that the server's processes wait for": (
        {"iowait": 60.0, "changes": busy_disk(blocked=8)},
        "disk",
        ["8 of 10 requests in flight wait for the disk vda (read 160 kB/s, write 80 kB/s, 40 operations/s)"],
    ),
    "a disk with a queue that answers each request at once": (
        {"changes": busy_disk(blocked=8, wait_ms=0.4, queue=3.0)}, "disk", [],
    ),
    "a disk that a threaded server waits for": (
        {"load": {"in_flight": 4}, "changes": threaded_server_beside(0)}, "disk", [],
    ),
    "a disk that carries swap": (
        {"changes": busy_disk(blocked=8, swap=True), **SWAPPING, "swap_out": 0.0}, "swap", [],
    ),
    "stolen time, when none is left": (
        {"running": 6, "changes": stolen(70.0, 29.0)}, "steal", ["29 % of this virtual machine's CPU"],
    ),
    "stolen time with the busy CPU and its full pool": (
        {"running": 6, "board": "W" * 10, "changes": stolen(88.0, 12.0)}, "steal <- apache-workers", [],
    ),
    "a quota": (
        {"board": "W" * 10, "changes": throttled(90.0)},
        "throttled <- apache-workers",
        ["Raise the CPU quota of 0.5 cores", "CPUQuota=100%"],
    ),
    "a full line with the pool that waits for it": (
        {"board": "W" * 10, "changes": line(96.0, 100)},
        "network <- apache-workers",
        ["eth0 sends 96 of 100 Mbit/s"],
    ),
    "a line full of what is received": (
        {"changes": line(96.0, 100, received=True)}, "network", ["eth0 receives 96 of 100 Mbit/s"],
    ),
    "a line that was told its speed, whatever its name": ({"changes": line(19.0, 20, "veth12")}, "network", []),
    "one thread that fills a core on changing cores": (
        {"board": None, "changes": {"processes": one_process(1)}, **NEARLY_FULL},
        "cpu-core",
        ["server (pid 7) fills one core"],
    ),
    "many that share a core": (eight_beside(5), "cpu-core", ["Let the 8 web server processes use more cores"]),
    "many that share a core with others": (eight_beside(30, 7, 126, 58.0), "cpu-core", ["Let the 8 web server"]),
}  # fmt: skip

CALM: dict[str, Settings] = {
    "a busy CPU that nobody waits for": {"busy": (95.0, 95.0), "running": 2, "cpu_stall": 2.0},
    "spare slots that are open": {"board": "WWWW......"},
    "swap that is occupied but still": {"swap_used": 900_000},
    "swap traffic that nobody feels": {"swap_out": 500.0, "faults": 1.0, "memory_stall": 0.5},
    "iowait alone": {"iowait": 90.0},
    "one full core of one request at a time": {"processes": {"php": 97.0}, "load": {"in_flight": 1}, **CORE},
    "one full core of one connection of another engine": {
        "processes": {"nginx": 97.0}, "load": {"in_flight": None, "concurrency": 1}, **CORE,
    },
    "a core that a stranger fills beside the web server": {"processes": STRANGER, **CORE},
    "little memory that nobody wants again": {"changes": short_of_memory(refaults=0)},
    "refaults beside enough memory": {"changes": short_of_memory(available_kb=2_000_000)},
    "refaults that nobody feels": {"changes": short_of_memory(stall=1.0)},
    "swapping of others": {"changes": stall_of_the_server(0), **SWAPS_HARD},
    "a disk that another program waits for": {"iowait": 60.0, "changes": busy_disk(blocked=3, group=model.OTHER)},
    "a disk that is always busy and fast": {"changes": busy_disk(blocked=8, wait_ms=0.4)},
    "a disk that only others wait for beside a threaded server": {
        "load": {"in_flight": 4}, "changes": threaded_server_beside(3),
    },
    "stalls for I/O alone": {
        "changes": {"pressure": counted(lambda number: model.Pressure(0, 0, 0, 800_000 * number, 700_000 * number))},
    },
    "stolen time beside idle time": {"changes": stolen(30.0, 15.0)},
    "throttling that is rare": {"changes": throttled(10.0)},
    "throttling that is not felt": {"changes": throttled(90.0, lost_ms=2.0)},
    "throttling without a quota": {"changes": throttled(90.0, quota_us=None)},
    "a line of unknown speed": {"changes": line(940.0, None)},
    "many threads that take as much as a core": {
        "board": None, "changes": {"processes": one_process(27)}, **NEARLY_FULL,
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_limit_is_named_within_four_intervals(course: Course, name: str) -> None:
    settings, expected, said = LIMITS[name]
    diagnosis = course.go_on(4, **settings)
    limit, _, symptom = expected.partition(" <- ")
    assert (named(diagnosis), diagnosis.verdict.host) == (limit, "web1")
    assert not symptom or symptom in {found.bottleneck for found in diagnosis.verdict.symptoms}
    assert all(part in str(diagnosis.verdict.advice) for part in said), str(diagnosis.verdict.advice)


@pytest.mark.parametrize("name", CALM)
def test_apparent_limits_are_not_limits(course: Course, name: str) -> None:
    assert named(course.go_on(6, **CALM[name])) == "none"


def test_short_memory_has_its_three_signs(course: Course) -> None:
    diagnosis = course.go_on(4, changes=short_of_memory())
    signs = {"memory.available_pct", "memory.refaults_s", "pressure.memory_some_pct"}
    assert {item.metric for item in diagnosis.verdict.evidence} == signs


def test_a_core_used_by_another_program_is_not_a_limit(course: Course) -> None:
    assert named(course.go_on(5, **eight_beside(60))) != "cpu-core"
    assert named(course.go_on(5, **eight_beside(30, 7, wait_ms=124))) != "cpu-core"
    assert named(course.go_on(5, **eight_beside(30, 7, 126, other_core=62.0))) != "cpu-core"


@pytest.mark.parametrize(
    ("processes", "settings", "limit"),
    [
        ({"loadtop": 10.0, "backup": 150.0}, {}, "none"),
        ({"loadtop": 80.0}, {}, "generator"),
        ({"loadtop": 10.0, "backup": 150.0}, {"generator": generator(cpu_s=0.1, delay_s=0.02)}, "generator"),
    ],
    ids=["others beside a generator in time", "the generator itself", "what keeps the generator waiting"],
)
def test_a_full_machine_that_generates(load: Any, processes: Settings, settings: Settings, limit: str) -> None:
    full: Settings = {"busy": (95.0, 93.0), "running": 5, "board": None}
    course = Course(Machine("here", "generator"), load)
    assert named(course.go_on(6, processes=processes, load=settings, **full)) == limit


@pytest.mark.parametrize(("boots", "hosts"), [(("a", "a"), ["web"]), (("a", "b"), ["web", "here"])])
def test_a_machine_under_two_names_is_one_limit(load: Any, boots: tuple[str, str], hosts: list[str]) -> None:
    """A container tells the same of the processors as the machine that it is on."""
    machines = [Machine("here", "other"), Machine("web", "target")]
    pipeline = Pipeline()
    found: tuple[Finding, ...] = ()
    for number in range(6):
        states = [each.state(**FULL) for each in machines]
        facts = [replace(known(each.sample).facts, boot_id=boot) for each, boot in zip(states, boots, strict=True)]
        states = [
            replace(each, sample=replace(known(each.sample), facts=told))
            for each, told in zip(states, facts, strict=True)
        ]
        found = pipeline.snapshot(frame_of(number, load.sample(), *states)).diagnosis.findings
    assert [finding.host for finding in found if finding.bottleneck == "cpu"] == hosts
