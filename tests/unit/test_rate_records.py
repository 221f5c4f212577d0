"""Each record of rates, every field of it, from two samples that are two seconds apart; and what has no rate."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.model import (
    LOADTOP,
    OTHER,
    SERVICE,
    CgroupLimits,
    Disk,
    Failures,
    FileLock,
    GeneratorSample,
    HostFacts,
    HostSample,
    IoLimit,
    Limited,
    LoadSample,
    LoadState,
    Network,
    Paging,
    Peer,
    Peers,
    Pressure,
    Process,
    Queued,
    Role,
    Swap,
    Tcp,
)
from loadtop.model.histogram import distribution
from loadtop.model.load import Latencies
from loadtop.rates.compute import host_rates, load_rates, server_rates
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.metrics import LOAD_METRICS, MACHINE_METRICS, PERCENTILES, sum_known, swap_used
from loadtop.rates.records import (
    CgroupRates,
    CpuShares,
    DiskRates,
    GeneratorRates,
    GroupRates,
    HostRates,
    IoLimitRates,
    LoadRates,
    NetworkRates,
    PagingRates,
    PeerRates,
    PressureShares,
    TcpRates,
)
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.registry import KINDS
from tests.unit.interval import LOAD, host, measured
from tests.unit.known import known

FIRST = HostSample("web1", 10.0, HostFacts("web1", "local", "Linux", "6.1", 2))
DISK = Disk("vda", 100, 1000, 500, 200, 4000, 900, in_flight=3, busy_ms=1000, queue_ms=2000)
NETWORK = Network("eth0", 1000, 2000, 10, 20, 1, 2, 3, 4, link_mbit=100)
TCP = Tcp(10, 20, 30, 40, 50, 60, 70, 80, 90)
PERIODS = CgroupLimits("/web", 2, periods=100, throttled_periods=10, throttled_us=1000, memory_failures=5)


def two_seconds(before: dict[str, Any], now: dict[str, Any]) -> HostRates:
    return known(host_rates(replace(FIRST, **before), replace(FIRST, at=12.0, **now), KINDS))


def test_paging() -> None:
    before, now = Paging(10, 20, 30, 40, 50, 60, 70, 80, 90), Paging(30, 24, 36, 48, 60, 72, 84, 96, 92)
    assert two_seconds({"paging": before}, {"paging": now}).paging == PagingRates(10.0, 2.0, 3.0, 5.0, 6.0, 15.0, 1.0)
    assert two_seconds({}, {"paging": now}).paging is None
    for first, second, refaults in ((10, 20, 5.0), (None, None, None)):  # kernels before 5.9 count those of files only
        older = [{"paging": Paging(0, 0, refaults_file_pages=pages)} for pages in (first, second)]
        assert two_seconds(*older).paging == PagingRates(0.0, 0.0, None, None, None, refaults, None)


def test_pressure() -> None:
    before, now = Pressure(0, 10, 20, 30, 40), Pressure(20_000, 40_010, 60_020, 80_030, 100_040)
    found = two_seconds({"pressure": before}, {"pressure": now}).pressure
    assert found == PressureShares(1.0, 2.0, 3.0, 4.0, 5.0)
    assert two_seconds({}, {"pressure": now}).pressure is None


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({}, DiskRates("vda", 80.0, 11.25, 1.5, 150.0, 350.0, 40.0, swap=False)),
        ({"busy_ms": 3100}, DiskRates("vda", 100.0, 11.25, 1.5, 150.0, 350.0, 40.0, swap=False)),
        ({"busy_ms": None, "queue_ms": None}, DiskRates("vda", None, 11.25, None, 150.0, 350.0, 40.0, swap=False)),
        ({"swap": True, "write_ms": 100}, DiskRates("vda", 80.0, None, 1.5, 150.0, 350.0, 40.0, swap=True)),
        ({"read_ms": 500, "write_ms": 900}, DiskRates("vda", 80.0, 0.0, 1.5, 150.0, 350.0, 40.0, swap=False)),
    ],
)
def test_disk(changes: dict[str, Any], rates: DiskRates) -> None:
    now = replace(DISK, reads=130, read_kb=1300, read_ms=800, writes=250, write_kb=4700, write_ms=1500, busy_ms=2600,
                  queue_ms=5000)  # fmt: skip
    assert two_seconds({"disks": (DISK,)}, {"disks": (replace(now, **changes),)}).disks == (rates,)


def test_what_has_no_rate_of_a_disk_or_a_line() -> None:
    for fell in ({"reads": 99}, {"writes": 199}, {"name": "vdb"}):
        assert two_seconds({"disks": (DISK,)}, {"disks": (replace(DISK, **fell),)}).disks == ()
    for fell in ({"rx_bytes": 999}, {"tx_bytes": 1999}, {"name": "eth1"}):
        assert two_seconds({"networks": (NETWORK,)}, {"networks": (replace(NETWORK, **fell),)}).networks == ()
    unread = two_seconds({"disks": (DISK,)}, {"networks": (NETWORK,)})
    assert (unread.disks, unread.networks, unread.processes, unread.groups) == (None, None, None, None)
    still = two_seconds({"disks": (DISK,)}, {"disks": (DISK,)}).disks
    assert still == (DiskRates("vda", 0.0, None, 0.0, 0.0, 0.0, 0.0, swap=False),)


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({}, NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 5.0, 100, 65.536)),
        ({"tx_bytes": 2000, "rx_packets": 0}, NetworkRates("eth0", 4000.0, 0.0, 0.0, 5.0, 5.0, 100, 32.768)),
        ({"tx_packets": 0}, NetworkRates("eth0", 4000.0, 8000.0, 20.0, 0.0, 5.0, 100, 65.536)),
        (
            {"shaped_mbit": 10.0, "queue_drops": 4, "queue_overlimits": 8, "queue_backlog": 7},
            NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 5.0, 100, 655.36, 10.0, None, None, 7),
        ),
        (
            {"link_mbit": None, "shaped_mbit": 1000.0},
            NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 5.0, None, 6.5536, 1000.0),
        ),
        ({"shaped_mbit": 1000.0}, NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 5.0, 100, 65.536, 100.0)),
        (
            {"policed_mbit": 10.0, "policed_drops": 4},
            NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 5.0, 100, 327.68, policed_mbit=10.0),
        ),
        (
            {"policed_mbit": 1000.0},
            NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 5.0, 100, 65.536, policed_mbit=100.0),
        ),
        ({"link_mbit": None, "rx_errors": 0}, NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 4.0, None, None)),
        ({"rx_drops": 0, "tx_drops": 0}, NetworkRates("eth0", 4000.0, 8000.0, 20.0, 5.0, 0.0, 100, 65.536)),
    ],
)
def test_network(changes: dict[str, Any], rates: NetworkRates) -> None:
    now = Network("eth0", 1000 + 8_192_000, 2000 + 16_384_000, 50, 30, 2, 4, 6, 8, link_mbit=100)
    assert two_seconds({"networks": (NETWORK,)}, {"networks": (replace(now, **changes),)}).networks == (rates,)


def test_tcp() -> None:
    now = Tcp(12, 24, 36, 48, 60, 72, 77, 88, 99)
    passed = {"listen_overflows": 1.0, "listen_drops": 2.0, "retransmits": 3.0}
    found = two_seconds({"tcp": TCP}, {"tcp": now}).tcp
    assert found == TcpRates(
        **passed, passive_opens=5.0, active_opens=6.0, time_wait=now.time_wait, in_use=now.in_use,
        established=now.established,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({}, CgroupRates(20.0, 3.0, 2.0, None, "/web")),
        ({"periods": 100}, CgroupRates(None, 3.0, 2.0, None, "/web")),
        ({"throttled_periods": None, "throttled_us": None}, CgroupRates(None, None, 2.0, None, "/web")),
        ({"path": "/other"}, None),
    ],
)
def test_control_group(changes: dict[str, Any], rates: CgroupRates | None) -> None:
    now = replace(PERIODS, periods=120, throttled_periods=14, throttled_us=7000, memory_failures=9)
    now = replace(now, **changes)
    assert two_seconds({"cgroup": PERIODS}, {"cgroup": now}).cgroup == rates
    found = two_seconds({"more_cgroups": (PERIODS,)}, {"more_cgroups": (replace(now, path="/new"), now)}).more_cgroups
    assert found == (() if rates is None else (rates,))


def test_limits_on_devices() -> None:
    """Of each, what was used of it; a limit that is new, or whose counter fell, has no rate."""
    limits = [
        IoLimit("vda", "/web", Limited.WRITES, 60, 100),
        IoLimit("vda", "/", Limited.WRITES, 500, 900),
        IoLimit("vda", "/web", Limited.READ_BYTES, 1000, 7),
    ]
    later = [replace(each, done=done) for each, done in zip(limits, (220, 1100, 3), strict=True)]
    now = (*later, replace(limits[0], device="vdb"))
    before = {"cgroup": replace(PERIODS, io=tuple(limits))}
    found = known(two_seconds(before, {"cgroup": replace(PERIODS, io=now)}).cgroup).io
    assert found == (
        IoLimitRates("vda", Limited.WRITES, 60, 60.0), IoLimitRates("vda", Limited.WRITES, 500, 100.0),
    )  # fmt: skip
    assert [each.percent for each in found] == [100.0, 20.0]


def test_processes_and_their_groups() -> None:
    def row(pid: int, group: str, ticks: int, **changes: Any) -> Process:
        return replace(Process(pid, "a", group, "S", 2, ticks, 5, 1000, 700), **changes)

    before = (row(1, "httpd", 100), row(2, "httpd", 100), row(3, OTHER, 100), row(4, LOADTOP, 100), row(5, "nginx", 9))
    now = (
        row(1, "httpd", 150, state="R"),
        row(2, "httpd", 200, state="D", threads=3, child_ticks=50),
        row(3, OTHER, 110, pss_kb=None),
        row(4, LOADTOP, 130),
        row(5, "nginx", 9, started_ticks=6),
        row(6, SERVICE, 9),
    )
    found = two_seconds({"processes": before}, {"processes": now})
    assert [each.cpu for each in found.processes or ()] == [25.0, 50.0, 5.0, 15.0, None, None]
    assert found.groups is not None
    assert {each.group: each for each in found.groups} == {
        "httpd": GroupRates("httpd", Role.WEB, 2, 1, 1, 5, 100.0, 2000, 1400),
        "nginx": GroupRates("nginx", Role.WEB, 1, 0, 0, 2, None, 1000, 700),
        OTHER: GroupRates(OTHER, None, 1, 0, 0, 2, 5.0, 1000, None),
        LOADTOP: GroupRates(LOADTOP, None, 1, 0, 0, 2, 15.0, 1000, 700),
        SERVICE: GroupRates(SERVICE, Role.APPLICATION, 1, 0, 0, 2, None, 1000, 700),
    }
    assert [each.group for each in found.groups][-2:] == [LOADTOP, OTHER]
    assert found.group("httpd") == found.groups[0]
    assert {each.group for each in found.of_role()} == {"httpd", "nginx", SERVICE}
    assert found.of_role(Role.PROXY) == ()


@pytest.mark.parametrize(
    ("ticks", "run_us", "cpu"),
    [
        (3, 12_345, 0.61725),
        (0, 30_000, 1.5),
        (3, -1, 1.5),
        (-1, 10, None),
        (3, None, 1.5),
    ],
)
def test_the_finer_counter_of_a_process_tells_what_ticks_round(
    ticks: int, run_us: int | None, cpu: float | None
) -> None:
    old = Process(1, "a", "httpd", "S", 1, 7, 5, 1000, run_us=10)
    new = replace(old, cpu_ticks=7 + ticks, run_us=None if run_us is None else 10 + run_us)
    found = two_seconds({"processes": (old,)}, {"processes": (new,)})
    assert [each.cpu for each in found.processes or ()] == [None if cpu is None else pytest.approx(cpu)]


@pytest.mark.parametrize(
    ("before", "now", "wait", "of_group"),
    [
        ((100, 50), (1_000_000_100, 50), (50.0, 0.0), 50.0),
        ((100, 50), (100, 400_000_050), (0.0, 20.0), 20.0),
        ((100, 50), (99, 400_000_050), (None, 20.0), 20.0),
        ((None, 50), (100, 400_000_050), (None, 20.0), 20.0),
        ((100, 50), (None, 400_000_050), (None, 20.0), None),
        ((100, None), (100, None), (0.0, None), None),
        ((None, None), (100, 50), (None, None), None),
        ((0, 0), (9_000_000_000, 9_000_000_000), (100.0, 200.0), 300.0),
    ],
    ids=["one", "the other", "fell", "new", "no longer read", "never read", "first", "longer than the interval"],
)
def test_waits_for_a_processor(
    before: tuple[int | None, int | None],
    now: tuple[int | None, int | None],
    wait: tuple[float | None, float | None],
    of_group: float | None,
) -> None:
    def rows(*waits_ns: int | None) -> tuple[Process, ...]:
        return tuple(
            Process(pid, "a", "httpd", "S", pid, 7, 5, 1000, wait_ns=wait_ns) for pid, wait_ns in enumerate(waits_ns, 1)
        )

    found = two_seconds({"processes": rows(*before)}, {"processes": rows(*now)})
    assert tuple(each.wait for each in found.processes or ()) == wait
    group = known(found.group("httpd"))
    assert group.wait == of_group


def test_a_process_without_a_rate_yet_leaves_the_wait_of_its_group_known() -> None:
    old = Process(1, "a", "httpd", "S", 1, 7, 5, 1000, wait_ns=0)
    new = replace(old, pid=2, wait_ns=None)
    found = two_seconds({"processes": (old,)}, {"processes": (replace(old, wait_ns=200_000_000), new)})
    group = known(found.group("httpd"))
    assert group.wait == 10.0


GENERATOR = GeneratorSample((1.0, 5.0), 0.004, 10, 20, quota_periods=100, quota_stops=10, worker_wait_s=(0.25, 0.5))
COUNTED = replace(
    LOAD, requests=100, failures=Failures(connect=10), non_2xx=4, server_errors=20, received_bytes=1024,
    sent_bytes=2048, generator=GENERATOR,
)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({}, LoadRates(2.0, 50.0, 5.0, 10.0, 6.0, 1024.0, 2.0, None, {"connect": 10.0})),
        (
            {"failures": Failures(connect=10, receive=1, length=7, unclassified=2), "server_errors": 25},
            LoadRates(
                2.0, 50.0, 5.0, 10.0, 6.0, 1024.0, 2.0, None, {"receive": 1.0, "unclassified": 2.0, "status": 5.0}
            ),
        ),
        ({"requests": 100}, LoadRates(2.0, 0.0, 5.0, 100.0, None, 1024.0, 2.0, None, {"connect": 100.0})),
        ({"requests": 104}, LoadRates(2.0, 2.0, 5.0, 100.0, 150.0, 1024.0, 2.0, None, {"connect": 100.0})),
        ({"requests": 100, "failures": Failures(connect=10)}, LoadRates(2.0, 0.0, 0.0, None, None, 1024.0, 2.0, None)),
        ({"failures": None}, LoadRates(2.0, 50.0, None, None, 6.0, 1024.0, 2.0, None)),
        ({"requests": None}, LoadRates(2.0, None, 5.0, None, None, 1024.0, 2.0, None)),
        ({"counted_at": 101.0}, LoadRates(2.0, 100.0, 10.0, 10.0, 6.0, 2048.0, 4.0, None, {"connect": 10.0})),
        ({"counted_at": 100.0}, LoadRates(2.0, None, None, None, None, None, None, None)),
        ({"requests": 99}, None),
        ({"at": 100.0}, None),
    ],
)
def test_load(changes: dict[str, Any], rates: LoadRates | None) -> None:
    now = replace(COUNTED, at=102.0, requests=200, failures=Failures(connect=20), non_2xx=10, server_errors=20,
                  received_bytes=2_098_176, sent_bytes=6144, generator=None)  # fmt: skip
    assert load_rates(COUNTED, replace(now, **changes)) == (rates and replace(rates, in_flight=10.0))


@pytest.mark.parametrize(
    ("changes", "rates"),
    [
        ({}, GeneratorRates(75.0, 50.0, 2, 4.0, 2.0, 3.0, 20.0)),
        ({"worker_cpu_s": (2.0, 4.0, 0.5)}, GeneratorRates(75.0, 50.0, 3, 4.0, 2.0, 3.0, 20.0)),
        ({"worker_cpu_s": ()}, GeneratorRates(0.0, 0.0, 0, 4.0, 2.0, 3.0, 20.0)),
        ({"loop_delay_s": None, "late": 9, "unsent": None}, GeneratorRates(75.0, 50.0, 2, None, 0.0, None, 20.0)),
        (
            {"worker_cpu_s": (2.0, 5.5, 0.5), "worker_wait_s": (0.5, 1.5, 0.25)},
            GeneratorRates(100.0, 50.0, 3, 4.0, 2.0, 3.0, 20.0, wait=50.0, wanted=75.0, waits=75.0),
        ),
        ({"worker_wait_s": (0.2,)}, GeneratorRates(75.0, 50.0, 2, 4.0, 2.0, 3.0, 20.0)),
        ({"quota_periods": 100}, GeneratorRates(75.0, 50.0, 2, 4.0, 2.0, 3.0, None)),
        ({"quota_stops": None}, GeneratorRates(75.0, 50.0, 2, 4.0, 2.0, 3.0, None)),
    ],
)
def test_generator(changes: dict[str, Any], rates: GeneratorRates) -> None:
    now = replace(
        GENERATOR, worker_cpu_s=(2.0, 5.5), worker_wait_s=(), late=14, unsent=26, quota_periods=120, quota_stops=14
    )
    found = known(load_rates(COUNTED, replace(COUNTED, at=102.0, generator=replace(now, **changes))))
    assert found.generator == rates


@pytest.mark.parametrize(
    ("first_at", "last_at", "uptime", "accesses"),
    [
        (None, None, 9, 10.0),
        (100.0, 105.0, 8, 4.0),
        (None, 105.0, 9, 10.0),
        (105.0, 105.0, 9, 10.0),
        (100.0, 105.0, 7, None),
    ],
)
def test_a_reading_with_its_own_date(
    first_at: float | None, last_at: float | None, uptime: int, accesses: float | None
) -> None:
    first = ApacheStatus("u", "event", "Apache", "_", uptime_s=8, accesses=100, at=first_at)
    (found,) = server_rates([first], [replace(first, accesses=120, uptime_s=uptime, at=last_at)], 2.0)
    assert found.per_second["accesses"] == accesses


def test_busy_is_neither_idle_nor_waiting_nor_stolen() -> None:
    shares = CpuShares(1.0, 2.0, 4.0, 50.0, 8.0, 16.0, 32.0, 64.0)
    assert (shares.busy, shares.kernel) == (1.0 + 2.0 + 4.0 + 16.0 + 32.0, 4.0 + 16.0 + 32.0)
    untold = replace(shares, irq=None, softirq=None)
    assert (untold.busy, untold.kernel) == (7.0, 4.0)


def test_metrics_of_a_machine() -> None:
    view = host({"swap": Swap(1000, 250)}, pressure=PressureShares(1.0, 2.0, 3.0, 4.0, 5.0))
    values = {metric.name: metric.read(view) for metric in MACHINE_METRICS}
    assert values["swap.used_pct"] == 75.0
    assert values["memory.available_kb"] == 500_000
    assert [value for name, value in values.items() if name.startswith("pressure.")] == [1.0, 2.0, 3.0, 4.0, 5.0]
    without = HostView(view.state, None, 0.0)
    without_rates = [metric.name for metric in MACHINE_METRICS if metric.read(without) is not None]
    assert without_rates == ["swap.used_pct"]  # no rate is needed for it
    assert [swap_used(host({"swap": swap})) for swap in (None, Swap(0, 0), Swap(1, 0))] == [None, None, 100.0]


def test_metrics_of_a_load() -> None:
    times = distribution([1000 * value for value in range(1, 101)])

    def read(sample: LoadSample | None) -> dict[str, float | None]:
        moment = Measured(replace(measured().frame, load=sample), None, ())
        return {metric.name: metric.read(moment) for metric in LOAD_METRICS}

    values = read(replace(LOAD, latencies=Latencies(times)))
    for name, percent in PERCENTILES.items():
        assert values[name] == pytest.approx(1 + 0.99 * percent, rel=0.005)
    assert values["max"] == 100.0
    assert values["rps"] is None
    nothing = [read(sample) for sample in (None, LOAD, replace(LOAD, latencies=Latencies(distribution([]))))]
    assert {each["p50"] for each in nothing} == {None}
    assert read(replace(LOAD, latencies=Latencies(distribution([5000]))))["p50"] == 5.0
    assert [f"p{percent:g}".replace(".", "_") for percent in PERCENTILES.values()] == list(PERCENTILES)
    assert list(PERCENTILES) == ["p50", "p66", "p75", "p80", "p90", "p95", "p98", "p99", "p99_9", "p99_99"]


@pytest.mark.parametrize(("values", "total"), [([], None), ([None], None), ([None, 0.0], 0.0), ([1.0, None, 2.5], 3.5)])
def test_a_sum_of_known_values(values: list[float | None], total: float | None) -> None:
    assert sum_known(values) == total


def test_a_warm_up_that_ends_begins_again() -> None:
    states = [
        (LoadState.WARMUP, LoadState.RUNNING),
        *((state, state) for state in (LoadState.RUNNING, LoadState.WARMUP)),
    ]
    later = replace(COUNTED, at=102.0, requests=300)
    found = [load_rates(replace(COUNTED, state=old), replace(later, state=new)) for old, new in states]
    assert [each is None for each in found] == [True, False, False]


def test_processes_that_compute_do_not_wait_on_their_unix_sockets() -> None:
    """Eight open connections, two processes computing, one waiting for a lock, one for TCP: four wait."""
    asked = {"10.0.0.5:80": 5, "/run/mysqld/mysqld.sock": 40, "/a.sock": 20}
    peers = tuple(Peer(name, None, 1, n, n, 0, 10, by_connection=name[0] == "/") for name, n in asked.items())
    computing = Process(7, "apache2", "httpd", "R", 1, 0, 1, 9)
    before = {"peers": Peers(0), "processes": (computing,)}
    lock = FileLock("flock", "fe:00", 7, 1, "php", 1)
    after = {"peers": Peers(5, peers), "processes": (replace(computing, cpu_ticks=400),), "locks": (lock,)}
    rates = two_seconds(before, after)
    questions = {peer.address: peer.questions for peer in rates.peers or ()}
    assert questions == {
        "10.0.0.5:80": 1.0,
        "/run/mysqld/mysqld.sock": pytest.approx(4.0 * 2 / 3),
        "/a.sock": pytest.approx(4.0 / 3),
    }
    idle = two_seconds({"peers": Peers(0)}, {"peers": Peers(5, peers[:1])})
    assert [peer.questions for peer in idle.peers or ()] == [1.0]


def test_accept_queues_over_the_readings_of_an_interval() -> None:
    before = Peers(0, (), (Queued(80, 100), Queued(81, 9), Queued(82, 7)), 5)
    after = Peers(0, (), (Queued(80, 120), Queued(81, 8), Queued(82, 7), Queued(83, 1)), 10)
    assert two_seconds({"peers": before}, {"peers": after}).queued == {80: 4.0, 82: 0.0, 83: 0.2}
    assert two_seconds({"peers": before}, {"peers": replace(after, queue_readings=5)}).queued == {}
    assert two_seconds({}, {"peers": after}).queued == {}


@pytest.mark.parametrize(
    ("steal", "delivered", "used"), [(None, 100.0, 40.0), (0.0, 100.0, 40.0), (20.0, 80.0, 50.0), (100.0, 0.0, 0.0)]
)
def test_what_is_stolen_is_not_delivered(steal: float | None, delivered: float, used: float) -> None:
    shares = CpuShares(30.0, 0.0, 10.0, 40.0, None, None, None, steal)
    assert shares.delivered == delivered
    assert shares.used == pytest.approx(used)


@pytest.mark.parametrize(
    ("rx_kb", "tx_kb", "link", "shaped", "policed", "sends", "possible"),
    [
        (10.0, 10.0, 1000, None, None, True, 1000),
        (11.0, 10.0, 1000, None, None, False, 1000),
        (100.0, 10.0, 1000, 20.0, None, True, 20.0),  # 0.5 of a 20th out, a 10th of a 100th in
        (1000.0, 10.0, 1000, 20.0, None, False, 1000),
        (500.0, 10.0, 1000, 20.0, None, True, 20.0),
        (1000.0, 0.0, None, 20.0, None, True, 20.0),
        (1.0, 0.0, 1000, 20.0, None, False, 1000),
        (10.0, 100.0, 1000, None, 20.0, False, 20.0),
        (10.0, 1000.0, 1000, None, 20.0, True, 1000),
        (0.0, 1000.0, None, None, 20.0, True, None),
        (20.0, 10.0, 1000, 10.0, 20.0, True, 10.0),
        (21.0, 10.0, 1000, 10.0, 20.0, False, 20.0),
    ],
)
def test_the_fuller_direction_of_a_line(
    rx_kb: float, tx_kb: float, link: int | None, shaped: float | None, policed: float | None, sends: bool,
    possible: float | None,
) -> None:  # fmt: skip
    line = NetworkRates("eth0", rx_kb, tx_kb, 0.0, 0.0, 0.0, link, None, shaped, policed_mbit=policed)
    assert (line.sends, line.possible_mbit) == (sends, possible)


def test_the_time_of_an_exchange() -> None:
    peer = PeerRates("10.0.0.5:3306", "mysql", 1, 5, 12.0, 3.0, 20.0, 60.0)
    assert peer.exchange_ms == 50.0
    assert not peer.watched
