"""The screen of the cockpit: header, panels, keys, placed as :mod:`tui.drawing.layout` says."""

from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.geometry import Offset, Region, Size, Spacing
from textual.layout import ArrangeResult, Layout, WidgetPlacement
from textual.widget import Widget

from loadtop.i18n import tr
from tui.drawing.appearance import Appearance
from tui.drawing.layout import Band, bands_for, boxes, chosen_panels, framed, tabs
from tui.drawing.line import Role, Span, length
from tui.panels.header import Caption, CaptionLine, Header
from tui.panels.processes import ProcessPanel
from tui.panels.registry import PANELS, SERVERS
from tui.panels.verdict import VerdictPanel
from tui.state.view import View
from tui.widgets.keybar import KeyBar
from tui.widgets.lines import LiveScreen
from tui.widgets.palette import Entry, Palette
from tui.widgets.panel import Panel

if TYPE_CHECKING:
    from loadtop.engines.command import CommandLoad
    from tui.widgets.question import Question

LEAST = (16, 6)  # columns and rows below which there is no panel, only the first and the last line


class PanelLayout(Layout):
    name = "panels"

    def __init__(self, screen: "CockpitScreen") -> None:
        self._screen = screen

    def arrange(
        self,
        parent: Widget,
        children: list[Widget],  # noqa: ARG002 (the screen knows them)
        size: Size,
        greedy: bool = True,  # noqa: ARG002 (nothing grows with its content)
    ) -> ArrangeResult:
        parent.pre_layout(self)
        return [
            WidgetPlacement(region, Offset(), Spacing(), widget, order=widget is self._screen.palette)
            for widget, region in self._screen.places(size.width, size.height)
        ]


