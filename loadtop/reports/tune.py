"""The end of a sweep as text: the table, the curve, the limit, and what to set."""

from collections.abc import Iterator
from functools import partial

from loadtop.analysis.tune.knee import Knee, points
from loadtop.analysis.tune.sizing import BoundName, Sizing, TuneResult
from loadtop.analysis.tune.step import StepResult
from loadtop.diagnosis.cpu import CPU
from loadtop.diagnosis.finding import NONE
from loadtop.diagnosis.verdict import Family
from loadtop.i18n import Translatable, figure, plain, rendered, tr
from loadtop.model.histogram import mean, percentile
from loadtop.reports import text as plain_text
from loadtop.reports.text import against
from loadtop.servers.registry import VERDICTS, WORKERS, verdict_named

HEADING = "   c time   req/s ms/req   p50   p90    p99 %iowait %swpused busy limit"
BAR = 44  # cells of the longest bar of the curve

PROCESSOR = {verdict.name for verdict in VERDICTS if verdict.family is Family.PROCESSOR}
"""Limits that another worker makes no better."""

BINDS: dict[BoundName, Translatable] = {
    "memory": "memory",
    "knee": "the knee",
    "scoreboard": "the scoreboard",
    "cpu": "the CPU",
    "tested": "what was tested",
}
"""What each bound is called in a sentence."""

WIDTH = 76  # cells of a line of text: as many as a page of the cockpit has room for on 80
wrapped = partial(plain_text.wrapped, cells=WIDTH)


def report(tuned: TuneResult) -> str:
    """The whole report, lines of at most about 80 columns, with a line end."""
    if not tuned.steps:
        return tr("No step was long enough to tell anything.") + "\n"
    lines = [HEADING, *(row(result) for result in sorted(tuned.steps, key=lambda result: result.concurrency))]
    unsteady = [str(result.concurrency) for result in tuned.steps if not result.steady]
    if unsteady:
        lines += wrapped(tr("* not steady, taken as it was at the end: {steps}", steps=", ".join(unsteady)), "  ")
    return "\n".join([*lines, "", *curve(tuned), "", *(line for line, _ in conclusion(tuned))]) + "\n"


def conclusion(tuned: TuneResult) -> Iterator[tuple[str, bool]]:
    """What follows from the table: the limit, the knee, and what to set; line by line, with whether it is a main one,
    as the first lines of the knee and of what to set are."""
    sizing = tuned.sizing
    setting = wrapped(_no_sizing(tuned), "") if sizing is None else _sizing(sizing)
    for lines, main in ((_limit(tuned), False), (_knee(tuned), tuned.knee is not None), (setting, sizing is not None)):
        yield from ((line, main and i == 0) for i, line in enumerate(lines))
        if lines is not setting:
            yield "", False


def row(result: StepResult) -> str:
    latency = result.latency
    p50, p90, p99 = (percentile(latency, p) / 1000 if latency.count else None for p in (50.0, 90.0, 99.0))
    each = mean(latency) / 1000 if latency.count else None
    said = str(result.bottleneck)
    if result.fails:
        said += f", {max(result.failed, result.non_2xx)} failed"
    return (
        f"{result.concurrency:>4}{figure(round(result.seconds)):>5}{figure(result.rps):>8}{figure(each):>7}"
        f"{figure(p50):>6}{figure(p90):>6}{figure(p99):>7}{figure(result.iowait):>8}{figure(result.swap_used):>9}"
        f"{figure(result.busy):>5} {said}{'' if result.steady else ' *'}"
    )


def curve(tuned: TuneResult) -> list[str]:
    """Throughput over concurrency as bars, with the law's value as a tick."""
    known = points(tuned.steps)
    usl = None if tuned.knee is None else tuned.knee.usl
    top = max((point.rps for point in known), default=0.0)
    if top <= 0:
        return [tr("Nothing was served.")]
    law = "" if usl is None else tr("   (| is the Universal Scalability Law fitted to the steps)")
    lines = [f"   c    req/s{law}"]
    for point in known:
        cells = list(("#" * max(1, round(BAR * point.rps / top))).ljust(BAR + 2))
        if usl is not None:
            cells[min(BAR + 1, round(BAR * usl.throughput(point.concurrency) / top))] = "|"
        remark = ""
        if tuned.knee is not None and point.concurrency == tuned.knee.concurrency:
            remark = tr("knee")
        elif not point.good:
            remark = tr("swaps" if any(result.swaps for result in point.results) else "fails")
        lines.append(f"{point.concurrency:>4}{figure(point.rps):>9}  {''.join(cells)} {remark}".rstrip())
    return lines


