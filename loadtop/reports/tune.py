"""The end of a sweep as text: the table, the curve, the limit, and what to set."""

from collections.abc import Iterator, Sequence
from functools import partial

from loadtop.analysis.tune.sizing import TuneResult
from loadtop.analysis.tune.step import StepResult
from loadtop.diagnosis.cpu import CPU
from loadtop.diagnosis.finding import NONE
from loadtop.diagnosis.verdict import Family
from loadtop.i18n import figure, pad, plain, rendered, tr, width
from loadtop.model.histogram import mean, percentile
from loadtop.reports import text as plain_text
from loadtop.reports.limits import on_host, sentence_of
from loadtop.reports.tune_advice import Advice, advice, bars
from loadtop.servers.registry import KINDS, VERDICTS

HEADING = "   c time   req/s ms/req   p50   p90    p99 %iowait %swpused busy limit"
BAR = 44  # cells of the longest bar of the curve

PROCESSOR = {verdict.name for verdict in VERDICTS if verdict.family is Family.PROCESSOR}
"""Limits that another worker makes no better."""

WIDTH = 76  # cells of a line of text: as many as a page of the cockpit has room for on 80
wrapped = partial(plain_text.wrapped, cells=WIDTH)


def report(tuned: TuneResult) -> str:
    """The whole report, lines of at most about 80 columns, with a line end."""
    if not tuned.steps:
        return tr("No step was long enough to evaluate.") + "\n"
    lines = [HEADING, *(row(result) for result in sorted(tuned.steps, key=lambda result: result.concurrency))]
    unsteady = [str(result.concurrency) for result in tuned.steps if not result.steady]
    if unsteady:
        text = "* throughput was not steady in these steps, so its last values were used: {steps}"
        lines += wrapped(tr(text, steps=", ".join(unsteady)), "  ")
    lines += wrapped(busy_means(tuned.steps), "  ")
    return "\n".join([*lines, "", *curve(tuned), "", *(line for line, _ in conclusion(tuned))]) + "\n"


def conclusion(tuned: TuneResult) -> Iterator[tuple[str, bool]]:
    """What follows from the table: the limit, the knee, and what to set; line by line, with whether it is a main one,
    as the first lines of the knee and of what to set are."""
    found = advice(tuned)
    knee = wrapped(found.knee, "") + (wrapped(found.law, "  ") if found.law else [])
    setting = _setting_lines(found)
    main_setting = tuned.sizing is not None
    for lines, main in ((_limit(tuned), False), (knee, tuned.knee is not None), (setting, main_setting)):
        yield from ((line, main and i == 0) for i, line in enumerate(lines))
        if lines is not setting:
            yield "", False


def busy_means(steps: Sequence[StepResult]) -> str:
    """Whose workers the column ``busy`` counts; empty where it is of none."""
    counted = next((pool.kind for result in steps for pool in result.pools if not pool.name), None)
    server = next((kind.title for kind in KINDS if kind.name == counted), None)
    if server is not None:
        return tr("busy: {server} workers in use", server=server)
    return tr("busy: workers in use") if any(result.busy is not None for result in steps) else ""


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
    found = list(bars(tuned))
    top = max((bar.rps for bar in found), default=0.0)
    if top <= 0:
        return [tr("No request was served.")]
    fitted = any(bar.law is not None for bar in found)
    law = tr("   (| marks the Universal Scalability Law fitted to the steps)") if fitted else ""
    lines = [f"   c    req/s{law}"]
    for bar in found:
        cells = list(("#" * max(1, round(BAR * bar.rps / top))).ljust(BAR + 2))
        if bar.law is not None:
            cells[min(BAR + 1, round(BAR * bar.law / top))] = "|"
        lines.append(f"{bar.concurrency:>4}{figure(bar.rps):>9}  {''.join(cells)} {bar.remark}".rstrip())
    return lines


def _limit(tuned: TuneResult) -> list[str]:
    limit = tuned.limit
    if limit is None:
        return [tr("It is unknown what limits throughput: nothing was measured beyond the knee.")]
    if limit.bottleneck == NONE:
        if tuned.knee is not None and not tuned.knee.bounded:
            text = "No limit was reached up to {c} connections. Raise -c to search further."
            return wrapped(tr(text, c=tuned.knee.highest), "")
        return [tr("No watched resource was at its limit when throughput stopped growing.")]
    since = tr(", from {c} connections up", c=limit.concurrency)
    lines = [f"{sentence_of(limit.verdict)}{on_host(limit.verdict.host)}{since}  [{limit.bottleneck}]"]
    lines += plain_text.evidence_lines(limit.verdict.evidence)
    if tuned.sizing is None or tuned.sizing.workers.verdict != limit.bottleneck:  # else what to set follows
        lines += wrapped(rendered(limit.verdict.advice), "  ")
    if limit.bottleneck in PROCESSOR and limit.bottleneck != CPU.name:  # whose advice says so
        lines += wrapped(tr("More workers will not help: no CPU time is left for them."), "  ")
    return lines


def _setting_lines(found: Advice) -> list[str]:
    if not found.configuration:
        return wrapped(found.setting, "")
    lines = [found.setting]
    lines += wrapped(tr("Highest number of workers that each of these allows:"), "  ")
    cells = max(width(name) for name, _, _ in found.bounds)
    for name, workers, reason in found.bounds:
        lines += wrapped(f"{pad(name, cells)}{workers:>7}  {reason}", "  ")
    lines += ["", *(f"    {plain(text)}" for text in found.configuration.splitlines()), ""]
    return lines + wrapped(found.caution, "")
