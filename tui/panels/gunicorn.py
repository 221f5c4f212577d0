"""gunicorn: how many workers of each server are busy, and how many requests wait for one."""

from loadtop.servers.gunicorn.kind import GUNICORN
from loadtop.servers.gunicorn.record import GunicornPool
from tui.panels.pool import WorkerPanel
from tui.panels.server import highest_fullness
from tui.state.view import Curve


class GunicornPanel(WorkerPanel[GunicornPool]):
    KIND = GUNICORN
    KEY = GUNICORN.name
    CURVES = (Curve("gunicorn.full", highest_fullness(GUNICORN), "busy workers, 0 to 100 %"),)
