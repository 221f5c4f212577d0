"""From measured frames to the limit."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.diagnosis.cpu import CPU
from loadtop.diagnosis.diagnoser import DOUBTFUL, SILENT_S, Diagnoser, Latch
from loadtop.diagnosis.finding import Diagnosis, Finding
from loadtop.diagnosis.verdict import Assessment
from loadtop.i18n import Message
from loadtop.model import Failures, Latencies, Listener, LoadState, Outcome, ServerSeen, State, Tcp
from loadtop.model.histogram import distribution
from loadtop.rates.measured import Measurer
from loadtop.rates.records import GeneratorRates
from loadtop.servers.registry import DEMANDS, KINDS, VERDICT_NAMES, VERDICTS
from tests.unit.course import FULL, Course, frame_of
from tests.unit.interval import host, measured


def test_a_calm_machine_has_headroom(course: Course) -> None:
    verdict = course.go_on(5).verdict
    assert (verdict.bottleneck, verdict.host, verdict.symptoms) == ("none", None, ())
    assert {item.metric for item in verdict.evidence} == {"cpu.busy_pct", "apache.full_pct"}
    assert all(item.below and item.value < item.threshold for item in verdict.evidence)
    assert "raise the concurrency (now 10)" in str(verdict.advice)


LATE = GeneratorRates(50.0, 50.0, 1, 0.0, 5.0, 0.0)


@pytest.mark.parametrize(
    ("load", "generator", "said"),
    [
        ({"concurrency": 10}, None, "raise the concurrency (now 10)"),
        ({}, None, "the server can handle more load"),
        ({"rate": 50.0}, None, "raise the rate (now 50/s)"),
        ({"rate": 50.0, "concurrency": 10, "in_flight": 10}, LATE, "Raise -c from 10 to reach 50 requests/s"),
        ({"rate": 50.0, "concurrency": 10, "in_flight": 9}, LATE, "raise the rate (now 50/s)"),
        ({"rate": 50.0, "concurrency": 10, "in_flight": 10}, replace(LATE, late=0.0), "raise the rate (now 50/s)"),
        ({"state": LoadState.DONE}, None, "The load has ended."),
    ],
)
def test_the_next_step_where_nothing_is_full(load: dict[str, Any], generator: GeneratorRates | None, said: str) -> None:
    found = Diagnoser(VERDICTS).diagnose(measured(host(), load=load, generator=generator))
    assert said in str(found.verdict.advice)


def test_throughput_that_no_longer_grows_is_no_headroom() -> None:
    """Too little is waited for to look for the cause; but more connections are no advice, and nothing is forecast."""

    def times(milliseconds: int) -> Latencies:
        return Latencies(distribution([1000 * milliseconds] * 50))

    diagnoser, found = Diagnoser(VERDICTS), None
    for concurrency, rps in ((4, 1000.0), (4, 1000.0), (8, 1050.0), (8, 1050.0), (8, 1050.0)):
        load = {"concurrency": concurrency, "in_flight": concurrency, "latencies": times(concurrency)}
        found = diagnoser.diagnose(measured(host(), load=load, rps=rps))
    assert found is not None
    assert (found.verdict.bottleneck, found.verdict.confidence, found.forecast) == ("none", DOUBTFUL, None)
    assert "no longer grows (1,050 requests/s, about as many as with 4 connections)" in str(found.verdict.advice)


@pytest.mark.parametrize(("silent_s", "said"), [(0.5, "There is headroom"), (SILENT_S, "No sample from web2 for")])
def test_headroom_of_a_silent_machine_is_unknown(silent_s: float, said: str) -> None:
    """Of several, the one that is silent for longest is named."""
    views = [replace(host(), stale_s=stale_s) for stale_s in (0.1, silent_s, 0.2)]
    hosts = [replace(view, state=replace(view.state, name=f"web{n}", fresh=False)) for n, view in enumerate(views, 1)]
    assert said in str(Diagnoser(VERDICTS).diagnose(measured(*hosts)).verdict.advice)


def test_that_nothing_is_full_is_doubtful_while_a_limit_may_not_have_been_found(course: Course) -> None:
    starting = {"state": LoadState.STARTING}
    assert [course.go(load=starting).verdict.confidence for _ in range(3)][1:] == [1.0, 1.0]
    assert [course.go(load={"state": LoadState.WARMUP}).verdict.confidence, course.go().verdict.confidence] == [
        DOUBTFUL
    ] * 2
    assert course.go().verdict.confidence == 1.0
    over = course.go(**FULL).verdict
    assert (over.bottleneck, over.confidence) == ("none", DOUBTFUL)


def test_a_load_that_ended_early_found_no_limit_for_certain(course: Course) -> None:
    course.go_on(2)
    assert course.go(load={"state": LoadState.DONE}).verdict.confidence == DOUBTFUL


def test_a_full_cpu_is_found_within_three_intervals_and_dated_from_its_onset(course: Course) -> None:
    course.go_on(4)
    assert course.go(**FULL).verdict.bottleneck == "none"
    verdict = course.go(**FULL).verdict
    assert (verdict.bottleneck, verdict.host, verdict.since_s, verdict.held_s) == ("cpu", "web1", 3.0, 2.0)
    assert verdict.confidence == 1.0
    assert verdict.evidence[0].value == 99.0
    assert all(item.source for item in verdict.evidence)


def test_a_cpu_that_hovers_about_its_threshold_does_not_flap(course: Course) -> None:
    course.go_on(2)
    course.go_on(3, **FULL)
    shares = [92.0, 86.0, 91.0, 84.0, 85.0, 95.0, 88.0] * 3
    verdicts = [course.go(busy=(share, share), running=4).verdict.bottleneck for share in shares]
    assert set(verdicts) == {"cpu"}


def test_a_status_page_that_is_silent_behind_a_full_accept_queue_is_the_pool(course: Course) -> None:
    seen = ServerSeen("Apache", "web1", 8080, "/")
    silent = {
        "tcp": Tcp(0, 0, 0, listeners=(Listener(8080, 12), Listener(22, 0))),
        "outcomes": (Outcome("apache", State.FAILED, "no answer"),),
    }
    settings: dict[str, Any] = {"board": None, "processes": {"apache2": 1.0}, "load": {"server": seen}}
    assert course.go_on(5, changes=silent, **settings).verdict.bottleneck == "apache-workers"
    calm = {**silent, "tcp": Tcp(0, 0, 0, listeners=(Listener(8080, 0),))}
    assert course.go_on(5, changes=calm, **settings).verdict.bottleneck == "none"


def test_swapping_wins_over_the_busy_kernel_and_the_full_pool_that_it_causes(course: Course) -> None:
    diagnosis = course.go_on(
        4, busy=(97.0, 97.0), system=90.0, iowait=3.0, running=9, cpu_stall=70.0, memory_stall=54.0,
        swap_in=84_000.0, swap_out=81_000.0, faults=21_000.0, board="W" * 10,
    )  # fmt: skip
    assert diagnosis.verdict.bottleneck == "swap"
    assert {symptom.bottleneck for symptom in diagnosis.verdict.symptoms} == {"cpu", "apache-workers"}


def test_a_full_generator_is_reported_before_anything_else(course: Course) -> None:
    diagnosis = course.go_on(4, cpu=97.0, board="W" * 10, **FULL)
    assert diagnosis.verdict.bottleneck == "generator"
    assert "--workers 2" in str(diagnosis.verdict.advice)
    assert [finding.bottleneck for finding in diagnosis.findings] == ["generator", "cpu", "apache-workers"]


def test_answers_that_are_mostly_errors_are_reported_before_any_resource(course: Course) -> None:
    wrong = ({"non_2xx": 90 * number, "message": "404 to every request"} for number in range(1, 5))
    verdict = [course.go(load=load, **FULL).verdict for load in wrong][-1]
    assert verdict.bottleneck == "errors"
    assert "404 to every request" in str(verdict.advice)
    assert verdict.evidence[0].value == 90.0


@pytest.mark.parametrize(("state", "non_2xx"), [(LoadState.DONE, 60), (LoadState.DONE, 40), (LoadState.RUNNING, 60)])
def test_of_a_load_that_was_over_at_once_the_whole_counts(course: Course, state: LoadState, non_2xx: int) -> None:
    course.go(load={"requests": 0})
    verdict = course.go(load={"state": state, "requests": 100, "non_2xx": non_2xx}).verdict
    assert (verdict.bottleneck == "errors") == (state is LoadState.DONE and non_2xx > 50)


def test_some_errors_are_not_the_limit(course: Course) -> None:
    verdicts = [course.go(load={"non_2xx": 10 * number}).verdict for number in range(1, 6)]
    assert {verdict.bottleneck for verdict in verdicts} == {"none"}


def reset(number: int) -> Failures:
    return Failures(receive=45 * number)


BROKEN: dict[str, Any] = {"failures": reset}


def test_failing_requests_leave_no_headroom(course: Course) -> None:
    diagnosis = course.go_on(4, load=BROKEN)
    assert diagnosis.verdict.bottleneck == "errors"
    assert diagnosis.forecast is None
    assert "45 % of the responses are cut off" in str(diagnosis.verdict.advice)


def test_a_full_resource_comes_before_the_requests_that_it_makes_fail(course: Course) -> None:
    diagnosis = course.go_on(4, load=BROKEN, **FULL)
    assert [finding.bottleneck for finding in diagnosis.findings] == ["cpu", "errors"]


def test_missing_samples_neither_raise_nor_drop_a_finding_at_once(course: Course, load: Any) -> None:
    course.go_on(4, **FULL)
    stale = replace(course.machine.state(**FULL), fresh=False, problem="no answer")

    def gap() -> Finding:
        course.number += 1
        frame = frame_of(course.number, load.sample(), stale)
        return course.diagnoser.diagnose(course.measurer.measure(frame)).verdict

    assert [gap().bottleneck for _ in range(9)] == ["cpu"] * 9
    dropped = gap()
    assert (dropped.bottleneck, dropped.confidence) == ("none", 0.0)
    assert str(dropped.advice) == "No sample from web1 for 10 s, so the headroom is unknown."


def test_the_same_frames_give_the_same_diagnosis_again(machine: Any, load: Any) -> None:
    frames = [frame_of(i, load.sample(), machine.state(**(FULL if i > 3 else {}))) for i in range(9)]

    def run() -> list[Diagnosis]:
        measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
        return [diagnoser.diagnose(measurer.measure(frame)) for frame in frames]

    assert run() == run()


def test_every_verdict_has_a_place_in_the_order_of_causes() -> None:
    order = [verdict.name for verdict in VERDICTS]
    assert ("none", *order) == VERDICT_NAMES
    assert order == [
        "generator", "client-ports", "client-files", "nginx-connections", "errors", "swap", "memory", "disk", "steal",
        "throttled", "cpu", "cpu-core", "network", "lock", "dependency", "fpm-workers",
        "uwsgi-workers", "gunicorn-workers", "apache-workers", "haproxy-queue", "listen-queue", "waiting",
    ]  # fmt: skip


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_a_latch_is_never_raised_by_one_interval_nor_cleared_by_two(course: list[tuple[bool, bool]]) -> None:
    latch = Latch(CPU, "h")
    raised = False
    for index, (over, held) in enumerate(course):
        assessment = Assessment(over, held or over, (), Message("Advice."), 1.0)
        finding = latch.update(index, index + 1.0, assessment)
        recent = course[max(0, index - 2) : index + 1]
        if finding is not None and not raised:
            assert sum(was_over for was_over, _ in recent) >= 2
        if finding is None and raised:
            assert len(recent) == 3
            assert not any(was_over or was_held for was_over, was_held in recent)
        raised = finding is not None
