"""What the doctor says of a sample, and how it looks."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from collectors.transport.ssh.failures import explain
from loadtop.cli.doctor import text
from loadtop.i18n import Message, verbatim, width
from loadtop.model import Cause, HostSample, Listener, Network, Outcome, Process, State
from loadtop.reports.doctor import Check, Health, Report, examine, generator
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.gunicorn.record import GunicornPool
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.mysql.record import MysqlStatus
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.record import FpmPool
from loadtop.servers.postgresql.record import PostgresqlStatus
from loadtop.servers.redis.record import RedisStatus
from loadtop.servers.registry import KINDS
from loadtop.servers.uwsgi.record import UwsgiStatus

PAGE = ApacheStatus("http://x/s?auto", "event", "", "W___", 10, max_request_workers=4, listen_backlog=511)
POOL = FpmPool("www", "static", 1, 0, None, 1, 1, 2, 0, max_children=2, address="/run/fpm.sock")
BACKEND = HaproxyProxy("be", "BACKEND", "UP", 0, 0, 10, 0, 0, 0)
NGINX = NginxStatus("http://x/nginx_status", 1, 0, 1, 0, 1, 1, 1, 2, 512)
POSTGRESQL = PostgresqlStatus("db:5432", "15.18", max_connections=100, hidden=True)
MYSQL = MysqlStatus("db:3306", "8.0.43", max_connections=151, blockers_hidden=True)
UWSGI = UwsgiStatus("/run/app.sock", 2, 4, 3, 0)
REDIS = RedisStatus("127.0.0.1:6379", "7.0.15", max_clients=10_000)
NO_SOCKET = Message("{url}: {reason}", url="unix:/x", reason=Message("no such socket"))
PROCESS = Process(7, "apache2", "httpd", "S", 1, 5, 5, 9000, 5000)


@pytest.fixture
def sample(machine: Any) -> HostSample:
    """A machine of which everything is read."""
    found: HostSample = machine.sample(
        changes={
            "disks": (),
            "networks": (Network("lo", 0, 0, 0, 0), Network("eth0", 0, 0, 0, 0, link_mbit=1000)),
            "processes": (PROCESS,),
            "apache": (PAGE,),
            "fpm": (POOL,),
            "uwsgi": (UWSGI,),
            "gunicorn": (GunicornPool("127.0.0.1:8000", 2, worker_class="gevent"),),
            "haproxy": (BACKEND,),
            "nginx": (NGINX,),
            "redis": (REDIS,),
            "mysql": (MYSQL,),
            "postgresql": (POSTGRESQL,),
        }
    )
    names = "cpu scheduler memory swap paging pressure disks networks tcp processes cgroup"
    collectors = (*names.split(), *(kind.name for kind in KINDS))
    return replace(found, outcomes=tuple(Outcome(name, State.OK) for name in collectors))


def check_of(sample: HostSample, panel: str, outcome: Outcome | None = None) -> Check:
    outcomes = tuple(
        outcome if outcome and found.collector == outcome.collector else found for found in sample.outcomes
    )
    checks = {check.panel: check for check in examine(replace(sample, outcomes=outcomes))}
    return checks[panel]


def test_every_panel_is_there_and_shows_its_values(sample: HostSample) -> None:
    checks = {check.panel: check for check in examine(sample)}
    assert len(checks) == 20
    assert checks["cpu"] == Check("cpu", Health.OK, Message("{number} cores", number=2))
    assert str(checks["networks"].seen) == "lo, eth0 (1000 Mbit/s)"
    assert str(checks["processes"].seen) == "1 httpd"
    assert (checks["apache"].health, str(checks["apache"].seen)) == (Health.OK, "event, 4 slots (http://x/s?auto)")
    assert str(checks["php-fpm"].seen) == "pool www (/run/fpm.sock): pm.max_children 2, queue 0"
    assert str(checks["uwsgi"].seen) == "/run/app.sock: workers 2, threads 4, queue 0"
    assert str(checks["gunicorn"].seen) == "127.0.0.1:8000: workers 2, threads -, queue -"
    assert str(checks["haproxy"].seen) == "1 rows of statistics; backends be"
    assert str(checks["mysql"].seen) == "8.0.43, max_connections 151 (db:3306)"
    assert checks["mysql"].health is Health.PARTLY
    assert "GRANT PROCESS" in str(checks["mysql"].fix)
    assert str(checks["postgresql"].seen) == "15.18, max_connections 100 (db:5432)"
    assert (checks["postgresql"].health, checks["postgresql"].fix) == (Health.PARTLY, 'GRANT pg_monitor TO "USER";')
    assert str(checks["redis"].seen) == "7.0.15, maxclients 10,000 (127.0.0.1:6379)"


def without(sample: HostSample, kind: str) -> HostSample:
    """The sample of a host on which this kind of server was not read."""
    return replace(sample, servers={name: found for name, found in sample.servers.items() if name != kind})


def test_a_block_to_paste_is_the_fix(sample: HostSample) -> None:
    reason = verbatim("http://x: page not found (404). Add this")
    outcome = Outcome("apache", State.ABSENT, reason, fix="<Location>\n</Location>")
    check = check_of(without(sample, "apache"), "apache", outcome)
    assert check == Check("apache", Health.MISSING, "", reason, "<Location>\n</Location>")


def test_nothing_of_the_kind_needs_no_fix(sample: HostSample) -> None:
    outcome = Outcome("haproxy", State.ABSENT, verbatim("no haproxy found"), cause=Cause.NOTHING)
    check = check_of(without(sample, "haproxy"), "haproxy", outcome)
    assert (check.health, check.fix) == (Health.NONE, "")


def test_what_is_known_without_a_page_is_part_of_it(sample: HostSample) -> None:
    reason = verbatim("pool www has no status page: add this")
    outcome = Outcome("fpm", State.ABSENT, reason, fix="pm.status_path = /fpm-status")
    check = check_of(sample, "php-fpm", outcome)
    assert (check.health, check.fix) == (Health.PARTLY, "pm.status_path = /fpm-status")


@pytest.mark.parametrize(
    ("cause", "source", "fix"),
    [
        (Cause.ROOT, "local", "sudo loadtop"),
        (Cause.ROOT, "ssh://bob@web1", "ssh://root@web1"),
        (Cause.SOCKET, "local", "usermod -aG"),
    ],
)
def test_a_cause_has_its_fix(sample: HostSample, cause: Cause, source: str, fix: str) -> None:
    far = replace(sample, facts=replace(sample.facts, source=source))
    check = check_of(far, "processes", Outcome("processes", State.OK, verbatim("not all is seen"), cause=cause))
    assert check.health is Health.PARTLY
    assert fix in str(check.fix)


def test_limits_that_are_not_known_are_named(sample: HostSample) -> None:
    unknown = replace(
        sample,
        servers={
            "apache": (replace(PAGE, max_request_workers=None, listen_backlog=None),),
            "fpm": (replace(POOL, max_children=None),),
        },
        networks=(Network("eth0", 0, 0, 0, 0),),
    )
    assert "MaxRequestWorkers, ListenBacklog: unknown" in str(check_of(unknown, "apache").missing)
    assert str(check_of(unknown, "php-fpm").missing).startswith("pm.max_children of www")
    assert check_of(unknown, "networks").fix == "--link MBIT"


@pytest.mark.parametrize(("limit", "cut"), [(128, True), (511, False), (None, False)])
def test_a_backlog_that_the_kernel_cuts(sample: HostSample, limit: int | None, cut: bool) -> None:
    assert sample.tcp is not None
    check = check_of(replace(sample, tcp=replace(sample.tcp, listeners=(Listener(80, 0, limit),))), "apache")
    assert (check.health is Health.PARTLY) == cut
    assert ("net.core.somaxconn=511" in str(check.fix)) == cut


def test_the_missing_resource_of_a_generator() -> None:
    assert generator(1 << 20, 60_000).health is Health.OK
    assert generator(None, None).health is Health.OK
    check = generator(1024, 1000)
    assert check.health is Health.PARTLY
    assert "limits.conf" in str(check.fix)
    assert "ip_local_port_range" in str(check.fix)


def test_it_is_safe_for_a_terminal_and_aligned() -> None:
    check = Check("apache", Health.MISSING, "", "says \x1b[2J " + "word " * 30, "<Location>\n    Require local")
    shown = text(Report("web\x1b1", "ssh://web1", "a, b, c", checks=(check,)))
    assert "\x1b" not in shown
    lines = shown.splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert lines[-2:] == [f"{'':21}fix: <Location>", f"{'':26}    Require local"]
    assert "no      connection" in text(Report("web1", "ssh://web1", problem="nothing listens"))


@pytest.mark.usefixtures("japanese")
def test_in_japanese_the_columns_stand_and_what_is_pasted_stays(sample: HostSample) -> None:
    lacking = replace(
        sample,
        servers={"apache": (PAGE,), "fpm": (replace(POOL, max_children=None),)},
        networks=(Network("eth0", 0, 0, 0, 0),),
        outcomes=(
            *(each for each in sample.outcomes if each.collector != "haproxy"),
            Outcome("haproxy", State.FAILED, NO_SOCKET),
        ),
    )
    report = Report("web1", "ssh://web1", "Linux", checks=(*examine(lacking), generator(1024, 1000)))
    shown = text(report)
    assert not re.search(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}", shown)
    for said in ("一部    ネットワーク eth0。回線速度が不明: eth0", "負荷平均 0.50", "不可    haproxy"):
        assert said in shown
    assert f'{"":23}対処: echo "* hard nofile 65536" | sudo tee -a /etc/security/limits.conf   \uff08その後' in shown
    assert f"\n{'':29}sudo sysctl -w net.ipv4.ip_local_port_range" in shown
    starts = {width(line) - width(line.lstrip()) for line in shown.splitlines()[1:] if line.startswith("   ")}
    assert starts <= {23, 29}
    assert all(width(line) <= 100 for line in shown.splitlines() if "nofile" not in line)
    assert report.as_json()["panels"][0]["seen"] == "2 cores"
    assert "   接続         " in text(Report("web1", "ssh://web1", problem="nothing listens"))


@pytest.mark.parametrize(
    ("messages", "status", "fix"),
    [
        (["Host key verification failed."], 255, "ssh web1"),
        (
            ["IT IS: HOST IDENTIFICATION HAS CHANGED", "  ssh-keygen -f '/home/a/.ssh/known_hosts' -R 'web1'"],
            255,
            "ssh-keygen -R web1\nssh web1",
        ),
        (["a@web1: Permission denied (publickey)."], 255, "ssh web1 true"),
        (["a@web1: Permission denied (publickey,password)."], 255, "ssh-copy-id web1"),
        (["connect to host web1 port 22: Connection refused"], 255, ""),
    ],
)
def test_the_command_that_opens_a_connection_is_the_fix(messages: list[str], status: int, fix: str) -> None:
    error = explain("ssh://web1", messages, status)
    report = Report("web1", "ssh://web1", problem=error.message, fix=error.fix)
    assert error.fix == fix
    assert report.as_json()["fix"] == (fix or None)
    assert all(line in text(report) for line in fix.splitlines())


def test_json_has_null_for_missing_values() -> None:
    found = Report("web1", "ssh://web1", problem="nothing listens").as_json()
    assert found == {
        "name": "web1", "source": "ssh://web1", "system": None, "reachable": False, "problem": "nothing listens",
        "fix": None, "panels": [],
    }  # fmt: skip
    assert Check("cpu", Health.OK, Message("{number} cores", number=2)).as_json()["fix"] is None
