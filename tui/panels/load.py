"""The load: throughput with its history, response times, what is in flight and what failed; and who makes it."""

from collections.abc import Sequence

from loadtop.diagnosis.errors import ERRORS
from loadtop.i18n import Translatable, pad, tr
from loadtop.model import EngineWorker, Failures, LoadSample, LoadState
from loadtop.model.histogram import percentile_ms
from tui.drawing.graph import graph
from tui.drawing.line import Line, Role, Span, beside, clip, clip_middle, length, line, message_text, safe, width
from tui.drawing.numbers import count, milliseconds, per_second, percent, size, speed
from tui.state.view import Phase, View
from tui.widgets.panel import Panel

LEFT = 20  # cells of the figures at the left of the graphs
ROOMY = 26  # cells from which failures stand in columns
TALL = 9  # rows from which response times have a graph of their own
STATE, USERS, CPU, MEMORY = 9, 6, 5, 7  # cells of a worker's columns, and a blank before the first one

_CALM = ("ready", "starting", "spawning", "running")


class LoadPanel(Panel):
    KEY = "load"

    def title(self, view: View) -> Line:
        engine = "builtin" if view.load is None else view.load.engine
        maker = "" if engine == "builtin" else tr(" by {engine}", engine=safe(engine))
        return line(Span(f"{tr('load')}{maker}", Role.TITLE))

    def tag(self, view: View) -> Line:
        if view.load is None or self.placement is None:
            return ()
        top = count(self._top(view, self.placement.inner[0] - 2))
        return line(Span(tr("graph: 0 to {top} req/s", top=top), Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        load = view.load
        if load is None:
            if view.phase is Phase.STARTING:
                return self.words(tr("waiting for the first figures"), cells, rows)
            return self.words(tr("Watching only: no load is generated."), cells, rows)
        problems = self._problems(view, load, cells, 2 if rows >= 6 else 1)
        room = rows - len(problems)
        if rows < TALL:
            above = self._throughput(view, load, cells, max(1, room - 1))
            return [*above, _latencies(view, cells), *problems]
        lower = max(4, room // 2)
        return [*self._throughput(view, load, cells, room - lower), *self._times(view, cells, lower), *problems]

    def _throughput(self, view: View, load: LoadSample, cells: int, rows: int) -> list[Line]:
        rates = view.load_rates
        figures = [
            line(Span(per_second(None if rates is None else rates.rps, 9), Role.VALUE), tr(" req/s")),
            _at_work(load),
            line(Span(count(load.requests, 9), Role.VALUE), tr(" req total")),
            line(Span(speed(None if rates is None else rates.received_kb, 9), Role.VALUE), tr(" received")),
        ]
        if cells <= LEFT:
            return figures[:rows]
        curve = graph(view.history.rps, cells - LEFT, rows, self._top(view, cells), self.glyphs)
        return beside(figures, curve, LEFT, rows)

    def _times(self, view: View, cells: int, rows: int) -> list[Line]:
        figures = [
            line(Span(milliseconds(_percentile(view, share), 9), Role.VALUE), Span(f" ms p{share}", Role.DIM))
            for share in (50, 90, 99)
        ]
        room = cells - LEFT
        top = self.top(view.history.p99, room, 10.0)
        curve = graph(view.history.p99, room, rows - 1, top, self.glyphs)
        head = self.caption(tr("p99 graph: 0 to {top} ms", top=milliseconds(top)), cells)
        return [head, *beside(figures, curve, LEFT, rows - 1)]

    def _top(self, view: View, cells: int) -> float:
        return self.top(view.history.rps, cells - LEFT, 10.0)

    def _problems(self, view: View, load: LoadSample, cells: int, rows: int) -> list[Line]:
        """What went wrong; a message of the generator takes the place of the figures. A failed load says why above."""
        # The advice of the verdict above contains what the generator says of errors.
        above = not load.state.ended and view.verdict is not None and view.verdict.bottleneck == ERRORS.name
        if load.message and load.state is not LoadState.FAILED and not above:
            return self.words(message_text(load.message), cells, rows, Role.WARN)
        failed, other = load.failed, load.non_2xx
        wide = cells >= ROOMY
        counts = line(
            Span(tr("failed "), Role.DIM),
            Span(count(failed, 4 if wide else 0), Role.BAD if failed else Role.VALUE),
            Span(tr("   not 2xx ") if wide else tr("  not 2xx "), Role.DIM),
            Span(count(other, 4 if wide else 0), Role.BAD if other else Role.VALUE),
        )
        known = _classes(load.failures) if load.failures is not None and failed else ()
        fitting = (gap + text for text in known for gap in ("  ", " "))
        said = next((text for text in fitting if length(counts) + width(text) <= cells), "")
        return [(*counts, Span(said, Role.BAD))]


def _at_work(load: LoadSample) -> Line:
    if load.in_flight is not None or not load.workers:
        return line(Span(count(load.in_flight, 9), Role.VALUE), tr(" in flight"))
    there = sum(not worker.missing for worker in load.workers)
    role = Role.VALUE if there == len(load.workers) else Role.BAD
    return line(Span(count(there, 9), role), tr(" worker" if there == 1 else " workers"))


def _percentile(view: View, share: int) -> float | None:
    """The interval's percentile in ms; that of the whole load where an engine only states that."""
    value = percentile_ms(view.load, share)
    if value is not None or view.load is None:
        return value
    total = next((times for times in view.load.stated if times.part == "total"), None)
    found: float | None = getattr(total, f"p{share}_ms", None)
    return found


def _latencies(view: View, cells: int) -> Line:
    shown = (50, 90, 99) if cells >= 34 else (50, 99) if cells >= 23 else (99,)
    spans: list[Span] = []
    for share in shown:
        value = milliseconds(_percentile(view, share), 5)
        spans += [Span(f"p{share} ", Role.DIM), Span(value, Role.VALUE), Span("  ")]
    return (*spans[:-1], Span(" ms", Role.DIM))


def _classes(failures: Failures) -> Sequence[str]:
    """The failure classes that occurred, in texts that get shorter: with numbers, without numbers, the most frequent
    one. For an engine without classes, one text instead."""
    if failures == Failures.undivided(failures.unclassified):
        return (tr("unclassified"),)
    classes: dict[Translatable, int | None] = {
        "connect": failures.connect,
        "receive": failures.receive,
        "length": failures.length,
        "exception": failures.exceptions,
        "timeout": failures.timeout,
        "other": failures.unclassified,
    }
    known = {tr(name): number for name, number in classes.items() if number}
    most = sorted(known, key=lambda name: -known[name])
    numbers = " ".join(f"{name} {count(number)}" for name, number in known.items())
    if len(most) < 2:
        return (numbers, *most)
    return (numbers, " ".join(known), f"{most[0]} +{len(most) - 1}")


class WorkersPanel(Panel):
    """The workers of another engine in the order of their starts; those with problems first where not all have room."""

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
            return self.words(tr("The engine has not reported any worker yet."), cells, rows)
        shown, hidden = workers, ""
        if len(workers) > rows - 1:
            shown = sorted(workers, key=lambda worker: worker.state in _CALM and not worker.full)[: max(0, rows - 2)]
            rest = [worker.cpu_pct for worker in workers if worker not in shown and worker.cpu_pct is not None]
            most = percent(max(rest, default=None), 0)
            hidden = tr("{number} more, busiest {cpu} % of a core", number=len(workers) - len(shown), cpu=most)
        names = max(width(safe(worker.name)) for worker in workers)
        least = len("worker") + STATE + USERS + CPU
        memory = MEMORY if cells >= least + MEMORY else 0
        room = max(len("worker"), min(names, cells - STATE - USERS - CPU - memory))
        head = f"{'worker':{room}} {'state':{STATE - 1}}{'users':>{USERS}}{'cpu%':>{CPU}}"
        head += f"{'rss':>{memory}}" if memory else ""
        lines = [line(Span(head, Role.DIM)), *(self._row(worker, room, memory) for worker in shown)]
        return [*lines, *self.words(hidden, cells, 1)]

    def _row(self, worker: EngineWorker, room: int, memory: int) -> Line:
        name = pad(clip_middle(safe(worker.name), room, self.glyphs.ellipsis), room)
        state = pad(clip(safe(worker.state), STATE - 1, self.glyphs.ellipsis), STATE - 1)
        role = Role.BAD if worker.missing else Role.TEXT if worker.state in _CALM else Role.WARN
        return line(
            f"{name} ",
            Span(state, role),
            Span(count(worker.users, USERS), Role.VALUE),
            Span(percent(worker.cpu_pct, CPU), Role.WARN if worker.full else Role.VALUE),
            Span(size(worker.memory_kb, memory) if memory else "", Role.DIM),
        )


def _workers(view: View) -> Sequence[EngineWorker]:
    return () if view.load is None else view.load.workers
