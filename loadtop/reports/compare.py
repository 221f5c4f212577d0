"""A comparison in words and as JSON."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec.structs import asdict

from loadtop.analysis.comparison import MAIN, Change, Comparison, MetricRow, PeriodTable, Run
from loadtop.analysis.significance import LEAST, LEVEL, METHOD, MOST
from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.settings import LOAD
from loadtop.diagnosis.breakdown import Part, read_apart
from loadtop.diagnosis.finding import Finding
from loadtop.i18n import Translatable, figure, pad, plain, tr
from loadtop.model import LOADTOP
from loadtop.reports.limits import subject_after
from loadtop.reports.tables import place_title
from loadtop.reports.text import wrapped
from loadtop.servers.registry import KINDS

SCHEMA = "loadtop.compare/1"
NAMES = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
WIDE, NARROW = 24, 10  # cells of the columns: the names of the metrics, and a value
TELLING = frozenset({"better", "worse", "higher", "lower"})
CONCLUSIONS: dict[str, Translatable] = {"better": "better than A", "worse": "worse than A"}
LEAST_SHIFT, MOST_SHIFTS = 0.05, 3  # the least change shown, as a share of the mean time; the most that are shown
USUAL = frozenset({"cpu.idle", "cpu.iowait", "swap.used_pct", *(f"{kind.name}.busy" for kind in KINDS)})
"""Numbers of a machine that are shown also where they do not differ."""

_Place = tuple[str, str | None, str | None]  # what a part of the response time is: its kind, host and name


def letter(run: int) -> str:
    return NAMES[run] if run < len(NAMES) else f"#{run + 1}"


def text(comparison: Comparison, *, everything: bool = False) -> str:
    """The comparison for people, with a line end. Without ``everything``, only the host values that differ or are
    needed most often."""
    return "\n".join([*head(comparison), "", *body(comparison, everything=everything)]) + "\n"


def head(comparison: Comparison) -> list[str]:
    """What was compared, what comes of it, and which settings differ."""
    return [*_runs(comparison.runs), "", *_conclusion(comparison), "", *_settings(comparison)]


def body(comparison: Comparison, *, everything: bool, how: str = "--all") -> list[str]:
    """Every number, and how it was judged. ``how``: what shows everything."""
    whole, *parts = comparison.tables
    lines: list[str] = []
    for table in (whole,) if comparison.by == "time" else comparison.tables:
        lines += [*_table(comparison, table, how=None if everything else how), ""]
    if comparison.by == "time" and parts:
        lines += [*_periods(comparison, parts), ""]
    margins: Translatable = "{percent} % (p90 and p99: more; shares of the CPU: 5 percentage points)"
    least = tr(margins, percent=f"{comparison.percent:g}")
    lines.append(tr("Differences below {least} are ignored, because identical runs also differ.", least=least))
    lines += wrapped(tr("{method}; significance level {level}.", method=tr(METHOD), level=f"{LEVEL:g}"), "", 76)
    return [line.rstrip() for line in lines]


def _runs(runs: Sequence[Run]) -> Iterator[str]:
    for number, run in enumerate(runs):
        load = run.summary["load"]
        loads = ", ".join(run.series.loads.values())
        done = tr("watched for {seconds:.0f} s", seconds=run.duration)
        if load is not None:
            done = tr("{number} requests, {rps}/s", number=figure(load["requests"]), rps=figure(load["rps"]))
        yield f"{letter(number)}  {plain(run.name)}  {run.summary['started']}"
        about = (plain(run.summary["url"] or ""), loads, done)
        yield f"   {'  '.join(filter(None, about))}"


def _conclusion(comparison: Comparison) -> Iterator[str]:
    for number, run in enumerate(comparison.runs[1:], start=1):
        direction = comparison.overall(number)
        said = "{run} is {words}" if direction in TELLING else "{run} against A: {words}"
        yield tr(said, run=letter(number), words=tr(CONCLUSIONS.get(direction, direction)))
        of_load = [(table, row) for table in comparison.judged for row in table.rows if row.of == LOAD]
        for table, row in of_load:
            change = row.changes[number - 1]
            where = tr(" at {period}", period=_called(table)) if comparison.by == "step" else ""
            told = f"   {tr(row.metric.title)}{where}: {_values(row, number)} ({percent(change)})"
            if change.direction in TELLING:
                yield f"{told}, {tr(change.direction)}"
            elif change.direction == "too short to evaluate" and change.difference and row.metric.name in MAIN:
                yield f"{told}: {_shortness(row, number)}"
        yield from shifts_of(comparison.runs[0].summary["breakdown"], run.summary["breakdown"])
        first, then = _limit_in_words(comparison.runs[0]), _limit_in_words(run)
        if _is_same_limit(comparison.runs[0], run):
            yield f"   {tr('the same limit')}: {then}"
        else:
            yield f"   {tr('limit: {first} in A, {then} in {run}', first=first, then=then, run=letter(number))}"


class Shift(NamedTuple):
    """A part of the mean response time in two runs, in ms: as in the summary, or ``None`` for the unexplained rest."""

    part: Json | None
    before_ms: float
    after_ms: float

    @property
    def ms(self) -> float:
        return self.after_ms - self.before_ms


def shifts_of(before: Json | None, after: Json | None) -> Iterator[str]:
    """Where the mean response time changed most, in words."""
    for shift in _shifts(before, after):
        title = tr("unexplained") if shift.part is None else place_title(shift.part)
        values = tr("{a} to {b}", a=figure(shift.before_ms), b=figure(shift.after_ms))
        words = f"{'+' if shift.ms > 0 else '-'}{figure(abs(shift.ms))} ms"
        yield f"   {tr('changed most in the response time')}: {title}, {values} ms ({words})"


def _shifts(before: Json | None, after: Json | None) -> list[Shift]:
    """The parts that changed most. Parts that one run did not measure are left out, as is what changed by less than a
    share of the longer mean."""
    if before is None or after is None or before["parts"] is None or after["parts"] is None:
        return []
    runs = before["parts"], after["parts"]
    one_queue = all(sum(part["part"] == Part.ACCEPT_QUEUE for part in parts) == 1 for parts in runs)
    first, then = ({_place(part, one_queue=one_queue): part for part in parts} for parts in runs)
    unknown = {part["part"] for parts in runs for part in parts if part["ms"] is None}
    shifts: list[Shift] = []
    for place in sorted({**first, **then}, key=str):
        if read_apart(place[0], place[2]) == LOADTOP and not (place in first and place in then):
            continue  # it may not have been known
        if place[0] not in unknown or read_apart(place[0], place[2]):
            a, b = ((run[place]["ms"] if place in run else 0.0) for run in (first, then))
            shifts.append(Shift({**(then.get(place) or first[place]), "name": place[2]}, a, b))
    shifts.append(Shift(None, before["unexplained_ms"], after["unexplained_ms"]))
    least = LEAST_SHIFT * max(before["mean_ms"], after["mean_ms"])
    largest = sorted(shifts, key=lambda shift: -abs(shift.ms))[:MOST_SHIFTS]
    return [shift for shift in largest if abs(shift.ms) >= least and shift.ms]


def _place(part: Json, *, one_queue: bool) -> _Place:
    """``one_queue``: each run has one accept queue, which is the same place even if the server's port has changed."""
    name = None if one_queue and part["part"] == Part.ACCEPT_QUEUE else part["name"]
    return part["part"], part["host"], name


