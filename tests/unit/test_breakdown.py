"""Where the mean response time goes, by Little's law, on composed intervals."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.totals.breakdown import BreakdownTotals
from loadtop.diagnosis.breakdown import TIMER, Breakdown, Part, breakdown, in_order
from loadtop.model import LOADTOP, SERVICE, FileLock, Latencies, Listener, Role, ServerSeen, Tcp
from loadtop.model.histogram import distribution
from loadtop.rates.measured import HostView
from loadtop.rates.records import CpuShares, DiskRates, GeneratorRates, PeerRates, ServerRates
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.haproxy.record import HaproxyProxy
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.interval import FACTS, NO_STALL, busy, group, host, measured
from tests.unit.known import known

RPS = 50.0


def times(total_ms: float, connect_ms: float = 0.0, waiting_ms: float | None = None) -> Latencies:
    """Fifty requests that all take as long."""
    waiting = total_ms - connect_ms if waiting_ms is None else waiting_ms
    each = (total_ms, connect_ms, total_ms - connect_ms, waiting)
    return Latencies(*(distribution([round(1000 * ms)] * 50) for ms in each))


def found(
    *hosts: HostView, latencies: Latencies | None = None, in_flight: float | None = None, **load: Any
) -> Breakdown:
    load = {"latencies": latencies or times(240.0), "server": ServerSeen("x", "web1", 80, "/"), **load}
    return known(breakdown(measured(*hosts, load=load, rps=RPS, in_flight=in_flight)))


def parts(told: Breakdown) -> dict[tuple[str, str | None], Any]:
    assert told.shares is not None
    return {
        (share.part, share.name): pytest.approx(share.ms, abs=0.01) for share in told.shares if share.ms is not None
    }


def unknown(told: Breakdown) -> set[str]:
    return {share.part for share in told.shares or () if share.ms is None}


def peer(questions: float, address: str = "10.0.0.5:3306", depth: int = 1, **others: Any) -> PeerRates:
    return PeerRates(address, "mysql", depth, 5, 20.0, questions, 100.0, 41 * RPS, **others)


def test_of_accept_queues_several_moments_count_and_those_of_web_servers_behind() -> None:
    """Apache at port 8080 is behind what listens at port 80. Of a port that was read once, that counts."""
    tcp = Tcp(listeners=(Listener(80, 9), Listener(8080, 1), Listener(3306, 7)))
    page = ServerRates(ApacheStatus("http://127.0.0.1:8080/server-status?auto", "event", "Apache", "W"), {})
    view = host({"tcp": tcp}, servers={"apache": (page,)}, queued={80: 2.0})
    assert parts(found(view)) == {(Part.ACCEPT_QUEUE, "80"): 40.0, (Part.ACCEPT_QUEUE, "8080"): 20.0}
    tls = found(view, latencies=times(240.0, connect_ms=50.0), server=ServerSeen("x", "web1", 80, "/", tls="TLSv1.3"))
    assert parts(tls)[Part.CONNECT, None] == 10.0, "only the first is part of the handshake"


def of_generator(
    cpu: float, waits: float | None, workers: int = 1, in_flight: float = 100.0, **changes: Any
) -> Breakdown:
    generator = replace(GeneratorRates(cpu, cpu, workers, 1.0, 0.0, 0.0, waits=waits), **changes)
    load = {"latencies": times(240.0)}
    sample: dict[str, Any] = {"sleeping": 0.0}
    rates = {"rps": 500.0, "in_flight": in_flight, "generator": generator}
    return known(breakdown(measured(host(sample, role="target+generator"), load=load, **rates)))


@pytest.mark.parametrize(
    ("cpu", "waits", "workers", "in_flight", "cpu_ms", "wait_ms"),
    [
        (80.0, 0.0, 1, 100.0, 6.4, None),  # S = 1.6 ms, and S * U / (1 - U) = 6.4 ms
        (40.0, 40.0, 1, 100.0, 3.2, 3.2),
        (80.0, 80.0, 2, 100.0, 6.4, 6.4),
        (80.0, 0.0, 1, 3.0, 3.2, None),  # behind two others at most
        (80.0, 0.0, 1, 1.0, None, None),
        (89.0, 0.0, 1, 11.0, pytest.approx(1.78 * 0.89 / 0.11, abs=0.01), None),
        (90.0, 0.0, 1, 11.0, 18.0, None),  # full: all ten others wait
        (0.0, 0.0, 1, 100.0, None, None),
        (20.0, 0.0, 1, 100.0, None, None),  # less than 1 % of the mean time
        (26.0, 78.0, 1, 1000.0, 60.0, 180.0),  # it is full: all that is not explained
        (80.0, None, 1, 100.0, 6.4, None),
    ],
)
def test_responses_wait_until_the_generator_reads_them(
    cpu: float, waits: float | None, workers: int, in_flight: float, cpu_ms: float | None, wait_ms: float | None
) -> None:
    told = of_generator(cpu, waits, workers, in_flight)
    assert parts(told).get((Part.CPU, LOADTOP)) == cpu_ms
    assert parts(told).get((Part.CPU_WAIT, LOADTOP)) == wait_ms
    assert {Part.CPU, Part.CPU_WAIT} <= unknown(told), "those of servers are not known"
    totals = BreakdownTotals()
    totals.add(told)
    assert known(totals.as_json())["mean_ms"] == pytest.approx(240.0)


def test_threads_of_other_engines_wait_for_one_response_each() -> None:
    assert (Part.CPU, LOADTOP) not in parts(of_generator(80.0, 0.0, 130, 100.0, loop_delay_ms=None))


def test_the_estimate_gets_what_a_pause_that_was_seen_leaves() -> None:
    """S = 19.8 ms behind four other responses, and ten requests that sleep for 20 ms each."""
    generator = GeneratorRates(99.0, 99.0, 1, 1.0, 0.0, 0.0, waits=0.0)
    view = host({"sleeping": 10.0}, role="target+generator")
    load = {"latencies": times(240.0)}
    told = known(breakdown(measured(view, load=load, rps=RPS, in_flight=5.0, generator=generator)))
    assert parts(told) == {(Part.DEPENDENCY, TIMER): 200.0, (Part.CPU, LOADTOP): 40.0}


@pytest.mark.parametrize(("moments", "disk_ms"), [(None, 60.0), (1.5, 30.0), (0.0, 60.0)])
def test_threads_that_wait_for_a_disk_count_at_several_moments(moments: float | None, disk_ms: float) -> None:
    view = host({"blocked_threads": moments}, groups=(group(0.0, blocked=3),))
    assert parts(found(view))[Part.DISK, None] == disk_ms


def test_threads_of_services_are_not_looked_at_and_count_as_they_are() -> None:
    groups = (group(0.0, blocked=3), replace(group(0.0, blocked=2), group=SERVICE))
    assert parts(found(host({"blocked_threads": 1.0}, groups=groups)))[Part.DISK, None] == 60.0


def test_services_stay_known_in_an_interval_without_a_reading() -> None:
    told = found(host(peers_before=(peer(6.0),)))
    assert parts(told)[Part.DEPENDENCY, "10.0.0.5:3306"] == 120.0
    assert Part.DEPENDENCY not in unknown(told)


def test_requests_that_wait_in_an_event_loop_for_a_timer() -> None:
    """Half of its moments show a timer that is due within the time of a request."""
    assert not parts(found(host({"sleeping": 0.0, "timeouts_ms": (5001,)}), latencies=times(10_000.0)))
    told = found(host({"sleeping": 0.0, "timeouts_ms": (50, 480, 481, 0)}), latencies=times(240.0))
    assert parts(told) == {(Part.DEPENDENCY, TIMER): 120.0}
    view = host({"sleeping": 0.0, "timeouts_ms": (50,)}, groups=(group(150.0),), peers=(peer(6.0),))
    told = found(view, latencies=times(240.0))
    assert parts(told)[Part.DEPENDENCY, TIMER] == 240.0 - 120.0 - 30.0, "they get only what is left"


@pytest.mark.parametrize(
    ("tls", "queue", "connect_ms"), [("", 2, 60.0), ("TLSv1.3", 2, 20.0), ("TLSv1.3", 4, None), ("TLSv1.3", 0, 60.0)]
)
def test_a_handshake_waits_in_the_accept_queue(tls: str, queue: int, connect_ms: float | None) -> None:
    """So that time counts once."""
    view = host({"tcp": Tcp(listeners=(Listener(80, queue),))})
    told = found(view, latencies=times(240.0, connect_ms=60.0), server=ServerSeen("x", "web1", 80, "/", tls=tls))
    assert parts(told).get((Part.CONNECT, None)) == connect_ms
    assert parts(told).get((Part.ACCEPT_QUEUE, "80")) == (20.0 * queue or None)


def test_a_machine_and_a_container_on_it_count_once() -> None:
    """At 50 requests/s, a core is 20 ms of each request. The machine sees the processes of its containers too."""
    outside = host({"facts": replace(FACTS, boot_id="one")}, groups=(group(50.0),))
    inside = [
        host({"facts": replace(FACTS, source="exec:podman exec -i web sh", boot_id=boot)}, groups=(group(20.0),))
        for boot in ("one", "one", "two")
    ]
    views = [replace(view, state=replace(view.state, name=f"c{at}")) for at, view in enumerate(inside)]
    cpu = {share.host: share.ms for share in found(outside, *views).shares or () if share.part is Part.CPU}
    assert cpu == pytest.approx({"web1": 2.0, "c0": 4.0, "c1": 4.0, "c2": 4.0})


def test_idle_pooled_connections_are_not_pending_requests() -> None:
    """They are older than any request."""
    for age_ms, ms in ((None, 100.0), (480.0, 100.0), (480.1, None)):
        told = found(host(peers=(replace(peer(5.0), age_ms=age_ms),)), latencies=times(240.0))
        assert parts(told).get((Part.DEPENDENCY, "10.0.0.5:3306")) == ms


def test_each_state_is_its_mean_number_divided_by_the_throughput() -> None:
    """At 50 requests/s, one request in a state stands for 20 ms."""
    view = host(
        {
            "tcp": Tcp(listeners=(Listener(80, 2), Listener(22, 9))),
            "locks": (
                FileLock("posix", "fe:00", 7, 1, "php", 2, "/a"),
                FileLock("ofd", "fe:00", 7, 2, "x", 1, "/a"),
                FileLock("flock", "fe:00", 8, 1, "php", 2),
            ),
        },
        groups=(group(30.0, wait=10.0), group(20.0, name="php-fpm", role=Role.APPLICATION, wait=0.0)),
        processes=(),
        servers={
            "fpm": (ServerRates(FpmPool("www", "static", 1, 3, 511, 0, 4, 4, 0), {}),),
            "haproxy": (ServerRates(HaproxyProxy("b", "BACKEND", "UP", 1, 4, 4, 1, 1, 1), {}),),
        },
        peers=(peer(5.0),),
    )
    told = found(view, latencies=times(340.0, connect_ms=1.0, waiting_ms=335.0))
    assert parts(told) == {
        ("connect", None): 1.0, ("transfer", None): 4.0, ("accept-queue", "80"): 40.0, ("proxy-queue", "haproxy"): 20.0,
        ("worker-queue", "fpm"): 60.0, ("cpu", "apache"): 6.0, ("cpu", "fpm"): 4.0, ("cpu-wait", "apache"): 2.0,
        ("lock", "/a"): 60.0, ("lock", "flock fe:00:8"): 40.0, ("dependency", "10.0.0.5:3306"): 100.0,
    }  # fmt: skip
    assert told.unexplained_ms == pytest.approx(340 - 337)
    assert unknown(told) == set()
    (asked,) = (share for share in told.shares or () if share.part is Part.DEPENDENCY)
    assert asked.kind == "mysql"
    assert asked.exchanges == pytest.approx(41.0)


@pytest.mark.parametrize(
    ("in_flight", "wait", "ms"),
    [(10.0, 820.0, 164.0), (11.0, 825.0, 180.0), (40.0, 820.0, 49.2), (20.0, 3000.0, 240.0)],
)
def test_where_few_requests_end_those_in_progress_are_divided(in_flight: float, wait: float, ms: float) -> None:
    """Fifty are fewer than five times eleven. No part takes longer than the request."""
    told = found(host(groups=(group(0.0, wait=wait),)), in_flight=in_flight)
    assert (parts(told)["cpu-wait", "apache"], round(told.unexplained_ms or 0.0, 6)) == (ms, round(240.0 - ms, 6))


@pytest.mark.parametrize(("queue", "wait", "waiting_ms", "queue_ms", "transfer_ms", "wait_ms", "rest_ms"), [
    (8, 0.0, 240.0, 160.0, None, None, 0.0),
    (9, 0.0, 240.0, 160.0, None, None, 0.0),  # with the status page
    (10, 0.0, 240.0, 180.0, None, None, -20.0),
    (7, 0.0, 210.0, 140.0, 20.0, None, 0.0),  # still computes for 10 ms while it sends
    (4, 300.0, 240.0, 80.0, None, 60.0, 20.0),
    (4, 600.0, 240.0, 60.0, None, 100.0, 0.0),  # worker or request waits once more than there are requests
])  # fmt: skip
def test_what_is_counted_twice_is_taken_off(
    queue: int, wait: float, waiting_ms: float, queue_ms: float, transfer_ms: float | None, wait_ms: float | None,
    rest_ms: float,
) -> None:  # fmt: skip
    view = host({"tcp": Tcp(listeners=(Listener(80, queue),))}, groups=(group(400.0, wait=wait),))
    told = parts(each := found(view, latencies=times(240.0, waiting_ms=waiting_ms)))
    wanted = ((Part.ACCEPT_QUEUE, "80"), (Part.TRANSFER, None), (Part.CPU_WAIT, "apache"))
    assert [*map(told.get, wanted), each.unexplained_ms] == pytest.approx([queue_ms, transfer_ms, wait_ms, rest_ms])


def test_of_the_whole_run_the_requests_in_progress_are_divided_too() -> None:
    """A second in which 40 requests wait, and five end after 240 ms; then all forty at once after 1,240 ms."""
    totals = BreakdownTotals()
    for ms, requests, cpu, wait in ((240.0, 5, 0.0, 4000.0), (1240.0, 40, 100.0, 0.0)):
        view = host(groups=(group(cpu, wait=wait),))
        totals.add(replace(found(view, latencies=times(ms), in_flight=40.0), requests=requests))
    told = totals.as_json() or {}
    assert told["mean_ms"] == pytest.approx((5 * 240 + 40 * 1240) / 45, abs=0.001)
    shares = {part["part"]: part["ms"] / told["mean_ms"] for part in told["parts"] if part["ms"]}
    assert shares == pytest.approx({"cpu-wait": 1 / 2, "cpu": 1 / 80}, abs=0.001)


def test_unmeasurable_values_are_not_zero() -> None:
    told = found(host(groups=(group(blocked=4),), processes=None), latencies=replace(times(240.0), waiting=None))
    assert unknown(told) == set(Part) - {"connect", "cpu", "stolen"}
    assert told.unexplained_ms == pytest.approx(240.0)


def test_parts_are_named_as_they_are_read() -> None:
    queue = Part.ACCEPT_QUEUE
    asked = [(Part.CPU, "on CPU", "apache"), (queue, "queue", "80"), (queue, "queue", ""), (Part.DISK, "disk", "sda")]
    assert [" ".join(in_order(*each)) for each in asked] == ["apache on CPU", "queue :80", "queue ", "disk sda"]


def test_without_a_machine_under_test_there_are_no_parts() -> None:
    told = found(host(role="generator"))
    assert (told.mean_ms, told.shares, told.unexplained_ms) == (240.0, None, None)


def test_no_request_has_no_times() -> None:
    assert breakdown(measured(host(), load={"latencies": None})) is None
    assert breakdown(measured(host(), load={"latencies": times(5.0)}, rps=0.0)) is None


@pytest.mark.parametrize(("memory", "disk", "expected"), [
    (0.0, 50.0, {("disk", "vda"): 80.0}),
    (50.0, 50.0, {("memory", None): 80.0}),
    (20.0, 40.0, {("memory", None): 40.0, ("disk", "vda"): 40.0}),
    (0.5, None, {("memory", None): 80.0}),
    (None, 50.0, {("disk", "vda"): 80.0}),
])  # fmt: skip
def test_blocked_tasks_wait_for_memory_as_far_as_the_machine_stalls_for_it(
    memory: float | None, disk: float | None, expected: dict[tuple[str, str | None], float]
) -> None:
    pressure = replace(NO_STALL, memory_some=memory, io_some=disk)
    vda = DiskRates("vda", 99.0, 9.0, 4.0, 0.0, 0.0, 1.0, swap=False)
    told = found(host(groups=(group(blocked=4),), processes=(), pressure=pressure, disks=(vda,)))
    blocked = {key: ms for key, ms in parts(told).items() if key[0] in ("memory", "disk")}
    assert blocked == expected


@pytest.mark.parametrize(
    ("cpu", "stolen_ms"),
    [(busy(60.0, 30.0), 10.0), (busy(0.5, 0.5), 20.0), (replace(busy(1.0), steal=None), None), (busy(0.0, 9.0), None),
     (None, None)],
)  # fmt: skip
def test_stolen_time_goes_with_the_time_on_the_cpu(cpu: CpuShares | None, stolen_ms: float | None) -> None:
    told = found(host(groups=(group(100.0),), cpu=cpu))
    assert parts(told).get(("stolen", "apache")) == stolen_ms


def test_a_service_under_test_counts_without_what_it_computes_and_asks_itself() -> None:
    """The first answers six questions at a time: four of them wait for the database, half a one is computed."""
    chain = (peer(6.0, "127.0.0.1:9001", 1, watched=True), peer(4.0, depth=2))
    told = found(host(groups=(group(50.0, name=SERVICE, role=Role.APPLICATION),), peers=chain))
    shown = parts(told)
    assert shown["dependency", "127.0.0.1:9001"] == 30.0
    assert shown["dependency", "10.0.0.5:3306"] == 80.0
    assert shown["cpu", SERVICE] == 10.0


def test_intervals_are_weighted_with_their_requests() -> None:
    totals = BreakdownTotals()
    totals.add(found(host(peers=(peer(5.0),))))
    totals.add(replace(found(host(peers=(peer(1.0),)), latencies=times(60.0)), requests=150))
    told = known(totals.as_json())
    assert told["mean_ms"] == pytest.approx((240 + 3 * 60) / 4)
    first = told["parts"][0]
    assert (first["part"], first["name"], first["ms"]) == ("dependency", "10.0.0.5:3306", pytest.approx(40.0))
    assert first["exchanges"] == pytest.approx(41.0)
    assert told["unexplained_ms"] == pytest.approx(105.0 - 40.0)
    assert {part["part"] for part in told["parts"] if part["ms"] is None} >= {"cpu", "lock"}


def test_without_figures_of_a_machine_only_the_mean_is_reported() -> None:
    totals = BreakdownTotals()
    assert totals.as_json() is None
    totals.add(found(host(role="other")))
    assert totals.as_json() == {"mean_ms": 240.0, "unexplained_ms": None, "parts": None}


def test_a_page_that_sleeps_waits_for_a_timer() -> None:
    """At 50 requests/s, ten threads asleep are 200 ms of each request."""
    told = found(host({"sleeping": 10.0}), latencies=times(240.0))
    assert parts(told)[Part.DEPENDENCY, TIMER] == 200.0
    assert told.unexplained_ms == pytest.approx(40.0)


def test_a_thread_that_sleeps_without_a_request_takes_no_part_of_one() -> None:
    """The rest of the mean time is all that a timer can take."""
    told = found(host({"sleeping": 10.0}, groups=(group(150.0),), peers=(peer(6.0),)), latencies=times(240.0))
    assert parts(told) == {
        (Part.CPU, "apache"): 30.0,
        (Part.DEPENDENCY, "10.0.0.5:3306"): 120.0,
        (Part.DEPENDENCY, TIMER): 90.0,
    }
    assert told.unexplained_ms == pytest.approx(0.0)


def test_a_timer_does_not_hide_that_services_are_unknown() -> None:
    assert Part.DEPENDENCY in unknown(found(host({"sleeping": 1.0})))


def test_a_timer_counts_in_all_intervals_also_where_services_are_unknown() -> None:
    totals = BreakdownTotals()
    for peers in (None, (peer(3.0),)):
        totals.add(found(host({"sleeping": 5.0}, peers=peers), latencies=times(240.0)))
    told = {part["name"]: part["ms"] for part in known(totals.as_json())["parts"] if part["ms"]}
    assert told == {TIMER: 100.0, "10.0.0.5:3306": 60.0}
