"""Where the CPU time of the chosen host goes: its hottest functions, and the tree of their calls."""

from collections.abc import Sequence

from loadtop.i18n import Translatable, clock, rendered, tr
from loadtop.model import PROFILE_S, Profile
from loadtop.reports.profile import calls, heading
from tui.drawing.appearance import Appearance
from tui.drawing.line import Line, Role, Span, clip, hanging, line, safe
from tui.state.view import View
from tui.widgets.page import PageScreen

LEAST = 0.02  # share of the samples from which a call is in the tree


class ProfileScreen(PageScreen):
    HEADING: Translatable = "CPU time"

    def __init__(self, appearance: Appearance, view: View, *, live: bool) -> None:
        """``live``: a profile can be taken."""
        super().__init__(appearance, view)
        self._live = live

    def footer(self) -> str:
        return super().footer() + (f"   {tr('P new profile')}" if self._live else "")

    def text(self, cells: int) -> Sequence[Line]:
        host = self.view.host
        if host is None:
            return hanging((), self.view.why_nothing(), cells)
        at, profile = self.view.history.profiles.get(host.name, (0.0, None))
        if profile is None:
            waits = "Profiling {host} for {seconds} s. The result follows a few seconds later."
            words = waits if self._live else "No profile of {host} up to this point."
            return hanging((), tr(words, host=safe(host.name), seconds=PROFILE_S), cells)
        if profile.problem:
            return hanging(_when(at), safe(rendered(profile.problem)), cells, Role.WARN)
        ellipsis = self.glyphs.ellipsis
        lines = hottest(at, profile, cells, ellipsis)
        if profile.calls:
            lines += [(), line(Span(tr("Waiting in system calls"), Role.TITLE))]
            lines += (_row(pct, name, cells, ellipsis) for name, pct in profile.waited())
        return [*lines, (), line(Span(tr("Calls"), Role.TITLE)), *self._tree(profile, cells)]

    def _tree(self, profile: Profile, cells: int) -> list[Line]:
        return [
            _row(100.0 * samples / max(1, profile.samples), f"{'  ' * level}{function}", cells, self.glyphs.ellipsis)
            for level, function, _, samples in calls(profile, LEAST)
        ]


def hottest(at: float, profile: Profile, cells: int, ellipsis: str) -> list[Line]:
    """The functions that run most often, below a heading with the time ``at`` which the profile was complete."""
    head = hanging(_when(at), safe(heading(profile)), cells, Role.TITLE)
    return [*head, *(_row(pct, name, cells, ellipsis) for name, pct in profile.hottest())]


def _when(at: float) -> Line:
    return line(Span(f"{clock(at)}  ", Role.DIM))


def _row(pct: float, name: str, cells: int, ellipsis: str) -> Line:
    return line(Span(f"{pct:6.1f} %  ", Role.VALUE), clip(safe(name), cells - 10, ellipsis))
