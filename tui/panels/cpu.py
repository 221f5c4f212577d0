"""The processors: where their time goes, each core, and the past."""

from collections.abc import Sequence

from loadtop.i18n import tr
from loadtop.rates.records import CoreShares, CpuShares
from tui.drawing.graph import layers, level, stacked
from tui.drawing.line import Line, Role, Span, fit, length, line, width
from tui.drawing.numbers import percent
from tui.state.view import View, cpu_parts
from tui.widgets.panel import Panel

CORE = 17  # cells that a core's bar wants at least, its number and its share included

ROLES = (Role.USER, Role.SYSTEM, Role.IOWAIT, Role.STEAL)


class CpuPanel(Panel):
    KEY = "cpu"

    def title(self, view: View) -> Line:
        return line(Span(self.machine(view), Role.ACCENT), Span("cpu", Role.TITLE))

    def tag(self, view: View) -> Line:
        scheduler = None if view.sample is None else view.sample.scheduler
        if scheduler is None:
            return ()
        running = "" if scheduler.running is None else f"{scheduler.running:2d} {tr('run')}  "
        return line(Span(f"{running}{tr('load')} {scheduler.load1:.2f}", Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        rates = view.rates
        if rates is None or rates.cpu is None:
            return self.words(view.why_nothing("cpu", brief=False), cells, rows)
        head = (Span(tr("idle ")), Span(percent(rates.cpu.idle), Role.VALUE), Span(" %  "))
        lines: list[Line] = [
            (*head, *stacked(parts(rates.cpu), cells - length(head) - 1, self.glyphs)),
            self._states(rates.cpu, cells),
        ]
        room = rows - len(lines)
        cores = self._cores(rates.cores, cells, max(1, room // 2))
        if rows >= len(lines) + len(cores):
            lines += cores
        return [*lines, *layers(view.past.cpu, ROLES, cells, rows - len(lines), self.glyphs)]

    def _states(self, shares: CpuShares, cells: int) -> Line:
        names = ("us", "sy", "wa", "st")
        if cells >= 35:
            names = ("user", "system", "iowait", "steal") if cells >= 42 else ("user", "sys", "wait", "steal")
        values = (shares.user + shares.nice, shares.kernel, shares.iowait, shares.steal)
        spans: list[Span] = []
        for (_, role), shade, name, value in zip(parts(shares), self.glyphs.shades, names, values, strict=True):
            gap = Span(" " if cells >= 28 else "")
            if length(spans) + len(name) + 4 > cells:
                break
            spans += [Span(shade, role), Span(name, Role.DIM), Span(percent(value), Role.VALUE), gap]
        return tuple(spans)

    def _cores(self, cores: Sequence[CoreShares], cells: int, rows: int) -> list[Line]:
        """A bar per core where there is room for it, else a cell per core."""
        abreast = max(1, cells // CORE)
        if len(cores) <= abreast * rows:
            abreast = min(abreast, max(1, len(cores)))
            share = cells // abreast
            found: list[Line] = []
            for start in range(0, len(cores), abreast):
                spans: list[Span] = []
                for core in cores[start : start + abreast]:
                    bar = stacked(parts(core.shares), share - 11, self.glyphs)
                    figure = (Span(" id", Role.DIM), Span(percent(core.shares.idle, 4), Role.VALUE))
                    spans += fit((Span(f"{core.id:<2d} ", Role.DIM), *bar, *figure), share)
                found.append(tuple(spans))
            return found
        levels = "".join(level(core.shares.busy, self.glyphs) for core in cores)
        name = tr("cores ")
        room = cells - width(name)
        chunks = [levels[i : i + room] for i in range(0, len(levels), room)][:rows]
        heads = [name, *([" " * width(name)] * len(chunks))]
        return [line(Span(head, Role.DIM), Span(chunk, Role.USER)) for head, chunk in zip(heads, chunks, strict=False)]


def parts(shares: CpuShares) -> list[tuple[float, Role]]:
    return list(zip(cpu_parts(shares), ROLES, strict=True))
