"""The tuning part of the command line."""

import argparse
from dataclasses import dataclass, field, replace
from typing import Any

from loadtop.analysis.tune.controller import Bounds, Climb
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.load import build_plan, count, positive
from loadtop.cli.options.report import REPORTS, hide
from loadtop.generator.plan import Plan, PlanError, Step

MOST_CONNECTIONS, STEP_S, TOTAL_S, FINER = 256, 5.0, 300.0, 5

LEAST_STEP = 3
"""Intervals below which a step has no window that could be steady: four samples, and one before them."""


@dataclass(frozen=True, slots=True)
class TuneSettings:
    """What a sweep may do. ``first`` and ``most`` are connections, ``finer`` the steps around the knee."""

    first: int = 1
    most: int = MOST_CONNECTIONS
    finer: int = FINER
    bounds: Bounds = field(default_factory=Bounds)

    def climb(self) -> Climb:
        """A climb from its foot."""
        return Climb(first=self.first, most=self.most, finer=self.finer)


NOT_FOR_TUNE = ("--requests", "--rate", "--steps", "--warmup")
"""Options of a load that a sweep refuses: it still understands them, to say why."""


def hide_refused(parser: argparse.ArgumentParser) -> None:
    """Leave what a sweep refuses out of ``--help``, and say what ``-c``, ``-t`` and ``--step-time`` mean to it."""
    meant = {
        "--concurrency": f"most connections (default {MOST_CONNECTIONS})",
        "--time": f"end the sweep after that time (default {TOTAL_S:.0f})",
        "--step-time": f"seconds of a step at least (default {STEP_S:.0f})",
    }
    hide(parser, (*NOT_FOR_TUNE, *REPORTS.values()))
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to change what was added
        action.help = next((meant[name] for name in action.option_strings if name in meant), action.help)


def add_tune(parser: argparse.ArgumentParser) -> None:
    """Options that only ``loadtop tune`` has; ``-c``, ``-t``, ``--step-time`` are the load's, with a meaning here."""
    group = parser.add_argument_group("tuning")
    group.add_argument("--from", dest="first", type=count, default=1, metavar="N", help="connections to begin with")
    group.add_argument("--finer", type=int, default=FINER, metavar="N", help=f"steps around the knee (default {FINER})")
    group.add_argument(
        "--most-step-time", type=positive, metavar="S", help="take an unsteady step as it is then (default 4 steps)"
    )


def tune_settings(arguments: Any) -> TuneSettings:
    """What was asked for; raises UsageError where it makes no sense."""
    for name, letter in (("requests", "-n"), ("rate", "--rate"), ("steps", "--steps")):
        if getattr(arguments, name) is not None:
            raise UsageError(f"{letter} is not for tune, which chooses the steps itself: leave it out")
    if arguments.warmup:
        raise UsageError("--warmup is not for tune, which waits until each step is steady: leave it out")
    for name, option in REPORTS.items():
        if getattr(arguments, name):
            raise UsageError(f"{option} is not for tune, whose report is its own: leave it out, or see loadtop report")
    most = arguments.concurrency or MOST_CONNECTIONS
    if arguments.first > most:
        raise UsageError(f"--from {arguments.first} is above -c {most}: raise -c or lower --from")
    if not 0 <= arguments.finer <= 50:
        raise UsageError(f"--finer {arguments.finer} is out of range: give 0 to 50")
    step_s = arguments.step_time or STEP_S
    most_step_s = arguments.most_step_time or 4 * step_s
    if most_step_s < step_s:
        raise UsageError(f"--most-step-time {most_step_s:g} is below --step-time {step_s:g}: raise it")
    if most_step_s < LEAST_STEP * arguments.interval:
        least = LEAST_STEP * arguments.interval
        raise UsageError(
            f"steps of {most_step_s:g} s at most are too short to judge: give --step-time {least:g} or more"
        )
    total_s = arguments.time or TOTAL_S
    if total_s < 2 * step_s:
        raise UsageError(f"-t {total_s:g} is too short for steps of {step_s:g} s: raise it or lower --step-time")
    return TuneSettings(arguments.first, most, arguments.finer, Bounds(step_s, most_step_s, total_s))


def tune_plan(arguments: Any, settings: TuneSettings) -> Plan:
    """The load to sweep with. Its own end comes after the sweep's, should nobody end it before."""
    arguments.step_time, arguments.concurrency, arguments.time = None, settings.first, settings.bounds.total_s
    plan = build_plan(arguments)
    last = settings.bounds.total_s + settings.bounds.most_step_s
    try:
        return replace(plan, steps=(Step(concurrency=settings.first, duration_s=last),))
    except PlanError as error:
        raise UsageError(str(error)) from None
