"""The server's answers: when most of them are errors, every figure is about failing, which is often fast."""

from loadtop.diagnosis.verdict import Assessment, Family, Verdict, agreement
from loadtop.i18n import Message, sentences, verbatim
from loadtop.model import LoadState
from loadtop.rates.measured import Measured

ERRORS_PCT, ERRORS_CLEAR_PCT = 50.0, 20.0
"""Percent of the requests that failed or got no 2xx: "mostly" is more than half; cleared at PCP's 20."""


def _assess(measured: Measured) -> Assessment | None:
    """Most requests of the interval failed or were answered with something else than 2xx. When the load has
    ended, those of the whole load are enough, however short it was."""
    rates = measured.load_rates
    if rates is None or (rates.failed_share is None and rates.non_2xx_share is None):
        return None
    failed, wrong = rates.failed_share or 0.0, rates.non_2xx_share or 0.0
    share = max(failed, wrong)
    kind = "load.failed_pct" if failed >= wrong else "load.non_2xx_pct"
    load = measured.load
    said, certain = None, False
    if load is not None:
        said, bad = load.message or None, max(load.failed or 0, load.non_2xx or 0)
        ended = load.state in (LoadState.DONE, LoadState.STOPPED)
        certain = ended and 100.0 * bad > ERRORS_PCT * (load.requests or 0)
    return Assessment(
        over=share > ERRORS_PCT,
        held=share > ERRORS_CLEAR_PCT,
        evidence=((kind, share, ERRORS_PCT, "%", "loadtop: most requests"),),
        advice=sentences(
            Message("Most answers are errors, so the figures measure failures: fix that first."),
            verbatim(said) if isinstance(said, str) else said,
        ),
        confidence=agreement(),
        certain=certain,
    )


ERRORS = Verdict(
    name="errors",
    letter="E",
    title="ERRORS",
    sentence="The server answers mostly with errors",
    headline="most answers are errors: the figures measure failures",
    clause=True,
    family=Family.ANSWERS,
    of_load=_assess,
    titles={"load.failed_pct": "failed requests", "load.non_2xx_pct": "answers not 2xx"},
)
