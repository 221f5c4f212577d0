"""A test added up: the JSON summary, the time line, the report."""

import re
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop import model
from loadtop.analysis.totals.totals import Totals
from loadtop.i18n import Message
from loadtop.model.load import TOO_MANY_CONNECTIONS
from loadtop.reports.ab import ab_report, ab_table
from loadtop.reports.tables import tables
from loadtop.reports.text import report
from loadtop.servers.apache.record import ApacheStatus
from tests.unit.course import FULL, Run, frame_of, generator


def test_the_summary_has_the_contracts_keys(run: Run) -> None:
    run.go(5)
    figures = run.json()
    assert figures["schema"] == "loadtop.summary/1"
    keys = {"schema", "version", "started", "duration_s", "url", "load", "hosts", "verdict", "limits", "timeline"}
    assert keys | {"steps"} | {"knee", "sizing", "forecast"} <= figures.keys()
    host = figures["hosts"][0]
    names = "name role source samples stale cpu cores load1 running blocked memory swap pressure disks networks tcp"
    assert {*names.split(), "httpd", "apache", "fpm", "haproxy"} <= host.keys()
    assert host["cpu"]["idle"] == {"mean": 95.0, "min": 95.0, "max": 95.0}
    assert host["apache"]["capacity"] == 10
    assert host["apache"]["busy"]["mean"] == 1.0


def test_devices_have_their_traffic(run: Run) -> None:
    for n in range(3):
        disk = model.Disk("vda", 10 * n, 100 * n, 20 * n, 10 * n, 300 * n, 40 * n, 0, 500 * n, 900 * n)
        network = model.Network("eth0", 2048 * n, 4096 * n, n, n, link_mbit=1000)
        run.go(changes={"disks": (disk,), "networks": (network,)})
    (disk_totals,), (network_totals,) = run.host["disks"], run.host["networks"]
    means = {name: each["mean"] for name, each in disk_totals.items() if name != "name"}
    assert means == {"util_pct": 50.0, "await_ms": 3.0, "read_kb_s": 100.0, "write_kb_s": 300.0}
    assert (network_totals["rx_kb_s"]["mean"], network_totals["tx_kb_s"]["mean"]) == (2.0, 4.0)
    assert (disk_totals["name"], network_totals["name"], network_totals["link_mbit"]) == ("vda", "eth0", 1000)


def test_unmeasured_values_are_null(run: Run) -> None:
    run.go(4, board=None, changes={"pressure": None, "disks": None})
    host = run.host
    assert host["apache"] is None
    assert host["pressure"]["memory_some_pct"] is None
    assert host["disks"] == []
    assert host["httpd"]["processes"] is None
    assert run.json()["load"]["connect_ms"] is None


def test_rps_is_requests_by_time_and_latencies_are_merged(run: Run) -> None:
    run.go(11)
    load = run.json()["load"]
    assert (load["requests"], load["rps"]) == (1100, 100.0)
    assert (load["latency_ms"]["min"], load["latency_ms"]["mean"], load["latency_ms"]["max"]) == (1.0, 2.0, 3.0)
    assert load["latency_ms"]["p50"] == pytest.approx(2.0, rel=0.01)


def test_a_time_of_milliseconds_still_gives_the_rate(run: Run) -> None:
    run.go(1)
    run.go(1, load={"elapsed_s": 0.0123456, "state": model.LoadState.DONE})
    figures = run.json()
    assert figures["load"]["requests"] / figures["duration_s"] == pytest.approx(figures["load"]["rps"], rel=1e-4)


def test_requests_that_missed_their_time_are_reported_where_there_is_one(run: Run) -> None:
    run.go(3)
    assert (run.json()["load"]["late"], run.json()["load"]["unsent"], run.json()["load"]["workers"]) == (None,) * 3
    assert not re.search("never sent|  worker ", run.report())
    run.go(3, load={"rate": 100.0, "generator": model.GeneratorSample((0.5,), 0.001, late=30, unsent=12)})
    figures = run.json()
    assert (figures["load"]["late"], figures["load"]["unsent"]) == (18, 12)
    assert "late             18   (never sent 12)" in run.report()
    (told,) = [each for each in tables(run.result()) if each.title == "Load"]
    assert (told.head[-2:], told.rows[0][-2:]) == (("late", "never sent"), ("18", "12"))


