"""uWSGI: how many workers of each server are busy, and how many requests wait for one."""

from loadtop.i18n import Translatable
from loadtop.servers.uwsgi.kind import UWSGI
from loadtop.servers.uwsgi.record import UwsgiStatus
from tui.panels.pool import WorkerPanel
from tui.panels.server import highest_fullness
from tui.state.view import Curve


class UwsgiPanel(WorkerPanel[UwsgiStatus]):
    KIND = UWSGI
    KEY = UWSGI.name
    TAB: Translatable = "uWSGI"
    CURVES = (Curve("uwsgi.full", highest_fullness(UWSGI), "busy workers, 0 to 100 %"),)
