"""What a request takes when it waits for nothing, and how many are at work at once."""

from loadtop.model import Distribution, LoadSample, Role
from loadtop.model.histogram import bounds, percentile
from loadtop.rates.measured import Measured
from loadtop.rates.records import LoadRates

LOW_PERCENTILE, FEW_PERCENTILE = 10.0, 5.0
SLOWER, SLOWER_CLEAR = 1.7, 1.4
"""Even the fastest tenth takes this many times the least: then all wait, not some. The second is for a finding that
holds. ``dependency`` compares with the time when few ask. Our own."""

CALM_PCT = 75.0  # percent of the CPU above which everything slows down, although it is not full yet; our own

LOW_OF_SPREAD, HIGH_OF_SPREAD, SPREAD = 20.0, 80.0, 2.0
"""Or the fastest fifth does, and from there to the slowest fifth is this many times more: a queue without order. Our
own, from recordings of three locks, of which 7 to 15 % of the requests find one free."""

ISOLATED = 3.0  # a response this much faster than the next does not represent a request; our own


class LeastTime:
    """The least time (µs) that a request has taken since the load began, seen while few were in flight, as at the
    beginning of every closed load. Answers of intervals with errors do not count."""

    def __init__(self) -> None:
        self.us: int | None = None

    def learn(self, times: Distribution, rates: LoadRates) -> None:
        if times.count and not rates.broken and not rates.non_2xx_share:
            alone = alone_us(times)
            self.us = alone if self.us is None else min(self.us, alone)


def alone_us(times: Distribution) -> int:
    """The least time of an interval, unless it stands alone: one answer that came early is no rule."""
    if times.count < 3 or len(times.buckets) < 2 or times.counts[0] > 1:
        return times.min_us
    second = bounds(times.buckets[1])[0]
    return second if second > ISOLATED * times.min_us else times.min_us


def slow_part(times: Distribution) -> tuple[float, float]:
    """The percentile at which a request counts as one of those that wait, and its time in ms."""
    low, high = (percentile(times, each) for each in (LOW_OF_SPREAD, HIGH_OF_SPREAD))
    which = LOW_OF_SPREAD if high > SPREAD * low else LOW_PERCENTILE
    return which, percentile(times, which) / 1000


def fastest_us(times: Distribution) -> float:
    """What the fastest requests take if all wait, and not just those of some pages: few of a queue with an order find
    it empty, but up to a fifth of one without."""
    low, high = (percentile(times, each) for each in (LOW_OF_SPREAD, HIGH_OF_SPREAD))
    return low if high > SPREAD * low else percentile(times, FEW_PERCENTILE)


def at_work(measured: Measured, load: LoadSample) -> int | None:
    """How many of the requests in flight can be at work: no more than the application pools have workers, or without
    these the web servers. ``None``: not known."""
    if load.in_flight is None:
        return None
    for role in (Role.APPLICATION, Role.WEB):
        slots = [each.slots for host in measured.hosts for each in measured.readings(host, role)]
        known = [each for each in slots if each is not None]
        if known and len(known) == len(slots):
            return min(load.in_flight, sum(known))
    return load.in_flight