def test_the_verdict_is_the_one_that_held_longest_while_load_ran(run: Run) -> None:
    run.go(4)
    run.go(7, **FULL)
    run.go(30, load={"state": model.LoadState.DONE})
    verdict = run.json()["verdict"]
    assert (verdict["bottleneck"], verdict["host"], verdict["since_s"]) == ("cpu", "web1", 3.0)
    assert verdict["held_s"] == 8.0
    assert verdict["evidence"][0]["value"] == 99.0


def test_limits_are_reported_with_the_loads_at_which_they_held(run: Run) -> None:
    """The load is raised from 8 to 20 connections, and the processors are the limit for the last 7 s."""
    run.go(22, load={"concurrency": 8})
    run.go(7, **FULL, load={"concurrency": 20})
    figures = run.json()
    assert figures["verdict"]["bottleneck"] == "none"
    assert figures["limits"] == [{"bottleneck": "cpu", "host": "web1", "held_s": 7.0, "load": "c=20"}]
    head, limits, *_ = run.report().splitlines()
    assert head == "The CPU is the limit on web1 at 20 connections (for 7 s of 29 s)  [cpu]"
    assert limits == "  CPU on web1 at 20 connections, for 7 s; none at 8 connections"
    assert "Next limit" not in run.report()
    (table,) = [each for each in tables(run.result()) if each.title == "Limits"]
    assert table.rows == [("20 connections", "cpu on web1", "7 s"), ("8 connections", "none", "21 s")]


def test_the_report_begins_with_the_limit_of_the_highest_load_not_with_the_one_that_held_longest(run: Run) -> None:
    full_pool: dict[str, Any] = {"board": "W" * 10}
    run.go(30, **full_pool, load={"concurrency": 12, "step": 1, "steps": 3})
    run.go(10, load={"concurrency": 4, "step": 2, "steps": 3})
    run.go(8, **FULL, load={"concurrency": 40, "step": 3, "steps": 3})
    figures = run.json()
    assert figures["verdict"]["bottleneck"] == "apache-workers"
    assert [(each["bottleneck"], each["load"]) for each in figures["limits"]] == [
        ("cpu", "c=40"),
        ("apache-workers", "c=12"),
    ]
    assert run.report().splitlines()[0].endswith("at 40 connections (for 8 s of 48 s)  [cpu]")
    assert "; none at 4 connections" in " ".join(run.report().split())


def test_one_limit_under_one_load_is_reported_once(run: Run) -> None:
    run.go(8, **FULL)
    assert [each["load"] for each in run.json()["limits"]] == ["c=10"]
    assert run.report().count("at 10 connections") == 1
    assert not [each for each in tables(run.result()) if each.title == "Limits"]


@pytest.mark.parametrize(("growth", "said"), [(1, "No limit was reached (for "), (0, "Probably: No limit was reached")])
def test_without_a_limit_the_loads_are_reported(run: Run, growth: int, said: str) -> None:
    """If throughput does not grow with the connections, there may be one."""
    for step, concurrency in enumerate((1, 2, 4)):
        rps = 100 * concurrency**growth
        run.go(5, load={"concurrency": concurrency, "rps": rps, "step": step + 1, "steps": 3})
    assert run.json()["limits"] == []
    assert run.report().startswith(said)
    assert "\n  none at 1, 2 and 4 connections\n" in run.report()


