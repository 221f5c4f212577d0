"""What the views of a recording say is what was measured, and what loadtop.rates.compute makes of it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

import pytest

from loadtop.model import HostSample, LoadSample
from loadtop.model.histogram import bounds, percentile
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.records import HostRates

COUNT = 150


@pytest.fixture(scope="module")
def snapshots(made_moments: Callable[[int], list[Snapshot]]) -> list[Snapshot]:
    return made_moments(COUNT)


@pytest.fixture(scope="module")
def database(
    snapshots: list[Snapshot],
    record: Callable[[Path, Sequence[Snapshot]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("views") / "made.loadtop"
    record(path, snapshots)
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def rows(database: sqlite3.Connection, view: str, order: str = "") -> list[dict[str, Any]]:
    found = database.execute(f"SELECT * FROM {view} {order and 'ORDER BY ' + order}")  # noqa: S608 - constants here
    return [dict(row) for row in found]


def same(got: Any, wanted: Any) -> bool:
    return (
        bool(got == wanted)
        if wanted is None or isinstance(wanted, str | bool)
        else got == pytest.approx(wanted, rel=1e-9)
    )


def each(value: Any) -> tuple[Any, ...]:
    """One thing, or several, or none, as a tuple."""
    if value is None:
        return ()
    return value if type(value) is tuple else (value,)  # pyright: ignore[reportUnknownVariableType]


def fresh(snapshots: Iterable[Snapshot]) -> Iterator[tuple[int, HostView, HostSample]]:
    """Frame, machine and sample of every sample that was new."""
    for snapshot in snapshots:
        for host in snapshot.measured.hosts:
            if host.state.fresh and host.sample is not None:
                yield snapshot.measured.frame.number, host, host.sample


@pytest.mark.parametrize(
    ("view", "attribute"),
    [
        ("scheduler", "scheduler"),
        ("memory", "memory"),
        ("swap", "swap"),
        ("paging", "paging"),
        ("pressure", "pressure"),
        ("tcp", "tcp"),
        ("cgroup", "cgroup"),
        ("disk", "disks"),
        ("network", "networks"),
        ("process", "processes"),
        ("apache", "apache"),
        ("fpm", "fpm"),
        ("haproxy", "haproxy"),
    ],
)
def test_parts_are_as_measured(
    database: sqlite3.Connection, snapshots: list[Snapshot], view: str, attribute: str
) -> None:
    wanted: list[tuple[Any, ...]] = []
    found = rows(database, view)
    names = [name for name in found[0] if name not in ("frame", "at", "host", "fresh", "previous", "host_uptime_s")]
    for number, host, sample in fresh(snapshots):
        for thing in each(getattr(sample, attribute, None) or sample.servers.get(attribute)):
            values = (getattr(thing, {"process_group": "group", "clock_s": "at"}.get(name, name)) for name in names)
            wanted.append((number, host.name, *values))
    got = [(row["frame"], row["host"], *(row[name] for name in names)) for row in found]
    assert sorted(got, key=repr) == sorted(wanted, key=repr)
    assert len(got) > COUNT // 2


def test_cpu_and_cores_are_as_measured(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    states = [field.name for field in fields(type(next(fresh(snapshots))[2].cpu.total))]  # type: ignore[union-attr]
    total: dict[tuple[int, str, int | None], tuple[Any, ...]] = {}
    for number, host, sample in fresh(snapshots):
        if sample.cpu is not None:
            total[number, host.name, None] = tuple(getattr(sample.cpu.total, state) for state in states)
            for core in sample.cpu.cores:
                total[number, host.name, core.id] = tuple(getattr(core.times, state) for state in states)
    got = [*rows(database, "cpu"), *rows(database, "core")]
    assert {(row["frame"], row["host"], row.get("id")): tuple(row[state] for state in states) for row in got} == total


def test_the_load_is_as_measured(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    loads = {m.measured.frame.number: m.measured.load for m in snapshots if m.measured.load is not None}
    found = {row["frame"]: row for row in rows(database, "load")}
    assert found.keys() == loads.keys()
    for number, row in found.items():
        for name, value in row.items():
            if name not in ("frame", "at"):
                assert value == getattr(loads[number], "at" if name == "clock_s" else name)
    workers = {(row["frame"], row["number"]): row["cpu_s"] for row in rows(database, "worker")}
    assert workers == {
        (number, place): seconds
        for number, load in loads.items()
        if load.generator is not None
        for place, seconds in enumerate(load.generator.worker_cpu_s, start=1)
    }


RATES: dict[str, tuple[Callable[[HostRates], Any], tuple[str, ...], dict[str, str]]] = {
    "cpu_rates": (
        lambda rates: rates.cpu,
        (),
        {f"{n}_pct": n for n in ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal", "busy")},
    ),
    "paging_rates": (
        lambda rates: rates.paging,
        (),
        {
            f"{n}_s": n
            for n in (
                "swap_in_kb",
                "swap_out_kb",
                "major_faults",
                "direct_reclaimed_pages",
                "allocation_stalls",
                "refaults_pages",
                "oom_kills",
            )
        },
    ),
    "pressure_rates": (
        lambda rates: rates.pressure,
        (),
        {f"{n}_pct": n for n in ("cpu_some", "memory_some", "memory_full", "io_some", "io_full")},
    ),
    "disk_rates": (
        lambda rates: rates.disks,
        ("name",),
        {
            "util_pct": "util",
            "await_ms": "await_ms",
            "queue": "queue",
            "read_kb_s": "read_kb",
            "write_kb_s": "write_kb",
            "requests_s": "requests",
            "swap": "swap",
        },
    ),
    "network_rates": (
        lambda rates: rates.networks,
        ("name",),
        {
            "rx_kb_s": "rx_kb",
            "tx_kb_s": "tx_kb",
            "rx_packets_s": "rx_packets",
            "tx_packets_s": "tx_packets",
            "errors_s": "errors",
            "link_mbit": "link_mbit",
            "util_pct": "util",
        },
    ),
    "tcp_rates": (
        lambda rates: rates.tcp,
        (),
        {
            **{
                f"{n}_s": n
                for n in ("listen_overflows", "listen_drops", "retransmits", "passive_opens", "active_opens")
            },
            "time_wait": "time_wait",
            "in_use": "in_use",
            "established": "established",
        },
    ),
    "group_rates": (
        lambda rates: rates.groups,
        ("group",),
        {
            "processes": "processes",
            "running": "running",
            "blocked": "blocked",
            "threads": "threads",
            "cpu_pct": "cpu",
            "rss_kb": "rss_kb",
            "pss_kb": "pss_kb",
        },
    ),
}


@pytest.mark.parametrize("view", RATES)
def test_rates_of_machines(database: sqlite3.Connection, snapshots: list[Snapshot], view: str) -> None:
    take, keys, columns = RATES[view]
    names = ["process_group" if key == "group" else key for key in keys]
    got = {(row["frame"], row["host"], *(row[name] for name in names)): row for row in rows(database, view)}
    wanted = 0
    for number, host, _ in fresh(snapshots):
        for rates in () if host.rates is None else each(take(host.rates)):
            row = got[number, host.name, *(getattr(rates, key) for key in keys)]
            wanted += 1
            for column, name in columns.items():
                assert same(row[column], getattr(rates, name)), (number, host.name, column)
    assert wanted > COUNT // 2


def test_rates_of_cores_processes_and_proxies(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    cores = {(row["frame"], row["host"], row["id"]): row for row in rows(database, "core_rates")}
    processes = {(row["frame"], row["host"], row["pid"]): row for row in rows(database, "process_rates")}
    seen = 0
    for number, host, _ in fresh(snapshots):
        if host.rates is None:
            continue
        for core in host.rates.cores:
            assert same(cores[number, host.name, core.id]["idle_pct"], core.shares.idle)
        for process in host.rates.processes or ():
            assert same(processes[number, host.name, process.process.pid]["cpu_pct"], process.cpu)
        if host.rates.servers.get("haproxy"):
            seen += 1
    assert seen > COUNT // 2


def test_rates_of_the_load(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    got = {row["frame"]: row for row in rows(database, "load_rates")}
    generators = {row["frame"]: row for row in rows(database, "generator_rates")}
    names = {
        "seconds": "seconds",
        "rps": "rps",
        "failed_s": "failed",
        "failed_pct": "failed_share",
        "non_2xx_pct": "non_2xx_share",
        "received_kb_s": "received_kb",
        "sent_kb_s": "sent_kb",
    }
    rated = {m.measured.frame.number: m.measured.load_rates for m in snapshots if m.measured.load_rates is not None}
    assert got.keys() == rated.keys()
    for number, rates in rated.items():
        for column, name in names.items():
            assert same(got[number][column], getattr(rates, name)), (number, column)
        if rates.generator is not None:
            assert same(generators[number]["cpu_pct"], rates.generator.cpu)
            assert same(generators[number]["busiest_pct"], rates.generator.busiest)
            assert same(generators[number]["loop_delay_ms"], rates.generator.loop_delay_ms)


def test_latencies_and_their_buckets(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    buckets: dict[tuple[int, str], list[tuple[int, int, int]]] = {}
    for row in rows(database, "latency_bucket", "frame, kind, from_us"):
        buckets.setdefault((row["frame"], row["kind"]), []).append((row["from_us"], row["to_us"], row["count"]))
    middles = {(row["frame"], row["kind"]): row for row in rows(database, "latency_percentile")}
    loads = [(m.measured.frame.number, m.measured.load) for m in snapshots]
    checked = 0
    for number, load in loads:
        for kind in ("total", "connect", "processing", "waiting"):
            latencies = _latencies(load)
            if latencies is None or not getattr(latencies, kind).count:
                assert (number, kind) not in buckets
                continue
            times = getattr(latencies, kind)
            pairs = zip(times.buckets, times.counts, strict=True)
            assert buckets[number, kind] == [(*bounds(bucket), count) for bucket, count in pairs]
            checked += 1
            if times.count % 2:  # an odd number has one middle, and then no interpolation
                assert middles[number, kind]["p50_ms"] == pytest.approx(percentile(times, 50) / 1000, rel=0.01)
    assert checked > COUNT


def _latencies(load: LoadSample | None) -> Any:
    return None if load is None else load.latencies


def test_verdicts_their_periods_and_evidence(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    verdicts = rows(database, "verdict", "frame")
    assert [(row["at"], row["bottleneck"], row["host"], row["advice"]) for row in verdicts] == [
        (m.at, m.diagnosis.verdict.bottleneck, m.diagnosis.verdict.host, m.diagnosis.verdict.advice) for m in snapshots
    ]
    assert sum(row["intervals"] for row in rows(database, "verdict_period")) == COUNT
    evidence = [
        (m.measured.frame.number, e.metric, e.host, e.value, e.threshold, e.unit, e.source)
        for m in snapshots
        for e in m.diagnosis.verdict.evidence
    ]
    names = ("frame", "metric", "host", "value", "threshold", "unit", "source")
    got = [tuple(row[name] for name in names) for row in rows(database, "evidence") if row["position"] == 0]
    assert sorted(got, key=repr) == sorted(evidence, key=repr)


def test_what_another_engine_states(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    got = [tuple(row.values()) for row in rows(database, "stated")]
    loads = [(snapshot.at, snapshot.measured.load) for snapshot in snapshots]
    wanted = [(n, at, *astuple(each)) for n, (at, load) in enumerate(loads, 1) if load for each in load.stated]
    assert sorted(got, key=repr) == sorted(wanted, key=repr)
    assert wanted


def test_workers_of_another_engine(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    got = [tuple(row.values()) for row in rows(database, "engine_worker")]
    loads = [(snapshot.at, snapshot.measured.load) for snapshot in snapshots]
    wanted = [(n, at, *astuple(each)) for n, (at, load) in enumerate(loads, 1) if load for each in load.workers]
    assert sorted(got, key=repr) == sorted(wanted, key=repr)
    assert {row[4] for row in got} == {"running", "missing"}


def test_marks_outcomes_and_machines(database: sqlite3.Connection, snapshots: list[Snapshot]) -> None:
    marks = [(m.at, text) for m in snapshots for text in m.measured.frame.marks]
    assert [(row["at"], row["text"]) for row in rows(database, "marks", "frame, text")] == marks
    got = [tuple(row.values()) for row in rows(database, "outcome")]
    wanted = [
        (number, at, host.name, o.collector, o.state, o.reason, o.duration_s)
        for number, host, sample in fresh(snapshots)
        for at in (snapshots[number - 1].at,)
        for o in sample.outcomes
    ]
    assert sorted(got) == sorted(wanted)
    assert {row["host"]: (row["cores"], row["kernel"]) for row in rows(database, "machines")} == {
        "web1": (2, "6.1"),
        "gen": (2, "6.1"),
    }


def test_every_view_can_be_read(database: sqlite3.Connection) -> None:
    names = [row["name"] for row in rows(database, "sqlite_schema") if row["type"] == "view"]
    assert len(names) > 40
    for name in names:
        assert rows(database, name) or name == "cgroup_pressure"
