"""A recording of asciinema as a moving SVG picture, which browsers play: ``python -m screenshots.film``.

What is the same in successive frames is in the file once. Where nothing moves (printed, or ``prefers-reduced-motion``)
the last frame is shown.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pyte
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from tui.widgets.picture import document, row

HERE = Path(__file__).parent
STEP_S, LAST_S = 2.5, 5.0  # seconds of the recording from frame to frame; how long the last one stays
PACE = 1.6  # times as fast as the recording
_COLOURS = {"brown": "yellow", "brightbrown": "bright_yellow"}  # pyte's names of two of the sixteen

Row = tuple[tuple[str, Style], ...]


def write_film(cast: Path, picture: Path) -> None:
    head, *events = [json.loads(line) for line in cast.read_text(encoding="utf-8").splitlines()]
    frames = list(_frames(events, head["width"], head["height"]))
    size = head["width"], head["height"]
    picture.write_text(document(_moving(frames), size, Style.null(), "loadtop finds the limit"), encoding="utf-8")


def _frames(events: Sequence[tuple[float, str, str]], columns: int, rows: int) -> Iterator[tuple[Row, ...]]:
    """The screen every :data:`STEP_S`, without what follows its end."""
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    due = events[0][0]
    for at, _, text in events[:-1]:
        if at >= due:
            stream.feed(text)
            yield tuple(_row(screen, y) for y in range(rows))
            due = at + STEP_S
        else:
            stream.feed(text)


def _row(screen: pyte.Screen, y: int) -> Row:
    cells = [screen.buffer[y][x] for x in range(screen.columns)]
    return tuple(
        ("".join(cell.data for cell in run), _style(*looks))
        for looks, run in groupby(cells, key=lambda cell: (cell.fg, cell.bg, cell.bold, cell.reverse))
    )


def _style(colour: str, ground: str, bold: bool, reverse: bool) -> Style:
    return Style(color=_colour(colour), bgcolor=_colour(ground), bold=bold, reverse=reverse)


def _colour(name: str) -> str | None:
    if name == "default":
        return None
    if name in _COLOURS:
        return _COLOURS[name]
    if name.startswith("bright"):
        return f"bright_{name.removeprefix('bright')}"
    return f"#{name}" if len(name) == 6 and name.isalnum() and any(each.isdigit() for each in name) else name


def _moving(frames: Sequence[Sequence[Row]]) -> list[str]:
    """The rows of all frames as groups that are visible while they are the same, and the rules that move them."""
    seconds = STEP_S / PACE
    whole = seconds * (len(frames) - 1) + LAST_S
    rules: dict[tuple[int, int], str] = {}
    shapes: list[str] = []
    for y in range(len(frames[0])):
        first = 0
        for shown, run in groupby(frame[y] for frame in frames):
            last = first + len(list(run))
            start, end = 100 * seconds * first / whole, 100 * seconds * last / whole
            if (first, last) != (0, len(frames)):
                rules[first, last] = _rule(first, last, start, end if last < len(frames) else 100.0, whole)
            name = f' class="f{first}-{last}"' if (first, last) in rules else ""
            strip = Strip([Segment(text, style) for text, style in shown])
            shapes += [f"<g{name}>", *row(strip, y), "</g>"]
            first = last
    hidden = ",".join(f".f{first}-{last}" for first, last in rules if last < len(frames))
    still = "@media (prefers-reduced-motion: reduce), print { g { animation: none !important } }"
    return ["<style>", f"{hidden} {{ visibility: hidden }}", *rules.values(), still, "</style>", *shapes]


def _rule(first: int, last: int, start: float, end: float, whole: float) -> str:
    name = f"f{first}-{last}"
    steps = [(0.0, "hidden")] if start else []
    steps += [(start, "visible")]
    steps += [(end, "hidden")] if end < 100 else []
    listed = " ".join(f"{at:.3f}% {{ visibility: {state} }}" for at, state in steps)
    final = steps[-1][1]
    return (
        f"@keyframes {name} {{ {listed} 100% {{ visibility: {final} }} }} "
        f".{name} {{ animation: {name} {whole:.2f}s step-end infinite }}"
    )


if __name__ == "__main__":
    write_film(HERE / "verdict.cast", HERE / "verdict.svg")