def test_rates_and_unknown_loads_have_limits_too(run: Run) -> None:
    run.go(8, load={"rate": 12.5, "model": "open"})
    run.go(8, **FULL, load={"rate": 1000.0, "model": "open"})
    assert [each["load"] for each in run.json()["limits"]] == ["rate=1000"]
    assert "at 1,000 requests/s, for 8 s; none at 12.5 requests/s" in run.report()
    run.go(8, **FULL, load={"rate": None, "concurrency": None, "engine": "wrk"})
    assert [each["load"] for each in run.json()["limits"]] == ["rate=1000", None]
    assert "; CPU on web1, for 8 s; none" in run.report()


def test_a_machine_that_is_watched_without_load_has_limits(watch: Run) -> None:
    watch.go(8, **FULL)
    (limit,) = watch.json()["limits"]
    assert (limit["bottleneck"], limit["load"]) == ("cpu", None)
    assert watch.report().startswith("The CPU is the limit on web1 (for 7 s of 7 s)  [cpu]\n")


def test_a_host_that_is_only_watched_gets_no_advice_about_load(watch: Run) -> None:
    watch.go(8)
    assert watch.json()["verdict"]["advice"] == "No watched host is at its limit."
    assert "load would" not in watch.report()


def test_a_limit_of_a_higher_load_is_none_of_the_lower_one_after_it(run: Run) -> None:
    run.go(8, **FULL, load={"concurrency": 20})
    run.go(8, load={"concurrency": 8})
    assert [each["load"] for each in run.json()["limits"]] == ["c=20"]
    assert "none at 8 connections" in run.report()


def test_the_time_line_is_whole_and_dated_from_the_onsets(run: Run) -> None:
    run.go(4)
    run.go(6, **FULL)
    run.go(200)
    spans = run.json()["timeline"]
    assert [span["bottleneck"] for span in spans] == ["none", "cpu", "none"]
    assert spans[0]["from_s"] == 0.0
    assert all(one["to_s"] == two["from_s"] for one, two in pairwise(spans))
    assert spans[1]["from_s"] == 3.0
    assert spans[-1]["to_s"] == 209.0


def test_a_symptom_that_outlives_its_cause_is_the_verdict_only_from_then_on(run: Run) -> None:
    run.go(10, **FULL, board="W" * 10)
    run.go(5, board="W" * 10)
    figures = run.json()
    assert [span["bottleneck"] for span in figures["timeline"]] == ["cpu", "apache-workers"]
    assert figures["verdict"]["bottleneck"] == "cpu"


def test_the_warm_up_is_left_out(run: Run) -> None:
    run.go(5, load={"state": model.LoadState.WARMUP}, **FULL)
    run.go(8, load={"state": model.LoadState.RUNNING})
    figures = run.json()
    assert figures["verdict"]["bottleneck"] == "none"
    assert figures["limits"] == []
    assert figures["hosts"][0]["cpu"]["idle"]["min"] == 95.0
    assert figures["hosts"][0]["samples"] == 8


def test_steps_are_distinguished(run: Run) -> None:
    run.go(5, load={"step": 1, "steps": 2, "concurrency": 1})
    run.go(5, load={"step": 2, "steps": 2, "concurrency": 8}, **FULL)
    one, two = run.json()["steps"]
    assert (one["concurrency"], one["requests"], one["bottleneck"]) == (1, 500, "none")
    assert (two["concurrency"], two["requests"], two["time_s"], two["rps"]) == (8, 500, 5.0, 100.0)
    assert (two["bottleneck"], two["idle_pct"]) == ("cpu", 1.0)


def test_the_table_of_steps_fits_into_80_columns(run: Run) -> None:
    run.go(5, load={"step": 1, "steps": 2, "concurrency": 10_000})
    run.go(5, load={"step": 2, "steps": 2, "concurrency": 20_000}, **FULL)
    result = run.result()
    figures = result.summary
    for step in figures["steps"]:
        step.update(rps=99999.0, failed=99999, iowait_pct=99.9, swap_used_pct=99.9, bottleneck="nginx-connections")
        step["latency_ms"] = {"mean": 12345.0, "p50": 12345.0, "p99": 12345.0}
    head, *rows = (line for line in report(result).splitlines() if "%swap" in line or "nginx-connections" in line)
    assert len(rows) == 2
    assert all(len(row.split()) == 10 and len(row) <= 80 for row in rows)
    assert head.index("limit") == rows[0].index("nginx-connections")


