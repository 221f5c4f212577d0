"""Every threshold of the servers' verdicts from both sides, as ``test_thresholds.py`` does for a machine: ``over`` is
whether the limit is reached, ``held`` whether what was found before still holds."""

from typing import Any

import pytest
from msgspec.structs import fields, replace

from loadtop.diagnosis.forecast import Use
from loadtop.i18n import Message
from loadtop.model import Listener, Outcome, ServerSeen, State, Tcp
from loadtop.model.server import ServerReading
from loadtop.rates.measured import HostView
from loadtop.rates.records import GeneratorRates, ServerRates
from loadtop.servers.apache.kind import APACHE, APACHE_WORKERS
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.kind import HAPROXY, HAPROXY_QUEUE
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.kind import Kind
from loadtop.servers.nginx.kind import NGINX, NGINX_CONNECTIONS
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.kind import FPM_WORKERS, PHP_FPM
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.interval import advice, assessment, group, host, measured, of_host, states, value
from tests.unit.known import known

SEEN = ServerSeen("Apache", "web1", 8080, "/")
LATE = GeneratorRates(50.0, 50.0, 1, 0.0, 0.0, 0.0)


def serving(*readings: ServerReading, kind: Kind[Any], sample: dict[str, Any] | None = None, **rates: Any) -> HostView:
    """A machine with these servers; ``per_second`` are the rates of their counters."""
    per_second = rates.pop("per_second", {})
    servers = tuple(rated(reading, **per_second) for reading in readings)
    return host(sample, servers={kind.name: servers}, **rates)


def rated(reading: ServerReading, **per_second: float | None) -> ServerRates[ServerReading]:
    return ServerRates(reading, {field.name: None for field in fields(reading)} | per_second)


def page(board: str, **changes: Any) -> ApacheStatus:
    return replace(ApacheStatus("http://x/server-status?auto", "event", "Apache", board), **changes)


def board(busy: int, slots: int = 20, idle: str = "_") -> str:
    return "W" * busy + idle * (slots - busy)


def queue(*queues: int, port: int = 8080) -> dict[str, Any]:
    return {"tcp": Tcp(0, 0, 0, listeners=tuple(Listener(port, each, 511) for each in queues))}


