"""The server's answers: where most are errors, every figure is about failing, which is often fast; where some are, more
load is no advice. Failures that grow with the load are those of a limit, others have a cause of their own."""

from collections.abc import Mapping
from math import sqrt
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

GROWING_PCT, GROWING_CLEAR_PCT = 1.0, 0.5
"""The same where the share grows with the load: more load would only add failures. Our own."""

GROWTH, DEVIATIONS, ENOUGH = 1.5, 3.0, 10.0
"""The share grows with the load if it is this many times the least share at a lower load, and the difference exceeds so
many standard errors of two proportions; it does not if a lower load has been seen for long enough that this many
failures were due at today's share. Our own."""

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

    @property
    def share(self) -> float:
        return self.failed / self.requests

    def plus(self, requests: float, failed: float) -> "_Tally":
        return _Tally(self.requests + requests, self.failed + failed)

    def grows_from(self, other: "_Tally") -> bool | None:
        """Whether this share is more than the other by a factor that matters; ``None`` where that may be chance
        (two-proportion z-test with a pooled share)."""
        if self.share <= GROWTH * other.share:
            return False
        pooled = (self.failed + other.failed) / (self.requests + other.requests)
        error = sqrt(pooled * (1.0 - pooled) * (1.0 / self.requests + 1.0 / other.requests))
        return True if self.share - other.share > DEVIATIONS * error else None


class _Trend(NamedTuple):
    """The least share of failures, in percent, at a lower level of the load, and whether it has grown since."""

    level: str
    percent: float
    grows: bool


class Failures:
    """Remembers how many requests failed at each level of the load. Bounded."""

    def __init__(self) -> None:
        self._levels: dict[LoadLevel, _Tally] = {}
        self._newest = LoadLevel()

    def assess(self, measured: Measured) -> Assessment | None:
        """Most requests of the interval failed or were answered with something else than 2xx; or too many failed for
        headroom, regardless of other limits. When the load has ended, those of the whole load are enough, however short
        it was."""
        rates, load = measured.load_rates, measured.load
        if rates is None or (rates.failed_share is None and rates.non_2xx_share is None):
            return None
        return _assessment(rates, load, self._trend(rates, load))

    def _trend(self, rates: LoadRates, load: LoadSample | None) -> _Trend | None:
        """Whether the share of failures grows with the load; ``None`` while too little is known to say so. An interval
        in which the level changes counts for the higher one, so that no lower level is given its failures."""
        level = LoadLevel.of(load)
        counted = max(level, self._newest, key=lambda each: each.amount) if level.unit == self._newest.unit else level
        self._newest = level
        requests = (rates.rps or 0.0) * rates.seconds
        if load is None or load.state.ended or not level.unit or not requests:
            return None
        now = self._levels.get(counted, _Tally()).plus(requests, sum(rates.broken.values()) / 100.0 * requests)
        if counted in self._levels or len(self._levels) < LEVELS:
            self._levels[counted] = now
        lower = [
            (each, tally)
            for each, tally in self._levels.items()
            if each.unit == level.unit
            and each.amount * GROWTH <= counted.amount
            and tally.requests * now.share >= ENOUGH
        ]
        if not lower:
            return None
        fewer, least = min(lower, key=lambda each: each[1].share)
        grows = now.grows_from(least)
        return None if grows is None else _Trend(fewer.label, 100.0 * least.share, grows)


def _assessment(rates: LoadRates, load: LoadSample | None, trend: _Trend | None) -> Assessment:
    broken, wrong = sum(rates.broken.values()), rates.non_2xx_share or 0.0
    grows = trend is not None and trend.grows
    limit, clear = (GROWING_PCT, GROWING_CLEAR_PCT) if grows else (BROKEN_PCT, BROKEN_CLEAR_PCT)
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
            evidence.append(Row("load.least_failed_pct", trend.percent, broken / GROWTH, "%", source, below=True))
    said = () if load is None or not load.message else (load.message,)
    failed = broken / 100.0 * (rates.rps or 0.0) * rates.seconds
    return Assessment(
        over=most or (broken > limit and (failed >= LEAST_BROKEN or _often(load))),
        held=broken > clear or wrong > MOST_CLEAR_PCT,
        evidence=tuple(evidence),
        advice=sentences(*named, first, *(verbatim(each) if isinstance(each, str) else each for each in said)),
        confidence=agreement(),
        certain=load is not None and _mostly_wrong(load),
        gives_way=not most,
    )


def _compared(trend: _Trend) -> Message:
    """What the share of failures at a lower load says about the cause."""
    template = (
        "At {load}, {percent:.3g} % failed: failures grow with the load."
        if trend.grows
        else "At {load}, {percent:.3g} % failed: the load is not the cause."
    )
    return Message(template, load=trend.level, percent=trend.percent)


def _named(shares: Mapping[str, float]) -> Message:
    """What is said of the most frequent class of failures."""
    first = max(shares, key=lambda each: shares[each])
    return Message(SAID[first], share=shares[first])


def _often(load: LoadSample | None) -> bool:
    """Whether so many requests of the whole load failed that it is a rate, however few there are in one interval."""
    if load is None:
        return False
    wrong = max(_failed(load), load.non_2xx or 0)
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
        "load.connect_pct": "no connection",
        "load.receive_pct": "closed by the server",
        "load.exceptions_pct": "invalid responses",
        "load.timeout_pct": "timed out",
        "load.status_pct": "server errors",
        "load.unclassified_pct": "failed requests",
        "load.least_failed_pct": "failed at a lower load",
    },
)
"""Assessed by :class:`Failures`."""
