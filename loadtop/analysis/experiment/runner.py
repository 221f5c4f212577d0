"""Goes through the cells of an experiment: applies the variant, has it measured, stores the result."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from loadtop.analysis.experiment.commands import CommandError, run_commands, wait_until_ready
from loadtop.analysis.experiment.plan import Cell, ExperimentPlan, Variant
from loadtop.analysis.experiment.results import CellResult, ResultFile
from loadtop.i18n import Message, MessageError

Measure = Callable[[Cell], Awaitable[CellResult | None]]
"""Runs the test of a cell; ``None`` where it was cut short."""


@dataclass(frozen=True, slots=True)
class Progress:
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


class Runner:
    """``measure`` runs a cell; ``on_progress`` is called before each. ``results`` are by the keys of their cells."""

    def __init__(
        self,
        plan: ExperimentPlan,
        file: ResultFile,
        measure: Measure,
        on_progress: Callable[[Progress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.results = {key: result for key, result in file.read().items() if result.state == "done"}
        self._plan = plan
        self._file = file
        self._measure = measure
        self._on_progress = on_progress
        self._clock = clock
        self._applied: Variant | None = None

    async def run(self) -> bool:
        """Measure what is missing; False where it was cut short. Raises :class:`VariantError`, OSError."""
        cells = self._plan.cells()
        missing = [cell for cell in cells if cell.key not in self.results]
        took: list[float] = []
        try:
            for index, cell in enumerate(missing):
                each = self._plan.seconds(took)
                left = None if each is None else each * (len(missing) - index)
                self._on_progress(Progress(len(cells) - len(missing) + index + 1, len(cells), cell, left))
                began = self._clock()
                await self._switch_to(cell.variant)
                result = await self._measure(cell)
                if result is None:
                    return False
                took.append(self._clock() - began)
                self.results[cell.key] = result
                self._file.add(result)
        finally:
            if self._plan.finish:
                await run_commands(self._plan.finish, place=None, directory=self._plan.file.parent, seconds=60.0)
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
        place = self._plan.hosts[variant.host] if variant.host else None
        directory = self._plan.file.parent
        await run_commands(variant.apply, place=place, directory=directory, seconds=variant.command_time)
        await wait_until_ready(variant.ready, place=place, directory=directory, seconds=variant.ready_time)

    async def _restore(self, failed: Variant) -> Message:
        """Apply the first variant again; what to say of it."""
        first = self._plan.variants[0]
        if failed is first:
            return Message("{name} is the first variant: there is nothing to go back to", name=first.name)
        try:
            await self._apply(first)
        except CommandError as error:
            text = "the first variant, {name}, could NOT be restored: {error}"
            return Message(text, name=first.name, error=error.message)
        return Message("the first variant, {name}, is restored", name=first.name)