def test_connections_that_are_stepped_have_a_knee_and_a_setting(run: Run) -> None:
    for step, (connections, rps, board) in enumerate([(1, 20, "WW"), (4, 80, "WWWWW"), (8, 80, "WWWW"), (9, 80, "W")]):
        load = {"step": step + 1, "steps": 4, "concurrency": connections, "in_flight": connections, "rps": rps}
        run.go(12, load=load, board=board.ljust(40, "_"))
    run.go(load={"state": model.LoadState.DONE, "step": 4, "steps": 4})
    figures = run.json()
    assert [step["concurrency"] for step in figures["steps"]] == [1, 4, 8, 9]
    assert figures["knee"]["concurrency"] == 4
    assert figures["knee"]["rps"] == pytest.approx(80.0, rel=0.02)
    assert figures["knee"]["usl"]["gamma"] > 0
    assert figures["sizing"]["binding"] in ("knee", "scoreboard")
    assert figures["sizing"]["now"] == 40


def test_rates_that_are_stepped_have_no_knee(run: Run) -> None:
    for step, rate in enumerate([20.0, 40.0]):
        run.go(8, load={"step": step + 1, "steps": 2, "rate": rate, "rps": rate, "model": "open"})
    assert (run.json()["knee"], run.json()["sizing"]) == (None, None)


def test_a_host_that_was_never_there_is_not_measured(run: Run, load: Any) -> None:
    for number in range(4):
        frame = frame_of(number, load.sample(), model.HostState("web1", "target", None, False, "no answer"))
        run.totals.add(run.pipeline.snapshot(frame))
    host = run.host
    assert (host["samples"], host["stale"], host["cpu"]["idle"]) == (0, 4, None)
    assert "web1" in run.report()


def test_the_report_fits_a_terminal_and_is_complete(run: Run) -> None:
    run.go(3, marks=("restarted \x1b[31mhttpd",))
    run.go(6, **FULL, processes={"apache2": 50.0})
    text = run.report()
    assert text.startswith("The CPU is the limit on web1")
    assert "Add CPU" in text
    assert "restarted \\x1b[31mhttpd" in text
    assert "\x1b" not in text
    assert max(len(line) for line in text.splitlines()) <= 84


@pytest.mark.parametrize(
    ("confidence", "said"), [(0.5, "The CPU is the limit"), (0.49, "Probably: The CPU is the limit")]
)
def test_a_verdict_of_little_confidence_is_probable(run: Run, confidence: float, said: str) -> None:
    run.go(9, **FULL, processes={"apache2": 50.0})
    result = run.result()
    finding = replace(result.main.finding, confidence=confidence)
    assert report(replace(result, main=replace(result.main, finding=finding))).startswith(f"{said} on web1")


def test_shares_of_the_processors_are_reported_until_they_add_up(run: Run) -> None:
    run.go(3)
    result = run.result()
    figures = result.summary
    cpu = figures["hosts"][0]["cpu"]
    cpu.update(nice={"mean": 41.5}, irq={"mean": 0.1}, softirq={"mean": 2.5})
    shown = report(result)
    assert "\n           nice  41.5  softirq   2.5\n" in shown
    cpu.update(nice={"mean": 0.0}, irq=None, softirq=None)
    assert "nice" not in report(result)


def test_a_token_in_the_url_is_in_no_report() -> None:
    url = Totals("http://web1/page?a=1&token=opensesame").as_json()["url"]
    assert url == "http://web1/page?a=1&token=***"


