"""The report as one page that needs nothing else: charts on one axis, tables, the advice. No network, no other file."""

import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from importlib.resources import files

from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.series import BREAKDOWN, MEAN_MS, UNEXPLAINED_MS, part_series
from loadtop.analysis.totals.settings import LOAD
from loadtop.analysis.totals.totals import RunResult
from loadtop.analysis.tune.sizing import TuneResult
from loadtop.i18n import Translatable, figure, language, plain, tr
from loadtop.rates.metrics import sum_known
from loadtop.reports.chart import (
    LEFT,
    RIGHT,
    WIDTH,
    Axis,
    Chart,
    Curve,
    bar_chart,
    chart_svg,
    flame_graph,
    verdict_strip,
)
from loadtop.reports.limits import on_host
from loadtop.reports.tables import Table, load_in_words, model_of, place_title, tables, title, verdict
from loadtop.reports.tune_advice import KNEE, SETTING, advice, bars
from loadtop.servers.registry import KINDS

PART_COLOURS = ("a", "b", "c", "e", "d")  # of the largest parts of the response time
OTHER_PARTS: Translatable = "other parts"
NOT_EXPLAINED: Translatable = "unexplained"
MOST_MARKS = 500  # that are drawn, in each chart: more would hide it. The table has all

HELP = "Point at a chart or focus it with Tab: ← → move, v and m jump to the next limit or mark, Esc leaves."
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
)
"""What the page may load: nothing. A hostile text in it would have to break out of this as well."""


def html(result: RunResult, more: Sequence[Table] = ()) -> str:
    """The page, with ``more`` tables before the others."""
    figures = result.summary
    name = text(title(figures))
    words = shlex.join(["loadtop", *result.command_line])
    charts = list(_charts(result))
    times = result.series.at
    marks = [(mark["at_s"], mark["text"]) for mark in figures["marks"][:MOST_MARKS]]
    axis = Axis(times, times[-1] if times else 0.0, marks)
    spans = [
        (span["from_s"], span["to_s"], plain(span["bottleneck"]) + on_host(span["host"]))
        for span in figures["timeline"]
    ]
    return "\n".join(
        (
            f'<!doctype html>\n<html lang="{language()}">\n<head>\n<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{name} (loadtop)</title>",
            f"<style>\n{_file('report.css')}</style>\n</head>\n<body>",
            f"<h1>{name}</h1>",
            f'<div class="dim">{text(_subtitle(figures))}</div>',
            _verdict(result),
            *_tuned(result),
            *_drawings(result, charts, axis, spans),
            *(flame_graph(profile) for profile in result.profiles if profile.stacks),
            *map(_table, (*more, *tables(result))),
            f"<h2>{tr('Command')}</h2>\n<p><code>{text(words)}</code></p>" if result.command_line else "",
            f'<script type="application/json" id="data">{_data(charts, axis, spans)}</script>',
            f"<script>\n{_file('report.js')}</script>\n</body>\n</html>\n",
        )
    )


def text(words: object) -> str:
    """Any text, so that it is text and nothing else: control characters as their codes, markup escaped."""
    return escape(plain(str(words)))


def _file(name: str) -> str:
    return files("loadtop.reports").joinpath(name).read_text(encoding="utf-8")


def _subtitle(figures: Json) -> str:
    load = figures["load"]
    parts = [figures["started"], f"{figures['duration_s']:.1f} s"]
    if load is not None:
        parts += [model_of(load), load_in_words(load, figures["steps"]), tr(str(load["state"]))]
    return " · ".join([*filter(None, parts), f"loadtop {figures['version']}"])


def _verdict(result: RunResult) -> str:
    name = result.main.finding.bottleneck
    sentence, held, what_to_do = map(text, verdict(result))
    note = f' <span class="dim">{text(name)}, {held}</span>' if held else ""
    kind = " none" if held and not result.main.is_limit else ""
    return f'<div class="verdict{kind}"><strong>{sentence}</strong>{note}<p>{what_to_do}</p></div>'


def _tuned(result: RunResult) -> Iterator[str]:
    """What a sweep was made for: the knee and what to set."""
    if not (result.is_tune and result.steps):
        return
    tuned = TuneResult.of(result.steps)
    found = advice(tuned)
    yield f"<h2>{text(tr(KNEE))}</h2>\n<p><strong>{text(found.knee)}</strong></p>\n<p>{text(found.law)}</p>"
    scale = tr("Requests/s over connections")
    if tuned.knee is not None and tuned.knee.usl:
        scale = tr("{scale} (tick: Universal Scalability Law)", scale=scale)
    yield bar_chart(scale, [(str(c), rps, law, remark) for c, rps, law, remark in bars(tuned)])
    yield f"<h2>{text(tr(SETTING))}</h2>\n<p><strong>{text(found.setting)}</strong></p>"
    if found.configuration:
        lines = "\n".join(map(text, found.configuration.splitlines()))
        yield f"<pre><code>{lines}</code></pre>\n<p>{text(found.caution)}</p>"


def _charts(result: RunResult) -> Iterator[Chart]:
    found: list[Chart] = []
    if result.summary["load"] is not None:
        rates = (("rps", "served", "a"), ("failed_s", "failed", "d"))
        times = (("p50_peak", "median", "e"), ("p95_peak", "95 %", "b"), ("p99_peak", "99 %", "d"))
        found.append(Chart(tr("Requests"), tr("per second"), _curves(result, LOAD, rates)))
        found.append(Chart(tr("Response time"), "ms", _curves(result, LOAD, times)))
        found.append(_breakdown_chart(result))
    for host in result.roles:
        found += _host_charts(result, host)
    yield from (chart for chart in found if chart.curves)