class TestApache:
    @pytest.mark.parametrize(
        ("busy", "waiting", "over", "held"),
        [
            (20, 1, True, True),
            (18, 1, True, True),  # 19 of 20 slots: 95 %
            (17, 1, False, True),
            (16, 1, False, True),  # 85 %
            (15, 1, False, False),
            (20, 0, True, True),  # without the slot of the page itself: 95 %
            (19, 0, False, True),
            (17, 0, False, False),
        ],
    )
    def test_slots_and_the_accept_queue(self, busy: int, waiting: int, over: bool, held: bool) -> None:
        view = serving(page(board(busy)), kind=APACHE, sample=queue(waiting))
        found = of_host(APACHE_WORKERS, view, load={"server": SEEN, "in_flight": 10})
        assert states(found) == (over, held)
        assert (value(found, "apache.full_pct"), value(found, "apache.busy")) == (5.0 * busy, busy)
        assert found.confidence == round(0.9 + 0.05 * ((waiting > 0) + (busy == 20)), 3)

    @pytest.mark.parametrize(
        ("busy", "flying", "over"),
        [
            (11, 29, True),  # nine that no slot is there for, though the accept queue was empty when it was read
            (11, 28, True),
            (11, 27, False),
            (10, 60, False),  # less than half of the slots taken, without the page's own
            (19, 19, False),
            (19, 20, True),
        ],
    )
    def test_requests_that_no_slot_is_there_for(self, busy: int, flying: int, over: bool) -> None:
        view = serving(page(board(busy)), kind=APACHE, sample=queue(0))
        assert of_host(APACHE_WORKERS, view, load={"server": SEEN, "in_flight": flying}).over is over

    @pytest.mark.parametrize(("flying", "over"), [(None, True), (17, True), (18, False)])
    def test_slots_that_others_hold_where_no_queue_is_known(self, flying: int | None, over: bool) -> None:
        view = serving(page(board(19)), kind=APACHE)
        assert of_host(APACHE_WORKERS, view, load={"in_flight": flying}).over is over

    @pytest.mark.parametrize(
        ("seen", "in_flight", "waiting"),
        [(SEEN, 1, 7), (replace(SEEN, port=80), 1, None), (None, 1, 4), (None, 0, None)],
    )
    def test_which_queue(self, seen: ServerSeen | None, in_flight: int, waiting: int | None) -> None:
        """Those of the tested port; as long as that is not known, the fullest, if there are requests."""
        view = serving(page(board(5)), kind=APACHE, sample=queue(3, 4))
        found = of_host(APACHE_WORKERS, view, load={"server": seen, "in_flight": in_flight})
        assert value(found, "tcp.accept_queue") == waiting

    def test_behind_a_proxy_the_queue_at_its_own_port_counts(self) -> None:
        behind = page(board(1, 3), url="http://127.0.0.1:8080/server-status?auto")
        view = serving(behind, kind=APACHE, sample=queue(9))
        found = of_host(APACHE_WORKERS, view, load={"server": replace(SEEN, port=80), "in_flight": 12})
        assert (found.over, value(found, "tcp.accept_queue")) == (True, 9)
        assert page(board(1), url="http://[x/").capacity, "a recording can hold any URL"
        odd = serving(page(board(5), url="http://[x/"), kind=APACHE, sample=queue(9))
        assert value(of_host(APACHE_WORKERS, odd, load={"server": SEEN}), "tcp.accept_queue") == 9

    @pytest.mark.parametrize(
        ("outcome", "waiting", "groups", "over"),
        [
            (State.FAILED, 1, (group(),), True),
            (State.FAILED, 0, (group(),), False),
            (State.ABSENT, 1, (group(),), None),
            (State.FAILED, 1, (group(name="nginx"),), None),
            (State.FAILED, None, (group(),), None),
        ],
    )
    def test_a_silent_page(self, outcome: State, waiting: int | None, groups: Any, over: bool | None) -> None:
        sample = {"outcomes": (Outcome("cpu", State.OK), Outcome("apache", outcome, Message("no answer")))}
        view = host(sample | ({} if waiting is None else queue(waiting)), groups=groups)
        found = assessment(APACHE_WORKERS, view, load={"server": SEEN})
        assert (found and states(found)) == (None if over is None else (over, over))
        assert found is None or found.confidence == 0.95

    def test_headroom_shows_the_used_share(self) -> None:
        (found,) = known(APACHE_WORKERS.headroom)(serving(page(board(5)), kind=APACHE))
        assert (found.metric, found.value, found.threshold, found.below) == ("apache.full_pct", 25.0, 95.0, True)

    def test_without_a_sample_nothing_is_reported(self) -> None:
        view = serving(page(board(20)), kind=APACHE)
        view = replace(view, state=replace(view.state, sample=None))
        assert assessment(APACHE_WORKERS, view) is None

    def test_the_fullest_page_counts(self) -> None:
        view = serving(page(board(3)), page(board(9)), kind=APACHE)
        assert value(of_host(APACHE_WORKERS, view), "apache.busy") == 9

    def test_slots_that_finish_a_last_request_are_taken(self) -> None:
        found = of_host(
            APACHE_WORKERS, serving(page("W" * 17 + "GG_"), kind=APACHE, sample=queue(0)), load={"server": SEEN}
        )
        assert (value(found, "apache.busy"), value(found, "apache.full_pct"), states(found)) == (
            19,
            95.0,
            (False, True),
        )

    def test_its_metrics(self) -> None:
        view = serving(
            page("WK_."), kind=APACHE, per_second={"accesses": 9.0},
            groups=(group(50.0, processes=4, running=2, threads=8, wait=3.0),),
        )  # fmt: skip
        told = {metric.name.partition(".")[2]: APACHE.read(metric.name)(view) for metric in APACHE.metrics}
        processes = {"processes": 4, "running": 2, "threads": 8, "cpu_pct": 50.0, "wait_pct": 3.0}
        assert told == {**processes, "busy": 2, "idle": 1, "keepalive": 1, "requests_s": 9.0}

    def test_the_room_for_more_processes_is_reported_of_prefork(self) -> None:
        rates: dict[str, Any] = {"groups": (group(processes=4, rss_kb=40_000),), "kind": APACHE}
        text = advice(of_host(APACHE_WORKERS, serving(page("WWWW", mpm="prefork"), **rates)))
        assert "Memory allows about 44 in all: 9.8 MB each" in text
        for flying, but in ((43, False), (44, True)):  # and a worker for the status page
            found = of_host(APACHE_WORKERS, serving(page("WWWW", mpm="prefork"), **rates), load={"in_flight": flying})
            assert ("But memory allows only about 44" in advice(found)) is but
        rates["groups"] = (group(processes=4, rss_kb=4_000_000),)
        of_more = of_host(APACHE_WORKERS, serving(page("WWWW", mpm="prefork"), **rates))
        assert "But memory allows only about" in advice(of_more)
        assert "Make sure that there is enough memory." in advice(
            of_host(APACHE_WORKERS, serving(page("WWWW"), **rates))
        )

    def test_prefork_whose_processes_do_not_all_fit_is_limited_by_memory(self) -> None:
        view = serving(page(board(9), mpm="prefork"), kind=APACHE, groups=(group(processes=10, rss_kb=500_000),))
        found = APACHE.demands(measured(view), view, True)
        assert found["apache-workers"] == Use(8.0, 20)
        assert (found["memory"].used, found["memory"].capacity < 20) == (8.0, True)

    @pytest.mark.parametrize(
        ("flying", "kept", "said"),
        [
            (20, 11, ["Raise MaxRequestWorkers from 20 to 21 (20 requests", "11 workers only hold idle"]),
            (19, 10, ["Raise MaxRequestWorkers from 20:"]),
            (None, 0, ["Raise MaxRequestWorkers from 20:", "Make sure that there is enough memory."]),
        ],
    )
    def test_the_advice(self, flying: int | None, kept: int, said: list[str]) -> None:
        view = serving(page("K" * kept + "W" * (20 - kept)), kind=APACHE)
        text = advice(of_host(APACHE_WORKERS, view, load={"in_flight": flying}))
        assert all(words in text for words in said)
        assert ("KeepAliveTimeout" in text) is (kept > 10)

    @pytest.mark.parametrize(("kept", "used"), [(2, 7.0), (3, None)])
    def test_slots_that_only_hold_a_connection_predict_nothing(self, kept: int, used: float | None) -> None:
        view = serving(page("K" * kept + "W" * (8 - kept) + "_" * 12), kind=APACHE)
        found = APACHE.demands(measured(view), view, True)
        assert dict(found) == ({} if used is None else {"apache-workers": Use(used, 20)})

    def test_the_fullest_server_is_predicted(self) -> None:
        view = serving(page("W" * 3 + "_" * 9), page("W" * 8 + "_" * 8), page("_W"), kind=APACHE)
        assert dict(APACHE.demands(measured(view), view, True)) == {"apache-workers": Use(7.0, 16)}


