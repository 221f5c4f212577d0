"""Every threshold of the verdicts on the load and its generator from both sides, as in ``test_thresholds``."""

from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis import errors
from loadtop.diagnosis.generator import CLIENT_FILES, CLIENT_PORTS, GENERATOR
from loadtop.diagnosis.verdict import Assessment
from loadtop.diagnosis.waiting import backs_up
from loadtop.i18n import Message
from loadtop.model import LOADTOP, CgroupLimits, Failures, GeneratorSample, LoadState
from loadtop.model.load import NO_LOCAL_PORT, TOO_MANY_CONNECTIONS
from loadtop.rates.records import CgroupRates, CpuShares, GeneratorRates
from tests.unit.interval import FACTS, advice, busy, group, host, measured, of_host, of_load, states, value
from tests.unit.known import known


def failing(load: dict[str, Any] | None = None, **rates: Any) -> Assessment:
    return known(errors.Failures().assess(measured(load=load, **rates)))


class TestErrors:
    @pytest.mark.parametrize(
        ("failed", "wrong", "over", "held"),
        [(50.5, 0.0, True, True), (1.0, 50.5, True, True), (0.0, 50.0, False, True), (0.0, 20.0, False, False)],
    )
    def test_most_answers(self, failed: float, wrong: float, over: bool, held: bool) -> None:
        found = failing(broken={"connect": failed / 2, "timeout": failed / 2}, non_2xx_share=wrong)
        assert states(found) == (over, held)
        assert found.gives_way is not over
        assert ("25 % of the requests cannot connect" in advice(found)) is (failed > 50.0)
        if over:
            metric = "load.failed_pct" if failed >= wrong else "load.non_2xx_pct"
            assert found.evidence[0][:3] == (metric, max(failed, wrong), 50.0)
        assert (found.confidence, found.certain) == (0.9, False)

    @pytest.mark.parametrize(
        ("broken", "rps", "over", "held"),
        [
            ({"receive": 50.0}, 99.0, True, True),
            ({"status": 1.05, "receive": 1.05}, 99.0, True, True),
            ({"timeout": 2.0}, 500.0, False, True),
            ({"timeout": 2.5}, 79.0, False, True),  # one request or two
            ({"timeout": 2.5}, 80.0, True, True),
            ({"connect": 1.0}, 99.0, False, False),
            ({}, 99.0, False, False),
        ],
    )
    def test_some_answers(self, broken: dict[str, float], rps: float, over: bool, held: bool) -> None:
        found = failing(broken=broken, rps=rps)
        assert states(found) == (over, held)
        assert found.gives_way
        assert {row[0]: row[1] for row in found.evidence if row[1]} == {f"load.{k}_pct": v for k, v in broken.items()}

    @pytest.mark.parametrize(
        ("load", "over"),
        [
            ({"requests": 50, "failures": Failures(timeout=5)}, True),
            ({"requests": 50, "failures": Failures(timeout=4)}, False),
            ({"requests": 250, "failures": Failures(timeout=5)}, False),  # 2 % of all
            ({"requests": 249, "failures": Failures(timeout=5)}, True),
            ({"requests": 50, "failures": Failures(length=5, timeout=4)}, False),
            ({"requests": 50, "server_errors": 5}, True),
            ({"requests": 50, "non_2xx": 30, "failures": Failures(timeout=1)}, False),  # redirects, say
        ],
    )
    def test_a_few_in_each_interval_of_a_slow_load(self, load: dict[str, Any], over: bool) -> None:
        """One of five requests per second, say."""
        assert failing(broken={"timeout": 20.0}, rps=5.0, load=load).over is over

    @pytest.mark.parametrize(
        ("kind", "said"),
        [
            ("connect", "45 % of the requests cannot connect"),
            ("receive", "45 % of the responses are cut off"),
            ("exceptions", "45 % of the responses are not valid HTTP"),
            ("timeout", "45 % of the requests time out"),
            ("status", "45 % of the responses have a status of 5xx or 429"),
            ("unclassified", "45 % of the requests fail"),
        ],
    )
    def test_the_most_frequent_failure_is_named(self, kind: str, said: str) -> None:
        found = failing(broken={"timeout": 1.0, kind: 45.0}, load={"message": "what went wrong"})
        assert said in advice(found)
        assert "what went wrong" in advice(found)

    @pytest.mark.parametrize(("failed", "wrong", "known"), [(None, None, False), (None, 5.0, True), (5.0, None, True)])
    def test_without_answers_nothing_is_reported(self, failed: float | None, wrong: float | None, known: bool) -> None:
        found = errors.Failures().assess(measured(failed_share=failed, non_2xx_share=wrong))
        assert (found is not None) is known

    def test_pages_of_different_length_are_not_errors(self) -> None:
        load = {"state": LoadState.DONE, "requests": 100, "failures": Failures(length=90)}
        found = failing(load=load, failed_share=90.0)
        assert (*states(found), found.certain) == (False, False, False)

    @pytest.mark.parametrize(
        ("state", "bad", "certain"),
        [("DONE", 51, True), ("DONE", 50, False), ("STOPPED", 51, True), ("FAILED", 51, False), ("RUNNING", 51, False)],
    )
    def test_of_a_whole_load(self, state: str, bad: int, certain: bool) -> None:
        for counted in ({"failures": Failures(connect=bad)}, {"non_2xx": bad}):
            load = {"state": LoadState[state], "requests": 100, **counted}
            assert failing(load=load, failed_share=0.0).certain is certain

    @pytest.mark.parametrize(
        ("before", "then", "over", "said"),
        [
            (0.0, 1.5, False, ""),  # four in a hundred thousand are chance
            (0.0, 1.9, True, "Failures grow with the load: only 0 % failed at c=10."),
            (0.1, 0.9, False, ""),
            (20.0, 20.0, True, "The load is not the cause: 20 % already failed at c=10."),
            (20.0, 24.0, True, ""),
            (20.0, 28.0, True, "Failures grow with the load: only 20 % failed at c=10."),
            (50.0, 66.7, True, "Failures grow with the load: only 50 % failed at c=10."),  # a limit of requests/s
            (0.0, 60.0, True, "Failures grow with the load: only 0 % failed at c=10."),
        ],
    )
    def test_failures_at_a_lower_load(self, before: float, then: float, over: bool, said: str) -> None:
        found = at_levels((10, before), (20, then))
        assert found.over is over
        assert (said in advice(found)) if said else ("failed at c=" not in advice(found))
        rows = [row[1:3] for row in found.evidence if row[0] == "load.least_failed_pct"]
        assert rows == ([pytest.approx((before, then))] if "grow" in said else [])

    @pytest.mark.parametrize(("levels", "grows"), [((10, 14), False), ((10, 15), True), ((20, 10), False)])
    def test_a_lower_load_is_two_thirds_at_most(self, levels: tuple[int, int], grows: bool) -> None:
        assert compared(at_levels((levels[0], 0.0), (levels[1], 30.0))) == (f"c={levels[0]}" if grows else "")

    def test_the_best_of_the_lower_levels_counts(self) -> None:
        assert compared(at_levels((10, 0.0), (20, 60.0), (30, 62.0))) == "c=10"

    def test_after_a_higher_load_nothing_is_compared(self) -> None:
        assert compared(at_levels((10, 0.0), (40, 30.0), (20, 30.0))) == ""
        assert compared(at_levels((10, 0.0), (40, 30.0), (10, 30.0), (40, 30.0))) == "c=10"

    def test_what_breaks_in_the_middle_of_a_step_is_not_the_load(self) -> None:
        assert compared(at_levels((10, 0.0), (20, 0.0), (20, 0.0), (20, 90.0), (20, 90.0))) == ""
        assert compared(at_levels((10, 0.0), (20, 0.0), (20, 90.0), (20, 90.0))) == "c=10"

    def test_requests_that_time_out_were_sent_before(self) -> None:
        assert compared(at_levels((10, 0.0), (20, 30.0), kind="timeout")) == ""

    def test_rates_are_levels_too(self) -> None:
        assert compared(at_levels((50, 0.0), (100, 5.0), unit="rate")) == "50/s"

    @pytest.mark.parametrize(
        ("between", "begun_anew"),
        [
            ({"requests": 5000, "state": LoadState.RUNNING}, False),
            ({"requests": 5000, "state": LoadState.STARTING}, True),
            ({"requests": 5000, "state": LoadState.WARMUP}, True),
            ({"requests": 10, "state": LoadState.RUNNING}, True),
        ],
    )
    def test_another_load_begins_anew(self, between: dict[str, Any], begun_anew: bool) -> None:
        failures = errors.Failures()
        failures.assess(measured(load={"concurrency": 10, "requests": 4000}, rps=1000.0))
        failures.assess(measured(load={"concurrency": 20, **between}, rps=1000.0, broken={"status": 30.0}))
        load = {"concurrency": 20, "requests": 6000}
        assert compared(known(failures.assess(measured(load=load, rps=1000.0, broken={"status": 30.0})))) == (
            "" if begun_anew else "c=10"
        )

    def test_only_so_many_levels_are_remembered(self) -> None:
        beginning = [(level, 0.0) for level in range(10, 10 + errors.LEVELS)]
        assert compared(at_levels(*beginning, (99, 30.0))) == ""
        assert compared(at_levels(*beginning[1:], (99, 30.0))) == "c=11"

    @pytest.mark.parametrize(
        ("first", "then", "said"),
        [
            (10, 20, ""),  # may be chance
            (10, 35, "c=10"),
            (30, 30, ""),  # may hide a difference
            (0, 9, ""),  # too few
            (0, 19, "c=10"),
        ],
    )
    def test_a_trend_in_a_hundred_requests(self, first: float, then: float, said: str) -> None:
        assert compared(at_levels((10, first), (20, then), rps=100.0)) == said


