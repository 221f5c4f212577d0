"""The server's answers: where most are errors, every figure is about failing, which is often fast; where some are, more
load is no advice. Failures that grow with the load are those of a limit, others have a cause of their own."""

from collections.abc import Mapping
from math import exp, sqrt
from typing import NamedTuple

from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.i18n import Message, Translatable, sentences, verbatim
from loadtop.model import LoadLevel, LoadSample, LoadState
from loadtop.rates.measured import Measured
from loadtop.rates.records import LoadRates

MOST_PCT, MOST_CLEAR_PCT = 50.0, 20.0
"""Percent of the requests that failed or got no 2xx: "mostly" is more than half; cleared at PCP's 20."""

BROKEN_PCT, BROKEN_CLEAR_PCT = 2.0, 1.0
"""Percent of the requests that failed or met a server error from which a user calls a server broken; our own."""

GROWING_PCT = 1.0
"""The same where the share grows with the load: more load would only add failures. Our own."""

GROWTH, DEVIATIONS, ENOUGH = 1.5, 4.0, 10.0
"""The share grows with the load if its odds are this many times those at a lower load, the difference exceeds so many
standard errors of two proportions, and this many requests failed. Our own."""

FIRST = 2  # intervals of a level in which failures that come with it begin; our own

LEVELS = 64  # how many levels of the load are remembered

LEAST_BROKEN, LEAST_IN_ALL = 2.0, 5
"""Requests of one interval, or of the whole load: a single one that fails is no rate. Our own."""

SAID: Mapping[str, Translatable] = {
    "connect": "{share:.0f} % of the requests cannot connect.",
    "receive": "{share:.0f} % of the responses are cut off: the server closes the connection before they are complete.",
    "exceptions": "{share:.0f} % of the responses are not valid HTTP.",
    "timeout": "{share:.0f} % of the requests time out (-s).",
    "status": "{share:.0f} % of the responses have a status of 5xx or 429.",
    "unclassified": "{share:.0f} % of the requests fail.",
}
"""What is said of each class of ``LoadRates.broken``."""


class _Tally(NamedTuple):
    """Requests at one level of the load, and how many of them failed."""

    requests: float = 0.0
    failed: float = 0.0
    intervals: int = 0

    @property
    def percent(self) -> float:
        return 100.0 * self.failed / self.requests

    def plus(self, requests: float, failed: float) -> "_Tally":
        return _Tally(self.requests + requests, self.failed + failed, self.intervals + 1)

    def odds_over(self, other: "_Tally") -> float:
        """The odds that a request fails, in times of the other's, with half a request added to each number (Haldane and
        Anscombe)."""
        mine, others = ((each.failed + 0.5) / (each.requests - each.failed + 0.5) for each in (self, other))
        return mine / others

    def exceeds(self, other: "_Tally") -> bool:
        """Whether the share is higher beyond chance (two-proportion z-test with a pooled share)."""
        pooled = (self.failed + other.failed) / (self.requests + other.requests)
        error = sqrt(pooled * (1.0 - pooled) * (1.0 / self.requests + 1.0 / other.requests))
        return self.percent - other.percent > 100.0 * DEVIATIONS * error

    def spread_of_odds(self, other: "_Tally") -> float:
        """The factor by which :meth:`odds_over` may be wrong: two standard errors of its logarithm (Woolf)."""
        numbers = (self.failed, self.requests - self.failed, other.failed, other.requests - other.failed)
        return exp(2.0 * sqrt(sum(1.0 / (number + 0.5) for number in numbers)))


class _Trend(NamedTuple):
    """The share of failures, in percent, at this level of the load, and the least at a lower one; whether it grows."""

    percent: float
    level: str
    least_percent: float
    grows: bool


class Failures:
    """Remembers how many requests failed at each level of a load that rises. Bounded."""

    def __init__(self) -> None:
        self._forget()
        self._requests = 0

    def _forget(self) -> None:
        self._levels: dict[LoadLevel, _Tally] = {}
        self._first: dict[LoadLevel, _Tally] = {}  # of their first intervals
        self._newest = LoadLevel()

    def assess(self, measured: Measured) -> Assessment | None:
        """Most requests of the interval failed or were answered with something else than 2xx; or too many failed for
        headroom, regardless of other limits. When the load has ended, those of the whole load are enough, however short
        it was."""
        rates, load = measured.load_rates, measured.load
        begins = load is None or load.state in (LoadState.STARTING, LoadState.WARMUP)
        requests = 0 if load is None else load.requests or 0
        if begins or requests < self._requests:
            self._forget()
        self._requests = requests
        if rates is None or (rates.failed_share is None and rates.non_2xx_share is None):
            return None
        level = None if load is None or begins else self._learn(rates, load)
        return _assessment(rates, load, None if level is None else self._trend(level))

    def _learn(self, rates: LoadRates, load: LoadSample) -> LoadLevel | None:
        """Count the requests of an interval. Returns their level, if it can be compared with others: not below an
        earlier one, which may still get the failures of that, and not while requests time out, which were sent long
        before."""
        level = LoadLevel.of(load)
        if level.unit != self._newest.unit:
            self._forget()
        requests = (rates.rps or 0.0) * rates.seconds
        if load.state.ended or not level.unit or not requests or level.amount < self._newest.amount:
            return None
        self._newest = level
        if level not in self._levels and len(self._levels) == LEVELS:
            return None
        timed_out = rates.broken.get("timeout", 0.0)
        failed = (sum(rates.broken.values()) - timed_out) / 100.0 * requests
        self._levels[level] = self._levels.get(level, _Tally()).plus(requests, failed)
        if self._levels[level].intervals <= FIRST:
            self._first[level] = self._levels[level]
        return None if timed_out else level

    def _trend(self, level: LoadLevel) -> _Trend | None:
        """Whether the share of failures grows with the load; ``None`` while too little is known to say so. Where
        failures begin long after the level was reached, something else has changed."""
        now, first = self._levels[level], self._first[level]
        lower = [tally for tally in self._levels.items() if tally[0].amount * GROWTH <= level.amount]
        if not lower or now.failed < ENOUGH:
            return None
        fewer, least = min(lower, key=lambda each: each[1].percent)
        odds = now.odds_over(least)
        if odds > GROWTH and now.exceeds(least) and first.failed and first.odds_over(least) > GROWTH:
            return _Trend(now.percent, fewer.label, least.percent, grows=True)
        if odds * now.spread_of_odds(least) <= GROWTH:
            return _Trend(now.percent, fewer.label, least.percent, grows=False)
        return None