def fpm(active: int | None, waiting: int | None = 0, most: int | None = 20, **changes: Any) -> FpmPool:
    idle = None if active is None or most is None else most - active
    return replace(FpmPool("www", "static", 0, waiting, 511, idle, active, most, 0, None, most), **changes)


class TestPhpFpm:
    @pytest.mark.parametrize(
        ("active", "waiting", "flying", "over", "held"),
        [
            (20, 1, 30, True, True),
            (20, 2, 20, True, True),
            (20, 1, 20, False, True),  # the child that writes the page takes it at once
            (20, 0, 30, False, True),
            (19, 0, 30, False, True),
            (18, 0, 30, False, True),  # 17 of 20 without the page's own: 85 %
            (17, 0, 30, False, False),
            (17, 1, 30, False, True),
            (16, 1, 30, False, False),
            (16, 4, 30, True, False),
            (20, None, 21, True, True),
            (20, None, 20, False, True),
        ],
    )
    def test_children_and_the_queue(
        self, active: int, waiting: int | None, flying: int, over: bool, held: bool
    ) -> None:
        found = of_host(FPM_WORKERS, serving(fpm(active, waiting), kind=PHP_FPM), load={"in_flight": flying})
        assert states(found) == (over, held)
        assert value(found, "fpm.full_pct") == 5.0 * active

    @pytest.mark.parametrize(("silent_s", "waiting", "over"), [(2.0, 1, True), (2.0, 0, False), (None, 1, None)])
    def test_a_silent_page(self, silent_s: float | None, waiting: int, over: bool | None) -> None:
        view = serving(fpm(None, waiting, silent_s=silent_s), kind=PHP_FPM)
        found = assessment(FPM_WORKERS, view)
        assert (found and states(found)) == (None if over is None else (over, over))

    def test_a_silent_pool_of_an_unknown_size(self) -> None:
        found = of_host(FPM_WORKERS, serving(fpm(None, 1, None, silent_s=2.0), kind=PHP_FPM))
        assert (states(found), found.evidence[1][1:3], found.evidence[4][1:3]) == ((True, True), (None, 0), (None, 0))
        assert "All children of the php-fpm pool www are busy while the CPU is not. 1 " in advice(found)
        assert "Raise pm.max_children. " in advice(found)

    @pytest.mark.parametrize(
        ("waiting", "flying", "said"),
        [(0, 20, "Raise pm.max_children from 20. "), (2, 21, "Raise pm.max_children from 20 to 21: ")],
    )
    def test_the_advice(self, waiting: int, flying: int, said: str) -> None:
        found = of_host(FPM_WORKERS, serving(fpm(20, waiting), kind=PHP_FPM), load={"in_flight": flying})
        assert said in advice(found)
        assert found.evidence[1][1:3] == (20, 20)
        assert found.evidence[4][1:3] == (flying, 20)

    @pytest.mark.parametrize(
        ("pool", "used"), [(fpm(5), 4.0), (fpm(0), 0.0), (fpm(None), None), (fpm(5, most=None), None)]
    )
    def test_its_children_are_predicted(self, pool: FpmPool, used: float | None) -> None:
        view = serving(pool, kind=PHP_FPM)
        expected = {} if used is None else {"fpm-workers": Use(used, 20)}
        assert dict(PHP_FPM.demands(measured(view), view, True)) == expected
        view = serving(fpm(1), pool, fpm(None), kind=PHP_FPM)
        expected = {"fpm-workers": Use(used or 0.0, 20)}
        assert dict(PHP_FPM.demands(measured(view), view, True)) == expected

    def test_the_pool_with_the_longest_queue_counts_and_then_the_fullest(self) -> None:
        pools = [fpm(5, 0, pool="a"), fpm(9, 0, pool="b"), fpm(3, 2, pool="c")]
        assert value(of_host(FPM_WORKERS, serving(*pools, kind=PHP_FPM)), "fpm.active") == 3
        assert value(of_host(FPM_WORKERS, serving(*pools[:2], kind=PHP_FPM)), "fpm.active") == 9

    @pytest.mark.parametrize(
        ("waiting", "reached", "flying", "confidence"),
        [(1, 1.0, 30, 1.0), (0, 1.0, 30, 0.983), (0, 0.0, 30, 0.967), (1, 0.0, 20, 0.95), (0, 0.0, 20, 0.933)],
    )
    def test_what_agrees(self, waiting: int, reached: float, flying: int, confidence: float) -> None:
        view = serving(fpm(20, waiting), kind=PHP_FPM, per_second={"max_children_reached": reached})
        assert of_host(FPM_WORKERS, view, load={"in_flight": flying}).confidence == confidence

    def test_no_more_ask_for_a_child_than_the_web_server_lets_in(self) -> None:
        servers = {"fpm": (rated(fpm(20, 1)),), "apache": (rated(page(board(3, 25))),)}
        found = of_host(FPM_WORKERS, host(servers=servers), load={"in_flight": 300})
        assert value(found, "fpm.callers") == 25
        assert "from 20 to 25: 300 requests" in advice(found)


