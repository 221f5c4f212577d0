"""Each bound of a worker limit alone, worked out by hand: what memory, the knee, the scoreboard and the CPU allow."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.analysis.tune.knee import Knee
from loadtop.analysis.tune.sizing import Sizing, size, worker_memory
from loadtop.analysis.tune.step import StepResult
from tests.unit.analysis.tune.conftest import a_pool, a_result
from tests.unit.known import known

KNEE = Knee(8, 100.0, 16, None, bounded=True, confirmed=None, usl=None, highest=32)
SWAPPING: dict[str, Any] = {"swap_kb_s": 1000.0, "bottleneck": "swap"}


def bounds(found: Sizing | None) -> dict[str, int]:
    return {} if found is None else {bound.name: bound.workers for bound in found.bounds}


def reason(found: Sizing | None, name: str) -> str:
    assert found is not None
    return next(str(bound.reason) for bound in found.bounds if bound.name == name)


def measured(*levels: int, pool: dict[str, Any] | None = None, **changes: Any) -> list[StepResult]:
    """Steps of so many connections each, as many of them busy; a worker takes 10 MB, of which 2 MB are shared."""
    of_pool = {"rss_kb": 40 * 10_000, "shared_kb": 40 * 2_000.0, **(pool or {})}
    return [a_result(level, 100.0, pools=(a_pool(level, **of_pool),), **changes) for level in levels]


class TestMemory:
    @pytest.mark.parametrize(
        ("pool", "expected"),
        [
            ({}, (8_000.0, "pss")),
            ({"shared_kb": None}, (10_000.0, "rss")),
            ({"started": 20}, (16_000.0, "pss")),
            ({"started": 0}, None),
            ({"rss_kb": None}, None),
        ],
    )
    def test_one_worker_where_too_few_steps_differ(
        self, pool: dict[str, Any], expected: tuple[float, str] | None
    ) -> None:
        results = measured(8, 16, 16, pool=pool)
        found = worker_memory(results, results[0].pools[0])
        assert (None if found is None else (found.worker_kb, found.basis)) == expected

    @pytest.mark.parametrize(
        ("each", "idle", "worker_kb"),
        [(6_000, 8_000, 14_000.0), (0, 8_000, 8_000.0), (-1_000, 8_000, 8_000.0 - 1_000 * 8 / 40), (0, 0, 1.0)],
    )
    def test_a_busy_worker_takes_what_an_idle_one_does_and_what_it_grows_by(
        self, each: int, idle: int, worker_kb: float
    ) -> None:
        results = [
            a_result(n, 10.0, pools=(a_pool(n, rss_kb=40 * idle + n * each, shared_kb=0.0),)) for n in (4, 8, 12)
        ]
        found = known(worker_memory(results, results[0].pools[0]))
        assert found.worker_kb == pytest.approx(worker_kb)

    def test_an_idle_worker_takes_no_less_than_nothing(self) -> None:
        taken = {4: 0, 8: 24_000, 12: 96_000}
        results = [a_result(n, 10.0, pools=(a_pool(n, rss_kb=kb, shared_kb=0.0),)) for n, kb in taken.items()]
        found = known(worker_memory(results, results[0].pools[0]))
        assert found.worker_kb == pytest.approx(12_000.0)

    @pytest.mark.parametrize(("without", "basis"), [(2, "pss"), (3, "rss")])
    def test_steps_before_pss_came_are_left_out_unless_most_are(self, without: int, basis: str) -> None:
        results = [*measured(*[1] * without, pool={"shared_kb": None}), *measured(2, 2)]
        found = known(worker_memory(results, results[0].pools[0]))
        assert found.basis == basis

    def test_room_is_the_least_seen_less_what_other_pools_take(self) -> None:
        one, two = measured(4, 8)
        (swapping,) = measured(16, room_kb=1.0, **SWAPPING)
        other = a_pool(1, kind="fpm", name="www", rss_kb=300_000, shared_kb=0.0)
        results = [
            replace(one, room_kb=900_000.0, pools=(*one.pools, other)),
            replace(two, room_kb=800_000.0, pools=(*two.pools, replace(other, rss_kb=200_000))),
            swapping,
        ]
        found = known(worker_memory(results, one.pools[0]))
        assert found.room_kb == 500_000.0
        crowded = known(worker_memory([replace(results[0], room_kb=200_000.0)], one.pools[0]))
        assert crowded.room_kb == 0.0
        assert worker_memory([replace(one, room_kb=None)], one.pools[0]) is None

    @pytest.mark.parametrize(
        ("room", "calm", "swapping", "fits"),
        [
            (800_000.0, (4, 8), (), 90),
            (80_000.0, (4, 8), (), 9),
            (80_000.0, (4, 8), (16,), 9),
            (800_000.0, (4, 8), (16, 32), 15),
            (8_000.0, (4, 8), (16,), 8),
            (800_000.0, (4, 32), (16,), 90),
        ],
    )
    def test_what_fits_is_between_what_ran_and_what_swapped(
        self, room: float, calm: Sequence[int], swapping: Sequence[int], fits: int
    ) -> None:
        results = [*measured(*calm, room_kb=room), *measured(*swapping, room_kb=room, **SWAPPING)]
        found = size(results, KNEE, None)
        assert bounds(found)["memory"] == fits
        text = reason(found, "memory")
        assert f"7.8 MB each (PSS); 90 % of {room / 1024:.0f} MB may be used" in text
        beyond = [each for each in swapping if each > max(calm)]
        assert ("measured" in text) is bool(beyond)
        assert not beyond or f"no swapping at {max(calm)}, swapping at {min(beyond)}" in text

    def test_without_figures_swapping_is_the_bound(self) -> None:
        blind = {"pool": {"rss_kb": None}}
        results = [*measured(4, 8, **blind), *measured(16, 32, **blind, **SWAPPING)]
        found = size(results, KNEE, None)
        assert bounds(found)["memory"] == 8
        assert reason(found, "memory") == "no swapping at 8, swapping at 16"
        assert "memory" not in bounds(size(measured(4, 8, **blind), KNEE, None))
        assert "memory" not in bounds(size(measured(16, **blind, **SWAPPING), KNEE, None))


class TestKneeAndScoreboard:
    @pytest.mark.parametrize(
        ("knee", "workers", "said"),
        [(KNEE, 16, "best from 8 to 16 connections"), (replace(KNEE, until=8), 8, "best at 8 connections")],
    )
    def test_as_far_as_the_best_throughput_holds(self, knee: Knee, workers: int, said: str) -> None:
        found = size(measured(8, 16, 32), knee, None)
        assert bounds(found)["knee"] == workers
        assert reason(found, "knee") == said

    @pytest.mark.parametrize(
        ("until", "kind", "workers"), [(16, "apache", 14), (32, "apache", 28), (8, "apache", 8), (16, "fpm", 13)]
    )
    def test_as_many_as_were_busy_meanwhile_and_the_page(self, until: int, kind: str, workers: int) -> None:
        most = {8: 7, 16: 13, 32: 27}
        results = [a_result(n, 100.0, pools=(a_pool(n, kind=kind, name="", busy_most=m),)) for n, m in most.items()]
        found = size(results, replace(KNEE, until=until), None)
        assert bounds(found)["scoreboard"] == workers
        assert reason(found, "scoreboard").endswith("status page") is (kind == "apache")

    def test_another_pools_workers_do_not_count(self) -> None:
        (only,) = measured(8)
        other = a_pool(30, kind="fpm", name="www")
        assert bounds(size([replace(only, pools=(*only.pools, other))], KNEE, None))["scoreboard"] == 9
        assert "scoreboard" not in bounds(size(measured(8, pool={"busy_most": 0}), KNEE, None))

    @pytest.mark.parametrize("knee", [None, replace(KNEE, bounded=False)])
    def test_nothing_is_known_where_the_knee_was_not_reached(self, knee: Knee | None) -> None:
        assert size(measured(8, 16), knee, None) is None
        assert size([], KNEE, None) is None


class TestAFullPool:
    @pytest.mark.parametrize(
        ("capacity", "used", "workers", "others"),
        [(40, 30.0, 120, 0.0), (40, 95.0, 40, 0.0), (40, 1.0, 3600, 0.0), (40, 0.9, None, 0.0), (40, None, None, 0.0),
         (None, 30.0, None, 0.0), (40, 80.0, 80, 70.0), (40, 70.5, None, 70.0)],
    )  # fmt: skip
    def test_as_many_as_fill_the_processor(
        self, capacity: int | None, used: float | None, workers: int | None, others: float
    ) -> None:
        results = measured(8, 64, pool={"capacity": capacity}, used=used, others=others, bottleneck="apache-workers")
        found = known(size(results, None, results[-1]))
        assert found.pool_was_full
        assert bounds(found).get("cpu") == workers
        assert bounds(found)["tested"] == 65
        share = f"{(used or 0.0) - others:.0f} %"
        said = f"take {share} of the CPU, other programs 70 %" if others else f"make the CPU {share} busy"
        assert workers is None or reason(found, "cpu") == f"40 workers {said}"

    def test_the_fullest_of_several_is_meant(self) -> None:
        rows = (("a", 5, 10, 1), ("b", 6, 10, 20), ("c", 4, None, 5), ("d", 1, None, 0))
        pools = tuple(
            a_pool(busy, kind="fpm", name=name, manager="static", capacity=capacity, started=started)
            for name, busy, capacity, started in rows
        )
        results = [a_result(8, 10.0, pools=pools, bottleneck="fpm-workers")]
        named = [size([replace(results[0], pools=pools[:count])], None, results[0]) for count in (1, 2, 3, 4)]
        assert [None if each is None else each.pool.name for each in named] == ["a", "b", "c", "d"]

    def test_else_the_web_servers_or_the_only_one(self) -> None:
        fpm, web = a_pool(5, kind="fpm", name="www", manager="static"), a_pool(5)
        for pools, name in (((fpm, web), ""), ((fpm,), "www")):
            results = [a_result(4, 10.0, pools=pools), a_result(8, 10.0, pools=())]
            found = known(size(results, KNEE, results[1]))
            assert (found.pool.name, found.pool_was_full) == (name, False)

    def test_a_limit_is_at_least_one(self) -> None:
        found = known(size(measured(8, room_kb=1.0), KNEE, None))
        assert (found.binding, bounds(found)["memory"], found.value) == ("memory", 0, 1)
        assert [bound.workers for bound in found.bounds] == sorted(bound.workers for bound in found.bounds)
        assert found.as_json()["per_process_kb"] == 8_000

    def test_threads_of_a_process_share_its_figure(self) -> None:
        found = known(size(measured(8, pool={"threads_per_child": 5}), KNEE, None))
        assert found.as_json()["per_process_kb"] == 40_000
