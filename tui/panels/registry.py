"""Every panel of the cockpit once, in the order in which they are chosen. A new panel is a line here and in a band of
:mod:`tui.drawing.layout`."""

from tui.drawing.appearance import Appearance
from tui.panels.apache import ApachePanel
from tui.panels.cpu import CpuPanel
from tui.panels.devices import DevicePanel
from tui.panels.fpm import FpmPanel
from tui.panels.haproxy import HaproxyPanel
from tui.panels.load import LoadPanel
from tui.panels.memory import MemoryPanel
from tui.panels.processes import ProcessPanel
from tui.panels.timeline import TimePanel
from tui.panels.verdict import VerdictPanel
from tui.panels.workers import WorkersPanel
from tui.widgets.panel import Panel

PANELS: tuple[type[Panel], ...] = (
    VerdictPanel,
    LoadPanel,
    CpuPanel,
    MemoryPanel,
    ApachePanel,
    FpmPanel,
    HaproxyPanel,
    WorkersPanel,
    ProcessPanel,
    DevicePanel,
    TimePanel,
)


def make_panels(appearance: Appearance) -> tuple[Panel, ...]:
    """One of each."""
    return tuple(panel(appearance) for panel in PANELS)
