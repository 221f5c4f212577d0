"""``loadtop tune``: step the concurrency up until the knee is found; report the limit and what to set."""

import asyncio
import sys
from functools import partial
from typing import TYPE_CHECKING

from loadtop.analysis.tune.controller import SteppedLoad, SweepController
from loadtop.analysis.tune.sizing import TuneResult
from loadtop.analysis.tune.step import StepResult
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import INTERRUPTED
from loadtop.cli.live_test import LiveTest
from loadtop.cli.load import Load, load_maker
from loadtop.cli.options.command_line import checked
from loadtop.cli.options.option import Options
from loadtop.cli.outputs import check_writable
from loadtop.reports.tune import HEADING, report, row

if TYPE_CHECKING:
    from tui.drawing.appearance import Appearance
    from tui.screens.tune import TuneScreen
    from tui.state.view import View


def main(options: Options) -> int:
    return asyncio.run(_tune(checked(options)))


async def _tune(options: Options) -> int:
    load = SteppedLoad(load_maker(options)())
    check_writable(options)
    url = options.plan.targets[0].url
    test = LiveTest(options, url, url)
    sweep = test.totals.sweep
    silent = options.quiet or with_screen(options)

    def print_step(result: StepResult) -> None:
        if silent:
            return
        if result is sweep.results[0]:
            print(HEADING, file=sys.stderr)
        print(row(result), file=sys.stderr, flush=True)

    controller = SweepController(options.search, options.limits, sweep, load.command, print_step)
    test.sinks.append(controller.add)

    def first_page(appearance: "Appearance", view: "View") -> "TuneScreen":
        from tui.screens.tune import TuneScreen

        return TuneScreen(appearance, view, lambda: sweep, lambda: controller.reason)

    interrupted = await test.run(Load(load, options.plan).prepared, partial(show, first=first_page))
    result = test.result()
    tuned = TuneResult.of(result.steps, controller.reason)
    figures = tuned.into(result.summary)

    test.write(result, figures, lambda out: print(report(tuned), end="", file=out, flush=True))
    limited = tuned.limit is not None and tuned.limit.bottleneck == "generator"
    return INTERRUPTED if interrupted else test.code(figures, generator_limited=limited, silent=True)
