"""The bounds of ``loadtop tune``."""

from loadtop.analysis.tune.controller import StepSearch, TimeLimits
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.options.table import TUNE_CONNECTIONS, TUNE_STEP_S, TUNE_TOTAL_S

SHORTEST_STEP = 3
"""Intervals of the shortest step that can be judged: four samples for the steady state, and one before them."""


def set_bounds(options: Options) -> None:
    """Set the bounds of the search. Raises UsageError if they contradict each other."""
    most = options.concurrency or TUNE_CONNECTIONS
    if options.first > most:
        raise UsageError(f"--from {options.first} is above -c {most}: raise -c or lower --from")
    if options.finer > 50:
        raise UsageError(f"--finer {options.finer} is out of range: give 0 to 50")
    step_s = options.step_time or TUNE_STEP_S
    most_step_s = options.most_step_time or 4 * step_s
    if most_step_s < step_s:
        raise UsageError(f"--most-step-time {most_step_s:g} is below --step-time {step_s:g}: raise it")
    shortest_s = SHORTEST_STEP * options.interval
    if most_step_s < shortest_s:
        raise UsageError(
            f"steps of {most_step_s:g} s at most are too short to judge: give --step-time {shortest_s:g} or more"
        )
    total_s = options.time or TUNE_TOTAL_S
    if total_s < 2 * step_s:
        raise UsageError(f"-t {total_s:g} is too short for steps of {step_s:g} s: raise it or lower --step-time")
    options.search = StepSearch(options.first, most, options.finer)
    options.limits = TimeLimits(step_s, most_step_s, total_s)
