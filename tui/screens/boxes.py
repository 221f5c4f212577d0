"""Textual's view of the arrangement: it asks the cockpit where everything is."""

from typing import TYPE_CHECKING

from textual.geometry import Offset, Size, Spacing
from textual.layout import Layout, WidgetPlacement
from textual.widget import Widget

if TYPE_CHECKING:
    from textual.layout import ArrangeResult

    from tui.screens.cockpit import CockpitScreen

_NO_MARGIN = Spacing()
_NO_OFFSET = Offset()


class BoxLayout(Layout):
    """What is :attr:`CockpitScreen.above` lies over the rest."""

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
            WidgetPlacement(region, _NO_OFFSET, _NO_MARGIN, widget, order=widget is self._screen.above)
            for widget, region in self._screen.places(size.width, size.height)
        ]