def _values(row: MetricRow, run: int) -> str:
    return f"{tr('{a} to {b}', a=figure(_mean(row, 0)), b=figure(_mean(row, run)))} {row.metric.unit}".rstrip()


def _shortness(row: MetricRow, run: int) -> str:
    a, b = (0 if known is None else known.intervals for known in (row.samples[0], row.samples[run]))
    needed = row.changes[run - 1].needed_intervals
    if needed is not None:
        return tr("{a} and {b} intervals; need about {more} each", a=a, b=b, more=needed)
    if min(a, b) < LEAST:
        return tr("{a} and {b} intervals; need at least {more} each", a=a, b=b, more=LEAST)
    return tr("{a} and {b} intervals; need over {more} each", a=a, b=b, more=MOST)


def _settings(comparison: Comparison) -> Iterator[str]:
    if not comparison.settings:
        yield tr("All known settings are the same.")
        return
    yield tr("Settings that differ")
    for of, name, values in comparison.settings:
        shown = "   ".join(f"{letter(i)} {plain(value or '-')}" for i, value in enumerate(values))
        yield f"  {tr('load') if of == LOAD else plain(of)}: {plain(tr(name))}   {shown}"


def _table(comparison: Comparison, table: PeriodTable, *, how: str | None) -> Iterator[str]:
    heads = "".join(f"{letter(i):>{NARROW}}" for i in range(len(comparison.runs)))
    against = tr("against A" if len(comparison.runs) == 2 else "each against A")
    yield f"{pad(_called(table), WIDE)}{heads}   {against}"
    shown = [row for row in table.rows if how is None or row.of == LOAD or row.metric.name in USUAL or _tells(row)]
    for of, rows in groupby(shown, lambda row: row.of):
        if of != LOAD:
            yield plain(of)
        yield from map(_row, rows)
    limits = (f"{letter(i)} {tr(plain(limit or '-'))}" for i, limit in enumerate(table.limits))
    yield f"{pad('  ' + tr('limit'), WIDE + NARROW - 1)}{'   '.join(limits)}"
    if hidden := len(table.rows) - len(shown):
        yield tr("  and {number} host values that do not differ ({how} shows them)", number=hidden, how=how)


def _tells(row: MetricRow) -> bool:
    return any(change.direction in TELLING for change in row.changes)


def _called(table: PeriodTable) -> str:
    start, end, step = table.periods[-1]
    return plain(table.title) if step is not None else tr("{a} to {b} s", a=f"{max(0.0, start):.0f}", b=f"{end:.0f}")