def line(server: str, sessions: int, most: int | None, waiting: int | None = None, status: str = "UP") -> HaproxyProxy:
    return HaproxyProxy("be", server, status, waiting, sessions, most, 0, 0, 0, queue_ms=5)


class TestHaproxy:
    @pytest.mark.parametrize(
        ("sessions", "over", "held"), [(95, True, True), (94, False, True), (85, False, True), (84, False, False)]
    )
    def test_the_connections_of_a_frontend(self, sessions: int, over: bool, held: bool) -> None:
        found = of_host(HAPROXY_QUEUE, serving(line("FRONTEND", sessions, 100), kind=HAPROXY))
        assert states(found) == (over, held)
        assert found.confidence == 0.9
        assert of_host(HAPROXY_QUEUE, serving(line("FRONTEND", 100, 100), kind=HAPROXY)).confidence == 1.0

    @pytest.mark.parametrize(
        ("lines", "metric"),
        [
            ([line("BACKEND", 4, None, 0), line("FRONTEND", 85, 100)], "haproxy.full_pct"),
            ([line("BACKEND", 4, None, 0), line("FRONTEND", 84, 100)], "haproxy.queue"),
            ([line("BACKEND", 4, None, 1), line("FRONTEND", 99, 100)], "haproxy.queue"),
            ([line("FRONTEND", 1, 1), line("FRONTEND", 2, 4)], "haproxy.full_pct"),
        ],
    )
    def test_what_is_spoken_of(self, lines: list[HaproxyProxy], metric: str) -> None:
        assert of_host(HAPROXY_QUEUE, serving(*lines, kind=HAPROXY)).evidence[0][0] == metric

    @pytest.mark.parametrize("lines", [[], [line("FRONTEND", 1, 1)], [line("FRONTEND", 9, None)]])
    def test_without_queues_and_limits_nothing_is_reported(self, lines: list[HaproxyProxy]) -> None:
        assert assessment(HAPROXY_QUEUE, serving(*lines, kind=HAPROXY)) is None

    @pytest.mark.parametrize(
        ("waiting", "flying", "busy", "over", "confidence"),
        [(1, 10, 6, True, 1.0), (0, 10, 6, False, 1.0), (1, 1, 6, True, 0.95), (1, 1, 5, True, 0.9)],
    )
    def test_a_queue_of_a_backend(self, waiting: int, flying: int, busy: int, over: bool, confidence: float) -> None:
        lines = (
            *(line("s1", 3, 3), line("s2", busy - 3, 3), line("s5", 0, None), line("BACKEND", busy, None, waiting)),
            *(line("s3", 9, 9, status="MAINT"), line("s4", 9, 9, status="DOWN"), replace(line("s1", 9, 9), proxy="x")),
        )
        found = of_host(HAPROXY_QUEUE, serving(*lines, kind=HAPROXY), load={"in_flight": flying})
        assert (states(found), found.confidence) == ((over, over), confidence)
        assert found.evidence[1][1:3] == (busy, 6)

    def test_the_longest_queue_and_the_fullest_frontend_count(self) -> None:
        queues = [replace(line("BACKEND", 1, None, waiting), proxy=f"b{waiting}") for waiting in (2, 7, 3)]
        found = of_host(HAPROXY_QUEUE, serving(*queues, line("FRONTEND", 5, None, 9), kind=HAPROXY))
        assert (value(found, "haproxy.queue"), "backend b7" in advice(found)) == (7, True)
        fronts = [line("FRONTEND", sessions, 100) for sessions in (86, 97, 88)]
        assert value(of_host(HAPROXY_QUEUE, serving(*fronts, kind=HAPROXY)), "haproxy.sessions") == 97

    def test_slots_for_all_that_wait_are_advised(self) -> None:
        lines = (line("s1", 3, 3), line("s2", 3, 3), line("BACKEND", 6, None, 5))
        assert "maxconn to about 6 per server" in advice(of_host(HAPROXY_QUEUE, serving(*lines, kind=HAPROXY)))
        assert "Add servers." in advice(of_host(HAPROXY_QUEUE, serving(lines[-1], kind=HAPROXY)))

    def test_the_forecast_counts_the_servers_processes(self) -> None:
        lines = (line("s1", 3, 4), line("s2", 2, 4), line("s3", 9, None), line("BACKEND", 14, 90))
        view = serving(*lines, kind=HAPROXY)
        assert dict(HAPROXY.demands(measured(view), view, True)) == {"haproxy-queue": Use(5, 8)}


