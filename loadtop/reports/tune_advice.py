"""What a sweep was made for, in words: the knee, the law fitted to it, and what to set."""

from collections.abc import Iterator
from typing import NamedTuple

from loadtop.analysis.tune.knee import Knee, Point, points
from loadtop.analysis.tune.sizing import BoundName, Sizing, TuneResult
from loadtop.i18n import Translatable, figure, plain, tr
from loadtop.servers.registry import WORKERS

KNEE: Translatable = "The knee"
SETTING: Translatable = "What to set"

BINDS: dict[BoundName, Translatable] = {
    "memory": "memory",
    "knee": "the knee",
    "scoreboard": "the number of busy workers",
    "cpu": "the CPU",
    "tested": "the highest load tested",
}
"""What each bound is called in a sentence."""

BOUNDS: dict[BoundName, Translatable] = {
    "memory": "memory",
    "knee": "knee",
    "scoreboard": "busy workers",
    "cpu": "CPU",
    "tested": "load tested",
}
"""What each bound is called in a table."""


class Bar(NamedTuple):
    """Throughput at one concurrency: as measured, and by the law where that is fitted; ``remark`` may be empty."""

    concurrency: int
    rps: float
    law: float | None
    remark: str


class Advice(NamedTuple):
    """What follows from the steps, in paragraphs of one line each, so that each report breaks them as it does.

    ``knee`` and ``law`` are sentences; ``setting`` says what to set, or why no setting can be given. ``bounds`` are the
    name, number and reason of each limit of the setting, the one that binds first; ``configuration`` is the block to
    paste. These two and ``caution`` are empty where there is nothing to set."""

    knee: str
    law: str
    setting: str
    bounds: tuple[tuple[str, str, str], ...]
    configuration: str
    caution: str


def advice(tuned: TuneResult) -> Advice:
    knee, sizing = tuned.knee, tuned.sizing
    law = "" if knee is None else _law(knee)
    if sizing is None:
        return Advice(_knee(tuned), law, _no_sizing(tuned), (), "", "")
    bounds = tuple((tr(BOUNDS[bound.name]), figure(bound.workers), bound.reason.render()) for bound in sizing.bounds)
    setting, caution = _setting(sizing), _caution(sizing)
    if sizing.memory is None:
        caution = tr("Memory per process is unknown: no server process could be measured.") + " " + caution
    return Advice(_knee(tuned), law, setting, bounds, sizing.configuration, caution)


def bars(tuned: TuneResult) -> Iterator[Bar]:
    """The throughput of each concurrency that was measured, the lowest first."""
    usl = None if tuned.knee is None else tuned.knee.usl
    for point in points(tuned.steps):
        at_knee = tuned.knee is not None and point.concurrency == tuned.knee.concurrency
        remark = tr("knee" if at_knee else _trouble(point))
        law = None if usl is None else usl.throughput(point.concurrency)
        yield Bar(point.concurrency, point.rps, law, remark)


_WORSE: dict[str, Translatable] = {
    "": " Throughput falls at {c}.",
    "swaps": " The server swaps at {c}.",
    "fails": " Requests fail at {c}.",
}
"""What is worse with more connections, by :func:`_trouble`."""


def _trouble(point: Point) -> Translatable:
    """Why a concurrency is no good; empty for one that is."""
    if point.good:
        return ""
    return "swaps" if any(result.swaps for result in point.results) else "fails"


def _knee(tuned: TuneResult) -> str:
    knee = tuned.knee
    if knee is None:
        return tr("No knee: in every step, requests failed or the server swapped.")
    text = tr("Knee: {rps} requests/s at {c} connections", rps=figure(knee.rps), c=knee.concurrency)
    if knee.confirmed:
        text += tr(", confirmed by a second measurement")
    elif knee.confirmed is not None:
        text += tr(", NOT confirmed: a second measurement differs by over 10 %")
    text += tr(".")
    if knee.until > knee.concurrency:
        text += tr(" From there, throughput is flat up to {c}.", c=knee.until)
    if knee.worse_from is not None:
        worse = next(point for point in points(tuned.steps) if point.concurrency == knee.worse_from)
        text += tr(_WORSE[_trouble(worse)], c=knee.worse_from)
    if not knee.bounded:
        text += tr(" This is the highest step measured; the knee may be higher.")
    if tuned.reason and ("c", knee.worse_from) not in tuned.reason.params:  # which has just been said
        text += tr(" The search stopped because {reason}.", reason=tuned.reason)
    return text


def _law(knee: Knee) -> str:
    usl = knee.usl
    if usl is None:
        return tr("Universal Scalability Law: not fitted (needs at least four steps without failures or swapping).")
    text = "The Universal Scalability Law (Gunther 2007), fitted to the steps, predicts that throughput only levels off"
    if usl.peak is not None:
        text = "The Universal Scalability Law (Gunther 2007), fitted to the steps, predicts the peak at {c} connections"
    beyond = "" if usl.peak is None or knee.peak_is_measured else tr(", beyond the measured {most}", most=knee.highest)
    return tr(text, c=f"{usl.peak or 0:.0f}") + beyond + tr(" (R2 of the fit: {r2})", r2=f"{usl.r2:.2f}") + tr(".")


def _setting(sizing: Sizing) -> str:
    pool = tr(" of the pool {pool}", pool=plain(sizing.pool.name)) if sizing.pool.name else ""
    now = "" if sizing.pool.capacity is None else tr(" (now {number})", number=sizing.pool.capacity)
    binds = tr(BINDS[sizing.binding])
    name = tr("Set {setting}", setting=sizing.workers.setting)
    return name + pool + tr(" to {value}{now}, capped by {what}", value=sizing.value, now=now, what=binds)


def _caution(sizing: Sizing) -> str:
    if sizing.pool_was_full:
        return tr(
            "The pool was the limit, so loadtop could not measure more workers. Change the setting and run tune again "
            "to confirm."
        )
    text = tr(sizing.workers.apply)
    fewer = sizing.pool.capacity is not None and sizing.value < sizing.pool.capacity
    if fewer and sizing.workers.takes_page and sizing.binding != "memory":
        text += tr(
            " More workers will not serve this load faster. For slow clients and keep-alive connections, set more "
            "if memory allows."
        )
    return text


def _no_sizing(tuned: TuneResult) -> str:
    full = tuned.limit is not None and tuned.limit.bottleneck in {workers.verdict for workers in WORKERS.values()}
    if full or any(result.pools for result in tuned.steps):
        return tr("No recommendation: the knee was not reached, so the number of workers needed is unknown.")
    unseen = tr("No recommendation: the server's workers were not seen.")
    return " ".join([unseen, *(tr(each.enable) for each in WORKERS.values() if each.enable)])
