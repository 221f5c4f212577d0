"""A screen as a canvas of cells, and saved as a picture."""

import re
import time
from pathlib import Path
from typing import Any

from textual.screen import Screen

from loadtop.i18n import tr
from tui.drawing.appearance import Appearance
from tui.drawing.line import Cell, Role
from tui.drawing.svg import compose, svg
from tui.drawing.text import clip_middle, width
from tui.widgets.lines import Lines


def canvas_of(screen: Screen[Any]) -> list[list[Cell]]:
    parts = [(widget.region.x, widget.region.y, widget.lines) for widget in screen.query(Lines) if widget.region]
    return compose(parts, *screen.size)


def save_picture(screen: Screen[Any], appearance: Appearance, title: str) -> tuple[str, Role]:
    """Save the screen as an SVG file in the working directory, named after ``title``; return what to say about it."""
    path = file_name(title)
    try:
        path.write_text(svg(canvas_of(screen), appearance, "loadtop"), encoding="utf-8")
    except OSError as error:
        return tr("no picture: {error}", error=error), Role.WARN
    room = max(20, screen.size.width - width(tr("picture saved: {path}", path="")) - 2)
    shown = clip_middle(str(path.resolve()), room, appearance.glyphs.ellipsis)
    return tr("picture saved: {path}", path=shown), Role.VALUE


def file_name(title: str, wall: float | None = None) -> Path:
    """A name that says what is shown and when (``wall``, seconds since 1970; now where it is None)."""
    words = re.sub(r"[^A-Za-z0-9.]+", "-", re.sub(r"^https?://", "", title)).strip("-.")[:40]
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(wall))
    return Path(f"loadtop-{words or 'screen'}-{stamp}.svg")
