"""``loadtop tune``: step the concurrency up until the knee is found; report the limit and what to set."""

import asyncio
import sys
from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING, TextIO

from loadtop.analysis.tune.controller import Pilot, SteppedLoad
from loadtop.analysis.tune.outcome import Outcome
from loadtop.analysis.tune.step import StepResult
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import INTERRUPTED
from loadtop.cli.live_test import LiveTest
from loadtop.cli.load import Load, load_maker, plan_of
from loadtop.cli.options.command_line import Options, checked
from loadtop.cli.options.tune import TuneSettings
from loadtop.cli.outputs import check_writable
from loadtop.reports.tune import HEADING, report, row

if TYPE_CHECKING:
    from tui.apps.cockpit import FirstPage


def main(arguments: Namespace) -> int:
    """Search the knee; returns the exit code."""
    options = checked(arguments)
    return asyncio.run(_tune(options, options.tune or TuneSettings()))


async def _tune(options: Options, settings: TuneSettings) -> int:
    plan = plan_of(options)
    load = SteppedLoad(load_maker(options, tuned=True)())
    check_writable(options.output)
    pilot = Pilot(settings.climb(), settings.bounds, load.command, _StepPrinter(options).show)
    url = plan.targets[0].url
    test = LiveTest(options, url, url, sinks=[pilot.add])

    interrupted = await test.run(Load(load, plan).prepared, partial(show, first=_first_page(options, pilot)))
    outcome = Outcome.of(pilot.sweep.results, _why(pilot))
    figures = outcome.into(test.summary.as_json())

    def print_report(out: TextIO) -> None:
        print(report(outcome), end="", file=out, flush=True)

    test.write(figures, print_report)
    limited = outcome.limit is not None and outcome.limit.bottleneck == "generator"
    return INTERRUPTED if interrupted else test.code(figures, generator_limited=limited, silent=True)


def _why(pilot: Pilot) -> str:
    """Why the search ended."""
    return pilot.climb.reason or ("" if pilot.over == "done" else pilot.over)


def _first_page(options: Options, pilot: Pilot) -> "FirstPage | None":
    """The table of steps, if there is a screen to show it on."""
    if not with_screen(options):
        return None
    from tui.screens.tune import TuneScreen

    return lambda appearance, view: TuneScreen(appearance, view, pilot.sweep, lambda: _why(pilot))


class _StepPrinter:
    """Prints a line per step on standard error if there is no screen."""

    def __init__(self, options: Options) -> None:
        self._silent = options.output.quiet or with_screen(options)
        self._first = True

    def show(self, result: StepResult) -> None:
        """Print the step's line, below a heading for the first."""
        if self._silent:
            return
        if self._first:
            print(HEADING, file=sys.stderr)
            self._first = False
        print(row(result), file=sys.stderr, flush=True)
