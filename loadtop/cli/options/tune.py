"""The settings of ``loadtop tune``."""

from argparse import Namespace
from dataclasses import dataclass, field

from loadtop.analysis.tune.controller import StepSearch, TimeLimits
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.load import build_plan
from loadtop.cli.options.table import TUNE_CONNECTIONS, TUNE_REFINEMENTS, TUNE_STEP_S, TUNE_TOTAL_S
from loadtop.generator.plan import Plan, PlanError, Step

SHORTEST_STEP = 3
"""Intervals of the shortest step that can be judged: four samples for the steady state, and one before them."""


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """The bounds of the search. ``first`` and ``most`` are connections, ``finer`` the steps near the knee."""

    first: int = 1
    most: int = TUNE_CONNECTIONS
    finer: int = TUNE_REFINEMENTS
    limits: TimeLimits = field(default_factory=TimeLimits)

    def search(self) -> StepSearch:
        return StepSearch(first=self.first, most=self.most, finer=self.finer)


def tune_settings(arguments: Namespace) -> TuneSettings:
    """What was asked for. Raises UsageError for settings that contradict each other."""
    most = arguments.concurrency or TUNE_CONNECTIONS
    if arguments.first > most:
        raise UsageError(f"--from {arguments.first} is above -c {most}: raise -c or lower --from")
    if arguments.finer > 50:
        raise UsageError(f"--finer {arguments.finer} is out of range: give 0 to 50")
    step_s = arguments.step_time or TUNE_STEP_S
    most_step_s = arguments.most_step_time or 4 * step_s
    if most_step_s < step_s:
        raise UsageError(f"--most-step-time {most_step_s:g} is below --step-time {step_s:g}: raise it")
    shortest_s = SHORTEST_STEP * arguments.interval
    if most_step_s < shortest_s:
        raise UsageError(
            f"steps of {most_step_s:g} s at most are too short to judge: give --step-time {shortest_s:g} or more"
        )
    total_s = arguments.time or TUNE_TOTAL_S
    if total_s < 2 * step_s:
        raise UsageError(f"-t {total_s:g} is too short for steps of {step_s:g} s: raise it or lower --step-time")
    return TuneSettings(arguments.first, most, arguments.finer, TimeLimits(step_s, most_step_s, total_s))


def tune_plan(arguments: Namespace, settings: TuneSettings) -> Plan:
    """The load whose concurrency is changed. It ends by itself only after the search would have."""
    last = settings.limits.total_s + settings.limits.most_step_s
    try:
        step = Step(concurrency=settings.first, duration_s=last)
    except PlanError as error:
        raise UsageError(error.message) from None
    return build_plan(arguments, (step,))