def _row(row: MetricRow) -> str:
    values = "".join(f"{figure(_mean(row, i)):>{NARROW}}" for i in range(len(row.samples)))
    changes = [f"{percent(change):>7} {tr(change.direction)}{chance(change)}" for change in row.changes]
    if len(changes) > 1:
        changes = [f"{letter(i)} {change}" for i, change in enumerate(changes, start=1)]
    title = pad(f"  {tr(row.metric.title)} {row.metric.unit}".rstrip(), WIDE)
    return f"{title}{values}   {'; '.join(changes)}"


def _mean(row: MetricRow, run: int) -> float | None:
    known = row.samples[run]
    return None if known is None else known.mean


def percent(change: Change) -> str:
    """By how much, as people write it: ``+12 %``."""
    if change.percent is None:
        return "-"
    return f"{change.percent:+.0f} %" if abs(change.percent) < 1000 else f"x{1 + change.percent / 100:.0f}"


def chance(change: Change) -> str:
    """The p value, where the difference counts."""
    if change.p is None or change.direction not in TELLING:
        return ""
    return " (p < 0.001)" if change.p < 0.001 else f" (p = {change.p:.3f})"


def _periods(comparison: Comparison, tables: Sequence[PeriodTable]) -> Iterator[str]:
    """The parts of the time side by side, in their main numbers."""
    names = [letter(i) for i in range(len(comparison.runs))]
    head = "".join(f"{f'{name} req/s':>10}{f'{name} p99':>9}" for name in names)
    yield f"{pad(tr('since the load started'), 22)}{head}   {tr('limit')}"
    for table in tables:
        rows = {row.metric.name: row for row in table.rows if row.of == LOAD}
        cells = "".join(
            f"{figure(_mean(rows[name], i) if name in rows else None):>{cells}}"
            for i in range(len(names))
            for name, cells in (("rps", 10), ("p99", 9))
        )
        limits = [tr(limit or "-") for limit in table.limits]
        limit = limits[0] if len(set(limits)) == 1 else ", ".join(map(" ".join, zip(names, limits, strict=True)))
        told = [
            f"{letter(number)} {title} {tr(change.direction)}"
            for name, title in (("rps", "req/s"), ("p99", "p99"))
            if name in rows
            for number, change in enumerate(rows[name].changes, 1)
            if change.direction in ("better", "worse")
        ]
        yield f"{pad(_called(table), 22)}{cells}   {plain(limit)}   {', '.join(told)}"


def as_json(comparison: Comparison) -> Json:
    """The comparison for scripts, in the schema ``loadtop.compare/1``. Sessions are counted from 0."""
    return {
        "schema": SCHEMA,
        "aligned_by": comparison.by,
        "margin_pct": comparison.percent,
        "level": LEVEL,
        "method": METHOD,
        "sessions": [
            {
                "path": str(run.path),
                "started": run.summary["started"],
                "url": run.summary["url"],
                "duration_s": round(run.duration, 3),
                "command_line": list(run.result.command_line),
                "verdict": _limit(run),
                "host": run.summary["verdict"]["host"],
            }
            for run in comparison.runs
        ],
        "conclusions": [
            {
                "session": number,
                "against": 0,
                "direction": comparison.overall(number),
                "same_verdict": _is_same_limit(comparison.runs[0], run),
                "breakdown": [
                    {
                        **{name: None if shift.part is None else shift.part[name] for name in ("part", "host", "name")},
                        "ms": [shift.before_ms, shift.after_ms],
                    }
                    for shift in _shifts(comparison.runs[0].summary["breakdown"], run.summary["breakdown"])
                ],
            }
            for number, run in enumerate(comparison.runs[1:], start=1)
        ],
        "settings": [{"of": of, "name": name, "values": list(values)} for of, name, values in comparison.settings],
        "periods": [
            {"title": table.title, "limits": list(table.limits), "metrics": list(map(_metric, table.rows))}
            for table in comparison.tables
        ],
    }


def _limit(run: Run) -> str:
    return str(run.summary["verdict"]["bottleneck"])


def _main_finding(run: Run) -> Finding | None:
    """The finding behind the verdict of the summary."""
    verdict = run.summary["verdict"]
    found = (held.finding for held in run.result.held)
    return next(
        (each for each in found if (each.bottleneck, each.host) == (verdict["bottleneck"], verdict["host"])), None
    )


def _limit_in_words(run: Run) -> str:
    """The verdict of a run, with the service or the lock that it names."""
    found = _main_finding(run)
    return tr(_limit(run)) + ("" if found is None else subject_after(found))


def _is_same_limit(first: Run, then: Run) -> bool:
    """Whether both runs have the same verdict, at the same service. A lock may be that of another file in each run: PHP
    has one for each session."""
    of_first, of_then = (
        None if found is None or found.dependency is None else found.dependency.address
        for found in map(_main_finding, (first, then))
    )
    return _limit(first) == _limit(then) and of_first == of_then


def _metric(row: MetricRow) -> Json:
    return {
        "of": row.of,
        "name": row.metric.name,
        "title": row.metric.title,
        "unit": row.metric.unit,
        "better": row.metric.better,
        "values": [
            known and {"mean": known.mean, "intervals": known.intervals, "worth": round(known.worth, 2)}
            for known in row.samples
        ],
        "changes": [{"session": number, **asdict(change)} for number, change in enumerate(row.changes, start=1)],
    }