def test_evidence_shows_its_relation_to_the_threshold(run: Run) -> None:
    full: dict[str, Any] = {**FULL, "cpu_stall": 3.0}
    run.go(6, **full, processes={"apache2": 50.0})
    text = run.report()
    assert re.search(r"^  CPU busy  .* > +90 ", text, re.MULTILINE)
    assert re.search(r"^  CPU stall .* < +10 ", text, re.MULTILINE)


def test_names_of_processes_and_servers_are_made_safe_in_the_report(run: Run) -> None:
    page = ApacheStatus("http://x/server-status?auto", "pre\x1b[2Jfork", "Apache", "W___", 10)
    run.go(6, **FULL, processes={"back\x1b[2Jup": 97.0, "apache2": 50.0}, changes={"apache": (page,)})
    text = run.report()
    assert "back\\x1b[2Jup (pid 1000), which is not part of the web server" in " ".join(text.split())
    assert "pre\\x1b[2Jfork" in text
    assert "\x1b" not in text


def test_a_load_that_failed_has_no_verdict_and_one_that_never_began_found_no_limit_but_its_own(run: Run) -> None:
    never: dict[str, Any] = {"requests": 0, "latencies": None}
    run.go(6, **FULL, processes={"apache2": 50.0}, load=never)
    assert run.json()["verdict"]["bottleneck"] == "cpu"
    run.go(1, load={**never, "state": model.LoadState.FAILED, "message": "no User class found"})
    assert run.json()["verdict"]["bottleneck"] == "none"
    assert run.json()["limits"] == []
    assert run.report().startswith("The load failed: no verdict\n  no User class found\n")


def test_a_load_that_was_refused_for_want_of_files_has_that_verdict(run: Run) -> None:
    files = model.GeneratorSample((0.0,), 0.0, files_used=12, files_limit=64)
    message = Message(TOO_MANY_CONNECTIONS, connections=100, limit=64, needed=132)
    refused = {"requests": 0, "latencies": None, "concurrency": 0, "connections": 0, "generator": files}
    run.go(1, load={**refused, "state": model.LoadState.STARTING})
    run.go(1, load={**refused, "state": model.LoadState.FAILED, "message": message})
    assert run.report().startswith("The generator's file descriptors are the limit")


@pytest.mark.parametrize("failures", [model.Failures(), model.Failures(connect=3)])
def test_a_busy_generator_is_no_reason_for_a_server_that_cannot_be_reached(run: Run, failures: model.Failures) -> None:
    full = generator(cpu_s=0.99)
    for number in range(3):
        run.go(load={"requests": 0, "latencies": None, "generator": full(number)})
    assert run.json()["verdict"]["bottleneck"] == "generator"
    failed = {"requests": failures.connect, "failures": failures, "state": model.LoadState.FAILED, "message": "refused"}
    run.go(load={**failed, "latencies": None, "generator": full(3)})
    result = run.result()
    assert result.last_load is not None
    assert result.last_load.is_unreachable
    assert not result.was_prevented


def test_failures_that_an_engine_does_not_tell_apart(run: Run) -> None:
    run.go(3, load={"engine": "locust", "failures": model.Failures.undivided(7)})
    summary = run.json()
    classes = dict.fromkeys(("connect", "receive", "length", "exceptions", "timeout"))
    assert (summary["load"]["failed"], summary["load"]["failures"]) == (7, {**classes, "unclassified": 7})
    assert re.search(r"failed +7 +\(unclassified\)", run.report())
    assert "Connect: " not in ab_report(run.result()).partition("Total transferred")[0]
    run.go(1, load={"engine": "wrk", "failures": model.Failures(connect=3, length=None)})
    assert re.search(r"failed +3 +\(connect 3, length -\)", run.report())
    assert "(Connect: 3, Receive: 0, Length: -, Exceptions: 0)" in ab_report(run.result())
    run.go(1, load={"engine": "wrk", "failures": model.Failures(length=None)})
    assert run.json()["load"]["failures"] == {**dict.fromkeys(classes, 0), "length": None, "unclassified": 0}


