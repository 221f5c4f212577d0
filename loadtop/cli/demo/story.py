"""The phases of the demo, and why the verdict changes: a line per phase, shown in the cockpit and set as a mark."""

import os
from collections.abc import Callable

from msgspec import Struct

from loadtop.cli.demo.pages import BURN, LIGHT, WAIT, Page
from loadtop.i18n import Message, Text, rendered
from loadtop.model import LoadSample, LoadState
from loadtop.pipeline.snapshot import Snapshot

CORES = os.cpu_count() or 1
WORKERS = max(8, 4 * CORES)  # few enough that waiting pages fill them; enough that computing pages use every core first
FAST_S = 20.0  # of all phases together, with --fast


class Phase(Struct, frozen=True):
    """A number of connections that request one page, and a line of explanation."""

    page: Page
    connections: int
    seconds: float
    told: Message


PHASES = (
    Phase(LIGHT, 2, 18.0, Message("1/3 Light load: 2 connections, a cheap page. There is headroom.")),
    Phase(
        WAIT,
        2 * WORKERS,
        18.0,
        Message("2/3 Full pool: a slow page keeps all {workers} workers busy, so they are the limit.", workers=WORKERS),
    ),
    Phase(
        BURN,
        3 * CORES,
        20.0,
        Message("3/3 CPU at its limit: a page that computes keeps all cores busy."),
    ),
)
STARTING = Message("Starting a private server.")
OVER = Message("The demo has ended: q prints the report, `loadtop replay` shows the recording.")


def caption(load: LoadSample | None) -> Text:
    """The line of the current phase. A restarted load begins with the first phase."""
    if load is None or load.state is LoadState.STARTING:
        return STARTING
    return OVER if load.state.ended else PHASES[(load.step - 1) % len(PHASES)].told


class Narrator:
    """Marks the beginning of each phase on the time axis. Give :meth:`add` every snapshot."""

    def __init__(self, mark: Callable[[str], None]) -> None:
        self._mark = mark
        self._step = 0

    def add(self, snapshot: Snapshot) -> None:
        load = snapshot.load
        if load is not None and load.state is LoadState.RUNNING and load.step != self._step:
            self._step = load.step
            self._mark(rendered(caption(load)))
