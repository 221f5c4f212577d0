"""The workers of another engine, as it reports them."""

from collections.abc import Sequence

from loadtop.i18n import Translatable, tr
from loadtop.model import EngineWorker
from tui.drawing.line import Line, Role, Span, clip, clip_middle, line, safe, width
from tui.drawing.numbers import count, percent, size
from tui.state.view import View
from tui.widgets.panel import Panel

FIGURES = 18  # cells of the three columns of figures

_CALM = ("ready", "starting", "spawning", "running")


class WorkersPanel(Panel):
    """One row per worker, in the order of their starts; where there is no room for all, those with problems first."""

    KEY = "workers"
    TAB: Translatable = "workers"

    def wanted(self, view: View) -> bool:
        return bool(_workers(view))

    def title(self, view: View) -> Line:
        engine = safe(view.load.engine) if view.load is not None else ""
        return line(Span(tr("workers of {engine}", engine=engine), Role.TITLE))

    def tag(self, view: View) -> Line:
        workers = _workers(view)
        there = sum(not worker.missing for worker in workers)
        role = Role.DIM if there == len(workers) else Role.BAD
        return line(Span(tr("{done} of {all}", done=there, all=len(workers)), role))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        workers = _workers(view)
        if not workers:
            return self.words(tr("The engine has not told of any worker yet."), cells, rows)
        shown, hidden = workers, ""
        if len(workers) > rows - 1:
            shown = sorted(workers, key=lambda worker: not _troubled(worker))[: max(0, rows - 2)]
            rest = [worker.cpu_pct for worker in workers if worker not in shown and worker.cpu_pct is not None]
            most = percent(max(rest, default=None), 0)
            hidden = tr("{number} more, at most {cpu} % of a core", number=len(workers) - len(shown), cpu=most)
        names = max(width(safe(worker.name)) for worker in workers)
        room = max(len("worker"), min(names, cells - FIGURES - 9))
        head = f"{'worker':{room}} {'state':8}{'users':>6}{'cpu%':>5}{'rss':>7}"
        lines = [line(Span(head, Role.DIM)), *(self._row(worker, room) for worker in shown)]
        return [*lines, line(Span(hidden, Role.DIM))] if hidden else lines

    def _row(self, worker: EngineWorker, room: int) -> Line:
        name = clip_middle(safe(worker.name), room, self.glyphs.ellipsis)
        role = Role.BAD if worker.missing else Role.TEXT if worker.state in _CALM else Role.WARN
        return line(
            Span(name + " " * (room - width(name) + 1)),
            Span(f"{clip(safe(worker.state), 8):8}", role),
            Span(count(worker.users, 6), Role.VALUE),
            Span(percent(worker.cpu_pct, 5), Role.WARN if worker.full else Role.VALUE),
            Span(size(worker.memory_kb, 7), Role.DIM),
        )


def _workers(view: View) -> Sequence[EngineWorker]:
    return () if view.load is None else view.load.workers


def _troubled(worker: EngineWorker) -> bool:
    return worker.state not in _CALM or worker.full