def at_levels(
    *levels: tuple[int, float], unit: str = "concurrency", rps: float = 1000.0, kind: str = "status"
) -> Assessment:
    """What is said after intervals of one second, each at a level of the load with a percentage of failures."""
    failures, found = errors.Failures(), None
    for level, share in levels:
        found = failures.assess(measured(load={unit: level}, rps=rps, broken={kind: share} if share else {}))
    return known(found)


def compared(found: Assessment) -> str:
    """The level at which fewer requests are said to have failed."""
    sources = [row[4] for row in found.evidence if row[0] == "load.least_failed_pct"]
    return sources[0].removeprefix("loadtop: at ") if sources else ""


class TestGenerator:
    @pytest.mark.parametrize(
        ("core", "unsent", "stopped", "over", "held"),
        [
            (90.0, 0.0, 25.0, False, True),
            (90.5, 0.0, None, True, True),
            (80.5, 0.0, None, False, True),
            (80.0, 1.0, 10.0, False, False),
            (0.0, 1.01, None, True, True),
            (0.0, None, 25.5, True, True),
            (0.0, None, 10.5, False, True),
        ],
    )
    def test_a_process(self, core: float, unsent: float | None, stopped: float | None, over: bool, held: bool) -> None:
        for delay, agrees in ((10.0, 0.0), (10.5, 1.0)):
            generator = GeneratorRates(core, core, 2, delay, 0.0, unsent, stopped)
            found = of_load(GENERATOR, generator=generator)
            assert states(found) == (over, held)
            full = core > 90.0 or (stopped or 0.0) > 25.0
            assert found.confidence == round(0.9 + 0.05 * (full + agrees), 3)
            assert value(found, "generator.throttled_pct") == (stopped if (stopped or 0.0) > 10.0 else None)
            late = (unsent or 0.0) > 1.0
            assert value(found, "generator.unsent_pct") == (pytest.approx(1.01 / 1.0001) if late else None)
            assert ("--workers 3" in advice(found)) is ((stopped or 0.0) <= 25.0)

    @pytest.mark.parametrize(
        ("role", "share", "engaged", "over", "held"),
        [
            ("generator", 40.0, 90.0, False, True),
            ("generator", 40.0, 90.5, True, True),
            ("target", 40.0, 90.5, True, True),
            ("target", 40.0, 80.0, False, False),
            ("target+generator", 240.0, 90.5, True, True),
            ("target+generator", 260.0, 90.5, False, False),  # the server waits for the same processors
            ("other name of the target", 260.0, 90.5, False, False),
        ],
    )
    def test_a_process_that_waits(self, role: str, share: float, engaged: float, over: bool, held: bool) -> None:
        facts = replace(FACTS, boot_id="one")
        views = [host({"facts": facts}, role=role, groups=(group(share, wait=0.0, threads=20),))]
        if role.startswith("other"):
            views = [replace(views[0], state=replace(views[0].state, role=each)) for each in ("target", "generator")]
        generator = GeneratorRates(30.0, 30.0, 1, 0.0, 0.0, 0.0, wait=60.0, wanted=engaged)
        found = of_load(GENERATOR, *views, generator=generator)
        assert states(found) == (over, held)
        assert value(found, "generator.worker_wanted_pct") == (engaged if over else None)
        assert ("waits for a CPU 60 % of the time" in advice(found)) is over

    @pytest.mark.parametrize(("cpu", "over"), [(busy(90.0), True), (busy(90.5), False), (None, False)])
    def test_beside_a_server_whose_requests_are_not_counted(self, cpu: CpuShares | None, over: bool) -> None:
        """It waits for the same processors if these are full."""
        generator = GeneratorRates(30.0, 30.0, 1, 0.0, 0.0, 0.0, wait=60.0, wanted=95.0)
        view = host(role="target+generator", cpu=cpu)
        assert of_load(GENERATOR, view, load={"in_flight": None}, generator=generator).over is over

    @pytest.mark.parametrize(("engine", "said"), [("builtin", "Use --workers 2"), ("wrk", "Give wrk more threads")])
    def test_more_workers_are_advised_as_the_engine_has_them(self, engine: str, said: str) -> None:
        generator = GeneratorRates(95.0, 95.0, 1, 0.0, 0.0, 0.0)
        assert said in advice(of_load(GENERATOR, load={"engine": engine}, generator=generator))

    @pytest.mark.parametrize(("share", "steal", "over"), [(81.0, 10.0, False), (81.5, 10.0, True), (90.5, 0.0, True)])
    def test_what_the_hypervisor_delivers_to_it_counts(self, share: float, steal: float, over: bool) -> None:
        views = [host(role="generator", cpu=busy(50.0, each)) for each in (steal, 0.0)]
        stolen = host(role="target", cpu=busy(50.0, 40.0))  # another machine's
        assert of_load(GENERATOR, *views, stolen, generator=GeneratorRates(share, share, 1, 0.0, 0.0, 0.0)).over is over

    def test_another_name_of_the_target_is_not_a_generator_machine(self) -> None:
        view = host({"facts": replace(FACTS, boot_id="one")}, role="generator", cpu=busy(99.0))
        tested = replace(view, state=replace(view.state, role="target"))
        assert GENERATOR.of_generator is not None
        assert GENERATOR.of_generator(measured(view, tested), view) is None
        other = host({"facts": replace(FACTS, boot_id="two")})
        assert GENERATOR.of_generator(measured(view, other), view) is not None
        unknown = host(role="generator", cpu=busy(99.0))
        assert GENERATOR.of_generator(measured(unknown, host()), unknown) is not None

    @pytest.mark.parametrize(
        ("role", "server", "over"),
        [
            ("target+generator", 10.5, False),
            ("target+generator", 10.0, True),
            ("target", 90.0, True),
            ("generator", 90.0, True),
        ],
    )
    def test_a_quota_that_the_server_beside_it_has_too(self, role: str, server: float, over: bool) -> None:
        generator = GeneratorRates(0.0, 0.0, 1, 0.0, 0.0, 0.0, throttled=50.0)
        rates = CgroupRates(server, 100.0, 0.0, None, "/fpm")
        limits = CgroupLimits("/fpm", 2, 50_000, 100_000)
        view = host({"cgroup": limits}, role=role, cgroup=rates)
        assert of_load(GENERATOR, view, generator=generator).over is over
        view = host({"more_cgroups": (limits,)}, role=role, more_cgroups=(rates,))
        assert of_load(GENERATOR, view, generator=generator).over is over

    @pytest.mark.parametrize(
        ("share", "own", "delay", "over", "held"),
        [
            (80.0, 40.0, 0.0, False, True),
            (80.5, 40.0, 0.0, True, True),
            (80.5, 39.5, 10.0, False, False),
            (80.5, 39.5, 10.5, True, True),
            (80.5, 0.0, None, True, True),
            (70.5, 40.0, 0.0, False, True),
            (70.0, 40.0, 0.0, False, False),
        ],
    )
    def test_a_machine_that_only_generates(
        self, share: float, own: float, delay: float | None, over: bool, held: bool
    ) -> None:
        view = host(role="generator", cpu=busy(share), groups=(group(own, name=LOADTOP, role=None),))
        found = of_host(GENERATOR, view, generator=GeneratorRates(own, own, 1, delay, 0.0, 0.0))
        assert states(found) == (over, held)

    @pytest.mark.parametrize(
        ("used", "limit", "refused", "failed", "over", "held", "confidence"),
        [
            (80, 100, False, 0.0, False, True, 0.9),
            (81, 100, False, 0.0, True, True, 0.95),
            (71, 100, False, 5.0, False, True, 0.9),
            (70, 100, True, 0.0, False, False, 0.9),
            (0, 100, True, 1.0, True, True, 0.95),
            (None, None, True, 1.0, True, True, 0.975),
        ],
    )
    def test_local_ports(
        self,
        used: int | None,
        limit: int | None,
        refused: bool,
        failed: float,
        over: bool,
        held: bool,
        confidence: float,
    ) -> None:
        generator = GeneratorSample((0.0,), 0.0, ports_used=used, ports_limit=limit)
        message = Message(NO_LOCAL_PORT, server="web1")
        load = {"generator": generator, "message": message if refused else "", "keepalive": False}
        found = of_load(CLIENT_PORTS, load=load, failed=failed)
        assert states(found) == (over, held)
        assert (found.confidence, found.certain) == (confidence, refused and failed > 0)
        assert ("100 ports allow about 1 new connections/s" in advice(found)) is (limit == 100)
        assert "Use -k" in advice(found)

    @pytest.mark.parametrize(
        ("load", "over", "certain"),
        [
            ({"concurrency": 184}, False, False),
            ({"concurrency": 185}, True, True),
            ({"message": Message(TOO_MANY_CONNECTIONS, connections=93, limit=124, needed=125)}, True, True),
            ({"concurrency": 500, "rate": 10.0, "connections": 181, "in_flight": 181}, True, False),
            ({"concurrency": 500, "rate": 10.0, "connections": 180, "in_flight": 180}, False, False),
            ({"concurrency": 500, "rate": 10.0, "connections": 184, "in_flight": 180}, False, False),
        ],
    )
    def test_open_files(self, load: dict[str, Any], over: bool, certain: bool) -> None:
        generator = GeneratorSample((0.0, 0.0), 0.0, files_used=50, files_limit=124)  # 92 connections of each worker
        found = of_load(CLIENT_FILES, load={"generator": generator, **load})
        assert states(found) == (over, over)
        assert (found.certain, found.confidence) == (certain, 1.0 if certain else 0.9)

    @pytest.mark.parametrize(
        ("load", "said"),
        [
            (
                {"concurrency": 400},
                "(ulimit -n 248) or use --workers 5: 124 files per process allow 92 connections, but 200 are needed.",
            ),
            (
                {"concurrency": 1000},
                "(ulimit -n 532) or use --workers 11: 124 files per process allow 92 connections, but 500 are needed.",
            ),
            ({"rate": 5.0}, "(ulimit -n 248) or use --workers 3: 124 files per process allow 92 connections."),
        ],
    )
    def test_more_files_or_processes_are_advised(self, load: dict[str, Any], said: str) -> None:
        generator = GeneratorSample((0.0, 0.0), 0.0, files_used=50, files_limit=124)
        assert said in advice(of_load(CLIENT_FILES, load={"generator": generator, **load}))


@pytest.mark.parametrize(
    ("load", "late", "stays"),
    [
        ({"rate": None, "in_flight": 0}, 0.0, True),
        ({"rate": 100.0, "in_flight": None}, 0.0, True),
        ({"rate": 100.0, "in_flight": 4 + 4 + 4}, 0.0, False),
        ({"rate": 100.0, "in_flight": 4 + 4 + 4 + 1}, 0.0, True),
        ({"rate": 100.0, "in_flight": 0}, 1.0, False),
        ({"rate": 100.0, "in_flight": 0}, 1.1, True),
    ],
)
def test_a_queue_that_stays(load: dict[str, Any], late: float, stays: bool) -> None:
    """Four workers, four to spare, and twice the root of four."""
    found = measured(load=load, generator=GeneratorRates(0.0, 0.0, 1, 0.0, late, 0.0))
    assert backs_up(found, 4) is stays
