"""php-fpm, HAProxy and Apache's limits in the summary, the report and the line per interval."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.fail_if import Condition, Watchdog
from loadtop.analysis.totals.host import ProcessTotals
from loadtop.cli.printer import line
from loadtop.model import LOADTOP, OTHER, Failures, Listener, LoadState, Tcp
from loadtop.pipeline.snapshot import Pipeline
from loadtop.rates.records import ServerRates
from loadtop.servers.apache.kind import APACHE
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.mysql.record import MysqlStatus
from loadtop.servers.php_fpm.kind import PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.postgresql.record import PostgresqlStatus
from loadtop.servers.redis.record import RedisStatus
from tests.unit.course import Run, frame_of
from tests.unit.interval import host, process
from tests.unit.known import known

POOL = FpmPool("www", "static", 100, 0, 511, 3, 2, 5, 0, 0, 5, "/run/php/fpm.sock", 60, 0.01, 100.0)
SILENT = FpmPool("www", "static", None, 9, 511, None, None, None, None, None, 5, "/run/php/fpm.sock", silent_s=2.0)
BACKEND = HaproxyProxy("be", "BACKEND", "UP", 4, 10, 200, 1000, 5, 5, http_5xx=0, at=100.0)
STATUS = ApacheStatus("http://x/s?auto", "event", "Apache", "W___", 10, max_request_workers=4, server_limit=1)


def test_pools_and_lines_are_added_up(watch: Run) -> None:
    watch.see(fpm=(POOL,), haproxy=(BACKEND,))
    busier = replace(POOL, accepted=120, active=5, idle=0, listen_queue=3, at=102.0)
    watch.see(fpm=(busier,), haproxy=(replace(BACKEND, queue=6, sessions_total=1050, at=101.0),))
    snapshot = watch.see(fpm=(SILENT,), haproxy=(replace(BACKEND, queue=8, sessions_total=1050, at=102.0),))
    host = watch.host
    pool = host["fpm"][0]
    assert (pool["pool"], pool["max_children"], pool["address"]) == ("www", 5, "/run/php/fpm.sock")
    assert pool["active"] == {"mean": 5.0, "min": 5.0, "max": 5.0}  # what was silent was not measured
    assert pool["listen_queue"] == {"mean": 6.0, "min": 3.0, "max": 9.0}
    assert pool["requests_s"]["mean"] == 10.0  # by the time between the pages
    be = host["haproxy"][0]
    assert (be["proxy"], be["server"], be["session_limit"]) == ("be", "BACKEND", 200)
    assert be["queue"] == {"mean": 7.0, "min": 6.0, "max": 8.0}
    assert be["sessions_s"] == {"mean": 25.0, "min": 0.0, "max": 50.0}
    text = watch.report()
    assert "php-fpm  www  active 5 of 5 children  queue 6  10 requests/s" in text
    assert "haproxy  be/BACKEND  queue 7  sessions 10 of 200  25 sessions/s" in text
    assert line(snapshot).partition("  ")[2].count("www silent/5 queue 9 haproxy queue 8") == 1


def test_databases_are_listed_by_address(watch: Run) -> None:
    cache = RedisStatus("db:6379", "7.0.15", 12, 3, 1000, 7, 5000, 0, 100.0, at=100.0)
    data = MysqlStatus("/run/x.sock", "8.0.43", 4, 12, 151, 3, 4711, 5, 6000, 0, at=100.0)
    open_ones = PostgresqlStatus("db:5432", "15.18", 13, 5, 1, 3, 0, 1, 2, 100, 3, 4711, at=100.0)
    watch.see(redis=(cache,), mysql=(data,), postgresql=(open_ones,))
    snapshot = watch.see(
        redis=(replace(cache, clients=14, commands=5080, cpu=141.0, at=101.0),),
        mysql=(replace(data, questions=4811, lock_ms=9000, at=101.0),),
        postgresql=(replace(open_ones, transactions=4961, at=101.0),),
    )
    found = watch.host["redis"][0]
    assert (found["address"], found["version"], found["max_clients"]) == ("db:6379", "7.0.15", 1000)
    assert found["commands_s"]["mean"] == 80.0
    assert found["cpu_pct"]["mean"] == 41.0
    assert watch.host["totals"]["redis"]["clients"]["mean"] == 14.0
    row = "  redis    db:6379  80 commands/s  thread 41 % busy  clients 14 of 1,000  blocked 3"
    assert row in watch.report().splitlines()
    assert "redis 80/s mysql 4 running lock waits 3 postgresql 5 active lock waits 3" in line(snapshot)
    assert watch.host["postgresql"][0]["reserved"] == 3
    row = "  postgres db:5432  250 transactions/s  active 5  lock waits 3  sessions 13 of 100"
    assert row in watch.report().splitlines()
    assert watch.host["mysql"][0]["lock_ms_s"]["mean"] == 3000.0
    row = "  mysql    /run/x.sock  100 queries/s  running 4  lock waits 3  sessions 12 of 151"
    assert row in watch.report().splitlines()


def test_none_of_them_is_an_empty_list_and_a_restarted_master_has_no_rate(watch: Run) -> None:
    watch.go(2)
    assert (watch.host["fpm"], watch.host["haproxy"], watch.host["nginx"]) == ([], [], [])
    assert not any(name in watch.report() for name in ("php-fpm", "haproxy", "nginx"))
    watch.see(fpm=(POOL,))
    watch.see(fpm=(replace(POOL, accepted=500, uptime_s=1, at=101.0),))
    assert watch.host["fpm"][0]["requests_s"] is None


@pytest.mark.usefixtures("japanese")
def test_in_japanese_figures_stay_in_their_columns(watch: Run, load: Any) -> None:
    first = watch.see(apache=(STATUS,))
    assert line(first).startswith("   0.0 秒  ")
    watch.see(fpm=(POOL,), haproxy=(BACKEND,))
    told = line(watch.see(fpm=(SILENT,), haproxy=(replace(BACKEND, queue=8, sessions_total=1050, at=102.0),)))
    assert (
        told == "   2.0 秒  アイドル  95 % 稼働 1/10 www 無応答/5 待ち 9 haproxy 待ち 8  HAProxy 待ち\uff08web1\uff09"
    )
    text = watch.report()
    assert "php-fpm  www  稼働 2 / 5 子プロセス  待ち 4.5  - リクエスト/s" in text
    assert "haproxy  be/BACKEND  待ち 6  セッション 10 / 200" in text
    sample = load.sample(failures=Failures(timeout=3), non_2xx=7, state=LoadState.WARMUP)
    said = line(Pipeline().snapshot(frame_of(5, sample)))
    assert "p99     - ms 失敗 3 2xx以外 7 ウォームアップ  " in said


def test_a_page_that_falls_silent_at_the_end_is_kept(watch: Run) -> None:
    for apache in ((STATUS,), (STATUS,), None):
        watch.see(apache=apache)
    apache = watch.host["apache"]
    assert (apache["capacity"], apache["busy"]["mean"]) == (4, 1.0)
    assert (apache["max_request_workers"], apache["server_limit"], apache["listen_backlog"]) == (4, 1, None)


def test_names_of_servers_are_made_safe(watch: Run) -> None:
    odd = {"fpm": (replace(POOL, pool="\x1b[2J"),), "haproxy": (replace(BACKEND, proxy="\x1b]0;x"),)}
    snapshot = watch.go(2, changes=odd)
    assert "\x1b" not in watch.report() + line(snapshot)


def test_the_busiest_others_and_the_groups(watch: Run) -> None:
    names = {"apache2": 30.0, "backup": 80.0, **{f"small{n}": 1.0 + n for n in range(8)}}
    watch.go(5, processes=names)
    processes = watch.host["processes"]
    others = processes["busiest_others"]
    assert [other["name"] for other in others] == ["backup", "small7", "small6", "small5", "small4"]
    assert others[0]["cpu_pct"] == {"mean": 80.0, "max": 80.0}
    (group,) = processes["groups"]
    assert (group["group"], group["processes"]["mean"], group["running"]["mean"]) == ("httpd", 1.0, 0.0)
    assert (group["cpu_pct"]["mean"], group["rss_kb_each"]["mean"], group["pss_kb_each"]) == (30.0, 9000.0, None)
    assert (group["wait_pct"], watch.host["httpd"]["wait_pct"]) == (None, None)
    assert "others   backup (pid 1001) 80 % of a core" in watch.report()
    (busiest,) = processes["busiest"]
    assert (busiest["group"], busiest["name"], busiest["wait_pct"]) == ("httpd", "apache2", None)


def test_waits_for_the_cpu_of_single_processes() -> None:
    """Of the servers and of the load generator; one that has ended counts 0 from then on."""
    totals = ProcessTotals()
    worker, own = (replace(process(40.0, of=group), wait=8.0) for group in ("httpd", LOADTOP))
    own = replace(own, process=replace(own.process, pid=8))
    totals.add(host(processes=(worker, own), groups=()))
    totals.add(host(processes=(replace(worker, cpu=20.0, wait=2.0), process(90.0, "backup", OTHER)), groups=()))
    found = totals.as_json()["busiest"]
    assert [(each["group"], each["cpu_pct"], each["wait_pct"]) for each in found] == [
        ("httpd", {"mean": 30.0, "max": 40.0}, {"mean": 5.0, "max": 8.0}),
        ("loadtop", {"mean": 20.0, "max": 40.0}, {"mean": 4.0, "max": 8.0}),
    ]


def test_sums_over_pools_and_backends_can_be_rules(watch: Run) -> None:
    rules = ("fpm.listen_queue>4", "fpm.active<9", "haproxy.queue>8", "haproxy.sessions>1", "web1.fpm.active>9 for 1s")
    watchdog = Watchdog([Condition.parse(rule) for rule in rules])
    second = replace(POOL, pool="b", active=7, listen_queue=5)
    for _ in range(3):
        watchdog.add(watch.see(fpm=(POOL, second), haproxy=(BACKEND, replace(BACKEND, proxy="c", queue=5))))
    summary = watch.totals.as_json()
    assert summary["hosts"][0]["totals"]["fpm"]["active"]["mean"] == 9.0
    assert summary["hosts"][0]["totals"]["haproxy"] == {
        "queue": dict.fromkeys(("mean", "min", "max"), 9.0), "sessions": None,
    }  # fmt: skip
    broken = [outcome.condition.text for outcome in watchdog.outcomes(summary) if outcome.broken]
    assert broken == ["fpm.listen_queue>4", "haproxy.queue>8"]


def test_a_server_of_haproxy_has_a_row_where_requests_queue_for_it(watch: Run) -> None:
    front = replace(BACKEND, server="FRONTEND", queue=None, session_limit=None)
    lines = (BACKEND, front, replace(BACKEND, server="s1", queue=2), replace(BACKEND, server="s2", queue=0))
    watch.see(haproxy=(*lines, replace(BACKEND, server="s3", queue=None)))
    watch.see(haproxy=(*lines, replace(BACKEND, server="s3", queue=None)))
    rows = [row.split("  ")[2] for row in watch.report().splitlines() if row.startswith("  haproxy")]
    assert rows == ["be/BACKEND", "be/FRONTEND", "be/s1"]
    assert "be/FRONTEND  sessions 10  " in watch.report()
    assert watch.host["totals"]["haproxy"]["queue"]["mean"] == 4.0


def test_reports_on_apache(watch: Run) -> None:
    page = replace(STATUS, scoreboard="W_K.", accesses=100, duration_ms=1000, at=100.0)
    watch.see(apache=(page,))
    watch.see(apache=(replace(page, accesses=150, duration_ms=2000, at=101.0),))
    text = watch.report()
    assert "  apache   event  busy 2 of 4 slots  50 requests/s" in text
    assert "  httpd  " not in text  # no process of it was seen
    settings = dict(APACHE.settings((page,)))
    assert settings == {"Apache": "Apache", "MPM": "event", "worker slots": "4", "MaxRequestWorkers": "4"}
    two = dict(APACHE.settings((replace(page, threads_per_child=25), replace(page, url="http://y/"))))
    assert two["ThreadsPerChild http://x/s?auto"] == "25"
    assert (two["MPM http://y/"], "ThreadsPerChild http://y/" in two) == ("event", False)


@pytest.mark.parametrize(
    ("pss_kb", "rss_kb", "size"),
    [(2048, 4096, "  2.0 MB each (PSS)"), (None, 4096, "  4.0 MB each (RSS)"), (None, None, "")],
)
def test_reports_on_apaches_processes(pss_kb: float | None, rss_kb: float | None, size: str) -> None:
    httpd = {name: {"mean": 4.0} for name in ("processes", "running", "cpu_pct")}
    host = {"httpd": {**httpd, "pss_kb_mean": pss_kb, "rss_kb_mean": rss_kb}, "apache": None}
    assert APACHE.rows(host) == [f"  httpd    processes 4  running 4  cpu 4 % of a core{size}"]
    columns = {column.title: column.cell(host) for column in APACHE.columns}
    assert columns == {"httpd": ({"mean": 4.0}, None), "busy workers": (None, None)}


@pytest.mark.parametrize(
    ("settings", "limit", "said"),
    [
        ([{"listen_backlog": 511}], 511, ""),
        ([{"max_request_workers": None}, {"server_limit": 2}], 511, "MaxRequestWorkers: unknown"),
        ([{"listen_backlog": None}, {"server_limit": 2}], 511, "ListenBacklog: unknown"),
        ([{"listen_backlog": 512}], 511, "its ListenBacklog of 512 is cut to 511"),
        ([{"url": "https://x/", "listen_backlog": 512}], 511, ""),  # of another port
        ([{"url": "https://x/", "listen_backlog": 512}], 100, "its ListenBacklog of 512 is cut to 100"),
    ],
)
def test_the_missing_parts_of_apache(settings: list[dict[str, Any]], limit: int, said: str, machine: Any) -> None:
    pages = tuple(replace(STATUS, **{"listen_backlog": 511} | each) for each in settings)
    listener = Listener(80 if limit == 511 else 443, 0, limit)
    sample = machine.state(changes={"tcp": Tcp(0, 0, 0, listeners=(listener,))}).sample
    assert str(APACHE.lacks(pages, sample).reason).startswith(said)
    assert bool(APACHE.lacks(pages, sample).reason) is bool(said)


def test_reports_on_a_pool(watch: Run) -> None:
    unknown = replace(POOL, pool="b", max_children=None, active=0, idle=5)
    assert dict(PHP_FPM.settings((POOL, unknown))) == {
        "php-fpm www manager": "static", "php-fpm www max_children": "5", "php-fpm b manager": "static",
    }  # fmt: skip
    sample = known(watch.see(fpm=(POOL, unknown)).measured.hosts[0].sample)
    assert str(PHP_FPM.lacks((POOL, unknown), sample).reason).startswith("pm.max_children of b is unknown:")
    assert PHP_FPM.lacks((POOL,), sample).reason == ""
    readings = tuple(ServerRates(pool, {}) for pool in (replace(POOL, listen_queue=3, silent_s=1.0), unknown, SILENT))
    assert PHP_FPM.brief(readings) == " www 2/5 queue 3 b 0 www silent/5 queue 9"
