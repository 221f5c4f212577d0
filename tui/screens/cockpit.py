"""The cockpit: header, panels, keys. Which panel goes where is :mod:`tui.layout`'s business."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.geometry import Offset, Region, Size, Spacing
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

from tui.drawing.line import Role
from tui.layout import Band, bands_for, boxes, place
from tui.look import Look
from tui.panels.apache import ApachePanel
from tui.panels.cpu import CpuPanel
from tui.panels.devices import DevicePanel
from tui.panels.header import Header
from tui.panels.load import LoadPanel
from tui.panels.memory import MemoryPanel
from tui.panels.processes import ProcessPanel
from tui.panels.timeline import TimePanel
from tui.panels.verdict import VerdictPanel
from tui.screens.live import LiveScreen
from tui.view import View
from tui.widgets.keybar import KeyBar
from tui.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.layout import ArrangeResult

_NO_MARGIN = Spacing()
_NO_OFFSET = Offset()


class BoxLayout(Layout):
    """Textual's view of the arrangement."""

    name = "boxes"

    def __init__(self, screen: "CockpitScreen") -> None:
        self._screen = screen

    def arrange(
        self,
        parent: Widget,
        children: list[Widget],  # noqa: ARG002 (the screen knows them)
        size: Size,
        greedy: bool = True,  # noqa: ARG002 (nothing grows with its content)
    ) -> "ArrangeResult":
        """Place what there is room for."""
        parent.pre_layout(self)
        return [
            WidgetPlacement(region, _NO_OFFSET, _NO_MARGIN, widget)
            for widget, region in self._screen.places(size.width, size.height)
        ]


class CockpitScreen(LiveScreen, inherit_bindings=False):
    """Places its panels, and knows which one is chosen and whether it is zoomed."""

    def __init__(self, look: Look) -> None:
        super().__init__()
        self.look = look
        self.header = Header(look)
        self.keys = KeyBar(look)
        self.panels: dict[str, Panel] = {
            panel.KEY: panel
            for panel in (
                VerdictPanel(look),
                LoadPanel(look),
                CpuPanel(look),
                MemoryPanel(look),
                ApachePanel(look),
                ProcessPanel(look),
                DevicePanel(look),
                TimePanel(look),
            )
        }
        self.chosen = ""
        self.zoomed = False
        self._boxes = BoxLayout(self)
        self._question: Widget | None = None
        self._view: View | None = None

    @property
    def layout(self) -> Layout:
        """The arrangement of the panels."""
        return self._boxes

    def compose(self) -> ComposeResult:
        """Header, panels, keys."""
        yield self.header
        yield from self.panels.values()
        yield self.keys

    def places(self, width: int, height: int) -> list[tuple[Widget, Region]]:
        """Every widget that is shown, with its region; panels learn their frames."""
        bands = [Band((self.chosen,), 1, weight=1)] if self.zoomed else list(bands_for(width, height))
        found: list[tuple[Widget, Region]] = [(self.header, Region(0, 0, width, 1))]
        for panel in self.panels.values():
            panel.placement = None
        for placement in place(boxes(bands, width, 1, max(3, height - 2)), self.look.glyphs):
            panel = self.panels[placement.panel]
            panel.placement = placement
            found.append((panel, Region(placement.x, placement.y, placement.width, placement.height)))
        found.append((self._question or self.keys, Region(0, height - 1, width, 1)))
        return found

    def show_view(self, view: View) -> None:
        """Draw the header and every panel that is shown."""
        self._view = view
        self.header.draw(view)
        for panel in self.panels.values():
            panel.draw(view)

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        """Show a message in the place of the keys."""
        self.keys.say(text, role)

    def on_resize(self) -> None:
        """Draw anew once the panels have their new places."""
        self.call_after_refresh(self._redraw)

    def choose(self, panel: str) -> None:
        """Make a panel the one that ``zoom`` is about."""
        for known in self.panels.values():
            known.chosen = panel == known.KEY
        self.chosen = panel
        if self.zoomed:
            self._arrange_anew()
        else:
            self._redraw()

    def choose_next(self, step: int = 1) -> None:
        """Choose the next panel of those shown; the chosen one moves on also while it is zoomed."""
        names = [p.KEY for p in self.panels.values() if self.zoomed or p.placement is not None]
        at = names.index(self.chosen) + step if self.chosen in names else 0
        self.choose(names[at % len(names)])

    def zoom(self) -> None:
        """Give the chosen panel (or the load) the whole screen, or take it back."""
        self.zoomed = not self.zoomed
        self.choose(self.chosen or "load")
        if not self.zoomed:
            self._arrange_anew()

    def on_panel_picked(self, event: Panel.Picked) -> None:
        """A click on a panel chooses it, a click on the chosen one zooms."""
        event.stop()
        if event.panel == self.chosen:
            self.zoom()
        else:
            self.choose(event.panel)

    @property
    def asks(self) -> bool:
        """Whether a question waits for its answer."""
        return self._question is not None

    def ask(self, words: str) -> None:
        """Ask in the place of the keys; the answer comes as :class:`~tui.widgets.question.Question.Answered`."""
        from tui.widgets.question import Question

        if self._question is None:
            self._question = Question(words)
            self.mount(self._question)
            self._question.focus()

    def stop_asking(self) -> None:
        """Take the question back, and show the keys again."""
        if self._question is not None:
            self._question.remove()
            self._question = None
            self._arrange_anew()

    def _arrange_anew(self) -> None:
        """Place everything again. A child asks for it: Textual then forgets how its parent was arranged before."""
        self.header.refresh(layout=True)
        self.call_after_refresh(self._redraw)

    def _redraw(self) -> None:
        if self._view is not None:
            self.show_view(self._view)
