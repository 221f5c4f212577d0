"""Goes through the cells of an experiment: applies the variant, and has it measured."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from loadtop.analysis.experiment.commands import CommandError, run_commands, wait_until_ready
from loadtop.analysis.experiment.plan import Cell, ExperimentPlan, Variant
from loadtop.analysis.experiment.results import CellResult, ResultFile
from loadtop.diagnosis.finding import Finding
from loadtop.i18n import Message, MessageError
from loadtop.pipeline.feed import Command, Feed
from loadtop.pipeline.snapshot import Snapshot

Show = Callable[[Snapshot], None]
Measure = Callable[[Cell], Awaitable[CellResult | None]]
"""Runs the test of a cell and stores its result; None if it was cut short."""


class Progress(Struct, frozen=True):
    """The next cell, its number of how many, and about how many seconds are left (``None``: not known)."""

    number: int
    of: int
    cell: Cell
    left_s: float | None


class VariantError(MessageError):
    """A variant could not be applied. ``restored`` says whether the first one is in place again."""

    def __init__(self, variant: Variant, error: CommandError, restored: Message) -> None:
        super().__init__(Message("variant {name}: {error}", name=variant.name, error=error.message))
        self.output = error.output
        self.restored = restored


@dataclass(slots=True)
class Runner:
    """``measure`` runs a cell; ``on_progress`` is called before each. ``results`` are by the keys of their cells.
    ``finish_error`` says which of the commands after the last cell failed, if one did."""

    plan: ExperimentPlan
    file: ResultFile
    measure: Measure
    on_progress: Callable[[Progress], None]
    results: dict[str, CellResult] = field(init=False)
    finish_error: CommandError | None = field(default=None, init=False)
    _applied: Variant | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.results = {key: result for key, result in self.file.read().items() if result.state == "done"}

    async def run(self) -> bool:
        """Measure what is missing; False where it was cut short. Raises :class:`VariantError`."""
        cells = self.plan.cells()
        missing = [cell for cell in cells if cell.key not in self.results]
        took: list[float] = []
        try:
            for index, cell in enumerate(missing):
                each = self.plan.seconds(took)
                left = None if each is None else each * (len(missing) - index)
                self.on_progress(Progress(len(cells) - len(missing) + index + 1, len(cells), cell, left))
                began = time.monotonic()
                await self._switch_to(cell.variant)
                result = await self.measure(cell)
                if result is None:
                    return False
                took.append(time.monotonic() - began)
                self.results[cell.key] = result
        finally:
            try:
                await run_commands(self.plan.finish, place=None, directory=self.plan.file.parent, seconds=60.0)
            except CommandError as error:
                self.finish_error = error
        return True

    async def _switch_to(self, variant: Variant) -> None:
        """Apply a variant, unless the cell before had it too; raises :class:`VariantError`."""
        if self._applied is variant:
            return
        self._applied = None
        try:
            await self._apply(variant)
        except CommandError as error:
            raise VariantError(variant, error, await self._restore(variant)) from None
        self._applied = variant

    async def _apply(self, variant: Variant) -> None:
        place = self.plan.hosts[variant.host] if variant.host else None
        directory = self.plan.file.parent
        await run_commands(variant.apply, place=place, directory=directory, seconds=variant.command_time)
        await wait_until_ready(variant.ready, place=place, directory=directory, seconds=variant.ready_time)

    async def _restore(self, failed: Variant) -> Message:
        """Apply the first variant again; what to say of it."""
        first = self.plan.variants[0]
        if failed is first:
            return Message("{name} is the first variant: nothing to restore", name=first.name)
        try:
            await self._apply(first)
        except CommandError as error:
            text = "could NOT restore the first variant, {name}: {error}"
            return Message(text, name=first.name, error=error.message)
        return Message("the first variant, {name}, is restored", name=first.name)


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