NGINX_PAGE = NginxStatus("http://x/", 11, 0, 19, 6, 100, 100, 500, 2, 10)


class TestNginx:
    @pytest.mark.parametrize(
        ("writing", "lost", "proxies", "over", "held", "certain"),
        [
            (19, 0.0, False, False, True, False),  # 95 %, but nothing is dropped
            (17, 0.0, False, False, True, False),
            (16, 0.0, False, False, False, False),
            (16, 1.0, False, True, True, False),
            (19, 1.0, False, True, True, True),
            (18, 1.0, False, True, True, False),
            (10, 0.0, True, True, True, False),  # two connections for each request
            (9, 0.0, True, False, True, False),
            (8, 0.0, True, False, False, False),
        ],
    )
    def test_its_connections(
        self, writing: int, lost: float, proxies: bool, over: bool, held: bool, certain: bool
    ) -> None:
        status = replace(NGINX_PAGE, writing=writing, proxies=proxies)
        view = serving(status, kind=NGINX, per_second={"accepts": 5.0 + lost, "handled": 5.0})
        found = of_host(NGINX_CONNECTIONS, view)
        assert (*states(found), found.certain) == (over, held, certain)
        assert value(found, "nginx.dropped_s") == lost
        full = 5.0 * status.used
        assert found.confidence == round(0.9 + 0.05 * ((lost > 0) + (full >= 85.0)), 3)

    def test_a_proxy_at_95_percent_is_full(self) -> None:
        status = replace(NGINX_PAGE, writing=19, worker_connections=20, proxies=True)
        found = of_host(NGINX_CONNECTIONS, serving(status, kind=NGINX, per_second={"accepts": 5.0, "handled": 5.0}))
        assert (found.over, found.evidence[1][1], found.evidence[2][1:3]) == (True, 95.0, (38, 40))

    @pytest.mark.parametrize(
        "status", [replace(NGINX_PAGE, worker_processes=None), replace(NGINX_PAGE, worker_connections=None)]
    )
    def test_drops_of_unknown_limits(self, status: NginxStatus) -> None:
        found = of_host(NGINX_CONNECTIONS, serving(status, kind=NGINX, per_second={"accepts": 7.0, "handled": 5.0}))
        assert (states(found), found.certain, found.evidence[2][1:3]) == ((True, True), False, (None, 0))
        said = "Raise worker_connections in its events block. nginx has no free worker connection. nginx drops 2"
        assert said in advice(found)

    def test_of_several_the_one_that_drops_most_counts_and_then_the_fullest(self) -> None:
        drops = {
            writing: rated(replace(NGINX_PAGE, writing=writing), accepts=5.0 + 20 - writing, handled=5.0)
            for writing in (3, 9, 5)
        }
        found = of_host(NGINX_CONNECTIONS, host(servers={"nginx": tuple(drops.values())}))
        assert value(found, "nginx.used") == 3
        calm = [replace(NGINX_PAGE, writing=writing) for writing in (3, 9, 5)]
        view = serving(*calm, kind=NGINX, per_second={"accepts": 5.0, "handled": 5.0})
        assert value(of_host(NGINX_CONNECTIONS, view), "nginx.used") == 9

    @pytest.mark.parametrize(
        ("accepts", "handled", "processes", "are_known"),
        [(None, 5.0, None, False), (5.0, None, None, False), (5.0, 5.0, None, True), (None, None, 2, True)],
    )
    def test_drops_or_limits_must_be_known(
        self, accepts: float | None, handled: float | None, processes: int | None, are_known: bool
    ) -> None:
        status = replace(NGINX_PAGE, worker_processes=processes)
        view = serving(status, kind=NGINX, per_second={"accepts": accepts, "handled": handled})
        assert (assessment(NGINX_CONNECTIONS, view) is not None) is are_known

    @pytest.mark.parametrize(
        ("flying", "asked", "proxies", "wanted"),
        [(4, 5, False, 20), (30, 5, False, 30), (3, 31, True, 62), (None, None, True, 20)],
    )
    def test_room_for_twice_the_load_is_advised(
        self, flying: int | None, asked: int | None, proxies: bool, wanted: int
    ) -> None:
        view = serving(replace(NGINX_PAGE, proxies=proxies), kind=NGINX, per_second={"accepts": 7.0, "handled": 5.0})
        text = advice(of_host(NGINX_CONNECTIONS, view, load={"in_flight": flying, "concurrency": asked}))
        assert f"worker_connections from 10 to {wanted}, " in text
        assert ("request needs two" in text) is proxies
        assert "drops 2 connections/s" in text


@pytest.mark.parametrize("kind", [APACHE, PHP_FPM, HAPROXY, NGINX])
def test_a_machine_without_this_server(kind: Kind[Any]) -> None:
    view = host()
    for verdict in kind.verdicts:
        assert assessment(verdict, view) is None
    assert dict(kind.demands(measured(view), view, True)) == {}


@pytest.mark.parametrize(
    ("rate", "flying", "late", "over"),
    [
        (None, 4, 0.0, True),
        (50.0, None, 0.0, True),
        (50.0, 32, 0.0, False),  # 20 workers, 4, and twice the root of 20: 32.9
        (50.0, 33, 0.0, True),
        (50.0, 4, 0.5, False),
        (50.0, 4, 0.6, True),
    ],
)
def test_a_queue_of_an_open_load_must_stay(rate: float | None, flying: int | None, late: float, over: bool) -> None:
    view = serving(page(board(20)), kind=APACHE, sample=queue(1))
    load = {"server": SEEN, "in_flight": flying, "rate": rate}
    assert of_host(APACHE_WORKERS, view, load=load, generator=replace(LATE, late=late)).over is over
