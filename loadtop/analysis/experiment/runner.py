"""Goes through the cells of an experiment: brings the variant about, has it measured, writes the result down."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from loadtop.analysis.experiment.commands import CommandError, run_commands, wait_until_ready
from loadtop.analysis.experiment.plan import Cell, ExperimentPlan, Variant
from loadtop.analysis.experiment.results import CellResult, Ledger

Measure = Callable[[Cell], Awaitable[CellResult | None]]
"""Runs the test of a cell; ``None`` where it was cut short."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Which cell comes, of how many, and about how many seconds are left (``None`` where nobody knows)."""

    number: int
    of: int
    cell: Cell
    left_s: float | None


class VariantError(Exception):
    """A variant could not be brought about. ``restored`` says what became of the first one."""

    def __init__(self, variant: Variant, error: CommandError, restored: str) -> None:
        super().__init__(f"variant {variant.name}: {error}")
        self.output = error.output
        self.restored = restored


class Runner:
    """``measure`` runs a cell, ``told`` hears of each before it begins."""

    def __init__(
        self,
        plan: ExperimentPlan,
        ledger: Ledger,
        measure: Measure,
        told: Callable[[Progress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.results = {key: result for key, result in ledger.read().items() if result.state == "done"}
        self._plan = plan
        self._ledger = ledger
        self._measure = measure
        self._told = told
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
                self._told(Progress(len(cells) - len(missing) + index + 1, len(cells), cell, left))
                began = self._clock()
                await self._bring_about(cell.variant)
                result = await self._measure(cell)
                if result is None:
                    return False
                took.append(self._clock() - began)
                self.results[cell.key] = result
                self._ledger.add(result)
        finally:
            if self._plan.finish:
                await self._run(self._plan.finish, None)
        return True

    async def _bring_about(self, variant: Variant) -> None:
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
        place = None if variant.host is None else self._plan.hosts[variant.host]
        await run_commands(variant.apply, place=place, directory=self._plan.file.parent, seconds=variant.command_s)
        await wait_until_ready(variant.ready, place=place, directory=self._plan.file.parent, seconds=variant.ready_s)

    async def _restore(self, failed: Variant) -> str:
        """Bring the first variant about again; what to say of it."""
        first = self._plan.variants[0]
        if failed is first:
            return f"{first.name} is the first variant: there is nothing to go back to"
        try:
            await self._apply(first)
        except CommandError as error:
            return f"the first variant, {first.name}, could NOT be restored: {error}"
        return f"the first variant, {first.name}, is restored"

    async def _run(self, commands: tuple[str, ...], host: str | None) -> None:
        place = None if host is None else self._plan.hosts[host]
        await run_commands(commands, place=place, directory=self._plan.file.parent, seconds=60.0)
