"""The verdict: the limit, its host and duration, the evidence and the advice."""

from collections.abc import Sequence
from typing import NamedTuple

from loadtop.diagnosis.finding import NONE, Evidence, Finding, Forecast
from loadtop.i18n import duration, pad, rendered, tr
from loadtop.model import LoadState
from loadtop.reports.limits import at_load, limits_in_words
from loadtop.servers.registry import evidence_title
from tui.drawing.graph import meter
from tui.drawing.line import Line, Role, Span, clip_middle, fitting, flow, length, line, message_text, safe, width, wrap
from tui.drawing.numbers import quantity
from tui.drawing.verdicts import (
    compared,
    counts,
    finding_headline,
    finding_titled,
    named,
    on,
    sentence,
    severity,
    threshold_of,
    titled,
)
from tui.panels.breakdown import BreakdownPanel, part_in_words
from tui.state.view import Phase, View
from tui.widgets.panel import Panel

_BADGES = {Role.GOOD: Role.GOOD_BADGE, Role.WARN: Role.WARN_BADGE, Role.BAD: Role.BAD_BADGE}
_PADDING = {"%": 5, "kB/s": 8, "/s": 8}  # cells of a value with its unit, so that a changing number moves nothing

LEAST_PART = 0.05  # the least part shown, as a share of the mean time
ROOMY = 4  # rows from which one is for the parts

NAME, VALUE, LIMIT = 24, 12, 23  # cells of a metric's name, value and threshold where each metric has a row of its own
LEAST_METER = 6  # cells of the bar beside a long name


class _State(NamedTuple):
    """The title with its role, the text after it and ``where``, and the text instead of evidence. ``subject`` is the
    most important part of ``rest``, for narrow screens."""

    role: Role
    name: str
    rest: str = ""
    where: str = ""
    words: Span | None = None
    subject: str = ""


class VerdictPanel(Panel):
    KEY = "verdict"

    reports = True
    """Whether a report follows the cockpit."""

    def title(self, view: View) -> Line:
        state = self._state(view)
        glyph = {Role.GOOD: self.glyphs.fine, Role.BAD: self.glyphs.limit}.get(state.role, self.glyphs.unsure)
        badge = Span(f" {glyph} {state.name} ", _BADGES[state.role])
        cells = self.title_cells
        variants = [f" {state.rest}{state.where}" if state.rest else ""]
        if state.subject:
            room = max(0, cells - length((badge,)) - 1)
            variants += [f" {state.subject}{state.where}", f" {clip_middle(state.subject, room, self.glyphs.ellipsis)}"]
        elif state.where:
            variants.append(state.where)
        return fitting(cells, *((badge, Span(words, Role.VALUE)) for words in variants))

    def tag(self, view: View) -> Line:
        verdict = view.verdict
        if verdict is None or verdict.bottleneck == NONE or _over(view):
            return ()
        return line(Span(tr("for {time}", time=duration(verdict.held_s)), Role.VALUE))

    def frame_role(self, view: View) -> Role:
        role = self._state(view).role
        return super().frame_role(view) if role is Role.GOOD or self.chosen else role

    def content(self, view: View, cells: int, rows: int) -> Sequence[Line]:
        words = self._state(view).words
        if words is not None:
            return self.words(words.text, cells, rows, words.role)
        verdict = view.verdict
        if verdict is None or _over(view):
            return self._summary(view, cells, rows)
        return self._reasons(verdict, view, cells, rows)

    def _state(self, view: View) -> "_State":
        load, verdict = view.load, view.verdict
        if view.phase is Phase.BROKEN:
            words = tr("{why}. Press q for the report so far.", why=message_text(view.detail))
            return _State(Role.BAD, tr("MEASUREMENT FAILED"), words=Span(words, Role.DIM))
        if load is not None and load.state is LoadState.FAILED:
            words = message_text(load.message) or tr("the load generator gave no reason")
            return _State(Role.BAD, tr("LOAD FAILED"), tr("no verdict"), words=Span(words))
        if _over(view):
            return _State(Role.GOOD, tr("DONE"), tr("press q for the report") if self.reports else "")
        if verdict is None:
            return _State(Role.WARN, tr("STARTING"), words=Span(tr("Waiting for the first figures."), Role.DIM))
        if verdict.bottleneck == NONE and (stale := _stale(view)):
            words = tr("{stale}, so the headroom is unknown.", stale=stale)
            return _State(Role.WARN, tr("UNKNOWN"), tr("figures are missing"), words=Span(words))
        if verdict.bottleneck == NONE and not verdict.evidence:
            words = tr("not enough data for a verdict")
            if any(host.rates is None for host in view.hosts):
                words = tr("measuring (a rate needs two samples)")
            return _State(Role.WARN, tr("MEASURING"), tr("no verdict yet"), words=Span(words))
        where = None if verdict.bottleneck == NONE and load is None else verdict.host
        subject = "" if verdict.subject is None else rendered(verdict.subject, safe)
        return _State(severity(verdict), *finding_headline(verdict), on(where), subject=subject)

    def _reasons(self, verdict: Finding, view: View, cells: int, rows: int) -> list[Line]:
        """Evidence, advice, the parts of a request's time where their panel is not shown, symptoms. Advice has
        precedence over further evidence, which key e shows."""
        below: list[Line] = []
        forecast = None if view.snapshot is None else view.snapshot.diagnosis.forecast
        if forecast is not None and verdict.bottleneck == NONE:
            below.append(line(Span(tr("next limit: "), Role.DIM), _following(forecast)))
        if stale := _stale(view):
            below.append(line(Span(stale, Role.WARN)))
        parts = [] if BreakdownPanel.KEY in self.shown or rows < ROOMY else _parts(view, cells)
        free = rows - 1 - len(below) - len(parts)
        advice = wrap(message_text(verdict.advice), cells, max(1, free), self.glyphs.ellipsis)
        if verdict.symptoms and len(advice) < free:
            names = "  ".join(
                finding_titled(each, each.host if each.host != verdict.host else None) for each in verdict.symptoms
            )
            below.insert(0, line(Span(tr("limits that follow from it: "), Role.DIM), names))
        below[:0] = parts
        room = max(1, rows - len(advice) - len(below))
        if len(verdict.evidence) <= room:
            longest = max((width(evidence_title(item.metric)) for item in verdict.evidence), default=NAME)
            named_in = max(NAME, min(longest, cells - VALUE - LIMIT - 1 - LEAST_METER))
            reasons = [self._meter(item, verdict, view, cells, named_in) for item in verdict.evidence]
        else:
            reasons = self._flow(verdict, view, cells, room)
        return [*reasons, *(line(text) for text in advice), *below][:rows]

    def _meter(self, item: Evidence, verdict: Finding, view: View, cells: int, named_in: int) -> Line:
        """One value per row, with a gauge that has a tick at the threshold."""
        telling = counts(item)
        role = Role.FREE if verdict.bottleneck == NONE else Role.FULL if telling else Role.DIM
        head = (
            Span(pad(named(_where(item, verdict, view), item.metric, named_in, self.glyphs.ellipsis), named_in)),
            Span(quantity(item.value, item.unit).rjust(VALUE), Role.VALUE if telling else Role.DIM),
            Span(" "),
        )
        limit = Span(pad(f" {threshold_of(item)}", LIMIT), Role.DIM)
        room = cells - length((*head, limit))
        if room < 0:
            return head[:2]
        return (*head, *meter(item.value, item.threshold, item.unit, room, role, self.glyphs), limit)

    def _flow(self, verdict: Finding, view: View, cells: int, rows: int) -> list[Line]:
        """The evidence in running lines, values beyond their threshold first."""
        drawn: list[Line] = []
        for item in sorted(verdict.evidence, key=lambda item: not counts(item)):
            text = quantity(item.value, item.unit).rjust(_PADDING.get(item.unit, 0))
            value = Span(text, Role.VALUE if counts(item) else Role.DIM)
            name = f"{_where(item, verdict, view)}{evidence_title(item.metric)} "
            drawn.append(line(name, value, Span(f" ({compared(item)})", Role.DIM)))
        return flow(drawn, (Span(f" {self.glyphs.dot} ", Role.DIM),), cells, rows)

    def _summary(self, view: View, cells: int, rows: int) -> list[Line]:
        """The limit under the highest load, its evidence, and the limits under all loads."""
        held = view.history.timeline.by_load()
        if not held:
            return self.words(tr("No load was measured."), cells, rows)
        main = held[0]
        head, time = sentence(main.finding), tr("for {time}", time=duration(round(main.seconds)))
        if main.is_limit:
            under = line(*head, at_load(main))
            head = fitting(cells, line(*under, f" {time}"), under, head)
        parts = [line(rendered(limit, safe)) for limit in limits_in_words(held) if any(each.is_limit for each in held)]
        limits = flow(parts, (Span("; ", Role.DIM),), cells, max(1, rows - 1))
        room = rows - 1 - len(limits)
        return [head, *(self._flow(main.finding, view, cells, room) if room > 0 else ()), *limits][:rows]


