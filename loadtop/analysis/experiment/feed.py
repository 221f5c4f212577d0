"""A whole experiment as one feed: the moments of its cells one after another, on one time axis."""

from collections.abc import Awaitable, Callable
from dataclasses import replace

from loadtop.analysis.experiment.runner import Progress
from loadtop.diagnosis.finding import Finding
from loadtop.pipeline.commands import Command
from loadtop.pipeline.feed import Feed
from loadtop.pipeline.snapshot import Snapshot

Show = Callable[[Snapshot], None]


class ExperimentFeed:
    """``go`` runs the experiment. Each cell is shown with :meth:`show_cell`; commands reach the one that runs."""

    def __init__(self, title: str, go: Callable[[], Awaitable[object]]) -> None:
        self.title = title
        self.url: str | None = None
        self.interval_s = 1.0
        self.recording = ""
        self.progress: Progress | None = None
        self._go = go
        self._show: Show = lambda _: None
        self._cell: Feed | None = None
        self._began = 0.0
        self._at = 0.0

    async def run(self, show: Show) -> None:
        """Run all of it."""
        self._show = show
        await self._go()

    async def show_cell(self, cell: Feed) -> None:
        """Run a cell to its end; its time continues that of the cell before."""
        self._cell, self._began = cell, self._at
        try:
            await cell.run(self._pass_on)
        finally:
            self._cell = None

    def command(self, command: Command) -> None:
        """Pass it on to the cell that runs."""
        if self._cell is not None:
            self._cell.command(command)

    def _pass_on(self, snapshot: Snapshot) -> None:
        shown = later(snapshot, self._began)
        self._at = shown.at
        self._show(shown)


def later(snapshot: Snapshot, seconds: float) -> Snapshot:
    """The same moment on an axis that began so much earlier."""
    frame = replace(snapshot.measured.frame, at=snapshot.at + seconds)
    diagnosis = snapshot.diagnosis
    findings = tuple(_later(finding, seconds) for finding in diagnosis.findings)
    diagnosis = replace(diagnosis, verdict=_later(diagnosis.verdict, seconds), findings=findings)
    return replace(snapshot, measured=replace(snapshot.measured, frame=frame), diagnosis=diagnosis)


def _later(finding: Finding, seconds: float) -> Finding:
    symptoms = tuple(_later(symptom, seconds) for symptom in finding.symptoms)
    return replace(finding, since_s=finding.since_s + seconds, symptoms=symptoms)