class CockpitScreen(LiveScreen, inherit_bindings=False):
    AUTO_FOCUS = ""

    def __init__(
        self, appearance: Appearance, program: "CommandLoad | None" = None, caption: Caption | None = None
    ) -> None:
        super().__init__()
        self.appearance = appearance
        self.glyphs = appearance.glyphs
        self.header = Header(appearance)
        self.caption = None if caption is None else CaptionLine(appearance, caption)
        self.keys = KeyBar(appearance)
        self.panels: dict[str, Panel] = {panel.KEY: panel(appearance) for panel in PANELS}
        self.processes = cast("ProcessPanel", self.panels["processes"])
        self.verdict = cast("VerdictPanel", self.panels["verdict"])
        if program is not None and program.terminal is not None:
            from tui.panels.command import CommandPanel

            self.panels = {"command": CommandPanel(appearance, program, program.terminal), **self.panels}
        self.chosen = ""
        self.zoomed = False
        self.palette: Palette | None = None
        self.question: Question | None = None
        self._recent: list[str] = []
        self._wanted: frozenset[str] = frozenset(self.panels)
        self._boxes = PanelLayout(self)
        self._view: View | None = None

    @property
    def layout(self) -> Layout:
        return self._boxes

    def compose(self) -> ComposeResult:
        yield self.header
        if self.caption is not None:
            yield self.caption
        yield from self.panels.values()
        yield self.keys

    def places(self, cells: int, rows: int) -> list[tuple[Widget, Region]]:
        top = 1 if self.caption is None else 2
        shared = bands_for(cells, rows + 1 - top, [panel.KEY for panel in SERVERS], command="command" in self.panels)
        bands, sharing = chosen_panels(shared, self._wanted, self._recent), tabs(shared, self._wanted)
        if self.zoomed:
            bands, sharing = [Band((self.chosen,), 1, weight=1)], {}
        found: list[tuple[Widget, Region]] = [(self.header, Region(0, 0, cells, 1))]
        if self.caption is not None:
            found.append((self.caption, Region(0, 1, cells, 1)))
        for panel in self.panels.values():
            panel.placement = None
            panel.tabs = tuple((name, self.panels[name].TAB or name) for name in sharing.get(panel.KEY, ()))
        room = boxes(bands, cells, top, rows - 1 - top) if cells >= LEAST[0] and rows >= LEAST[1] else []
        for placement in framed(room, self.glyphs):
            panel = self.panels[placement.panel]
            panel.placement = placement
            found.append((panel, placement.region))
        shown = frozenset(name for name, panel in self.panels.items() if panel.placement is not None)
        for panel in self.panels.values():
            panel.shown = shown
        asked = cells if self.question is None else min(length(self.keys.question), max(0, cells - 10))
        found.append((self.keys, Region(0, rows - 1, asked, 1)))
        if self.question is not None:
            found.append((self.question, Region(asked, rows - 1, cells - asked, 1)))
        if self.palette is not None:
            found.append((self.palette, self.palette.place(cells, rows)))
        return found

    def show_view(self, view: View) -> None:
        self._view = view
        self.keys.offer(load=not view.only_watches)
        wanted = frozenset(name for name, panel in self.panels.items() if panel.wanted(view))
        if wanted != self._wanted:
            self._wanted = wanted
            self._arrange_anew()
            return
        with self.together():
            self.header.draw(view)
            if self.caption is not None:
                self.caption.draw(view)
            for panel in self.panels.values():
                panel.draw(view)

    def say(self, text: str, role: Role = Role.VALUE) -> None:
        self.keys.say(text, role)

    def fill(self) -> None:
        self.keys.draw()
        if self.palette is not None:
            self.palette.draw()
        self.redraw()

    @property
    def panel_names(self) -> list[str]:
        return [name for name in self.panels if name in self._wanted]

    def choose(self, panel: str) -> None:
        for known in self.panels.values():
            known.chosen = panel == known.KEY
        self.chosen = panel
        self._recent = [panel, *(name for name in self._recent if name != panel)]
        if self.panels[panel].can_focus:
            self.set_focus(self.panels[panel])
        elif isinstance(self.focused, Panel):
            self.set_focus(None)
        if self.zoomed or self.panels[panel].placement is None:
            self._arrange_anew()
        else:
            self.redraw()

    def action_choose(self, step: int = 1) -> None:
        names = self.panel_names
        at = names.index(self.chosen) + step if self.chosen in names else 0
        self.choose(names[at % len(names)])

    def action_zoom(self, panel: str = "") -> None:
        self.zoomed = not self.zoomed or bool(panel and panel != self.chosen)
        self.choose(panel or self.chosen or "load")
        if not self.zoomed:
            self._arrange_anew()

    def action_order(self, column: str = "") -> None:
        self.processes.order_by(column)
        self.choose("processes")

    def action_reverse(self) -> None:
        self.processes.reversed = not self.processes.reversed
        self.choose("processes")

    async def action_filter(self) -> None:
        await self.ask("filter", tr("filter processes by"), self.processes.filter)

    def filter(self, text: str) -> None:
        self.processes.filter = text
        self.choose("processes")

    def on_panel_picked(self, event: Panel.Picked) -> None:
        event.stop()
        if event.panel == self.chosen and event.may_zoom:
            self.action_zoom()
        else:
            self.choose(event.panel)

    async def ask(self, purpose: str, words: str, text: str = "", *, number: bool = False) -> None:
        """Ask in the place of the keys; the answer comes as :class:`~tui.widgets.question.Question.Answered`."""
        from tui.widgets.question import Question

        if self.question is None and self.palette is None:
            self.keys.question = (Span(f" {words}: ", Role.KEY),)
            self.question = Question(purpose, text, number=number)
            await self.mount(self.question)
            self.question.cursor_position = len(self.question.value)
            self.set_focus(self.question)

    def stop_asking(self) -> None:
        if self.question is not None:
            self.question.remove()
            self.question = None
            self.keys.question = ()
            self._arrange_anew()

    async def show_palette(self, entries: list[Entry]) -> None:
        if self.palette is None and self.question is None:
            self.palette = Palette(self.appearance, entries)
            await self.mount(self.palette)
            self.set_focus(self.palette)
        else:
            self.close_palette()

    def close_palette(self) -> None:
        if self.palette is not None:
            self.palette.remove()
            self.palette = None
            self._arrange_anew()

    def _arrange_anew(self) -> None:
        """Place everything again on request of a child: Textual then forgets the previous arrangement of its parent."""
        self.header.refresh(layout=True)

    def redraw(self) -> None:
        if self._view is not None:
            self.show_view(self._view)
