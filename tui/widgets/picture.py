"""The screen as an SVG file: characters on a fixed grid; blocks and lines are shapes, for any font."""

import contextlib
import errno
import os
import re
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from rich.color import parse_rgb_hex
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.screen import Screen
from textual.strip import Strip

from loadtop.i18n import tr
from tui.drawing.appearance import UNICODE, Appearance
from tui.drawing.layout import DOWN, LEFT, RIGHT, UP
from tui.drawing.line import Role, clip_middle, width

THEME = TerminalTheme(  # the sixteen colours of the picture: a file does not know the terminal's
    parse_rgb_hex("10141b"),
    parse_rgb_hex("ccd3de"),
    [*map(parse_rgb_hex, ("2b313c", "ee626c", "8bc974", "edbb54", "568aec", "ba7ceb", "4ec4d0", "ccd3de"))],
    [*map(parse_rgb_hex, ("586376", "fa868c", "a8e08f", "fad278", "80b0fa", "d2a0fa", "7ee2ea", "f0f3f8"))],
)

WIDE, HIGH, SIZE, MARGIN = 8.43, 18.0, 14.0, 12.0  # size of a cell, of the characters, and the margin, in pixels
DOT = 3.0  # diameter of a dot in pixels

FONTS = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK JP', monospace"
_SHADES = {"░": 0.25, "▒": 0.45, "▓": 0.7}
_DASHES = {"━": 1, "╍": 2, "┅": 3, "┉": 4}
_BRAILLE = {chr(0x2800 + bits): bits for bits in range(1, 256)}
_SHAPES = {*_SHADES, *_DASHES, *_BRAILLE, *UNICODE.steps[1:], *UNICODE.junctions[1:]}


def svg(strips: Sequence[Strip], ground: Style, title: str) -> str:
    """The lines of a screen on the colour of ``ground``."""
    cells = max((strip.cell_length for strip in strips), default=0)
    return document(
        [shape for y, strip in enumerate(strips) for shape in row(strip, y)], (cells, len(strips)), ground, title
    )


def document(shapes: Sequence[str], size: tuple[int, int], ground: Style, title: str) -> str:
    """A picture of ``cells`` by ``rows``, with these shapes."""
    width, height = MARGIN * 2 + WIDE * size[0], MARGIN * 2 + HIGH * size[1]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"',
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{FONTS}" font-size="{SIZE:.0f}">',
            f"<title>{escape(title)}</title>",
            f'<rect width="100%" height="100%" rx="8" fill="{_colours(ground)[1] or THEME.background_color.hex}"/>',
            *shapes,
            "</svg>\n",
        ]
    )


@lru_cache
def _colours(style: Style) -> tuple[str, str | None]:
    """Colour and background (``#rrggbb``); no background where that of the picture shows."""
    colour = style.color.get_truecolor(THEME).hex if style.color else THEME.foreground_color.hex
    ground = style.bgcolor.get_truecolor(THEME, foreground=False).hex if style.bgcolor else None
    return (ground or THEME.background_color.hex, colour) if style.reverse else (colour, ground)


def row(strip: Strip, number: int) -> Iterator[str]:
    """One row, from 0: for each style its background, and a group with runs of equal cells as shapes, or of text."""
    y = MARGIN + number * HIGH
    styles = [(each, style or Style.null()) for text, style, _ in strip for each in text]
    cells_of_row = [(part, style) for each, style in styles for part in (each, "")[: width(each)]]
    placed = [(MARGIN + index * WIDE, text, style) for index, (text, style) in enumerate(cells_of_row)]
    for style, run in groupby(placed, key=lambda cell: cell[2]):
        cells = [(x, text) for x, text, _ in run]
        colour, ground = _colours(style)
        if ground is not None:
            yield _rect(cells[0][0], y, WIDE * len(cells), HIGH, f' fill="{ground}"')
        weight, faded = ' font-weight="bold"' if style.bold else "", ' opacity="0.60"' if style.dim else ""
        yield f'<g color="{colour}" fill="{colour}"{weight}{faded}>'
        for shaped, part in groupby(cells, key=lambda cell: cell[1] if cell[1] in _SHAPES else ""):
            run_cells = list(part)
            yield from _shape(shaped, run_cells[0][0], y, len(run_cells)) if shaped else _words(run_cells, y)
        yield "</g>"


def _words(cells: list[tuple[float, str]], y: float) -> Iterator[str]:
    for blank, part in groupby(cells, key=lambda cell: cell[1].isspace()):
        word = list(part)
        text = "".join(character for _, character in word)
        if blank or not text:
            continue
        # Fonts differ in how wide their wide characters are: each gets a place of its own.
        wide = len(text) < len(word)
        fitted = "" if wide else f' textLength="{WIDE * len(word):.1f}" lengthAdjust="spacingAndGlyphs"'
        for x, shown in word if wide else [(word[0][0], text)]:
            if shown:
                yield f'<text x="{x:.1f}" y="{y + HIGH * 0.74:.1f}"{fitted}>{escape(shown)}</text>'


