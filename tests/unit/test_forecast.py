"""The forecast of the next limit, worked out by hand: how demand is measured, and when nothing is said."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.finding import Forecast
from loadtop.diagnosis.forecast import LEAST_INTERVALS, MOST_INTERVALS, Forecaster, Use, served
from loadtop.model import LOADTOP, OTHER, CgroupLimits, Latencies, LoadState, Role
from loadtop.model.histogram import distribution
from loadtop.model.server import ServerReading
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import GeneratorRates, NetworkRates, ServerRates
from loadtop.servers.nginx.record import NginxStatus
from loadtop.servers.php_fpm.record import FpmPool
from tests.unit.interval import busy, group, host, measured, process
from tests.unit.known import known

USED = (20.0, 22.0, 24.0, 26.0, 28.0)


def foretold(
    uses: Iterable[float | None] = USED,
    *,
    rps: float = 100.0,
    capacity: float = 100.0,
    calm: bool = True,
    **changes: Any,
) -> Forecast | None:
    """The forecast after intervals in which so much of a pool was used (``None``: unknown); it is larger at first."""
    now: dict[str, Use] = {}

    def demands(_: Measured, __: HostView, ___: bool) -> Mapping[str, Use]:
        return now

    forecaster, found = Forecaster([demands]), None
    for number, used in enumerate(uses):
        now |= {} if used is None else {"pool": Use(used, capacity if number else 1.1 * capacity)}
        found = forecaster.add(measured(host(cpu=None), rps=rps, **changes), calm=calm)
        now.clear()
    return found


def test_demand_is_the_mean_of_the_middle_and_its_range_twice_the_standard_error() -> None:
    found = known(foretold())
    assert (found.resource, found.host) == ("pool", "web1")
    assert found.rps == pytest.approx(100.0 * 100.0 / 24.0)
    error = 2 * (8 / 2 / 3) ** 0.5 / 24 + 0.08  # of 22, 24 and 26
    assert found.low == pytest.approx(found.rps * (1 - error))
    assert found.high == pytest.approx(found.rps * (1 + error))


def test_the_range_is_at_most_half() -> None:
    found = known(foretold((5.0, 6.0, 40.0, 74.0, 75.0)))
    assert found.low == pytest.approx(0.5 * found.rps)
    assert found.high == pytest.approx(1.5 * found.rps)


@pytest.mark.parametrize(
    ("uses", "changes"),
    [
        (USED[1:], {}),
        ((*USED[1:], None), {}),
        (USED, {"calm": False}),
        (USED, {"rps": 0.0}),
        (USED, {"load": {"state": LoadState.DONE}}),
        (USED, {"broken": {"receive": 3.0, "timeout": 2.1}}),
        (USED, {"non_2xx_share": 5.1}),
        ([2.9] * 5, {"capacity": 100.0}),  # too little to be measured
        ([9.9] * 5, {}),  # more than ten times as far
        ([100.0] * 5, {}),  # it is reached
        ([0.0] * 5, {"capacity": 0.0}),
    ],
)
def test_nothing_is_reported(uses: Iterable[float], changes: dict[str, Any]) -> None:
    assert foretold(uses, **changes) is None


@pytest.mark.parametrize(
    ("uses", "changes"),
    [
        *(([12.5] * 5, {"capacity": 125.0}), ([99.0] * 5, {}), ((None, *USED), {}), (USED, {"rps": 0.5})),
        *((USED, {"broken": {"receive": 5.0}}), (USED, {"non_2xx_share": None})),
    ],
)
def test_something_is_reported(uses: Iterable[float], changes: dict[str, Any]) -> None:
    assert foretold(uses, **changes) is not None


@pytest.mark.parametrize(("each", "said"), [(0.02, True), (0.0125, False)])
def test_of_a_resource_that_was_hardly_used_nothing_is_reported(each: float, said: bool) -> None:
    """Though it would be full within ten times the throughput, which was lower for most of the time."""

    def demands(now: Measured, _: HostView, __: bool) -> Mapping[str, Use]:
        rps = None if now.load_rates is None else now.load_rates.rps
        return {"pool": Use(each * (rps or 0.0), 100.0)}

    forecaster, found = Forecaster([demands]), None
    for rps in [10.0] * 20 + [1000.0] * 5:
        found = forecaster.add(measured(host(cpu=None), rps=rps), calm=True)
    assert (found is not None) is said


@pytest.mark.parametrize(
    ("hosts", "alone"), [(["fpm nginx"], True), (["fpm", "nginx"], True), (["fpm", "fpm"], False), (["nginx"], False)]
)
def test_whether_a_pool_of_workers_is_the_only_one(hosts: list[str], alone: bool) -> None:
    pool = FpmPool("www", "static", 0, 0, 511, 4, 1, 5, 0, None, 5)
    servers: dict[str, ServerReading] = {"fpm": pool, "nginx": NginxStatus("http://x/", 1, 0, 1, 0, 1, 1, 1)}
    told: set[bool] = set()

    def demands(_: Measured, __: HostView, only: bool) -> Mapping[str, Use]:
        told.add(only)
        return {}

    views = [host(servers={name: (ServerRates(servers[name], {}),) for name in names.split()}) for names in hosts]
    Forecaster([demands]).add(measured(*views, rps=100.0), calm=True)
    assert told == {alone}


def test_far_intervals_are_forgotten_and_errors_forget_all() -> None:
    found = known(foretold([50.0] * MOST_INTERVALS + [20.0] * MOST_INTERVALS))
    assert found.rps == pytest.approx(500.0)
    forecaster = Forecaster(())
    calm = measured(host(cpu=busy(40.0)))
    for _ in range(LEAST_INTERVALS):
        forecaster.add(calm, calm=True)
    assert forecaster.add(measured(host(cpu=busy(40.0)), broken={"receive": 50.0}), calm=True) is None
    assert [forecaster.add(calm, calm=True) is None for _ in range(LEAST_INTERVALS)] == [True] * 4 + [False]


def nearest(view: HostView, times: int = LEAST_INTERVALS, **changes: Any) -> tuple[str, float] | None:
    """The resource of a machine that is full first, and its requests per second; 100 are served now."""
    forecaster, found = Forecaster(()), None
    for _ in range(times):
        found = forecaster.add(measured(view, rps=100.0, **changes), calm=True)
    return None if found is None else (found.resource, round(found.rps, 3))


IDLE = {"cpu": None}
FPM = group(20.0, name="fpm", role=Role.APPLICATION)
STOPPED = {"cgroup": CgroupLimits("/", 2, 50_000, 100_000)}
FPM_STOPPED = {
    "cgroup": CgroupLimits("/", 2),
    "more_cgroups": (CgroupLimits("/fpm", 2, 40_000, 100_000, servers=("fpm",)),),
}

REPLICAS = {
    "cgroup": CgroupLimits("/a", 2, 40_000, 100_000, servers=("fpm",)),
    "more_cgroups": (CgroupLimits("/b", 2, 40_000, 100_000, servers=("fpm",)),),
}
"""How much each of them uses is not known."""


@pytest.mark.parametrize(
    ("sample", "rates", "expected"),
    [
        ({}, {"cpu": busy(40.0)}, ("cpu", 250.0)),
        ({}, {"cpu": busy(40.0, steal=20.0)}, ("cpu", 200.0)),
        ({}, {"cpu": busy(70.0), "processes": (process(85.0, of=OTHER),)}, ("cpu", 209.091)),
        ({}, {"cpu": busy(40.0), "processes": (process(84.0, of=OTHER), process(90.0))}, ("cpu", 250.0)),
        ({}, IDLE | {"networks": (NetworkRates("eth0", 1, 1, 1, 1, 0, 100, 20.0),)}, ("network", 500.0)),
        ({}, IDLE | {"groups": (group(40.0),)}, ("cpu-core", 250.0)),
        ({}, IDLE | {"groups": (group(40.0, threads=2),)}, None),
        ({}, IDLE | {"groups": (group(40.0, processes=2, threads=2),)}, None),
        ({}, IDLE | {"groups": (group(40.0, name="x", role=None),)}, None),
        ({}, IDLE | {"groups": (group(20.0, threads=9), FPM)}, None),
        ({}, IDLE | {"groups": (group(19.0, threads=9), FPM)}, ("cpu-core", 500.0)),
        (STOPPED, IDLE | {"groups": (group(20.0, threads=9),)}, ("throttled", 250.0)),
        (STOPPED, IDLE | {"groups": (replace(group(threads=9), cpu=None),)}, None),
        (FPM_STOPPED, IDLE | {"groups": (group(20.0, threads=9), FPM)}, ("throttled", 200.0)),
        (REPLICAS, IDLE | {"groups": (group(20.0, threads=9), FPM)}, None),
        ({"cgroup": CgroupLimits("/", 2, None, 100_000)}, IDLE | {"groups": (group(20.0, threads=9),)}, None),
        ({"cgroup": CgroupLimits("/", 2, 50_000, None)}, IDLE | {"groups": (group(20.0, threads=9),)}, None),
    ],
)
def test_what_is_used_of_a_machine(
    sample: dict[str, Any], rates: dict[str, Any], expected: tuple[str, float] | None
) -> None:
    assert nearest(host(sample, **rates)) == expected


SERVED: dict[str, Any] = {"groups": (group(40.0, threads=9),)}
MEASURING: dict[str, Any] = {"groups": (group(40.0, threads=9), group(20.0, name=LOADTOP, role=None))}


@pytest.mark.parametrize(
    ("rates", "generator", "rps"),
    [
        ({"cpu": busy(20.0), **SERVED}, 0.0, 500.0),
        ({"cpu": busy(30.0), **SERVED}, 0.0, 333.333),  # a database, as far as can be seen
        ({"cpu": replace(busy(20.0), nice=30.0), **SERVED}, 0.0, 500.0),
        ({"cpu": replace(busy(30.0), nice=10.0), **SERVED}, 0.0, 333.333),
        ({"cpu": replace(busy(20.0), nice=30.0), "processes": (process(85.0, of=OTHER),), **SERVED}, 0.0, 287.5),
        ({"cpu": busy(30.0), **MEASURING}, 0.0, 450.0),  # 0.2 of 2 cores for measuring alone
        ({"cpu": busy(30.0), **MEASURING}, 5.0, 411.111),
        ({"cpu": busy(30.0), **MEASURING}, 90.0, 333.333),
        ({"cpu": busy(30.0), **MEASURING}, None, 333.333),  # all of another engine grows with the load
    ],
)
def test_the_cpu_time_of_a_request(rates: dict[str, Any], generator: float | None, rps: float) -> None:
    made = None if generator is None else GeneratorRates(generator, 0.0, 1, 0.0, 0.0, 0.0)
    assert nearest(host(**rates), generator=made) == ("cpu", rps)


def test_only_what_is_always_there_beside_the_server_is_taken_for_its_own() -> None:
    forecaster, found = Forecaster(()), None
    for share in (30.0, 60.0, 30.0, 25.0, 90.0, 30.0, 30.0, 30.0, 60.0):
        found = forecaster.add(measured(host(cpu=busy(share), **SERVED), rps=100.0), calm=True)
    assert found is not None
    # 0.4 of two cores, and 0.1 that is always there; 0.1 and more comes and goes.
    assert found.rps == pytest.approx((2.0 - 0.1) / 0.5 * 100)
    assert found.high == pytest.approx(found.rps * 1.2)


def test_a_database_is_a_part_of_what_a_request_takes() -> None:
    forecaster, found = Forecaster(()), None
    for share in range(10, 28, 2):
        groups = (group(30.0, threads=9), group(share, name="mysql", role=Role.DATABASE))
        found = forecaster.add(measured(host(cpu=busy((30 + share) / 2), groups=groups), rps=100.0), calm=True)
    assert found is not None
    # Of two cores, 0.45 for 100 requests/s (the quieter half of the middle: 0.42, 0.44, 0.46, 0.48); 0.03 beside it.
    assert found.rps == pytest.approx((2.0 - 0.03) / 0.45 * 100)


def test_a_generator_has_a_processor_and_a_line() -> None:
    line = NetworkRates("eth0", 1, 1, 1, 1, 0, 100, 25.0)
    assert nearest(host(role="generator", cpu=busy(40.0), networks=(line,))) == ("network", 400.0)
    generator = GeneratorRates(50.0, 50.0, 1, 0.0, 0.0, 0.0)
    assert nearest(host(cpu=busy(40.0)), generator=generator) == ("generator", 200.0)
    view = host(cpu=busy(40.0), groups=(group(40.0, name=LOADTOP, role=None),))
    assert nearest(replace(view, rates=None), generator=replace(generator, busiest=1.0)) is None


def test_of_the_processor_the_quieter_half_counts_and_the_rest_is_there_beside_it() -> None:
    forecaster, found = Forecaster(()), None
    for share in (30.0, 30.0, 30.0, 30.0, 40.0, 50.0, 50.0, 50.0, 50.0):
        found = forecaster.add(measured(host(cpu=busy(share)), rps=100.0), calm=True)
    assert found is not None
    # Of two cores, 0.65 for 100 requests/s (the quieter half of the middle: 0.6, 0.6, 0.6, 0.8); 0.15 beside it.
    assert found.rps == pytest.approx((2.0 - 0.15) / 0.65 * 100)


@pytest.mark.parametrize(
    ("rps", "milliseconds", "shown", "alone", "busy_now"),
    [
        (100.0, 20.0, 3, True, 2.0),
        (100.0, 20.0, 3, False, 2.0),
        (100.0, 20.0, 4, True, 3.0),
        (100.0, 80.0, 12, True, 8.0),
        (100.0, 80.0, 13, True, 12.0),
        (100.0, 80.0, 4, True, 8.0),
        (100.0, 80.0, 3, True, 2.0),
        (None, 80.0, 5, True, 4.0),
        (100.0, None, 5, True, 4.0),
        (100.0, None, 0, True, 0.0),
    ],
)
def test_how_many_are_served(
    rps: float | None, milliseconds: float | None, shown: int, alone: bool, busy_now: float
) -> None:
    latencies = None if milliseconds is None else Latencies(distribution([round(1000 * milliseconds)] * 3))
    assert served(measured(load={"latencies": latencies}, rps=rps), shown, alone=alone) == pytest.approx(busy_now)
