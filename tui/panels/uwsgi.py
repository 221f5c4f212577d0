"""uWSGI: how many workers of each server are busy, and how many requests wait for one."""

from loadtop.i18n import Translatable
from loadtop.rates.records import ServerRates
from loadtop.servers.uwsgi.kind import UWSGI
from loadtop.servers.uwsgi.record import UwsgiStatus
from tui.panels.pool import Figures, PoolPanel
from tui.panels.server import fullest
from tui.state.view import Curve


class UwsgiPanel(PoolPanel[UwsgiStatus]):
    KIND = UWSGI
    KEY = UWSGI.name
    TAB: Translatable = "uWSGI"
    CURVES = (Curve("uwsgi.full", fullest(UWSGI), "busy workers, 0 to 100 %"),)

    def figures(self, rates: ServerRates[UwsgiStatus]) -> Figures:
        pool = rates.reading
        return Figures(pool.address, pool.active, pool.slots, pool.queued, pool.full, rates.per_second["requests"])