def _limit(tuned: TuneResult) -> list[str]:
    limit = tuned.limit
    if limit is None:
        return [tr("No limit can be named: nothing was measured from the knee on.")]
    if limit.bottleneck == NONE:
        if tuned.knee is not None and not tuned.knee.bounded:
            text = "No limit was reached up to {c} connections: there may be more beyond (-c allows more)."
            return wrapped(tr(text, c=tuned.knee.highest), "")
        return [tr("No watched resource was found full where throughput stopped growing.")]
    where = tr(" on {host}", host=plain(limit.verdict.host)) if limit.verdict.host else ""
    since = tr(", from {c} connections on", c=limit.concurrency)
    lines = [f"{tr(verdict_named(limit.bottleneck).sentence)}{where}{since}  [{limit.bottleneck}]"]
    lines.extend(
        f"  {plain(item.metric):<24}{figure(round(item.value, 1)):>6} {item.unit:<5} "
        f"{against(round(item.value, 1), item.threshold)} {figure(item.threshold):<5} {item.source}"
        for item in limit.verdict.evidence
    )
    lines += wrapped(rendered(limit.verdict.advice), "  ")
    if limit.bottleneck in PROCESSOR and limit.bottleneck != CPU.name:  # whose advice says so
        lines += wrapped(tr("There is no processor time for them: more workers will not help."), "  ")
    return lines


def _knee(tuned: TuneResult) -> list[str]:
    knee = tuned.knee
    if knee is None:
        return [tr("No knee: no step served without failing or swapping.")]
    text = tr("Knee: {rps} requests/s at {c} connections", rps=figure(knee.rps), c=knee.concurrency)
    if knee.confirmed:
        text += tr(", confirmed by measuring again")
    elif knee.confirmed is not None:
        text += tr(", NOT confirmed: the second differs by over 10 %")
    text += tr(".")
    if knee.until > knee.concurrency:
        text += tr(" It stays so up to {c}.", c=knee.until)
    if knee.worse_from is not None:
        text += tr(" At {c} it is worse.", c=knee.worse_from)
    if not knee.bounded:
        text += tr(" It is the highest step measured: the knee may lie beyond.")
    if tuned.reason:
        text += tr(" The climb ended because {reason}.", reason=tuned.reason)
    return wrapped(text, "") + wrapped(_law(knee), "  ")


def _law(knee: Knee) -> str:
    usl = knee.usl
    if usl is None:
        return tr("Universal Scalability Law: not fitted, it needs four good steps or more.")
    text = tr(
        "Universal Scalability Law (Gunther 2007): gamma {gamma}, alpha {alpha}, beta {beta}, R2 {r2}: ",
        gamma=f"{usl.gamma:.4g}",
        alpha=f"{usl.alpha:.3g}",
        beta=f"{usl.beta:.3g}",
        r2=f"{usl.r2:.2f}",
    )
    if usl.peak is None:
        return text + tr("it knows no peak, throughput only flattens.")
    if knee.peak_is_measured:
        return text + tr("its peak is at {c} connections.", c=f"{usl.peak:.0f}")
    guess = "its peak, {c} connections, is outside what was measured (up to {most}): a guess."
    return text + tr(guess, c=f"{usl.peak:.0f}", most=knee.highest)


def _sizing(sizing: Sizing) -> list[str]:
    pool = tr(" of the pool {pool}", pool=plain(sizing.pool.name)) if sizing.pool.name else ""
    now = "" if sizing.pool.capacity is None else tr(" (now {number})", number=sizing.pool.capacity)
    binds = tr(BINDS[sizing.binding])
    lines = [
        tr("Set {setting}", setting=sizing.workers.setting)
        + pool
        + tr(" to {value}{now}: {what} binds", value=sizing.value, now=now, what=binds)
    ]
    for bound in sizing.bounds:
        lines += wrapped(f"{bound.name:<11}{bound.workers:>6}  {bound.reason.render()}", "  ")
    if sizing.memory is None:
        lines += wrapped(tr("memory is not known: no process of the server could be measured."), "  ")
    lines += ["", *(f"    {plain(text)}" for text in sizing.configuration.splitlines()), ""]
    return lines + wrapped(_caution(sizing), "")


def _caution(sizing: Sizing) -> str:
    if sizing.pool_was_full:
        return tr(
            "The pool itself was the limit, so what more workers would do is computed, not measured: "
            "set it, and tune again to confirm."
        )
    text = tr(sizing.workers.apply)
    fewer = sizing.pool.capacity is not None and sizing.value < sizing.pool.capacity
    if fewer and sizing.workers.takes_page and sizing.binding != "memory":
        text += tr(
            " More workers than that serve no faster, but slow clients and kept-alive connections hold workers that "
            "this load does not: leave room for them, as far as memory allows."
        )
    return text


def _no_sizing(tuned: TuneResult) -> str:
    full = tuned.limit is not None and tuned.limit.bottleneck in {workers.verdict for workers in WORKERS.values()}
    if full or any(result.pools for result in tuned.steps):
        return tr(
            "No setting can be given: the knee was not reached, so nothing measured bounds the number of workers."
        )
    unseen = tr("No setting can be given: the server's workers were not seen.")
    return " ".join([unseen, *(tr(workers.enable) for workers in WORKERS.values())])
