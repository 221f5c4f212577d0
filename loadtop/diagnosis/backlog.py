"""Whether requests pile up before a pool, or only queued at the moment at which somebody looked."""

from math import sqrt

from loadtop.rates.measured import Measured

SPARE = 4.0
DEVIATIONS = 2.0
"""Beyond its workers, this many requests and twice the square root of the workers are a burst that passes; our own."""

LATE_PCT = 1.0
"""Percent of the due requests that are sent late: then every connection of an open load is taken."""


def backs_up(measured: Measured, workers: int) -> bool:
    """Whether a queue before so many workers is there to stay.

    A closed load asks again as soon as it is answered: what queues is more than the workers can take. In an open load
    requests that come together queue for a moment far below what the workers can serve; where they cannot serve it, the
    requests in flight grow without end, or all connections are taken. Without figures a queue is believed.
    """
    load = measured.load
    if load is None or load.rate is None or load.in_flight is None:
        return True
    if load.in_flight > workers + SPARE + DEVIATIONS * sqrt(workers):
        return True
    return falls_behind(measured)


def falls_behind(measured: Measured) -> bool:
    """Whether an open load sends later than it should: it has no connection free, or no time."""
    load, rates = measured.load, measured.load_rates
    generator = None if rates is None else rates.generator
    if load is None or load.rate is None or generator is None:
        return False
    return 100.0 * (generator.late or 0.0) > LATE_PCT * load.rate
