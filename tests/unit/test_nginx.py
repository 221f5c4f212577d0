"""nginx's connections: what a page and its limits mean, and what is said about them."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.fail_if import Condition, Watchdog
from loadtop.cli.printer import line
from loadtop.diagnosis.forecast import Use
from loadtop.model import Failures, Role
from loadtop.rates.measured import Measurer
from loadtop.servers.nginx.kind import NGINX, NGINX_CONNECTIONS
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.registry import KINDS, verdict_named
from tests.unit.course import Course, Run, counted, evidence, frame_of, named

VERDICT = NGINX_CONNECTIONS.name
STATUS = NginxStatus("http://x/nginx_status", 11, 1, 4, 6, 100, 100, 500, 2, 8)

Changes = dict[str, Any]


def page(*, dropped_s: int = 0, **fields: Any) -> Changes:
    """nginx as it continues: 50 connections more in each interval, of which some are dropped."""
    status = replace(STATUS, **fields)

    def later(number: int) -> tuple[NginxStatus, ...]:
        accepts, handled = 100 + 50 * number, 100 + (50 - dropped_s) * number
        return (replace(status, accepts=accepts, handled=handled, requests=500 + 90 * number),)

    return {"nginx": counted(later)}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (STATUS, (16, 5, 31.25)),
        (replace(STATUS, proxies=True), (16, 10, 62.5)),
        (replace(STATUS, reading=0, writing=16), (16, 16, 100.0)),
        (replace(STATUS, worker_processes=None), (None, 5, None)),
        (replace(STATUS, worker_connections=None), (None, 5, None)),
        (replace(STATUS, worker_processes=0), (0, 5, None)),
    ],
)
def test_what_is_in_use(status: NginxStatus, expected: tuple[int | None, int, float | None]) -> None:
    """Kept-alive connections give way to new ones; a request that is passed on takes two."""
    assert (status.capacity, status.used, status.full) == expected


def test_connections_that_are_dropped_are_named_with_the_number_to_set(course: Course) -> None:
    course.go(changes=page(dropped_s=20))
    diagnosis = course.go_on(2, changes=page(dropped_s=20))
    assert (named(diagnosis), diagnosis.verdict.host) == (VERDICT, "web1")
    assert evidence(diagnosis, "nginx.dropped_s").value == pytest.approx(20.0)
    assert evidence(diagnosis, "nginx.used").threshold == 16
    advice = str(diagnosis.verdict.advice)
    assert "nginx has no free worker connection (2 worker processes with 8 each)." in advice
    assert "nginx drops 20 connections/s." in advice
    assert "Raise worker_connections from 8 to 16, and worker_rlimit_nofile above that." in advice


def test_the_number_to_set_follows_from_the_requests_in_flight(course: Course) -> None:
    load = {"in_flight": 100, "concurrency": 100}
    advice = str(course.go_on(3, load=load, changes=page(dropped_s=20)).verdict.advice)
    assert "from 8 to 100," in advice
    proxy = page(dropped_s=20, proxies=True, worker_processes=1)
    advice = str(course.go_on(3, load=load, changes=proxy).verdict.advice)
    assert "(1 worker process with 8). A proxied request needs two connections." in advice
    assert "from 8 to 400," in advice


def test_unknown_limits_have_advice_without_numbers(course: Course) -> None:
    unknown = page(dropped_s=20, worker_processes=None, worker_connections=None)
    diagnosis = course.go_on(3, changes=unknown)
    assert named(diagnosis) == VERDICT
    assert "Raise worker_connections in its events block." in str(diagnosis.verdict.advice)
    assert [item.metric for item in diagnosis.verdict.evidence] == ["nginx.dropped_s"]


def test_one_interval_with_drops_is_not_a_limit(course: Course) -> None:
    """accepts and handled are not read at one moment: a connection between them is not yet lost."""
    course.go_on(3, changes=page())
    one = replace(STATUS, accepts=301, handled=300)
    assert named(course.go(changes={"nginx": (one,)})) == "none"
    assert named(course.go_on(3, changes={"nginx": (replace(one, handled=301),)})) == "none"


def test_a_proxy_with_all_connections_in_use_is_full_before_it_drops(course: Course) -> None:
    diagnosis = course.go_on(3, changes=page(writing=8, reading=0, proxies=True))
    assert named(diagnosis) == VERDICT
    assert evidence(diagnosis, "nginx.full_pct").value == 100.0


@pytest.mark.parametrize(
    "changes",
    [
        page(), page(waiting=11, active=16), page(writing=3, proxies=True),
        page(worker_processes=None, worker_connections=None), page(writing=16, reading=0), {},
    ],
    ids=["free", "keep-alive", "a proxy", "unknown limits", "full without drops", "no page"],
)  # fmt: skip
def test_calm(course: Course, changes: Changes) -> None:
    course.go_on(2, changes=page())
    assert named(course.go_on(5, changes=changes)) == "none"


def test_a_restarted_server_has_no_rate(course: Course) -> None:
    course.go_on(3, changes=page())
    assert named(course.go_on(3, changes={"nginx": (replace(STATUS, accepts=5, handled=3, requests=2),)})) == "none"


def failing(number: int) -> Failures:
    return Failures(receive=60 * number)


def test_dropped_connections_explain_the_errors(course: Course) -> None:
    errors = {"failures": failing, "non_2xx": counted(lambda number: 60 * number)}
    assert named(course.go_on(4, load=errors, changes=page())) == "errors"
    diagnosis = course.go_on(4, load=errors, changes=page(dropped_s=20))
    assert named(diagnosis) == VERDICT
    assert "errors" in {finding.bottleneck for finding in diagnosis.findings}


def test_the_declaration() -> None:
    assert verdict_named(VERDICT).role is Role.WEB
    assert [verdict.name for verdict in NGINX.verdicts] == [VERDICT]


def demands(machine: Any, *pages: NginxStatus) -> dict[str, Use]:
    measurer = Measurer(KINDS)
    frames = [frame_of(number, None, machine.state(changes={"nginx": pages})) for number in range(2)]
    measured = [measurer.measure(frame) for frame in frames][-1]
    return dict(NGINX.demands(measured, measured.hosts[0], True))


def test_what_the_forecast_reckons_with(machine: Any) -> None:
    """The connections of requests, without that of the page."""
    assert demands(machine, STATUS) == {VERDICT: Use(3.0, 16)}
    assert demands(machine, replace(STATUS, proxies=True)) == {VERDICT: Use(6.0, 16)}
    assert demands(machine, replace(STATUS, worker_connections=None)) == {}
    busier = replace(STATUS, url="http://y/", writing=13)
    assert demands(machine, STATUS, busier) == {VERDICT: Use(12.0, 16)}
    assert demands(machine) == {}


@pytest.fixture
def seen(watch: Run) -> Run:
    """Three intervals of a machine with nginx; only the second has rates."""
    watch.see(nginx=(replace(STATUS, active=99),))
    watch.see(nginx=(replace(STATUS, accepts=140, handled=130, requests=590),))
    watch.see(nginx=(replace(STATUS, active=13, accepts=180, handled=160, requests=680),))
    return watch


def test_the_summary(seen: Run) -> None:
    host = seen.host
    (server,) = host["nginx"]
    assert (server["url"], server["worker_processes"], server["worker_connections"]) == (STATUS.url, 2, 8)
    assert server["active"] == {"mean": 12.0, "min": 11.0, "max": 13.0}
    assert (server["writing"]["mean"], server["waiting"]["mean"], server["reading"]["mean"]) == (4.0, 6.0, 1.0)
    assert (server["accepts_s"]["mean"], server["handled_s"]["mean"], server["requests_s"]["mean"]) == (40, 30, 90)
    assert host["totals"]["nginx"]["dropped_s"]["mean"] == 10.0


def test_the_report_and_the_line_per_interval(seen: Run) -> None:
    assert "  nginx    active 12 of 16  waiting 6  90 requests/s  dropped 10/s" in seen.report()
    assert " nginx 13 conn" in line(seen.see(nginx=(replace(STATUS, active=13),)))


def test_each_server_has_its_own_dropped_connections(watch: Run) -> None:
    other = replace(STATUS, url="http://y/")
    watch.see(nginx=(STATUS, other))
    watch.see(nginx=(replace(STATUS, accepts=140, handled=130), replace(other, accepts=150, handled=150)))
    dropped = [row.partition("dropped ")[2] for row in watch.report().splitlines() if row.startswith("  nginx ")]
    assert dropped == ["10/s", "0/s"]


def test_the_report_without_limits(watch: Run) -> None:
    watch.go(2, changes={"nginx": (replace(STATUS, worker_processes=None, worker_connections=None),)})
    assert "  nginx    active 11  waiting 6  0 requests/s  dropped 0/s" in watch.report()


@pytest.mark.usefixtures("japanese")
def test_in_japanese(seen: Run) -> None:
    assert "  nginx    接続 12 / 16  待機 6  90 リクエスト/s  切断 10/s" in seen.report()
    assert " nginx 11 接続" in line(seen.see(nginx=(STATUS,)))


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("web1.nginx.dropped_s>0", True),
        ("nginx.dropped_s>10", False),
        ("nginx.active>11", True),
        ("nginx.requests_s<90", False),
        ("nginx.waiting>5", True),
        ("bottleneck!=none", True),
    ],
)
def test_rules_of_fail_if(seen: Run, text: str, broken: bool) -> None:
    (outcome,) = Watchdog([Condition.parse(text)]).outcomes(seen.totals.as_json())
    assert outcome.broken is broken
