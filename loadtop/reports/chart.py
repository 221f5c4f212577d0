"""Charts as SVG: lines or stacked areas over time, and the strip of verdicts. All share one axis."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from math import ceil, floor, log10

from msgspec import Struct

from loadtop.i18n import clock, figure, plain, tr
from loadtop.model import Profile
from loadtop.reports.profile import calls, heading
from loadtop.reports.tables import from_to

WIDTH, LEFT, RIGHT = 1000.0, 62.0, 992.0
HIGH, TOP, BOTTOM = 150.0, 8.0, 130.0  # of a chart in units of its own; the page scales it

STRIP = 34.0
LABEL, LETTER = 16.0, 6.5  # the least thickness of an area with its title on it, and the width of a letter
CALL = 17.0  # the height of a function in a flame graph
BAR, LONGEST_BAR = 22.0, 0.85  # the height of a bar, and the share of the width that leaves room for its remark
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200)


class Curve(Struct, frozen=True):
    """A curve in a chart: what it is called in the data, its title, unit, and the name of its colour."""

    name: str
    title: str
    values: Sequence[float | None]
    colour: str
    dashed: bool = False


class Chart(Struct, frozen=True):
    """Curves in one frame. ``stacked``: each upon the one before. ``top``: of its axis, where that is known.
    ``labelled``: an area has its title on it where it is thick enough, for those who do not see colours. ``said`` is
    the chart in words, for those who do not see it."""

    title: str
    unit: str
    curves: Sequence[Curve]
    stacked: bool = False
    top: float | None = None
    labelled: bool = False
    said: str = ""


class Axis(Struct, frozen=True):
    """The common axis: the times of the points and where it ends, in seconds; marks as (seconds, text)."""

    times: Sequence[float]
    end: float
    marks: Sequence[tuple[float, str]] = ()

    def x(self, at: float) -> float:
        return LEFT + (at / self.end if self.end > 0 else 0.0) * (RIGHT - LEFT)


def chart_svg(chart: Chart, axis: Axis) -> str:
    top = chart.top or _nice(_greatest(chart))
    keys = "".join(
        f'<span class="key" style="--ink:var(--{curve.colour})">{escape(curve.title)} '
        f'<output data-curve="{escape(curve.name)}"></output></span>'
        for curve in chart.curves
    )
    labels = _labels(chart, axis, top) if chart.labelled else ()
    shapes = [*_grid(axis, top), *_curves(chart, axis, top), *labels, *_marks(axis, BOTTOM), _cursor(BOTTOM)]
    return _figure(f"{chart.title}, {chart.unit}", HIGH, shapes, keys, chart.said)


def verdict_strip(spans: Sequence[tuple[float, float, str]], axis: Axis) -> str:
    """The verdicts over time: (from, to, name) each, ``none`` for headroom."""
    shapes: list[str] = []
    for start, end, name in spans:
        x, width = axis.x(start), max(0.0, axis.x(end) - axis.x(start))
        kind = "calm" if name == "none" else "limit"
        title = escape(f"{from_to(start, end)}: {name}")
        place = f'x="{x:.1f}" y="0" width="{width:.1f}" height="{STRIP:.0f}"'
        shapes.append(f'<rect class="{kind}" {place}><title>{title}</title></rect>')
        if width > 7.5 * len(name) + 8:
            shapes.append(f'<text class="name" x="{x + 5:.1f}" y="{STRIP / 2 + 4:.0f}">{escape(name)}</text>')
    shapes += [*_marks(axis, STRIP), _cursor(STRIP)]
    for at, text in axis.marks:
        note = escape(plain(text)[:40])
        shapes.append(f'<text x="{axis.x(at):.1f}" y="{STRIP + 13:.0f}">▲ {note}</text>')
    return _figure(tr("Limits over time"), STRIP + (18 if axis.marks else 0), shapes)


def bar_chart(title: str, bars: Sequence[tuple[str, float, float | None, str]]) -> str:
    """A horizontal bar for each (label, value, tick, remark): the tick is another value on the same scale."""
    top = _nice(max((value for _, value, _, _ in bars), default=0.0))
    shapes: list[str] = []
    for number, (label, value, tick, remark) in enumerate(bars):
        y, end = BAR * number, _bar_end(value, top)
        mark = end if tick is None else _bar_end(tick, top)
        middle = y + BAR / 2 + 4
        said = escape(f"{figure(value)} {remark}".rstrip())
        shapes += (
            f'<text x="{LEFT - 6:.0f}" y="{middle:.0f}" text-anchor="end">{escape(label)}</text>',
            f'<rect class="bar" x="{LEFT:.0f}" y="{y + 2:.0f}" width="{end - LEFT:.1f}" height="{BAR - 4:.0f}"/>',
            f'<text class="name" x="{max(end, mark) + 8:.1f}" y="{middle:.0f}">{said}</text>',
        )
        if tick is not None:
            place = f'x1="{mark:.1f}" x2="{mark:.1f}" y1="{y + 1:.0f}" y2="{y + BAR - 1:.0f}"'
            shapes.append(f'<line class="tick" {place}/>')
    return _figure(title, BAR * len(bars), shapes)


def flame_graph(profile: Profile) -> str:
    """A row for each level of calls, callers above what they call, as wide as their share of the samples."""
    unit = RIGHT / max(1, profile.samples)
    shapes: list[str] = []
    levels = 0
    for level, function, left, samples in calls(profile, 1.0 / RIGHT):
        x, y, width, name = left * unit, level * CALL, samples * unit, plain(function)
        title = escape(f"{name}: {100.0 * samples / profile.samples:.1f} %")
        place = f'x="{x:.1f}" y="{y:.0f}" width="{width:.1f}" height="{CALL - 1:.0f}"'
        shapes.append(f'<rect class="call" {place}><title>{title}</title></rect>')
        if (room := int((width - 6) / LETTER)) > 2:
            shapes.append(f'<text class="name" x="{x + 3:.1f}" y="{y + 12:.0f}">{escape(name[:room])}</text>')
        levels = max(levels, level + 1)
    return _figure(heading(profile), levels * CALL, shapes)


def _bar_end(value: float, top: float) -> float:
    return LEFT + min(1.0, value / top) * (RIGHT - LEFT) * LONGEST_BAR


def _figure(title: str, height: float, shapes: Sequence[str], keys: str = "", said: str = "") -> str:
    name, label = escape(title), escape(f"{title}: {said}" if said else title)
    return (
        f'<figure><figcaption><b>{name}</b>{keys}</figcaption><svg viewBox="0 0 {WIDTH:.0f} {height:.0f}" '
        f'role="img" aria-label="{label}">{"".join(shapes)}</svg></figure>'
    )


def _greatest(chart: Chart) -> float:
    if not chart.stacked:
        return max((value for curve in chart.curves for value in curve.values if value is not None), default=0.0)
    columns = zip(*(curve.values for curve in chart.curves), strict=True)
    return max((sum(value or 0.0 for value in column) for column in columns), default=0.0)


def _nice(value: float) -> float:
    if value <= 0:
        return 1.0
    unit = 10.0 ** floor(log10(value))
    return next((step * unit for step in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if step * unit >= value), 10 * unit)


def _y(value: float, top: float) -> float:
    return BOTTOM - min(1.0, value / top) * (BOTTOM - TOP)


def _grid(axis: Axis, top: float) -> Iterator[str]:
    for share in (0.0, 0.5, 1.0):
        y = _y(share * top, top)
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{LEFT - 6:.0f}" y="{y + 4:.1f}" text-anchor="end">{share * top:g}</text>'
    days = 86400 * ceil(axis.end / 86400 / 12)
    step = next((step for step in _STEPS if axis.end / step <= 12), days)
    for at in range(0, int(axis.end) + 1, step):  # at most 13 of them, however long the test claims to be
        x = axis.x(at)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{BOTTOM}" y2="{BOTTOM + 4}"/>'
        anchor = "middle" if x < RIGHT - 25 else "end"
        yield f'<text x="{x:.1f}" y="{BOTTOM + 16:.0f}" text-anchor="{anchor}">{clock(at)}</text>'


def _curves(chart: Chart, axis: Axis, top: float) -> Iterator[str]:
    below = [0.0] * len(axis.times)
    for curve in chart.curves:
        style = f'style="--ink:var(--{curve.colour})"'
        if chart.stacked:
            above = [base + (value or 0.0) for base, value in zip(below, curve.values, strict=True)]
            for part in _stretches(curve.values):
                points = [(axis.x(axis.times[i]), _y(above[i], top)) for i in part]
                points += [(axis.x(axis.times[i]), _y(below[i], top)) for i in reversed(part)]
                yield f'<path class="area" {style} d="{_path(points)}Z"/>'
            below = above
            continue
        kind = "line dashed" if curve.dashed else "line"
        for part in _stretches(curve.values):
            points = [(axis.x(axis.times[i]), _y(curve.values[i] or 0.0, top)) for i in part]
            if len(points) == 1:
                yield f'<circle class="dot" {style} cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="1.6"/>'
            else:
                yield f'<path class="{kind}" {style} d="{_path(points)}"/>'


def _labels(chart: Chart, axis: Axis, top: float) -> Iterator[str]:
    """The title of each area in the middle of its longest stretch that is thick enough, if there is room for it."""
    below = [0.0] * len(axis.times)
    for curve in chart.curves if axis.times else ():
        above = [base + (value or 0.0) for base, value in zip(below, curve.values, strict=True)]
        thick = [_y(low, top) - _y(high, top) >= LABEL or None for low, high in zip(below, above, strict=True)]
        points = max(_stretches(thick), key=len, default=[0])
        start, end = axis.x(axis.times[points[0]]), axis.x(axis.times[points[-1]])
        if end - start > LETTER * len(curve.title):
            place = points[len(points) // 2]
            x, y = (start + end) / 2, (_y(below[place], top) + _y(above[place], top)) / 2 + 4
            yield f'<text class="name" x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(curve.title)}</text>'
        below = above


def _stretches(values: Sequence[float | None]) -> Iterator[list[int]]:
    """The points of each run without a gap: what was not measured is not drawn."""
    for measured, points in groupby(range(len(values)), lambda i: values[i] is not None):
        if measured:
            yield list(points)


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _marks(axis: Axis, bottom: float) -> Iterator[str]:
    for at, text in axis.marks:
        x = f"{axis.x(at):.1f}"
        yield f'<line class="mark" x1="{x}" x2="{x}" y1="0" y2="{bottom}"><title>{escape(plain(text))}</title></line>'


def _cursor(bottom: float) -> str:
    return f'<line class="cursor" x1="0" x2="0" y1="0" y2="{bottom}"/>'
