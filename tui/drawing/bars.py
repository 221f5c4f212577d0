"""Bars: how full, and of what."""

from collections.abc import Sequence

from tui.drawing.glyphs import Glyphs
from tui.drawing.line import Line, Role, Span


def share_out(shares: Sequence[float], cells: int) -> list[int]:
    """Whole cells for each share (percent) by largest remainder, so that they add up to the sum of the shares."""
    if cells <= 0:
        return [0] * len(shares)
    exact = [max(0.0, share) * cells / 100.0 for share in shares]
    whole = min(cells, round(sum(exact)))
    sizes = [int(value) for value in exact]
    order = sorted(range(len(exact)), key=lambda index: (sizes[index] - exact[index], index))
    for index in order[: max(0, whole - sum(sizes))]:
        sizes[index] += 1
    excess = sum(sizes) - cells
    for index in reversed(range(len(sizes))):
        taken = min(sizes[index], max(0, excess))
        sizes[index] -= taken
        excess -= taken
    return sizes


def stacked(parts: Sequence[tuple[float, Role]], cells: int, glyphs: Glyphs) -> Line:
    """A bar of ``cells`` cells in which each part (percent) has its own filling and role."""
    sizes = share_out([share for share, _ in parts], cells)
    spans = [
        Span(glyphs.shades[min(index, len(glyphs.shades) - 1)] * size, role)
        for index, (size, (_, role)) in enumerate(zip(sizes, parts, strict=True))
        if size
    ]
    rest = cells - sum(sizes)
    if rest > 0:
        spans.append(Span(glyphs.rail * rest, Role.EMPTY))
    return tuple(spans)


def gauge(share: float | None, cells: int, role: Role, glyphs: Glyphs) -> Line:
    """A thin bar that is ``share`` percent full; blanks where it is ``None``."""
    if cells <= 0:
        return ()
    if share is None:
        return (Span(" " * cells),)
    full = max(0, min(cells, round(share * cells / 100.0)))
    spans = (Span(glyphs.fill * full, role), Span(glyphs.rail * (cells - full), Role.EMPTY))
    return tuple(span for span in spans if span.text)


def meter(value: float, threshold: float, unit: str, cells: int, role: Role, glyphs: Glyphs) -> Line:
    """A gauge with a tick at the threshold: percent on a scale to 100, anything else to twice its threshold."""
    top = 100.0 if unit == "%" and threshold <= 100.0 else 2.0 * threshold
    if cells < 4 or top <= 0:
        return gauge(100.0 if value > 0 else 0.0, max(0, cells), role, glyphs)
    tick = max(1, min(cells - 2, round(threshold / top * cells)))
    full = cells if value >= top else max(0, round(value / top * cells))
    below, above = min(full, tick), max(0, full - tick - 1)
    spans = (
        Span(glyphs.fill * below, role),
        Span(glyphs.rail * (tick - below), Role.EMPTY),
        Span(glyphs.tick, Role.DIM),
        Span(glyphs.fill * above, role),
        Span(glyphs.rail * (cells - tick - 1 - above), Role.EMPTY),
    )
    return tuple(span for span in spans if span.text)


def level(share: float | None, glyphs: Glyphs) -> str:
    """One cell that is ``share`` percent high; any use at all shows."""
    if share is None:
        return glyphs.unsure
    top = len(glyphs.steps) - 1
    return glyphs.steps[max(1, min(top, round(share * top / 100.0)))] if share > 0 else glyphs.dot