def _breakdown_chart(result: RunResult) -> Chart:
    """The parts of the mean time, each upon the one before: those that were largest under the main verdict at the
    bottom, then all others, and what remains unexplained."""
    series, found = result.series, result.summary["breakdown"]
    known: list[Json] = [] if found is None or found["parts"] is None else found["parts"]
    parts = [part for part in known if part["ms"]][: len(PART_COLOURS)]
    names = [part_series(part["part"], part["host"], part["name"]) for part in parts]
    shown = [series.of(BREAKDOWN, name) for name in names]
    rest = [None if each is None else max(0.0, each) for each in series.of(BREAKDOWN, UNEXPLAINED_MS)]
    columns = zip(series.of(BREAKDOWN, MEAN_MS), series.of(BREAKDOWN, UNEXPLAINED_MS), *shown, strict=True)
    others = [
        None if mean is None else max(0.0, mean - (unexplained or 0.0) - sum(value or 0.0 for value in values))
        for mean, unexplained, *values in columns
    ]
    curves = [
        Curve(f"{BREAKDOWN}-{number}", place_title(part), values, colour)
        for number, (part, values, colour) in enumerate(zip(parts, shown, PART_COLOURS, strict=False))
        if any(values)
    ]
    curves += [
        Curve(f"{BREAKDOWN}-{called}", tr(called), values, colour)
        for called, values, colour in ((OTHER_PARTS, others, "dim"), (NOT_EXPLAINED, rest, "rule"))
        if curves and any(values)
    ]
    said = ", ".join(f"{place_title(part)} {figure(part['ms'])} ms" for part in parts)
    return Chart(tr("Where the response time goes"), "ms", curves, stacked=True, labelled=True, said=said)


def _host_charts(result: RunResult, host: str) -> Iterator[Chart]:
    of = tr(" of {host}", host=plain(host)) if len(result.roles) > 1 else ""
    states = (
        ("cpu.user+cpu.nice", "user", "a"),
        ("cpu.system+cpu.irq+cpu.softirq", "system", "b"),
        ("cpu.iowait", "iowait", "c"),
        ("cpu.steal", "steal", "d"),
    )
    yield Chart(
        tr("Processors") + of, tr("% (the rest is idle)"), _curves(result, host, states), stacked=True, top=100.0
    )
    traffic = (("swap.in_kb_s", "in", "c"), ("swap.out_kb_s", "out", "d"))
    yield Chart(tr("Swap traffic") + of, "kB/s", _curves(result, host, traffic))
    yield Chart(tr("Swap used") + of, "%", _curves(result, host, (("swap.used_pct", "used", "c"),)), top=100.0)
    for kind in KINDS:
        for chart in kind.charts:
            lines = [(line.name, line.title, line.colour) for line in chart.lines]
            dashed = frozenset(line.name for line in chart.lines if line.dashed)
            yield Chart(tr(chart.title) + of, tr(chart.unit), _curves(result, host, lines, dashed))


def _curves(
    result: RunResult, subject: str, curves: Iterable[tuple[str, Translatable, str]], dashed: Collection[str] = ()
) -> list[Curve]:
    """The measured ones of curves: names of series (several joined by ``+`` are added up), titles and colours."""
    number = [LOAD, *result.roles].index(subject)
    found: list[Curve] = []
    for names, called, colour in curves:
        parts = [result.series.of(subject, name) for name in names.split("+")]
        values = [sum_known(point) for point in zip(*parts, strict=True)]
        if any(value is not None for value in values):
            found.append(Curve(f"{number}-{names}", tr(called), values, colour, dashed=names in dashed))
    return found


Spans = Sequence[tuple[float, float, str]]


def _drawings(result: RunResult, charts: Sequence[Chart], axis: Axis, spans: Spans) -> Iterator[str]:
    yield f"<h2>{tr('Over time')}</h2>"
    yield (
        f'<div id="charts" tabindex="0" role="slider" aria-label="{tr("Moment in the test")}" aria-valuemin="0" '
        f'aria-valuemax="{axis.end:.1f}" aria-valuenow="0">'
    )
    yield f'<div class="readout screen" id="said" aria-live="polite">{escape(tr(HELP))}</div>'
    yield verdict_strip(spans, axis)
    yield from (chart_svg(chart, axis) for chart in charts)
    yield "</div>"
    if result.series.width > 1:
        each = "Each point covers {number} intervals: their mean, or for response times their maximum."
        yield f'<p class="dim">{tr(each, number=result.series.width)}</p>'


def _data(charts: Sequence[Chart], axis: Axis, spans: Spans) -> str:
    """What the cursor reads. No character in it can end the script element."""
    data = {
        "times": [round(at, 3) for at in axis.times],
        "end": axis.end or 1.0,
        "width": WIDTH,
        "left": LEFT,
        "right": RIGHT,
        "curves": {curve.name: [_short(value) for value in curve.values] for chart in charts for curve in chart.curves},
        "spans": [{"from": start, "to": end, "name": name} for start, end, name in spans],
        "marks": [{"at": at, "text": plain(words)} for at, words in axis.marks],
    }
    return json.dumps(data, separators=(",", ":")).translate({ord(c): f"\\u{ord(c):04x}" for c in "<>&"})


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{text(tr(cell))}</th>' for cell in table.head)
    rows = "\n".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in table.rows)
    kind = ' class="numbers"' if table.numbers else ""
    return (
        f'<h2>{text(tr(table.title))}</h2>\n<div class="scroll"><table{kind}>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>"
    )
