"""Where the response time goes: a bar of its parts, the largest first, what they are, and their course."""

from collections.abc import Sequence

from loadtop.diagnosis.breakdown import ASLEEP, TIMER, TITLES, Part, in_order
from loadtop.i18n import Translatable, pad, tr
from tui.drawing.graph import PATIENCE, Ring, ceiling, layers, share_out, span_of, top_of
from tui.drawing.line import Line, Role, Span, beside, clip_middle, fit, line, safe, width
from tui.drawing.numbers import milliseconds, quantity
from tui.state.request_time import PartOfTime, Times
from tui.state.view import View
from tui.widgets.panel import Panel

ROLES = (Role.PART_1, Role.PART_2, Role.PART_3, Role.PART_4, Role.PART_5, Role.DIM, Role.EMPTY)
"""Of the parts with a hue of their own, of all others, and of what remains unexplained."""

SERVICES: Translatable = "other services"

LEAST_SHOWN = 0.01  # share of the mean time from which a part is listed
SIGN, MS, SHARE, TIMES = 2, 9, 6, 11  # cells of a part's sign and figures
NAME = 24  # cells of a part's name, beside which there is room for ms
GAP = 2  # cells between two columns of parts
COURSE = 30  # cells of the course beside the parts
WIDE = 96  # cells from which there is room for it
FULL_ROWS = 12  # rows from which parts stand in a table of their own, above their course
LEAST_COURSE = 4  # rows of a course below the table, with its caption


