"""The server's answers: where most are errors, every figure is about failing, which is often fast; where some are, more
load is no advice."""

from collections.abc import Mapping

from loadtop.diagnosis.verdict import Assessment, Family, Row, Verdict, agreement
from loadtop.i18n import Message, Translatable, sentences, verbatim
from loadtop.model import LoadSample, LoadState
from loadtop.rates.measured import Measured

MOST_PCT, MOST_CLEAR_PCT = 50.0, 20.0
"""Percent of the requests that failed or got no 2xx: "mostly" is more than half; cleared at PCP's 20."""

BROKEN_PCT, BROKEN_CLEAR_PCT = 2.0, 1.0
"""Percent of the requests that failed or met a server error from which a user calls a server broken; our own."""

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


def _assess(measured: Measured) -> Assessment | None:
    """Most requests of the interval failed or were answered with something else than 2xx; or too many failed for
    headroom, regardless of other limits. When the load has ended, those of the whole load are enough, however short it
    was."""
    rates, load = measured.load_rates, measured.load
    if rates is None or (rates.failed_share is None and rates.non_2xx_share is None):
        return None
    broken, wrong = sum(rates.broken.values()), rates.non_2xx_share or 0.0
    most = max(broken, wrong) > MOST_PCT
    if most:
        kind = "load.failed_pct" if broken >= wrong else "load.non_2xx_pct"
        evidence = [Row(kind, max(broken, wrong), MOST_PCT, "%", "loadtop: over half")]
        advice = Message(
            "Fix this first: most requests failed or got a status other than 2xx, so the figures do not describe "
            "normal responses."
        )
        if broken >= wrong and rates.broken:
            advice = sentences(_named(rates.broken), advice)
    else:
        classes = sorted(rates.broken, key=lambda each: -rates.broken[each]) or ["unclassified"]
        shares = {each: rates.broken.get(each, 0.0) for each in classes}
        evidence = [Row(f"load.{each}_pct", shares[each], BROKEN_PCT, "%", "loadtop, calibrated") for each in classes]
        advice = sentences(_named(shares), Message("Fix this first."))
    said = () if load is None or not load.message else (load.message,)
    failed = broken / 100.0 * (rates.rps or 0.0) * rates.seconds
    return Assessment(
        over=most or (broken > BROKEN_PCT and (failed >= LEAST_BROKEN or _often(load))),
        held=broken > BROKEN_CLEAR_PCT or wrong > MOST_CLEAR_PCT,
        evidence=tuple(evidence),
        advice=sentences(advice, *(verbatim(each) if isinstance(each, str) else each for each in said)),
        confidence=agreement(),
        certain=load is not None and _mostly_wrong(load),
        gives_way=not most,
    )


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
    of_load=_assess,
    titles={
        "load.failed_pct": "failed requests",
        "load.non_2xx_pct": "responses not 2xx",
        "load.connect_pct": "no connection",
        "load.receive_pct": "closed by the server",
        "load.exceptions_pct": "invalid responses",
        "load.timeout_pct": "timed out",
        "load.status_pct": "server errors",
        "load.unclassified_pct": "failed requests",
    },
)
