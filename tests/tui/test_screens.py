"""What holds for every screen, from 60x20 to 240x70, in every language, with each set of signs, whatever is chosen."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from textual.geometry import Region

from loadtop.analysis.experiment import plan
from loadtop.analysis.experiment.runner import Progress
from loadtop.analysis.tune.step import Sweep
from loadtop.i18n import LANGUAGES, Message
from loadtop.model import LoadLevel, Profile, RequestRecord, Requests
from loadtop.recording.library import Recording
from tests.tui.facts import OF_PANELS, of_header
from tests.tui.scenes import compared, sweep_of
from tests.tui.stage import ROLES, Cell, Shot, Stage, speaking
from tests.tui.stories import VIEWS, poisoned, view_after, view_of
from tui.apps.replay import ReplayHelp
from tui.drawing.appearance import ASCII, BLOCKS, UNICODE, Appearance, Glyphs
from tui.drawing.line import Role, length, width
from tui.panels.registry import PANELS
from tui.screens.comparison import ComparisonPage
from tui.screens.evidence import EvidenceScreen
from tui.screens.help import HelpScreen
from tui.screens.profile import ProfileScreen
from tui.screens.requests import RequestsScreen
from tui.screens.series import ExperimentScreen, StepsScreen, TuneScreen
from tui.screens.sessions import SessionsPage
from tui.state.view import View
from tui.widgets.page import PageScreen

GLYPHS = {"unicode": UNICODE, "no colours": BLOCKS, "ascii": ASCII}
SIZES = st.tuples(st.integers(60, 240), st.integers(20, 70)) | st.tuples(st.integers(60, 120), st.integers(20, 32))
CHOSEN = st.sampled_from(["", *(panel.KEY for panel in PANELS)])
SPOKEN, SIGNS = st.sampled_from(LANGUAGES), st.sampled_from(sorted(GLYPHS))

UP, RIGHT, DOWN, LEFT = 1, 2, 4, 8
SIDES = {sign: sides for sides, sign in enumerate(UNICODE.junctions) if sides}
"""The sides of a cell that each frame character reaches."""
FRAMES = {Role.FRAME, Role.CHOSEN, Role.GOOD, Role.WARN, Role.BAD}
ENGLISH = re.compile(r"[a-z]{3,} [a-z]{3,} [a-z]{3,}")
FOREIGN = {"load-failed", "stale", "no-apache", "bare", "broken"}  # stories with words that are not this program's
CUT = re.compile(r"(?<![\w.-])\d[\d.,]*%?…(?!:)|%…|…[\d%]|\d [kMG]B?/?…")
"""A figure of which a part is cut off; names may end in digits. In ASCII the sign for that is a filling too."""


StageWith = Callable[[Glyphs], Stage]


def cells_are_whole(shot: Shot, size: tuple[int, int]) -> None:
    assert [cell_len(line) for line in shot.lines] == [size[0]] * size[1]
    assert all(unicodedata.category(character)[0] != "C" for line in shot.lines for character in line)


def frames_are_closed(shot: Shot, glyphs: Glyphs) -> None:
    """Frame characters that touch agree about it, and a frame encloses all but the first and the last line."""
    sides = [[SIDES.get(character, 0) for character, _ in row] for row in shot.rows[1:-1]]
    if glyphs is not ASCII:
        for y, row in enumerate(sides):
            for x, here in enumerate(row):
                if here and x + 1 < len(row) and row[x + 1]:
                    assert bool(here & RIGHT) == bool(row[x + 1] & LEFT), (x, y)
                if here and y + 1 < len(sides) and sides[y + 1][x]:
                    assert bool(here & DOWN) == bool(sides[y + 1][x] & UP), (x, y)
        assert all(row[0] & row[-1] & (UP | DOWN) for row in sides)
    corners = [shot.rows[y][x][0] for y in (1, -2) for x in (0, -1)]
    assert corners == [glyphs.junctions[sides] for sides in (RIGHT | DOWN, LEFT | DOWN, RIGHT | UP, LEFT | UP)]
    assert {row[x][1] for row in shot.rows[1:-1] for x in (0, -1)} <= FRAMES


@given(st.sampled_from(VIEWS), SIZES, CHOSEN, st.booleans(), SPOKEN, SIGNS)
@example("two-hosts", (60, 20), "", False, "ja", "unicode")
@example("swap", (240, 70), "", False, "en", "unicode")
@settings(max_examples=settings().max_examples * 3 // 10)
def test_the_screen_is_whole(
    stage_with: StageWith, name: str, size: tuple[int, int], panel: str, zoomed: bool, spoken: str, signs: str
) -> None:
    stage = stage_with(GLYPHS[signs])
    with speaking(spoken):
        shot = stage.show(view_of(name), size, panel, zoomed=zoomed)
    cells_are_whole(shot, size)
    assert all(role is not None for row in shot.rows for _, role in row)
    frames_are_closed(shot, GLYPHS[signs])
    if signs == "ascii" and spoken == "en":
        assert all(map(str.isascii, shot.lines))
    if spoken == "ja" and name not in FOREIGN:
        assert [line for line in shot.lines if ENGLISH.search(line)] == []


@given(st.sampled_from(VIEWS), SIZES, CHOSEN, st.booleans(), SPOKEN, SIGNS)
@example("swap", (60, 20), "", False, "ja", "unicode")
@example("databases", (168, 29), "", False, "en", "no colours")
@example("ab", (60, 35), "breakdown", False, "en", "ascii")
@example("swap", (79, 24), "", False, "ja", "unicode")
@example("nginx", (60, 20), "", False, "en", "ascii")
@example("apache-workers", (60, 28), "", False, "en", "unicode")
@example("workers", (109, 22), "", False, "en", "no colours")
@example("long-names", (108, 24), "devices", False, "en", "unicode")
@example("headroom", (115, 30), "", False, "en", "unicode")
@example("paused", (60, 20), "", False, "en", "unicode")
@example("servers", (60, 20), "haproxy", False, "en", "no colours")
@example("pools", (60, 20), "uwsgi", False, "en", "no colours")
@example("databases-full", (60, 20), "mysql", False, "en", "unicode")
@example("databases-full", (60, 20), "postgresql", False, "ja", "unicode")
@settings(max_examples=settings().max_examples * 6 // 10)
def test_every_panel_shows_its_facts(
    stage_with: StageWith, name: str, size: tuple[int, int], panel: str, zoomed: bool, spoken: str, signs: str
) -> None:
    view, stage, glyphs = view_of(name), stage_with(GLYPHS[signs]), GLYPHS[signs]
    with speaking(spoken):
        shot = stage.show(view, size, panel, zoomed=zoomed)
        placed = stage.placed()
        chosen = {panel} & set(stage.cockpit.panel_names)
        assert (
            set(placed) == chosen if chosen and zoomed else set(placed) >= {"verdict", "load", "cpu", "time"} | chosen
        )
        assert [fact for fact in of_header(view, size[0]) if not fact.holds(shot.part(Region(0, 0, size[0], 1)))] == []
        for shown, region in placed.items():
            panel_says_what_it_must(shown, view, shot.part(region), glyphs)


def panel_says_what_it_must(panel: str, view: View, rows: list[list[Cell]], glyphs: Glyphs) -> None:
    assert [fact for fact in OF_PANELS[panel](view, glyphs) if not fact.holds(rows)] == [], panel
    content = ["".join(character for character, _ in row) for row in rows[1:]]
    if panel not in ("verdict", "time") and glyphs is not ASCII:
        assert [line for line in content if CUT.search(line)] == [], panel


@given(st.sampled_from(VIEWS), st.tuples(st.integers(40, 60), st.integers(12, 24)), CHOSEN, SPOKEN)
@example("apache-workers", (40, 12), "verdict", "en")
@example("dependency", (40, 16), "breakdown", "en")
@example("databases", (60, 20), "redis", "ja")
@settings(max_examples=settings().max_examples * 3 // 10)
def test_a_zoomed_panel_says_it_in_little_room(
    stage_with: StageWith, name: str, size: tuple[int, int], panel: str, spoken: str
) -> None:
    stage = stage_with(UNICODE)
    with speaking(spoken):
        shot = stage.show(view_of(name), size, panel, zoomed=True)
        for shown, region in stage.placed().items() if panel in stage.cockpit.panel_names else ():
            panel_says_what_it_must(shown, view_of(name), shot.part(region), UNICODE)


OVERLAYS = (("colon",), ("slash", "x"), ("m",), ("question_mark",), ("e",), ("t",))


@given(st.sampled_from(OVERLAYS), SIZES, SPOKEN, SIGNS)
@example(("colon",), (60, 20), "en", "ascii")
@settings(max_examples=settings().max_examples * 2 // 10)
def test_what_lies_over_the_panels_is_whole_too(
    stage_with: StageWith, keys: tuple[str, ...], size: tuple[int, int], spoken: str, signs: str
) -> None:
    """The palette, questions and pages."""
    stage = stage_with(GLYPHS[signs])
    with speaking(spoken):
        below = stage.show(view_of("swap"), size)
        stage.press(*keys)
        shot = stage.shot()
        stage.press("escape", "escape")
    assert shot.lines != below.lines
    cells_are_whole(shot, size)
    if signs == "ascii" and spoken == "en":
        assert all(map(str.isascii, shot.lines))


@given(st.sampled_from(["swap", "stale"]), st.tuples(st.integers(20, 240), st.integers(6, 70)), CHOSEN, SIGNS)
@settings(max_examples=settings().max_examples * 2 // 10)
def test_hostile_names_stay_text(
    stage_with: StageWith, name: str, size: tuple[int, int], panel: str, signs: str
) -> None:
    """Whatever servers, processes and machines are called, the screen stays whole and plain."""
    stage = stage_with(GLYPHS[signs])
    shot = stage.show(hostile(name), size, panel)
    cells_are_whole(shot, size)
    stage.press("e")
    cells_are_whole(stage.shot(), size)
    stage.press("escape")
    if size[0] >= 80 and size[1] >= 24:
        assert "[bold red]" in "".join(shot.lines)


@cache
def hostile(name: str) -> View:
    return view_after(poisoned(name))


Make = Callable[[Appearance, View], PageScreen]
swept = cache(sweep_of)


def requests(appearance: Appearance, view: View) -> PageScreen:
    """A slow request, a failure, and what a hostile server may have put into a head."""
    snapshot = view.snapshot
    if snapshot is None or snapshot.load is None:
        return RequestsScreen(appearance, view)
    slow = RequestRecord(1.8e9, "GET", "http://web1/" + 99 * "x", 1234.56, 0.1, 0.0, 1200.0, 34.4, 200, trace_id="0af7")
    reason = Message("the server closed the connection without a response{reason}", reason=None)
    failed = RequestRecord(1.8e9, "GET", "http://web1/", 0.2, failure="receive", reason=reason)
    hostile = replace(slow, status=503, failure="status", response_head=f"HTTP/1.1 503 \x1b[2J\nX: {'x' * 999}")
    load = replace(snapshot.load, noted=Requests((slow, hostile), (failed, hostile)))
    measured = replace(snapshot.measured, frame=replace(snapshot.measured.frame, load=load))
    return RequestsScreen(appearance, replace(view, snapshot=replace(snapshot, measured=measured)))


def profile(appearance: Appearance, view: View) -> PageScreen:
    return ProfileScreen(appearance, profiled(view), live=True)


def profiled(view: View) -> View:
    """The view with a profile of the first host, with names as they can be made up; none of others."""
    stacks = (("httpd;main;" + 99 * "x", 70), (f"httpd;\x1b[2J{'y;' * 30}\u202e", 29), ("php-fpm", 1))
    found = {host.name: (9.0, Profile(host.name, "perf", stacks, (("httpd;read", 3),))) for host in view.hosts[:1]}
    view.history.profiles = found
    return view


def tune(appearance: Appearance, view: View) -> PageScreen:
    why = Message("throughput at {c} connections is far below its best", c=16)
    sweep = Sweep()
    sweep.results += [step for step in (swept("headroom").running, swept("swap").running) if step is not None]
    return TuneScreen(appearance, view, lambda: sweep, lambda: why)


def experiment(appearance: Appearance, view: View) -> PageScreen:
    variant = plan.Variant(name="10 プロセス", apply=("true",))
    cell = plan.Cell(variant, "", "http://web1/", LoadLevel(20), 1, ("http://web1/",))
    rows = ["構成         req/s", "10 プロセス    212"]
    return ExperimentScreen(appearance, view, lambda: Progress(3, 12, cell, 75.0), lambda _: rows)


def sessions(appearance: Appearance, _: View) -> PageScreen:
    found = [Recording(Path("/state/run.loadtop"), 1.8e9, 17.0, "http://web1/", "nginx-connections")]
    return SessionsPage(appearance, found)


PAGES: dict[str, Make] = {
    "help": HelpScreen,
    "help of a replay": ReplayHelp,
    "evidence": lambda appearance, view: EvidenceScreen(appearance, profiled(view)),
    "requests": requests,
    "profile": profile,
    "no profile": lambda appearance, view: ProfileScreen(appearance, view, live=False),
    "tune": tune,
    "steps": lambda appearance, view: StepsScreen(appearance, view, lambda: swept("headroom")),
    "experiment": experiment,
    "compare": lambda appearance, _: ComparisonPage(appearance, compared()),
    "sessions": sessions,
}


@given(st.sampled_from(sorted(PAGES)), st.sampled_from(VIEWS), st.integers(56, 236), SPOKEN, SIGNS)
@settings(max_examples=settings().max_examples * 6 // 10)
def test_no_line_of_a_page_is_cut(page: str, name: str, cells: int, spoken: str, signs: str) -> None:
    with speaking(spoken):
        screen = PAGES[page](Appearance(ROLES, GLYPHS[signs]), view_of(name))
        lines = screen.text(cells)
        assert [line for line in lines if length(line) > cells] == []
        assert width(screen.footer()) < cells + 4
        text = ["".join(span.text for span in line) for line in lines]
    assert [line for line in text if CUT.search(line)] == []
    if signs == "ascii" and spoken == "en" and page != "experiment":
        assert all(map(str.isascii, text))
    if spoken == "ja" and name not in FOREIGN and page not in ("compare", "evidence"):
        assert [line for line in text if ENGLISH.search(line)] == []
