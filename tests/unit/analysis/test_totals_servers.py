"""php-fpm, HAProxy and Apache's limits in the summary, the report and the line per interval."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from loadtop.analysis.fail_if import Condition, Watchdog
from loadtop.analysis.totals.totals import Totals
from loadtop.cli.printer import line
from loadtop.model import Failures, Frame, LoadState
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from loadtop.reports.text import report
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool

POOL = FpmPool("www", "static", 100, 0, 511, 3, 2, 5, 0, 0, 5, "/run/php/fpm.sock", 60, 0.01, 100.0)
SILENT = FpmPool("www", "static", None, 9, 511, None, None, None, None, None, 5, "/run/php/fpm.sock", silent_s=2.0)
BACKEND = HaproxyProxy("be", "BACKEND", "UP", 4, 10, 200, 1000, 5, 5, http_5xx=0, at=100.0)
STATUS = ApacheStatus("http://x/s?auto", "event", "Apache", "W___", 10, max_request_workers=4, server_limit=1)

FrameOf = Callable[..., Frame]


class Run:
    """Frames of a machine with servers, added up as they go."""

    def __init__(self, machine: Any, frame_of: FrameOf) -> None:
        self.machine, self.frame_of = machine, frame_of
        self.pipeline = Pipeline()
        self.summary = Totals("http://web1/")
        self.number = 0

    def go(self, **changes: Any) -> Snapshot:
        frame = self.frame_of(self.number, None, self.machine.state(changes=changes))
        self.number += 1
        snapshot = self.pipeline.snapshot(frame)
        self.summary.add(snapshot)
        return snapshot


def test_pools_and_lines_are_added_up(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    run.go(fpm=(POOL,), haproxy=(BACKEND,))
    busier = replace(POOL, accepted=120, active=5, idle=0, listen_queue=3, at=102.0)
    run.go(fpm=(busier,), haproxy=(replace(BACKEND, queue=6, sessions_total=1050, at=101.0),))
    snapshot = run.go(fpm=(SILENT,), haproxy=(replace(BACKEND, queue=8, sessions_total=1050, at=102.0),))
    host = run.summary.as_json()["hosts"][0]
    pool = host["fpm"][0]
    assert (pool["pool"], pool["max_children"], pool["address"]) == ("www", 5, "/run/php/fpm.sock")
    assert pool["active"] == {"mean": 5.0, "min": 5.0, "max": 5.0}  # what was silent was not measured
    assert pool["listen_queue"] == {"mean": 6.0, "min": 3.0, "max": 9.0}
    assert pool["requests_s"]["mean"] == 10.0  # by the time between the pages
    be = host["haproxy"][0]
    assert (be["proxy"], be["server"], be["session_limit"]) == ("be", "BACKEND", 200)
    assert be["queue"] == {"mean": 7.0, "min": 6.0, "max": 8.0}
    assert be["sessions_s"] == {"mean": 25.0, "min": 0.0, "max": 50.0}
    text = report(run.summary.result())
    assert "php-fpm  www  active 5 of 5 children  queue 6  10 requests/s" in text
    assert "haproxy  be/BACKEND  queue 7  sessions 10 of 200  25 sessions/s" in text
    assert line(snapshot).partition("  ")[2].count("www silent/5 queue 9 haproxy queue 8") == 1


@pytest.mark.usefixtures("japanese")
def test_in_japanese_figures_stay_in_their_columns(machine: Any, load: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    first = run.go(apache=(STATUS,))
    assert line(first).startswith("   0.0 秒  ")
    run.go(fpm=(POOL,), haproxy=(BACKEND,))
    told = line(run.go(fpm=(SILENT,), haproxy=(replace(BACKEND, queue=8, sessions_total=1050, at=102.0),)))
    assert (
        told
        == "   2.0 秒  アイドル  95 % 稼働 1/10 www 無応答/5 待ち 9 haproxy 待ち 8  HAProxy の待ち行列\uff08web1\uff09"
    )
    text = report(run.summary.result())
    assert "php-fpm  www  稼働 2 / 5 子プロセス  待ち 4.5  - 要求/s" in text
    assert "haproxy  be/BACKEND  待ち 6  セッション 10 / 200" in text
    sample = load.sample(failures=Failures(timeout=3), non_2xx=7, state=LoadState.WARMUP)
    said = line(Pipeline().snapshot(frame_of(5, sample)))
    assert "p99     - ms 失敗 3 2xx以外 7 暖機運転  " in said


def test_none_of_them_is_an_empty_list(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    run.go()
    run.go()
    host = run.summary.as_json()["hosts"][0]
    assert (host["fpm"], host["haproxy"]) == ([], [])
    assert "php-fpm" not in report(run.summary.result())


def test_a_page_that_falls_silent_at_the_end_is_kept(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    for apache in ((STATUS,), (STATUS,), None):
        run.go(apache=apache)
    apache = run.summary.as_json()["hosts"][0]["apache"]
    assert (apache["capacity"], apache["busy"]["mean"]) == (4, 1.0)
    assert (apache["max_request_workers"], apache["server_limit"], apache["listen_backlog"]) == (4, 1, None)


def test_names_of_servers_are_made_safe(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    odd: dict[str, Any] = {
        "fpm": (replace(POOL, pool="\x1b[2J"),),
        "haproxy": (replace(BACKEND, proxy="\x1b]0;x"),),
    }
    run.go(**odd)
    snapshot = run.go(**odd)
    assert "\x1b" not in report(run.summary.result()) + line(snapshot)


def test_a_restarted_master_has_no_rate(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    run.go(fpm=(POOL,))
    run.go(fpm=(replace(POOL, accepted=500, uptime_s=1, at=101.0),))
    assert run.summary.as_json()["hosts"][0]["fpm"][0]["requests_s"] is None


def test_the_busiest_others_and_the_groups(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    names = {"apache2": 30.0, "backup": 80.0, **{f"small{n}": 1.0 + n for n in range(8)}}
    for _ in range(5):
        frame = frame_of(run.number, None, machine.state(processes=names))
        run.number += 1
        run.summary.add(run.pipeline.snapshot(frame))
    processes = run.summary.as_json()["hosts"][0]["processes"]
    others = processes["busiest_others"]
    assert [other["name"] for other in others] == ["backup", "small7", "small6", "small5", "small4"]
    assert others[0]["cpu_pct"] == {"mean": 80.0, "max": 80.0}
    (group,) = processes["groups"]
    assert (group["group"], group["processes"]["mean"], group["running"]["mean"]) == ("httpd", 1.0, 0.0)
    assert (group["cpu_pct"]["mean"], group["rss_kb_each"]["mean"], group["pss_kb_each"]) == (30.0, 9000.0, None)
    assert "others   backup (pid 1001) 80 % of a core" in report(run.summary.result())


def test_sums_over_pools_and_backends_can_be_rules(machine: Any, frame_of: FrameOf) -> None:
    run = Run(machine, frame_of)
    rules = ("fpm.listen_queue>4", "fpm.active<9", "haproxy.queue>8", "haproxy.sessions>1", "web1.fpm.active>9 for 1s")
    watchdog = Watchdog([Condition.parse(rule) for rule in rules])
    second = replace(POOL, pool="b", active=7, listen_queue=5)
    for _ in range(3):
        watchdog.add(run.go(fpm=(POOL, second), haproxy=(BACKEND, replace(BACKEND, proxy="c", queue=5))))
    summary = run.summary.as_json()
    assert summary["hosts"][0]["totals"]["fpm"]["active"]["mean"] == 9.0
    assert summary["hosts"][0]["totals"]["haproxy"] == {
        "queue": {"mean": 9.0, "min": 9.0, "max": 9.0},
        "sessions": None,
    }
    assert watchdog.broken(summary) == ["fpm.listen_queue>4", "haproxy.queue>8"]
