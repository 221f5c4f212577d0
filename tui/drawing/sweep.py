"""A sweep as a table whose bars are the throughput curve: a row per concurrency, the knee marked."""

from collections.abc import Sequence

from loadtop.analysis.tune.knee import Knee
from loadtop.analysis.tune.step import StepResult
from loadtop.i18n import Translatable, pad, tr
from loadtop.model.histogram import mean, percentile
from tui.drawing.bars import gauge
from tui.drawing.glyphs import Glyphs
from tui.drawing.line import Line, Role, Span, line
from tui.drawing.numbers import ABSENT, count, milliseconds, per_second, percent

TINY: tuple[tuple[Translatable, int], ...] = (("c", 4), ("req/s", 8), ("ms", 7), ("p99", 7))
NARROW: tuple[tuple[Translatable, int], ...] = (*TINY, ("iowait%", 8), ("swap%", 6), ("busy", 5))
WIDE: tuple[tuple[Translatable, int], ...] = (
    ("c", 5),
    ("s", 5),
    ("req/s", 9),
    ("ms mean", 9),
    ("p50", 8),
    ("p90", 8),
    ("p99", 8),
    ("failed", 7),
    ("idle%", 6),
    ("%iowait", 8),
    ("%swpused", 9),
    ("busy", 5),
)
LIMIT = 15  # cells of the verdict's name

NARROW_CELLS, WIDE_CELLS = 76, 112
"""Cells from which some columns more, and all of them, have room beside a bar."""

LEAST_BAR = 6


def table(
    results: Sequence[StepResult], running: StepResult | None, knee: Knee | None, cells: int, glyphs: Glyphs
) -> list[Line]:
    """Heading and rows, fewest connections first; the step that runs is dim and has no mark yet."""
    columns = WIDE if cells >= WIDE_CELLS else NARROW if cells >= NARROW_CELLS else TINY
    heading = "".join(pad(tr(name), size, right=True) for name, size in columns)
    found = [line(Span(f"{heading}  {pad(tr('limit'), LIMIT)}", Role.DIM), Span(tr("throughput"), Role.DIM))]
    known = [(result, False) for result in results] + ([(running, True)] if running is not None else [])
    top = max((result.rps for result, _ in known), default=0.0)
    room = max(LEAST_BAR, cells - sum(size for _, size in columns) - 2 - LIMIT - 7)
    for result, runs in sorted(known, key=lambda pair: (pair[0].concurrency, pair[0].at_s)):
        found.append(_row(result, runs, knee, columns, top, room, glyphs))
    return found


def _row(
    result: StepResult,
    runs: bool,
    knee: Knee | None,
    columns: Sequence[tuple[str, int]],
    top: float,
    room: int,
    glyphs: Glyphs,
) -> Line:
    values = _values(result)
    text = "".join(values[name].rjust(size) for name, size in columns)
    bad = result.fails or result.swaps
    at_knee = knee is not None and not runs and result.concurrency == knee.concurrency
    role = Role.DIM if runs else Role.BAD if bad else Role.GOOD if at_knee else Role.GRAPH
    full = result.fails or str(result.bottleneck) != "none"
    said = tr("fails" if result.fails else str(result.bottleneck))
    settled = f" {tr('knee')}" if at_knee else "" if result.steady else f" {glyphs.unsure}"
    mark = f" {glyphs.ellipsis}" if runs else settled
    return line(
        Span(text, Role.DIM if runs else Role.VALUE if at_knee else Role.TEXT),
        Span(f"  {pad(said, LIMIT)}", Role.DIM if runs or not full else Role.BAD if bad else Role.WARN),
        *gauge(100.0 * result.rps / top if top > 0 else None, room, role, glyphs),
        Span(mark, Role.GOOD if at_knee else Role.DIM),
    )


def _values(result: StepResult) -> dict[str, str]:
    latency = result.latency
    p50, p90, p99 = (percentile(latency, share) / 1000 if latency.count else None for share in (50.0, 90.0, 99.0))
    each = milliseconds(mean(latency) / 1000) if latency.count else ABSENT
    iowait, swap = percent(result.iowait), percent(result.swap_used)
    return {
        "c": str(result.concurrency),
        "s": f"{result.seconds:.0f}",
        "req/s": per_second(result.rps),
        "ms": each,
        "ms mean": each,
        "p50": milliseconds(p50),
        "p90": milliseconds(p90),
        "p99": milliseconds(p99),
        "failed": count(result.failed),
        "idle%": percent(result.idle),
        "iowait%": iowait,
        "%iowait": iowait,
        "swap%": swap,
        "%swpused": swap,
        "busy": count(result.busy),
    }
