"""The layout of the panels: from the size of the terminal to boxes that share their frame lines."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, pairwise

from msgspec import Struct
from msgspec.structs import replace
from textual.geometry import Region

from tui.drawing.appearance import Glyphs

UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8


class Band(Struct, frozen=True):
    """Panels side by side. Names with a slash between them share a place: one of them is shown, the others are tabs.

    Rows are rows of content. ``weight`` is the share of spare rows. Where there is no room, the band with the highest
    ``rank`` is left out first, unless ``short_rows`` are enough for it and there is room for those (0: never).
    """

    panels: tuple[str, ...]
    min_rows: int
    weight: int = 0
    rank: int = 0
    max_rows: int = 1000
    short_rows: int = 0


class Placement(Struct, frozen=True):
    """A panel's place on the screen with its frame, and the frame characters that it draws.

    A frame line between two panels belongs to the lower or right one. ``edge`` and ``floor`` are empty where the
    right or lower neighbour draws them.
    """

    panel: str
    region: Region
    ceiling: str = ""
    walls: str = ""
    edge: str = ""
    floor: str = ""

    @property
    def inner(self) -> tuple[int, int]:
        return self.region.width - 1 - bool(self.edge), self.region.height - 1 - bool(self.floor)


SERVERS = "(servers)"  # stands for the server panels within one place
EACH_SERVER = "(each server)"  # stands for the server panels side by side

PROCESSES = "workers/processes"
BREAKDOWN = Band(("breakdown",), 4, weight=1, rank=5, max_rows=5)  # where a screen has room for one more band

NARROW = (  # 60 columns
    Band(("verdict",), 3, rank=0, max_rows=4),
    Band(("load", "cpu"), 4, weight=2, rank=1, short_rows=2),
    Band(("memory/devices/breakdown", f"{SERVERS}/{PROCESSES}"), 4, weight=2, rank=3),
    Band(("time",), 1, rank=2, max_rows=1),
)

MIDDLE = (  # from 80 columns on: half of them hold a line on swap in both directions, in every language
    Band(("verdict",), 4, weight=1, rank=0, max_rows=5),
    Band(("load", "cpu"), 4, weight=4, rank=1),
    Band(("memory", "devices/breakdown"), 3, weight=2, rank=4, max_rows=8),
    Band((SERVERS, PROCESSES), 4, weight=3, rank=3),
    Band(("time",), 1, rank=2, max_rows=1),
)

WIDE = (  # from 108 columns on
    Band(("verdict",), 4, weight=1, rank=0, max_rows=5),
    Band(("load", "cpu", "memory"), 4, weight=3, rank=1),
    Band((SERVERS, PROCESSES, "devices/breakdown"), 4, weight=4, rank=3),
    Band(("time",), 2, rank=2, max_rows=2),
)

HUGE = (  # from 168 columns on
    Band(("verdict",), 4, weight=1, rank=0, max_rows=5),
    Band(("load", "cpu", "memory", "devices/breakdown"), 8, weight=3, rank=1),
    Band((EACH_SERVER, "workers", "processes"), 8, weight=3, rank=3),
    Band(("time",), 2, rank=2, max_rows=2),
)


def _with_breakdown(bands: Sequence[Band]) -> tuple[Band, ...]:
    """The bands with the breakdown in a separate band below the first, instead of a tab."""
    first, *others = (
        replace(band, panels=tuple(place.replace("/breakdown", "") for place in band.panels)) for band in bands
    )
    return (first, BREAKDOWN, *others)


ARRANGEMENTS = (  # each with the columns that it needs
    (168, _with_breakdown(HUGE)),
    (168, HUGE),
    (108, _with_breakdown(WIDE)),
    (108, WIDE),
    (80, _with_breakdown(MIDDLE)),
    (80, MIDDLE),
)
COMMAND = Band(("command",), 6, weight=6, rank=1)  # the screen of a command that makes the load


def bands_for(width: int, height: int, servers: Sequence[str], *, command: bool = False) -> list[Band]:
    """The widest arrangement that has room for all its panels, else the narrow one, in which more of them are tabs.

    With ``command``, the screen of one is below the verdict.
    """
    fitting = (bands for least, bands in ARRANGEMENTS if width >= least and _least_rows(bands) <= height - 2)
    bands: Sequence[Band] = next(fitting, NARROW)
    found: list[Band] = []
    for band in bands:
        places = (servers if p == EACH_SERVER else [p.replace(SERVERS, "/".join(servers))] for p in band.panels)
        found.append(replace(band, panels=tuple(chain.from_iterable(places))))
    return [found[0], COMMAND, *found[1:]] if command else found


def chosen_panels(bands: Iterable[Band], known: Collection[str], recent: Sequence[str]) -> list[Band]:
    """The bands with one of the ``known`` panels in each place: the one chosen most recently, else the first."""
    found: list[Band] = []
    order = {panel: number for number, panel in enumerate(recent)}
    for band in bands:
        places = [[panel for panel in place.split("/") if panel in known] for place in band.panels]
        panels = tuple(min(place, key=lambda panel: order.get(panel, len(order))) for place in places if place)
        if panels:
            found.append(replace(band, panels=panels))
    return found


def tabs(bands: Iterable[Band], known: Collection[str]) -> dict[str, tuple[str, ...]]:
    """For each panel that shares its place, all that are known for it."""
    found: dict[str, tuple[str, ...]] = {}
    for band in bands:
        for place in band.panels:
            sharing = tuple(panel for panel in place.split("/") if panel in known)
            if len(sharing) > 1:
                found |= dict.fromkeys(sharing, sharing)
    return found


def _least_rows(bands: Iterable[Band]) -> int:
    """Rows that the bands take with their frame lines, at least."""
    return 1 + sum(band.min_rows + 1 for band in bands)


def fit_rows(bands: Sequence[Band], rows: int) -> list[tuple[Band, int]]:
    """The bands that have room, with their rows of content: together with the frame lines they take ``rows``."""
    kept = list(bands)
    while len(kept) > 1 and _least_rows(kept) > rows:
        kept.remove(max(kept, key=lambda band: band.rank))
    spare = rows - _least_rows(kept)
    if spare < 0:
        return [(kept[0], max(1, rows - 2))]
    back = next((band for band in bands if band not in kept and 0 < band.short_rows < spare), None)
    if back is not None:
        smaller = replace(back, min_rows=min(back.min_rows, spare - 1))
        kept = [smaller if band is back else band for band in bands if band in kept or band is back]
        spare -= smaller.min_rows + 1
    sizes = [band.min_rows for band in kept]
    while spare > 0:
        growing = [i for i, band in enumerate(kept) if band.weight and sizes[i] < band.max_rows]
        if not growing:
            break
        neediest = min(growing, key=lambda i: ((sizes[i] - kept[i].min_rows) / kept[i].weight, -kept[i].weight, i))
        sizes[neediest] += 1
        spare -= 1
    return list(zip(kept, sizes, strict=True))


def boxes(bands: Sequence[Band], width: int, top: int, rows: int) -> list[Placement]:
    """The panels with their frames; neighbours share a frame line."""
    found: list[Placement] = []
    y = top
    for band, size in fit_rows(bands, rows):
        number = len(band.panels)
        cuts = [round(i * (width - 1) / number) for i in range(number + 1)]
        for panel, (left, right) in zip(band.panels, pairwise(cuts), strict=True):
            found.append(Placement(panel, Region(left, y, right - left + 1, size + 2)))
        y += size + 1
    return found


def framed(shared: Sequence[Placement], glyphs: Glyphs) -> list[Placement]:
    """Give every frame cell to one panel, with the character that joins all frames meeting there."""
    sides = _sides([placement.region for placement in shared])
    end_x = max((placement.region.right for placement in shared), default=0)
    end_y = max((placement.region.bottom for placement in shared), default=0)
    placements: list[Placement] = []

    def draw(cells: Iterable[tuple[int, int]]) -> str:
        return "".join(glyphs.junctions[sides[cell]] for cell in cells)

    for panel, (left, top, width, height) in ((placement.panel, placement.region) for placement in shared):
        right, bottom = left + width - 1, top + height - 1
        last, lowest = right + 1 == end_x, bottom + 1 == end_y
        across, inside = range(left, right + last), range(top + 1, bottom)
        placements.append(
            Placement(
                panel,
                Region(left, top, width - (not last), height - (not lowest)),
                ceiling=draw((x, top) for x in across),
                walls=draw((left, y) for y in inside),
                edge=draw((right, y) for y in inside) if last else "",
                floor=draw((x, bottom) for x in across) if lowest else "",
            )
        )
    return placements


def _sides(regions: Iterable[Region]) -> dict[tuple[int, int], int]:
    """The sides of each cell that a frame line reaches."""
    sides = defaultdict[tuple[int, int], int](int)
    for left, top, width, height in regions:
        right, bottom = left + width - 1, top + height - 1
        for y in (top, bottom):
            for x in range(left, right):
                sides[x, y] |= RIGHT
                sides[x + 1, y] |= LEFT
        for x in (left, right):
            for y in range(top, bottom):
                sides[x, y] |= DOWN
                sides[x, y + 1] |= UP
    return sides