class BreakdownPanel(Panel):
    KEY = "breakdown"
    TITLE: Translatable = "mean response time"
    TAB: Translatable = "resp time"

    def wanted(self, view: View) -> bool:
        """Where it is or may become known, so that the other panels keep their places."""
        load, found = view.load, None if view.snapshot is None else view.snapshot.breakdown
        tells_times = load is not None and (load.latencies is not None or not load.requests)
        may_come = view.snapshot is None or (tells_times and (found is None or found.shares is not None))
        return may_come or view.history.request_time.known

    def title(self, view: View) -> Line:
        now = view.history.request_time.now()
        mean = () if now is None else (Span(f"  {quantity(now.mean_ms, 'ms')}", Role.VALUE),)
        return (*super().title(view), *mean)

    def tag(self, view: View) -> Line:
        if self.placement is None or not _course_cells(*self._inner()):
            return ()
        top = self._top(view, _course_cells(*self._inner()))
        return line(Span(tr("graph: 0 to {top} ms", top=milliseconds(top)), Role.DIM))

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        now = view.history.request_time.now()
        if now is None:
            return self.words(_why_nothing(view), cells, rows)
        bar = self._bar(now, cells)
        if rows >= FULL_ROWS:
            return [bar, (), *self._table(now, view, cells, rows - 2)]
        course = _course_cells(cells, rows)
        room = cells - course - (GAP if course else 0)
        parts = self._parts(now, room, rows - 1)
        if not course:
            return [bar, *parts]
        return [bar, *beside(parts, self._course(view, course, rows - 1), room + GAP, rows - 1)]

    def _bar(self, now: Times, cells: int) -> Line:
        whole = sum(max(0.0, part.ms) for part in now.parts) or 1.0
        sizes = share_out([100.0 * max(0.0, part.ms) / whole for part in now.parts], cells)
        signs = (self._sign(part) for part in now.parts)
        return tuple(Span(sign.text * size, sign.role) for sign, size in zip(signs, sizes, strict=True) if size)

    def _sign(self, part: PartOfTime) -> Span:
        if part.part is None:
            return Span(self.glyphs.unknown, ROLES[-1])
        return Span(self.glyphs.patterns[part.hue], ROLES[part.hue])

    def _parts(self, now: Times, cells: int, rows: int) -> list[Line]:
        """The parts in one column or two, filled row by row; the last one stands for those without room."""
        columns = 2 if _has_room_for_ms((cells - GAP) // 2) else 1
        room = (cells - (columns - 1) * GAP) // columns
        shown = _listed(now)
        most = columns * max(1, rows)
        more = shown[most - 1 :] if len(shown) > most else []
        items = [self._item(part, now, room) for part in (shown[: most - 1] if more else shown)]
        if more:
            said = Span(pad(tr("{n} more", n=len(more)), max(0, room - SIGN - SHARE)), Role.DIM)
            share = Span(_share(sum(part.ms for part in more), now), Role.DIM)
            items.append((Span(" " * SIGN), said, share))
        drawn = [items[first : first + columns] for first in range(0, len(items), columns)]
        return [tuple(span for item in row for span in (*fit(item, room), Span(" " * GAP)))[:-1] for row in drawn]

    def _called(self, part: PartOfTime, cells: int) -> str:
        """In these cells; of a service whose address does not fit, only the kind, because half an address misleads."""
        name = part_in_words(part)
        if width(name) > cells and part.part is Part.DEPENDENCY and part.kind and part.kind != TIMER:
            name = f"{part.kind} {self.glyphs.ellipsis}"
        return clip_middle(name, cells, self.glyphs.ellipsis)

    def _item(self, part: PartOfTime, now: Times, cells: int) -> Line:
        with_ms = _has_room_for_ms(cells)
        room = max(0, cells - SIGN - SHARE - (MS if with_ms else 0))
        ms = (Span(quantity(part.ms, "ms").rjust(MS), Role.DIM),) if with_ms and part.ms > 0 else ()
        ms = ms or ((Span(" " * MS),) if with_ms else ())
        name = pad(self._called(part, room), room)
        return (self._sign(part), Span(" "), Span(name), *ms, Span(_share(part.ms, now), Role.VALUE))

    def _table(self, now: Times, view: View, cells: int, rows: int) -> list[Line]:
        """Every part in a row, with the exchanges of a service and, of several, its machine; below that the course."""
        parts = _listed(now)[: max(1, rows - LEAST_COURSE - 2)]
        times = TIMES if any(part.exchanges is not None for part in parts) else 0
        hosts = [safe(part.host or "") for part in parts] if len(view.hosts) > 1 else []
        where = max((width(host) for host in hosts), default=-GAP) + GAP
        names = max(NAME, *(width(part_in_words(part)) for part in parts))
        with_ms = _has_room_for_ms(cells)
        room = max(1, min(names, cells - SIGN - (MS if with_ms else 0) - SHARE - times - where))
        lines: list[Line] = []
        for number, part in enumerate(parts):
            exchanges = "" if part.exchanges is None else tr("{n} times", n=milliseconds(part.exchanges))
            host = f"{' ' * GAP}{hosts[number]}" if hosts else ""
            name = pad(self._called(part, room), room)
            lines.append(
                line(
                    self._sign(part),
                    " ",
                    name,
                    Span(_ms(part.ms) if with_ms else "", Role.VALUE),
                    Span(_share(part.ms, now), Role.VALUE),
                    Span(exchanges.rjust(times), Role.DIM),
                    Span(host, Role.DIM),
                )
            )
        if now.unknown:
            unknown = ", ".join(tr(SERVICES if part is Part.DEPENDENCY else TITLES[part]) for part in now.unknown)
            lines += self.words(tr("not measured here: {parts}", parts=unknown), cells, 1)
        left = rows - len(lines) - 2
        if left >= LEAST_COURSE - 1:
            top = milliseconds(self._top(view, cells))
            lines += [
                (),
                self.caption(tr("mean time, 0 to {top} ms", top=top), cells),
                *self._course(view, cells, left),
            ]
        return lines

    def _course(self, view: View, cells: int, rows: int) -> list[Line]:
        """The parts of each interval one upon the other, what has no hue and what is unexplained at the top."""
        top = self._top(view, cells)
        course = view.history.request_time.course
        newest = list(course)[-span_of(cells, self.glyphs) :]
        shares = (None if each is None else tuple(round(100.0 * ms / top) for ms in each) for each in newest)
        fillings = self.glyphs.patterns + self.glyphs.rail
        return layers(Ring(shares, course.total), ROLES, cells, rows, self.glyphs, fillings)

    def _top(self, view: View, cells: int) -> float:
        shown = span_of(cells, self.glyphs)
        newest = list(view.history.request_time.course)[-shown - PATIENCE :]
        return top_of([None if each is None else sum(each) for each in newest], shown, 1.0, ceiling)

    def _inner(self) -> tuple[int, int]:
        cells, rows = (0, 0) if self.placement is None else self.placement.inner
        return cells - 2, rows


def part_in_words(part: PartOfTime) -> str:
    """``ldap 10.0.0.5:389``, or ``ldap db1:389`` where that machine is watched; ``apache on CPU``."""
    if part.part is None:
        return tr("unexplained" if part.ms >= 0 else "measured twice")
    if part.kind == TIMER:
        return tr(ASLEEP)
    title, name = tr(TITLES[part.part]), part.name or ""
    if part.part is Part.DEPENDENCY:
        title = part.kind or title
        name = f"{part.service_host}:{name.rpartition(':')[2]}" if part.service_host else name
    return " ".join(safe(word) for word in in_order(part.part, title, name) if word)


def _listed(now: Times) -> list[PartOfTime]:
    return [part for part in now.parts if abs(part.ms) >= LEAST_SHOWN * now.mean_ms] or list(now.parts[:1])


def _has_room_for_ms(cells: int) -> bool:
    return cells >= SIGN + NAME + MS + SHARE


def _ms(ms: float) -> str:
    text = f"-{milliseconds(-ms)}" if ms < 0 else milliseconds(ms)
    return f"{text} ms".rjust(MS)


def _share(ms: float, now: Times) -> str:
    return f"{100.0 * ms / now.mean_ms if now.mean_ms else 0.0:.0f} %".rjust(SHARE)


def _course_cells(cells: int, rows: int) -> int:
    """Cells of the course beside the parts; 0 where it has no place there."""
    return max(COURSE, cells // 4) if cells >= WIDE and 3 <= rows < FULL_ROWS else 0


def _why_nothing(view: View) -> str:
    if view.only_watches:
        return tr("Watching only: no load is generated.")
    if view.load is not None and view.snapshot is not None and view.snapshot.breakdown is not None:
        if any(map(view.is_stale, view.hosts)):
            return tr("The server's figures are missing.")
        return tr("The server's host is not watched. Add it with --host NAME=ssh://HOST.")
    return tr("waiting for the first figures")
