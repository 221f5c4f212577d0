"""Every panel of the cockpit, in the order in which they are chosen."""

from tui.panels.apache import ApachePanel
from tui.panels.breakdown import BreakdownPanel
from tui.panels.gunicorn import GunicornPanel
from tui.panels.haproxy import HaproxyPanel
from tui.panels.load import LoadPanel, WorkersPanel
from tui.panels.machine import CpuPanel, DevicePanel, MemoryPanel
from tui.panels.mysql import MysqlPanel
from tui.panels.nginx import NginxPanel
from tui.panels.php_fpm import FpmPanel
from tui.panels.postgresql import PostgresqlPanel
from tui.panels.processes import ProcessPanel
from tui.panels.redis import RedisPanel
from tui.panels.timeline import TimePanel
from tui.panels.uwsgi import UwsgiPanel
from tui.panels.verdict import VerdictPanel
from tui.widgets.panel import Panel

SERVERS: tuple[type[Panel], ...] = (
    ApachePanel,
    NginxPanel,
    FpmPanel,
    UwsgiPanel,
    GunicornPanel,
    HaproxyPanel,
    RedisPanel,
    MysqlPanel,
    PostgresqlPanel,
)
"""One panel per kind of server. A new kind is one line here: layout, history, tabs and help follow."""

PANELS: tuple[type[Panel], ...] = (
    VerdictPanel,
    LoadPanel,
    CpuPanel,
    MemoryPanel,
    *SERVERS,
    WorkersPanel,
    ProcessPanel,
    DevicePanel,
    BreakdownPanel,
    TimePanel,
)
"""A panel that belongs to no kind of server needs a place in :mod:`tui.drawing.layout` as well."""

CURVES = [curve for panel in PANELS for curve in panel.CURVES]  # what the history keeps for the panels
