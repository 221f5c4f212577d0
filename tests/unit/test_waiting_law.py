"""Little's law in one interval: what counts as waiting, from both sides of each threshold."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.verdict import Assessment
from loadtop.diagnosis.waiting import LEVELS, Waiting
from loadtop.i18n import Message
from loadtop.model import FileLock, Latencies, LoadState, Outcome, ServerReading, State
from loadtop.model.histogram import distribution
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import NetworkRates, PeerRates, ServerRates
from loadtop.servers.apache.record import ApacheStatus
from loadtop.servers.registry import KINDS
from tests.unit.interval import advice, busy, group, host, measured, states
from tests.unit.known import known

CALM = Assessment(False, False, (), Message(""), 1.0)
NEAR = Assessment(False, True, (), Message(""), 1.0)


def times(*milliseconds: float) -> Latencies:
    return Latencies(distribution([round(1000 * each) for each in milliseconds]))


def interval(*milliseconds: float, rps: float = 100.0, host_view: HostView | None = None, **load: Any) -> Measured:
    shares = {name: load.pop(name) for name in ("broken", "non_2xx_share") if name in load}
    fields = {"concurrency": 10, "in_flight": 10, "latencies": times(*milliseconds), **load}
    return replace(measured(host_view or host(), load=fields, rps=rps, **shares), kinds=KINDS)


def after(*milliseconds: float, least: float = 10.0, others: Any = (CALM,), **load: Any) -> Assessment | None:
    """The assessment of an interval after one in which requests took ``least``."""
    waiting = Waiting()
    waiting.assess(interval(least), ())
    return waiting.assess(interval(*milliseconds, **load), others)


@pytest.mark.parametrize(
    ("milliseconds", "over", "held"),
    [
        ([25.0], False, True),  # 60 % wait
        ([25.1], True, True),
        ([18.3], False, True),
        ([18.1], False, False),  # 45 %
        ([16.9] * 3 + [33.0] * 12, False, True),  # a fast tenth that takes less than 1.7 times the least
        ([17.2] * 3 + [33.0] * 12, True, True),
        ([13.9] * 3 + [27.0] * 12, False, False),  # 1.4 times
        ([14.2] * 3 + [27.0] * 12, False, True),
        ([12.0] + [16.0] * 19, False, False),  # one is faster
        ([13.2] * 2 + [16.0] * 18, True, True),  # 1.3 times the least for every one of twenty
        ([12.9] * 2 + [16.0] * 18, False, False),
        ([13.2] * 2 + [16.0] * 17, False, False),
        ([15.0] * 19, False, False),  # too few
        ([15.0] * 20, True, True),
        ([10.0] * 15 + [17.5] * 10 + [60.0] * 75, True, True),  # of times that lie far apart the fastest fifth counts
        ([10.0] * 15 + [31.0] * 85, False, False),
        ([10.0] * 25 + [60.0] * 75, False, False),
    ],
)
def test_all_wait_for_long(milliseconds: list[float], over: bool, held: bool) -> None:
    found = known(after(*milliseconds))
    assert states(found) == (over, held)


@pytest.mark.parametrize(
    ("milliseconds", "least", "flying", "held"),
    [(10.0, 5.0, 2, True), (9.9, 5.0, 2, False), (10.0, 5.0, 1, False), (20.0, 5.0, None, True)],
)
def test_a_wait_is_felt(milliseconds: float, least: float, flying: int | None, held: bool) -> None:
    found = known(after(milliseconds, least=least, in_flight=flying))
    assert found.held is held


def test_the_evidence_and_its_confidence() -> None:
    found = known(after(*[100.0] * 50, rps=100.0, in_flight=10))
    names, values, thresholds = zip(*(row[:3] for row in found.evidence), strict=True)
    assert names == ("load.waiting_pct", "load.p10_ms", "load.in_flight")
    assert values == pytest.approx((90.0, 100.0, 10.0))
    assert thresholds == pytest.approx((60.0, 17.0, 1))
    assert found.confidence == 0.975
    advice = str(found.advice() if callable(found.advice) else found.advice)
    assert "Of 10 requests in flight, 1.0 are being served" in advice
    assert "100 requests/s" in advice


@pytest.mark.parametrize(("seen", "agrees"), [(13, True), (14, False), (8, True), (7, False)])
def test_the_requests_in_flight_agree_within_a_quarter(seen: int, agrees: bool) -> None:
    found = known(after(100.0, rps=100.0, in_flight=seen))
    assert found.confidence == (0.975 if agrees else 0.925)


@pytest.mark.parametrize(
    ("other", "view", "over"),
    [
        (NEAR, host(), False),
        (Assessment(True, False, (), Message(""), 1.0), host(), False),
        (CALM, host(cpu=busy(74.5)), True),
        (CALM, host(cpu=busy(75.0)), False),
        (CALM, host(cpu=busy(70.0, steal=5.0)), False),
        (CALM, host(cpu=None), True),
        (CALM, replace(host(), rates=None), False),
        (CALM, host({"outcomes": (Outcome("apache", State.FAILED),)}), False),
        (CALM, host(cpu=busy(99.0), role="other"), False),
        (CALM, host({"outcomes": (Outcome("apache", State.ABSENT), Outcome("fpm", State.FAILED))}), True),
    ],
)
def test_nothing_else_is_near_its_limit(other: Assessment, view: HostView, over: bool) -> None:
    found = known(after(100.0, others=(CALM, other), host_view=view))
    assert states(found) == (over, True)
    waiting, beside = Waiting(), interval(100.0, host_view=view)
    waiting.assess(interval(10.0), ())
    found = known(waiting.assess(replace(beside, hosts=(*beside.hosts, host())), (CALM, other)))
    assert found.over is over
    assert "No watched host is at its limit" in advice(found)


@pytest.mark.parametrize(
    ("rps", "load"),
    [(100.0, {"latencies": None}), (100.0, {"latencies": times()}), (0.0, {}), (100.0, {"state": LoadState.DONE})],
)
def test_nothing_is_reported_of(rps: float, load: dict[str, Any]) -> None:
    assert after(100.0, rps=rps, **load) is None
    assert Waiting().assess(interval(100.0, rps=rps, **load), ()) is None


@pytest.mark.parametrize("wrong", [{"broken": {"receive": 1.0}}, {"non_2xx_share": 1.0}])
def test_errors_do_not_measure_a_request(wrong: dict[str, Any]) -> None:
    waiting = Waiting()
    assert waiting.assess(interval(1.0, **wrong), ()) is None
    waiting.assess(interval(10.0), ())
    found = known(waiting.assess(interval(20.0, **wrong), ()))
    assert found.evidence[0][1] == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("first", "least"),
    [
        ([10.0, 40.0, 40.0], 40.0),  # more than three times as fast as the next
        ([14.0, 40.0, 40.0], 14.0),
        ([10.0, 10.0, 40.0, 40.0], 10.0),
        ([10.0, 40.0], 10.0),
    ],
)
def test_one_early_response_is_not_the_rule(first: list[float], least: float) -> None:
    waiting = Waiting()
    waiting.assess(interval(*first), ())
    found = known(waiting.assess(interval(400.0), ()))
    assert found.evidence[0][1] == pytest.approx(100 * (1 - least / 400.0), rel=0.002)


class TestThroughputThatNoLongerGrows:
    def grown(self, *levels: tuple[int, float], **load: Any) -> tuple[Any, ...] | None:
        """The evidence of the last of these intervals: connections, and requests per second."""
        waiting = Waiting()
        found = None
        for concurrency, rps in levels:
            found = waiting.assess(interval(100.0, rps=rps, concurrency=concurrency, **load), ())
        assert found is not None
        return next((row for row in found.evidence if row[0] == "load.rps"), None)

    @pytest.mark.parametrize(
        ("levels", "threshold", "fewer"),
        [
            (((10, 100.0), (10, 100.0), (15, 109.0)), 110.0, 10),
            (((10, 100.0), (10, 100.0), (15, 111.0)), None, None),
            (((10, 100.0), (10, 100.0), (14, 100.0)), None, None),
            (((10, 100.0), (15, 100.0)), None, None),
            (((10, 90.0), (10, 110.0), (20, 100.0)), 110.0, 10),
            (((5, 100.0), (5, 100.0), (10, 100.0), (10, 140.0), (20, 130.0)), 132.0, 10),
        ],
    )
    def test_as_fast_with_fewer(
        self, levels: tuple[tuple[int, float], ...], threshold: float | None, fewer: int | None
    ) -> None:
        found = self.grown(*levels)
        assert (None if found is None else found[2]) == (None if threshold is None else pytest.approx(threshold))
        assert found is None or f"c={fewer}" in found[4]

    @pytest.mark.parametrize(
        ("rps", "slow", "over"), [(43.9, 100.0, True), (44.1, 100.0, False), (40.0, 77.0, True), (40.0, 74.0, False)]
    )
    def test_a_fifth_waits_where_fewer_connections_were_served_as_fast(
        self, rps: float, slow: float, over: bool
    ) -> None:
        """Two places of 50 ms for three requests: as many have to wait as have not."""
        waiting = Waiting()
        for _ in range(2):
            waiting.assess(interval(*[50.0] * 20, rps=40.0, concurrency=2), ())
        found = known(waiting.assess(interval(*[50.0] * 10, *[slow] * 10, rps=rps, concurrency=3), ()))
        assert states(found) == (over, over)

    def test_an_open_load_has_no_such_levels(self) -> None:
        assert self.grown((10, 100.0), (10, 100.0), (20, 100.0), rate=100.0) is None

    def test_levels_are_bounded(self) -> None:
        many = tuple((level, 50.0) for level in range(1, LEVELS + 1))
        assert self.grown(*many, *many[:1], (500, 100.0), (500, 100.0), (1000, 100.0)) is None


def advised(view: HostView) -> str:
    found = known(after(100.0, host_view=view))
    return str(found.advice() if callable(found.advice) else found.advice)


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ({}, "Look for a lock, or for a database"),
        ({"networks": (NetworkRates("eth0", 1001.0, 0.0, 0, 0, 0, None, None),)}, "The speed of eth0 is unknown"),
        ({"networks": (NetworkRates("eth0", 0.0, 1000.0, 0, 0, 0, None, None),)}, None),
        ({"networks": (NetworkRates("eth0", 0.0, 2000.0, 0, 0, 0, 100, 20.0),)}, None),
        ({"networks": (NetworkRates("lo", 0.0, 2000.0, 0, 0, 0, None, None),)}, None),
    ],
)
def test_what_to_look_for(rates: dict[str, Any], said: str | None) -> None:
    text = advised(host(**rates))
    assert "Look for a lock, or for a database" in text
    assert ("is unknown" in text) is (said is not None and "unknown" in said)
    assert "Add it with --host" in advised(host(role="generator"))
    assert "Add it with --host" not in text


def test_a_page_that_was_read_does_not_keep_silent() -> None:
    page: ServerRates[ServerReading] = ServerRates(ApacheStatus("u", "event", "Apache", "_"), {})
    sample = {"outcomes": (Outcome("apache", State.FAILED),)}
    for servers, over in (({"apache": (page,)}, True), ({}, False)):
        found = known(after(100.0, host_view=host(sample, servers=servers)))
        assert found.over is over


@pytest.mark.parametrize(
    ("locks", "questions", "said"),
    [
        ((3, 2), 0.0, None),
        ((3, 2, 1), 0.0, "waits for file locks: they take 60 % of the response time, the longest at /3."),
        ((2,), 3.5, "waits for file locks and services: they take 55 % of the response time, the longest at db:1."),
        ((), 5.1, "waits for services: they take 51 % of the response time, the longest at db:1."),
    ],
)
def test_waits_that_take_most_of_the_time_are_to_be_shortened(
    locks: tuple[int, ...], questions: float, said: str | None
) -> None:
    held = tuple(FileLock("flock", "fe:00", n, 1, "php", n, f"/{n}") for n in locks)
    peers = (PeerRates("db:1", None, 1, 5, 1.0, questions, 1.0, 1.0),)
    assert (said or "Look for a lock") in advised(host({"locks": held}, peers=peers, groups=(group(50.0),)))


def test_a_pause_of_the_page_is_named() -> None:
    locks = (FileLock("flock", "fe:00", 3, 1, "php", 4, "/3"),)
    said = advised(host({"locks": locks, "sleeping": 5.1}, groups=(group(50.0),)))
    assert "Look in the page for a pause, like usleep or sleep: it takes 51 % of the response time." in said
    paused = {"locks": locks, "sleeping": 0.0, "timeouts_ms": (5, 5, 5, 0)}
    said = advised(host(paused, groups=(group(50.0, name="nginx"),)))
    assert "Look for a pause, like limit_req in nginx: it takes 55 % of the response time." in said
    said = advised(host({"locks": locks, "sleeping": 5.1, "timeouts_ms": (5, 60_000)}, groups=(group(50.0),)))
    assert "Look in the page for a pause" in said, "nginx always has some timer"
    said = advised(host({"locks": locks, "sleeping": 2.0}, groups=(group(50.0),)))
    assert "Look for a lock" in said, "neither takes most of the time"
