"""``loadtop tune``: step the concurrency up until the knee is found; report the limit and what to set."""

import asyncio
import sys
from argparse import Namespace
from functools import partial
from typing import TYPE_CHECKING

from loadtop.analysis.tune.controller import SteppedLoad, SweepController
from loadtop.analysis.tune.result import TuneResult
from loadtop.analysis.tune.step import StepResult, Sweep
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
    options = checked(arguments)
    return asyncio.run(_tune(options, options.tune or TuneSettings()))


async def _tune(options: Options, settings: TuneSettings) -> int:
    plan = plan_of(options)
    load = SteppedLoad(load_maker(options, tuned=True)())
    check_writable(options.output)
    url = plan.targets[0].url
    test = LiveTest(options, url, url)
    sweep, printer = test.totals.sweep, _StepPrinter(options)
    controller = SweepController(settings.search(), settings.limits, sweep, load.command, printer.show)
    test.sinks.append(controller.add)

    interrupted = await test.run(
        Load(load, plan).prepared, partial(show, first=_first_page(options, sweep, controller))
    )
    result = test.totals.result()
    tuned = TuneResult.of(result.steps, controller.reason)
    figures = tuned.into(result.summary)

    test.write(result, figures, lambda out: print(report(tuned), end="", file=out, flush=True))
    limited = tuned.limit is not None and tuned.limit.bottleneck == "generator"
    return INTERRUPTED if interrupted else test.code(figures, generator_limited=limited, silent=True)


def _first_page(options: Options, sweep: Sweep, controller: SweepController) -> "FirstPage | None":
    if not with_screen(options):
        return None
    from tui.screens.tune import TuneScreen

    return lambda appearance, view: TuneScreen(appearance, view, sweep, lambda: controller.reason)


class _StepPrinter:
    """Prints a line per step on standard error if there is no screen."""

    def __init__(self, options: Options) -> None:
        self._silent = options.output.quiet or with_screen(options)
        self._first = True

    def show(self, result: StepResult) -> None:
        if self._silent:
            return
        if self._first:
            print(HEADING, file=sys.stderr)
            self._first = False
        print(row(result), file=sys.stderr, flush=True)