def test_percentiles_need_two_requests_as_with_ab(run: Run) -> None:
    for requests, expected in ((1, False), (2, True)):
        run.go(1, load={"requests": requests})
        assert ("Percentage of the requests" in ab_report(run.result())) is expected


def test_a_server_that_an_engine_does_not_show(run: Run) -> None:
    run.go(3, load={"engine": "wrk", "server": None})
    lines = ab_report(replace(run.result(), url="http://web1:81/a?b")).splitlines()
    assert "Benchmarking web1 (be patient).....done" in lines
    for line in ("Server Hostname:        web1", "Server Port:            81", "Document Path:          /a?b"):
        assert line in lines
    assert not any(line.startswith("Document Length") for line in lines)
    table = ab_table(replace(run.result(), url="http://web1:81/a?b"), "", "", "")
    assert "/a?b" in table
    assert "Document Length" not in table
    assert "Server Hostname:        \n" in ab_report(replace(run.result(), url=None))


def test_workers_of_another_engine(run: Run) -> None:
    def told(*workers: model.EngineWorker, state: model.LoadState = model.LoadState.RUNNING) -> None:
        run.go(1, load={"engine": "locust", "workers": workers, "state": state})

    other = model.EngineWorker("g2-1", "g2", "running", 5, 50.0, 51_200)
    told(model.EngineWorker("g1-1", "g1", "ready", 0), other, state=model.LoadState.WARMUP)
    told(model.EngineWorker("g1-1", "g1", "running", 4, None, 61_440), other)
    told(
        model.EngineWorker("g1-1", "g1", "running", 6, 97.0, 61_440), replace(other, state=model.MISSING, cpu_pct=None)
    )
    told(
        model.EngineWorker("g1-1", "g1", "ready", 0, 12.0, 61_440),
        replace(other, state=model.MISSING),
        state=model.LoadState.DONE,
    )
    first, second = run.json()["load"]["workers"]
    assert first == {
        "name": "g1-1", "host": "g1", "state": "ready", "users": {"mean": 5.0, "min": 4.0, "max": 6.0},
        "cpu_pct": dict.fromkeys(("mean", "min", "max"), 97.0),
        "memory_kb": dict.fromkeys(("mean", "min", "max"), 61440.0),
    }  # fmt: skip
    assert (second["state"], second["cpu_pct"]["max"]) == ("missing", 50.0)
    text = run.report()
    assert "  worker   g1-1  ready     users 6  cpu 97 % (max 97)  60 MB\n" in text
    assert "  worker   g2-1  missing   users 5  cpu 50 % (max 50)  50 MB\n" in text
    found = {table.title: table for table in tables(run.result())}
    assert found["Workers of the engine"].rows[0] == ("g1-1 (ready)", "5 (4 to 6)", "97", "60")


def test_values_unmeasured_by_an_engine_are_not_zero(run: Run) -> None:
    unknown = dict.fromkeys(
        ("in_flight", "connections", "failures", "non_2xx", "received_bytes", "body_bytes", "sent_bytes")
    )
    stated = (model.StatedTimes("total", mean_ms=4.2, p50_ms=4.0, p99_ms=9.5),)
    more = {"engine": "wrk", "stated": stated, "stated_rps": 1234.5, "keepalive_requests": None, "concurrency": None}
    run.go(3, load={**unknown, **more, "latencies": None})
    load = run.json()["load"]
    assert [load[name] for name in ("failed", "failures", "non_2xx", "received_bytes", "connect_ms")] == [None] * 5
    assert (load["rps"], load["latency_source"]) == (1234.5, "stated")
    assert {name: value for name, value in load["latency_ms"].items() if value is not None} == {
        "mean": 4.2, "p50": 4.0, "p99": 9.5,
    }  # fmt: skip
    text = run.report()
    assert "Load by wrk" in text
    assert "as reported by wrk" in text
    assert "not measured" in text
    assert "Failed requests" not in ab_report(run.result())
