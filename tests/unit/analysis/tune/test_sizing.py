"""The limit to set: which bound binds, on what ground, and the block to paste."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from loadtop.analysis.tune.sizing import Sizing, TuneResult
from loadtop.analysis.tune.step import StepResult
from loadtop.diagnosis.finding import Evidence, Finding
from loadtop.i18n import Message
from loadtop.reports.tune import report
from loadtop.servers.registry import WORKERS
from tests.unit.analysis.tune.conftest import a_pool, a_result
from tests.unit.known import known


def sized(results: Sequence[StepResult]) -> Sizing:
    return known(TuneResult.of(results).sizing)


def test_memory_binds_where_it_swaps(swapping: Sequence[StepResult]) -> None:
    found = sized(swapping)
    assert (found.value, found.bounds[0].name, found.workers.setting) == (7, "memory", "MaxRequestWorkers")
    assert found.memory is not None
    assert found.memory.basis == "pss"
    assert "MaxRequestWorkers   7" in found.configuration
    assert "mpm_prefork_module" in found.configuration


def test_without_pss_the_basis_is_rss(swapping: Sequence[StepResult]) -> None:
    results = [
        replace(result, pools=tuple(replace(each, shared_kb=None) for each in result.pools)) for result in swapping
    ]
    found = sized(results)
    assert found.as_json()["basis"] == "rss"
    assert "RSS, an overestimate" in report(TuneResult.of(results))


def test_on_a_full_cpu_more_workers_do_not_help(flattening: Sequence[StepResult]) -> None:
    found = sized(flattening)
    assert found.bounds[0].name in ("knee", "scoreboard")
    assert found.value == 16
    assert not found.pool_was_full
    text = report(TuneResult.of(flattening))
    assert "The CPU is the limit" in text
    assert "More workers will not help" in text


@pytest.mark.parametrize(
    ("idle", "binding", "value", "cpu"),
    [(95.0, "tested", 33, 72), (5.0, "cpu", 4, 4)],
    ids=["as far as memory and CPU go", "never below what it has"],
)
def test_a_full_pool_is_raised(idle: float, binding: str, value: int, cpu: int) -> None:
    of_four = a_pool(4, capacity=4, started=4, processes=4, rss_kb=60_000, shared_kb=5_000.0)
    results = [
        a_result(
            n, 20.0 * min(n, 4), idle=idle, bottleneck="apache-workers" if n > 4 else "none",
            pools=(replace(of_four, busy=min(n, 4), busy_most=min(n, 4)),),
        )
        for n in (1, 2, 4, 8, 16, 32)
    ]  # fmt: skip
    found = sized(results)
    assert found.pool_was_full
    assert (found.binding, found.value) == (binding, value)
    bounds = {bound.name: bound.workers for bound in found.bounds}
    assert bounds["cpu"] == cpu
    assert found.memory is not None
    assert bounds["memory"] == int(0.9 * found.memory.room_kb / found.memory.worker_kb)
    told = ("tune again to confirm", "busy: Apache workers in use", "Advice.")
    assert [words in report(TuneResult.of(results)) for words in told] == [True, True, False]


def test_the_full_pool_of_php_fpm_is_named() -> None:
    fpm = a_pool(5, kind="fpm", name="shop", manager="dynamic", capacity=5, started=5)
    results = [
        a_result(
            n,
            5.0 * min(n, 5),
            bottleneck="fpm-workers" if n > 5 else "none",
            pools=(replace(fpm, busy=min(n, 5), busy_most=min(n, 5)), a_pool(n, manager="event")),
        )
        for n in (1, 2, 4, 8, 16)
    ]
    found = sized(results)
    assert found.workers.setting == "pm.max_children"
    assert found.configuration.startswith(f"[shop]\npm.max_children = {found.value}")
    figures = found.as_json()
    assert figures["max_request_workers"] is None
    assert figures["pool"] == "shop"
    assert "of the pool shop" in report(TuneResult.of(results))


@pytest.mark.parametrize(
    ("workers", "threads", "expected"),
    [(150, 25, (25, 6, 150)), (60, 25, (25, 2, 50)), (7, 25, (7, 1, 7)), (30, None, (25, 1, 25))],
)
def test_threads_come_in_whole_processes(workers: int, threads: int | None, expected: tuple[int, int, int]) -> None:
    text = WORKERS["apache"].configuration(a_pool(1, manager="event", threads_per_child=threads), workers)
    each, servers, limit = expected
    assert text.split() == [
        "<IfModule", "mpm_event_module>", "ServerLimit", str(servers), "ThreadsPerChild", str(each),
        "MaxRequestWorkers", str(limit), "</IfModule>",
    ]  # fmt: skip


def test_the_block_sets_the_recommendation(flattening: Sequence[StepResult]) -> None:
    results = [
        replace(result, pools=tuple(replace(each, manager="event", threads_per_child=5) for each in result.pools))
        for result in flattening
    ]
    found = sized(results)
    assert (found.bounds[0].workers, found.value) == (16, 15)
    assert found.as_json()["max_request_workers"] == 15
    assert "MaxRequestWorkers   15" in found.configuration
    assert "Set MaxRequestWorkers to 15" in report(TuneResult.of(results))


def test_no_status_page_no_setting() -> None:
    tuned = TuneResult.of([a_result(n, 10.0 * min(n, 4), pools=()) for n in (1, 2, 4, 8, 16)])
    assert tuned.sizing is None
    assert "mod_status" in report(tuned)


def test_the_contracts_keys(swapping: Sequence[StepResult]) -> None:
    figures = TuneResult.of(swapping).into({"schema": "loadtop.summary/1"})
    assert {"max_request_workers", "binding", "per_process_kb", "basis"} <= figures["sizing"].keys()
    assert {"concurrency", "rps", "usl"} <= figures["knee"].keys()
    assert {"gamma", "alpha", "beta", "peak"} <= figures["knee"]["usl"].keys()
    keys = {
        "concurrency",
        "requests",
        "failed",
        "time_s",
        "rps",
        "latency_ms",
        "idle_pct",
        "iowait_pct",
        "swap_used_pct",
    }
    assert all(keys | {"bottleneck"} <= step.keys() for step in figures["steps"])


def test_the_report_has_every_column_and_fits(swapping: Sequence[StepResult]) -> None:
    text = report(TuneResult.of(swapping, Message("the server swaps at {c} connections", c=8)))
    assert all(len(line) <= 80 for line in text.splitlines())
    for word in ("%iowait", "%swpused", "p99", "busy", "knee", "swaps", "Swapping is the limit", "Gunther 2007"):
        assert word in text


def test_hostile_names_do_not_reach_the_terminal() -> None:
    fpm = a_pool(5, kind="fpm", name="a\x1b[31m", capacity=5, started=5)
    results = [a_result(n, 5.0, bottleneck="fpm-workers", pools=(fpm,)) for n in (1, 2, 4, 8)]
    assert "\x1b" not in report(TuneResult.of(results))


def test_nothing_measured_is_reported() -> None:
    assert "No step" in report(TuneResult.of([]))


def test_a_knee_that_was_not_reached_gives_no_setting() -> None:
    tuned = TuneResult.of([a_result(n, 10.0 * n) for n in (1, 2, 4, 8)])
    assert tuned.sizing is None
    assert "the knee was not reached" in " ".join(report(tuned).split())


def test_evidence_is_printed_with_its_relation_to_the_threshold() -> None:
    evidence = (
        Evidence("apache.full_pct", "web1", 100.0, 95.0, "%", "Linuxfabrik monitoring plugins: 95 % of the slots"),
        Evidence("apache.busy", "web1", 8.0, 8.0, "slots", "scoreboard"),
        Evidence("tcp.accept_queue", "web1", 0.0, 511.0, "conn", "ss"),
    )
    full = Finding("apache-workers", "web1", 0.0, 5.0, 1.0, evidence, Message("Advice."))
    text = " ".join(report(TuneResult.of([a_result(n, 80.0, verdict=full) for n in (8, 16)])).split())
    assert "slots in use 100 % > 95 Linuxfabrik monitoring plugins: 95 % of the slots" in text
    assert "busy workers 8 slots >= 8 scoreboard" in text
    assert " 0 conn < 511 ss" in text
