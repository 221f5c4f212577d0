"""The first line: what is tested, with which load, how far it is, where it is recorded, and which machine is shown."""

from collections.abc import Callable

from loadtop.i18n import Text, clock, tr
from loadtop.model import LoadLevel, LoadSample, LoadState
from loadtop.model.places import LOCAL
from loadtop.reports.limits import loads_in_words
from tui.drawing.appearance import Appearance, Glyphs
from tui.drawing.graph import gauge
from tui.drawing.line import (
    Line,
    Role,
    Span,
    clip,
    clip_middle,
    clip_title,
    length,
    line,
    message_text,
    safe,
    spread,
    width,
)
from tui.drawing.numbers import count, grouped, milliseconds
from tui.state.view import Phase, View
from tui.widgets.lines import Lines

GAP = Span("  ")
MOST_NAME = 16  # cells of a machine's name
LEAST_TITLE = 22  # cells of the address that stay before other things are left out


Caption = Callable[[LoadSample | None], Text]
"""What is said of the load in a line above the panels."""


class CaptionLine(Lines):
    def __init__(self, appearance: Appearance, caption: Caption) -> None:
        super().__init__(appearance, "caption")
        self._caption = caption

    def draw(self, view: View) -> None:
        text = message_text(self._caption(view.load))
        self.show([line(" ", Span(clip(text, max(0, self.size.width - 1), self.glyphs.ellipsis), Role.TITLE))])


class Header(Lines):
    timed = True
    """Whether it shows how far the load is; not where another line shows the time."""

    def __init__(self, appearance: Appearance) -> None:
        super().__init__(appearance, "header")

    def draw(self, view: View) -> None:
        self.show([compose(view, self.size.width, self.glyphs, timed=self.timed)])


def compose(view: View, cells: int, glyphs: Glyphs, *, timed: bool = True) -> Line:
    """The line: where it is narrow the words go first, then the bar, the machine, the recording; never the load.
    ``timed``: with how far the load is."""
    title = safe(view.title)
    least = 10 + min(width(title), LEAST_TITLE)
    progress, bar = _progress(view, timed=timed), _bar(view, glyphs) if timed else ()
    recording, host = _recording(view, glyphs, tr("rec")), _host(view, glyphs, details=False)
    needed: Line = host if len(view.hosts) > 1 else ()
    wanted = [
        [progress, bar, _recording(view, glyphs, tr("recording")), _host(view, glyphs, details=True)],
        [progress, bar, recording, host],
        [progress, bar, recording, needed],
        [progress, recording, needed],
        [progress, recording],
        [progress],
    ]
    rights = [[span for part in parts if part for span in (GAP, *part)] for parts in wanted]
    right = next((spans for spans in rights if least + length(spans) < cells), rights[-1])
    name = clip_title(title, max(0, cells - length(right) - 11), glyphs.ellipsis)
    return spread(line(Span(" loadtop", Role.BRAND), GAP, Span(name, Role.VALUE)), (*right, Span(" ")), cells)


def _progress(view: View, *, timed: bool) -> Line:
    at = 0.0 if view.snapshot is None else view.snapshot.at
    state: Line = (Span(tr(" display held "), Role.WARN_BADGE), GAP) if view.paused else ()
    load = view.load
    if load is None:
        word = tr("starting") if view.phase is Phase.STARTING else tr("watching")
        return (*state, Span(clock(at) if word == view.title else f"{word} {clock(at)}"))
    return (*state, Span(_model(load), Role.ACCENT), GAP, *_done(load, timed=timed))


def _model(load: LoadSample) -> str:
    text = loads_in_words([LoadLevel.of(load)]) or safe(load.engine)
    return text + (tr(" step {step}/{steps}", step=load.step, steps=load.steps) if load.steps > 1 else "")


def _done(load: LoadSample, *, timed: bool) -> Line:
    if load.state is LoadState.FAILED:
        return (Span(tr(" load failed "), Role.BAD_BADGE),)
    if load.state in (LoadState.STARTING, LoadState.WARMUP):
        return (Span(tr({"starting": "starting", "warmup": "warm-up"}[load.state]), Role.WARN),)
    role = Role.GOOD if load.state is LoadState.DONE else Role.WARN
    ended = [Span(tr(load.state.value), role)] if load.state.ended else []
    if not timed:
        return tuple(ended)
    text = clock(load.elapsed_s)
    if load.target_requests is not None:
        goal = grouped(load.target_requests)
        text = tr("{done} of {all}", done=count(load.requests, len(goal)), all=goal)
    elif load.target_s is not None:
        text = tr("{done} of {all}", done=text, all=clock(load.target_s))
    return line(text, *(span for end in ended for span in (" ", end)))


def _bar(view: View, glyphs: Glyphs) -> Line:
    load = view.load
    if load is None or load.state.ended:
        return ()
    share = None
    if load.target_requests and load.requests is not None:
        share = 100.0 * load.requests / load.target_requests
    elif load.target_s:
        share = 100.0 * load.elapsed_s / load.target_s
    return () if share is None else gauge(min(100.0, share), 12, Role.ACCENT, glyphs)


def _recording(view: View, glyphs: Glyphs, word: str) -> Line:
    if not view.recording:
        return ()
    if view.phase is Phase.DONE:
        return (Span(tr("recorded"), Role.DIM),)
    return (Span(glyphs.record, Role.BAD), Span(f" {word}", Role.DIM))


def _host(view: View, glyphs: Glyphs, *, details: bool) -> Line:
    host = view.host
    if host is None:
        return ()
    spans = [Span(clip_middle(safe(host.name), MOST_NAME, glyphs.ellipsis), Role.VALUE)]
    if view.is_stale(host):
        spans.append(Span(tr(" stale"), Role.WARN))
    elif details and host.sample is not None:
        source = host.sample.facts.source
        how = tr("local") if source == LOCAL else safe(source.partition(":")[0])  # ssh, exec
        took = milliseconds(1000 * host.sample.took_s)
        read = " " * (4 - len(took)) + ("" if how == host.name else f"{how}, ") + tr("read in {took} ms", took=took)
        spans.append(Span(read, Role.DIM))
    if len(view.hosts) > 1:
        names = [known.name for known in view.hosts]
        spans.append(Span(f" {names.index(host.name) + 1}/{len(names)}", Role.ACCENT))
    return tuple(spans)