def _shape(character: str, x: float, y: float, cells: int) -> Iterator[str]:
    if character in _SHADES:
        yield _rect(x, y, WIDE * cells, HIGH, f' fill-opacity="{_SHADES[character]:.2f}"')
    elif character in UNICODE.steps:
        part = UNICODE.steps.index(character) / (len(UNICODE.steps) - 1)
        yield _rect(x, y + HIGH * (1 - part), WIDE * cells, HIGH * part)
    elif character == "━":
        yield _rect(x, y + HIGH / 2 - 2, WIDE * cells, 4)
    elif character in _DASHES:
        dash = WIDE / _DASHES[character]
        for index in range(cells * _DASHES[character]):
            yield _rect(x + dash * (index + 0.15), y + HIGH / 2 - 2, dash * 0.7, 4)
    elif character in _BRAILLE:
        yield _dots(_BRAILLE[character], x, y, cells)
    else:
        sides = UNICODE.junctions.index(character)
        if sides == LEFT | RIGHT:
            path = f"M{x:.1f} {y + HIGH / 2:.1f}h{WIDE * cells:.1f}"
            yield f'<path d="{path}" fill="none" stroke="currentColor"/>'
            return
        for cell in range(cells):
            yield _lines(sides, x + cell * WIDE, y)


def _dots(bits: int, x: float, y: float, cells: int) -> str:
    """A run of one Braille character: bits 0 to 2 and 6 are the left column from the top, 3 to 5 and 7 the right."""
    path: list[str] = []
    for bit, (column, row) in enumerate(((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))):
        if bits & 1 << bit:
            left, centre = x + WIDE * (0.25 + 0.5 * column), y + HIGH * (0.125 + 0.25 * row)
            path += [f"M{left + WIDE * cell:.1f} {centre:.1f}h0" for cell in range(cells)]
    return f'<path d="{"".join(path)}" stroke="currentColor" stroke-width="{DOT}" stroke-linecap="round"/>'


def _lines(sides: int, x: float, y: float) -> str:
    """The frame lines from the middle of a cell to some of its sides; two of them at a corner are one curve."""
    middle, centre = x + WIDE / 2, y + HIGH / 2
    ends = {LEFT: (x, centre), RIGHT: (x + WIDE, centre), UP: (middle, y), DOWN: (middle, y + HIGH)}
    to = [end for side, end in ends.items() if sides & side]
    if sides in (RIGHT | DOWN, LEFT | DOWN, UP | RIGHT, UP | LEFT):
        (ax, ay), (bx, by) = to
        path = f"M{ax:.1f} {ay:.1f}Q{middle:.1f} {centre:.1f} {bx:.1f} {by:.1f}"
    else:
        path = "".join(f"M{middle:.1f} {centre:.1f}L{ex:.1f} {ey:.1f}" for ex, ey in to)
    return f'<path d="{path}" fill="none" stroke="currentColor"/>'


def _rect(x: float, y: float, width: float, height: float, filling: str = "") -> str:
    place = f'x="{x:.1f}" y="{y:.2f}" width="{width:.1f}" height="{height:.2f}"'
    return f'<rect {place}{filling} shape-rendering="crispEdges"/>'


def strips_of(screen: Screen[Any]) -> list[Strip]:
    """All lines of a screen as they are shown now."""
    return screen._compositor.render_strips()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]


def save_picture(screen: Screen[Any], appearance: Appearance, title: str) -> tuple[str, Role]:
    """Save the screen as an SVG file in the working directory, named after ``title``; return what to say about it."""
    text = svg(strips_of(screen), appearance.palette[Role.TEXT], "loadtop")
    try:
        path = write_new(file_name(title), text)
    except OSError as error:
        return tr("cannot save the picture: {error}", error=error.strerror or error), Role.WARN
    room = max(20, screen.size.width - width(tr("picture saved: {path}", path="")) - 2)
    shown = clip_middle(str(path.resolve()), room, appearance.glyphs.ellipsis)
    return tr("picture saved: {path}", path=shown), Role.VALUE


def write_new(path: Path, text: str) -> Path:
    """Write a new file; a number is appended to a name that is taken. Never follows a link or replaces a file."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in range(2, 100))
    for name in (path, *numbered):
        with contextlib.suppress(FileExistsError), name.open("x", encoding="utf-8") as written:
            written.write(text)
            return name
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def file_name(title: str, wall: float | None = None) -> Path:
    """A name that says what is shown and when (``wall``, seconds since 1970; now where it is None)."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", re.sub(r"^https?://", "", title)).strip("-.")[:40]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(wall))
    return Path(f"loadtop-{words or 'screen'}-{stamp}.svg")
