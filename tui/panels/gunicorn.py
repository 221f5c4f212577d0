"""gunicorn: how many workers of each server are busy, and how many requests wait for one."""

from loadtop.rates.records import ServerRates
from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.gunicorn.record import GunicornPool
from tui.panels.pool import Figures, PoolPanel
from tui.panels.server import fullest
from tui.state.view import Curve


class GunicornPanel(PoolPanel[GunicornPool]):
    KIND = GUNICORN
    KEY = GUNICORN.name
    CURVES = (Curve("gunicorn.full", fullest(GUNICORN), "busy workers, 0 to 100 %"),)

    def figures(self, rates: ServerRates[GunicornPool]) -> Figures:
        pool = rates.reading
        return Figures(pool.address, pool.active, pool.slots, pool.queued, pool.full, None)
