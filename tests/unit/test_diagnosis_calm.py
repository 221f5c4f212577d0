"""An hour of calm, a quarter for each of the calm runs of the laboratory: their intervals in a random order, with noise
and single bad moments as a machine has them. Nothing is full in it, so nothing may be said to be.
"""

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.model import Distribution, HostSample, LoadState, Outcome, State
from loadtop.model.histogram import bucket_of
from loadtop.pipeline.snapshot import snapshots
from loadtop.rates.measured import HostView, Measured
from loadtop.rates.records import CpuShares, HostRates
from loadtop.servers.registry import DEMANDS, VERDICTS
from tests.lab.keeping import SUFFIX, kept_frames
from tests.unit.known import known

QUARTER_S = 900
MOST_BUSY = 75.0
"""Percent of the processors above which a recorded interval is not calm: something else was at work then too."""
CALM = sorted((Path(__file__).parents[1] / "fixtures" / "lab").glob(f"none-*{SUFFIX}"))
BETWEEN = (4, 40)
"""Seconds from one bad moment to the next: two of three intervals in a row are no moment any more."""


def intervals(path: Path) -> list[Measured]:
    """The intervals of a recording in which load ran and everything was measured."""
    found = [snapshot.measured for snapshot in snapshots(kept_frames(path))]
    return [each for each in found if _is_whole(each)]


def _is_whole(measured: Measured) -> bool:
    load, rates, host = measured.load, measured.load_rates, measured.hosts[0]
    running = load is not None and load.state is LoadState.RUNNING and rates is not None and rates.rps is not None
    if not running or host.rates is None or host.rates.cpu is None or host.sample is None:
        return False
    return host.rates.cpu.busy < MOST_BUSY


def quarter(calm: list[Measured], chance: random.Random) -> Iterator[Measured]:
    """Each second one of the intervals, with noise; every now and then a bad moment."""
    bad = chance.randint(*BETWEEN)
    for second in range(QUARTER_S):
        host = noisy(chance.choice(calm).hosts[0], chance)
        base = chance.choice(calm)
        if second == bad:
            host, base = trouble(host, base, chance)
            bad += chance.randint(*BETWEEN)
        rates, load = known(base.load_rates), known(base.load)
        flying = None if load.in_flight is None else max(0, load.in_flight + chance.choice((-1, 0, 0, 0, 1)))
        yield Measured(
            replace(base.frame, number=second, at=float(second), load=replace(load, in_flight=flying)),
            replace(rates, rps=known(rates.rps) * chance.gauss(1.0, 0.05)),
            (host,),
        )


def noisy(host: HostView, chance: random.Random) -> HostView:
    """The same machine, with its processors a little busier or calmer, and now and then a connection in a queue."""
    rates, sample = known(host.rates), known(host.sample)
    more = chance.gauss(0.0, 6.0)
    tcp = sample.tcp
    if tcp is not None and chance.random() < 0.05:
        tcp = replace(tcp, listeners=tuple(replace(each, queue=each.queue + 1) for each in tcp.listeners))
    return _host(host, _busier(rates, more), replace(sample, tcp=tcp))


def trouble(host: HostView, base: Measured, chance: random.Random) -> tuple[HostView, Measured]:
    """One bad moment: a job that takes the processors, memory that is paged, a page that does not come, a pause."""
    rates, sample = known(host.rates), known(host.sample)
    kind = chance.randrange(4)
    if kind == 0:
        pressure = None if rates.pressure is None else replace(rates.pressure, cpu_some=80.0)
        scheduler = None if sample.scheduler is None else replace(sample.scheduler, running=9)
        return _host(host, replace(_busier(rates, 95.0), pressure=pressure), replace(sample, scheduler=scheduler)), base
    if kind == 1 and rates.paging is not None:
        paging = replace(rates.paging, swap_in_kb=900.0, swap_out_kb=300.0, major_faults=250.0)
        return _host(host, replace(rates, paging=paging), sample), base
    if kind == 2:
        late = Outcome("apache", State.FAILED, "no response for 1.2 s", 1.2)
        others = tuple(each for each in sample.outcomes if each.collector != "apache")
        return _host(host, replace(rates, servers={}), replace(sample, servers={}, outcomes=(*others, late))), base
    load = known(base.load)
    if load.latencies is None:
        return host, base
    slow = replace(load, latencies=replace(load.latencies, total=_slower(load.latencies.total)))
    return host, replace(base, frame=replace(base.frame, load=slow))


def _slower(times: Distribution) -> Distribution:
    """Every request took eight times as long."""
    counts: Counter[int] = Counter()
    for bucket, count in zip(times.buckets, times.counts, strict=True):
        counts[bucket + 3 * bucket_of(128)] += count
    order = sorted(counts)
    return Distribution(
        times.count, 8 * times.sum_us, 64 * times.sum_squares_us2, 8 * times.min_us, 8 * times.max_us,
        tuple(order), tuple(counts[bucket] for bucket in order),
    )  # fmt: skip


def _busier(rates: HostRates, points: float) -> HostRates:
    """With so many points of percent more in programs, as far as there is idle time for it."""
    cores = tuple(replace(core, shares=_more(core.shares, points)) for core in rates.cores)
    return replace(rates, cpu=_more(known(rates.cpu), points), cores=cores)


def _more(shares: CpuShares, points: float) -> CpuShares:
    moved = max(-shares.user, min(shares.idle, points))
    return replace(shares, user=shares.user + moved, idle=shares.idle - moved)


def _host(host: HostView, rates: HostRates, sample: HostSample) -> HostView:
    return replace(host, rates=rates, state=replace(host.state, sample=sample))


@pytest.mark.parametrize("path", CALM, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_a_quarter_of_an_hour_of_calm_has_no_alarm(path: Path) -> None:
    calm = intervals(path)
    assert len(calm) >= 5
    diagnoser = Diagnoser(VERDICTS, DEMANDS)
    said: Counter[Any] = Counter(
        diagnoser.diagnose(each).verdict.bottleneck
        for each in quarter(calm, random.Random(path.name))  # noqa: S311 - a seed, no secret
    )
    assert said == {"none": QUARTER_S}


def test_the_same_time_with_a_limit_in_it_has_one() -> None:
    """The test above can fail: ten seconds of a full processor in the same time are found."""
    calm = intervals(next(path for path in CALM if "half-load" in path.name))
    diagnoser, chance = Diagnoser(VERDICTS, DEMANDS), random.Random(1)  # noqa: S311 - a seed, no secret
    said: list[str] = []
    for number, each in enumerate(quarter(calm, chance)):
        host = each.hosts[0]
        if 100 <= number < 110:
            sample = known(host.sample)
            scheduler = None if sample.scheduler is None else replace(sample.scheduler, running=9)
            host = _host(host, _busier(known(host.rates), 100.0), replace(sample, scheduler=scheduler))
        said.append(diagnoser.diagnose(replace(each, hosts=(host,))).verdict.bottleneck)
        if number == 200:
            break
    assert 8 <= said.count("cpu") <= 14
    assert set(said) == {"none", "cpu"}