def _where(item: Evidence, verdict: Finding, view: View) -> str:
    several = len(view.hosts) > 1 and any(host.name == item.host for host in view.hosts)
    return f"{safe(item.host)} " if several and item.host != verdict.host else ""


def _following(forecast: Forecast) -> str:
    """The resource that would be full first, and at how many requests/s."""
    rps, low, high = (f"{float(f'{value:.3g}'):.10g}" for value in (forecast.rps, forecast.low, forecast.high))
    name, where = titled(forecast.resource, None), on(forecast.host)
    return tr("{name}{where} at {rps} req/s ({low} to {high})", name=name, where=where, rps=rps, low=low, high=high)


def _parts(view: View, cells: int) -> list[Line]:
    """Where the time of requests went lately, the largest part first; nothing where that is not known."""
    now = view.history.request_time.now()
    if now is None or now.mean_ms <= 0:
        return []
    told = [part for part in now.parts if part.ms >= LEAST_PART * now.mean_ms]
    head = line(
        Span("b ", Role.KEY),
        Span(tr("mean response time: "), Role.DIM),
        Span(quantity(now.mean_ms, "ms"), Role.VALUE),
    )
    shares = (
        line(f"{part_in_words(part)} ", Span(f"{100 * part.ms / now.mean_ms:.0f} %", Role.VALUE)) for part in told
    )
    (with_parts,) = flow((line(*head, tr(", of which")), *shares), (Span("  "),), cells, 1)
    return [fitting(cells, with_parts, head)]


def _over(view: View) -> bool:
    load = view.load
    return view.phase is Phase.DONE or (load is not None and load.state.ended)


def _stale(view: View) -> str:
    """A sentence about the machines without figures; empty where there are none."""
    return ", ".join(
        tr("no sample from {host} for {time}", host=safe(host.name), time=duration(host.stale_s))
        for host in view.hosts
        if view.is_stale(host)
    )