def _assessment(rates: LoadRates, load: LoadSample | None, trend: _Trend | None) -> Assessment:
    broken, wrong = sum(rates.broken.values()), rates.non_2xx_share or 0.0
    grows = trend is not None and trend.grows and trend.percent > GROWING_PCT
    limit = GROWING_PCT if grows else BROKEN_PCT
    most = max(broken, wrong) > MOST_PCT
    first = Message("Fix this first.")
    if most:
        kind = "load.failed_pct" if broken >= wrong else "load.non_2xx_pct"
        evidence = [Row(kind, max(broken, wrong), MOST_PCT, "%", "loadtop: over half")]
        first = Message(
            "Fix this first: most requests failed or got a status other than 2xx, so the figures do not describe "
            "normal responses."
        )
        named = [_named(rates.broken)] if broken >= wrong and rates.broken else []
    else:
        classes = sorted(rates.broken, key=lambda each: -rates.broken[each]) or ["unclassified"]
        shares = {each: rates.broken.get(each, 0.0) for each in classes}
        evidence = [Row(f"load.{each}_pct", shares[each], limit, "%", "loadtop, calibrated") for each in classes]
        named = [_named(shares)]
    if named and trend is not None:
        named.append(_compared(trend))
        if trend.grows:
            source = f"loadtop: at {trend.level}"
            evidence.append(Row("load.least_failed_pct", trend.least_percent, trend.percent, "%", source, below=True))
    said = () if load is None or not load.message else (load.message,)
    failed = broken / 100.0 * (rates.rps or 0.0) * rates.seconds
    return Assessment(
        over=most or (broken > limit and (failed >= LEAST_BROKEN or _often(load))),
        held=broken > BROKEN_CLEAR_PCT or wrong > MOST_CLEAR_PCT,
        evidence=tuple(evidence),
        advice=sentences(*named, first, *(verbatim(each) if isinstance(each, str) else each for each in said)),
        confidence=agreement(),
        certain=load is not None and _mostly_wrong(load),
        gives_way=not most,
    )


def _compared(trend: _Trend) -> Message:
    """What the share of failures at a lower load says about the cause."""
    template = "The load is not the cause: {percent:.3g} % already failed at {load}."
    if trend.grows:
        template = "Failures grow with the load: only {percent:.3g} % failed at {load}."
    return Message(template, load=trend.level, percent=round(trend.least_percent, 1))


def _named(shares: Mapping[str, float]) -> Message:
    """What is said of the most frequent class of failures."""
    first = max(shares, key=lambda each: shares[each])
    return Message(SAID[first], share=shares[first])


def _often(load: LoadSample | None) -> bool:
    """Whether so many requests of the whole load failed that it is a rate, however few there are in one interval."""
    if load is None:
        return False
    wrong = _failed(load) + (load.server_errors or 0)
    return wrong >= LEAST_IN_ALL and 100.0 * wrong > BROKEN_PCT * (load.requests or 0)


def _failed(load: LoadSample) -> int:
    """Failed requests so far, without responses that only differ in length."""
    return (load.failed or 0) - ((load.failures.length or 0) if load.failures is not None else 0)


def _mostly_wrong(load: LoadSample) -> bool:
    """Whether the load has ended, and most of its requests failed or got no 2xx."""
    wrong = max(_failed(load), load.non_2xx or 0)
    ended = load.state in (LoadState.DONE, LoadState.STOPPED)
    return ended and 100.0 * wrong > MOST_PCT * (load.requests or 0)


ERRORS = Verdict(
    name="errors",
    letter="E",
    title="errors",
    sentence="Requests fail or get no 2xx response",
    headline="requests fail or get no 2xx response",
    clause=True,
    family=Family.ANSWERS,
    titles={
        "load.failed_pct": "failed requests",
        "load.non_2xx_pct": "responses not 2xx",
        "load.connect_pct": "failed to connect",
        "load.receive_pct": "responses cut off",
        "load.exceptions_pct": "invalid responses",
        "load.timeout_pct": "timed out",
        "load.status_pct": "server errors",
        "load.unclassified_pct": "failed requests",
        "load.least_failed_pct": "failed at a lower load",
    },
)
"""Assessed by :class:`Failures`."""
