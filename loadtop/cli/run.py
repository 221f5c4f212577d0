"""``loadtop URL``, ``watch``, ``demo``, ``tune``: a live test, with the cockpit or without; then its report."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from loadtop.cli.argv import overwrite
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import INTERRUPTED
from loadtop.cli.live_test import LiveTest
from loadtop.cli.load import Load, command_load, demo_load, load_maker, safe_words
from loadtop.cli.options.command_line import checked
from loadtop.cli.options.table import LOADS, Options
from loadtop.cli.outputs import check_writable, print_report, write_ab_files
from loadtop.cli.public_target import confirm_public_targets
from loadtop.i18n import rendered
from loadtop.pipeline.feed import Feed, Mark

if TYPE_CHECKING:
    from loadtop.analysis.totals.totals import RunResult
    from loadtop.analysis.tune.step import StepResult
    from loadtop.engines.command import CommandLoad
    from tui.drawing.appearance import Appearance
    from tui.screens.series import TuneScreen
    from tui.state.view import View


def main(options: Options) -> int:
    test = _tune if options.command == "tune" else _run
    overwrite(options.argv, safe_words(options, options.argv))
    options = checked(options)
    if options.command in LOADS:
        options.most_by_hand = confirm_public_targets([options], yes=options.yes)
    return asyncio.run(test(options))


async def _run(options: Options) -> int:
    """Run the test and write its report, in one event loop: it keeps a second signal from cutting the report short."""
    program = command_load(options) if options.program else None
    check_writable(options)
    # The times of individual requests are in files until the load has ended.
    request_logs: list[BinaryIO] | None = None if options.gnuplot is None else []
    title, url, prepare = _load(options, program, request_logs)
    test = LiveTest(options, title, url, program=program)

    def write(result: "RunResult") -> None:
        test.write(result, result.summary, lambda out: print_report(result, options, out, short=True))
        write_ab_files(result, request_logs, options)

    display = partial(show, program=program)
    if options.command == "demo":
        display = partial(_show_demo, test)
    try:
        interrupted = await test.run(prepare, display)
    except Exception:
        # Whatever it was: the user gets what was measured up to then.
        if test.totals.started is not None:
            write(test.result())
        raise
    result = test.result()
    if not interrupted:
        test.check_reached(result, result.summary)
    write(result)
    if interrupted:
        return INTERRUPTED
    if program is not None and program.failure:
        print(f"loadtop: {rendered(program.failure_message)}", file=sys.stderr)
        return program.failure
    return test.code(
        generator_limited=result.summary["verdict"]["bottleneck"] == "generator",
        silent=options.quiet and (options.ab or options.html_table is not None),  # ab's report has no place for it
    )


async def _show_demo(test: LiveTest, feed: Feed, options: Options) -> bool:
    """Show the demo's feed with its story."""
    from loadtop.cli.demo.story import Narrator, caption

    test.sinks.append(Narrator(lambda text: feed.command(Mark(text))).add)
    return await show(feed, options, caption=caption)


def _load(
    options: Options, program: "CommandLoad | None", request_logs: list[BinaryIO] | None
) -> tuple[str, str | None, Callable[[], Awaitable[Load]]]:
    """A title for the load, its URL as far as it is known, and what prepares it."""
    if options.command == "demo":
        from loadtop.cli.demo.story import FAST_S

        return "demo", None, partial(demo_load, FAST_S if options.fast else None)
    if options.command == "watch":
        load = Load() if program is None else Load(program, program.plan)
        title = "watching" if program is None else " ".join(safe_words(options, options.words)[-len(options.program) :])
        return title, load.url, load.prepared
    make = load_maker(options, request_logs)

    async def prepare() -> Load:
        from loadtop.generator.restart import RestartableLoad

        return Load(RestartableLoad(make), options.plan)

    url = options.plan.targets[0].url
    return url, url, prepare


async def _tune(options: Options) -> int:
    """Step the concurrency up until the knee is found; report the limit and what to set."""
    from loadtop.analysis.tune.controller import SteppedLoad, SweepController
    from loadtop.analysis.tune.sizing import TuneResult
    from loadtop.reports.tune import HEADING, report, row

    load = SteppedLoad(load_maker(options)())
    check_writable(options)
    url = options.plan.targets[0].url
    test = LiveTest(options, url, url)
    sweep = test.totals.sweep
    silent = options.quiet or with_screen(options)

    def print_step(result: "StepResult") -> None:
        if silent:
            return
        if result is sweep.results[0]:
            print(HEADING, file=sys.stderr)
        print(row(result), file=sys.stderr, flush=True)

    controller = SweepController(options.search, options.limits, sweep, load.command, print_step)
    test.sinks.append(controller.add)

    def first_page(appearance: "Appearance", view: "View") -> "TuneScreen":
        from tui.screens.series import TuneScreen

        return TuneScreen(appearance, view, lambda: sweep, lambda: controller.reason)

    interrupted = await test.run(Load(load, options.plan).prepared, partial(show, first=first_page))
    result = test.result()
    tuned = TuneResult.of(result.steps, controller.reason)
    figures = tuned.into(result.summary)

    if not interrupted:
        test.check_reached(result, figures)
    test.write(result, figures, lambda out: print(report(tuned), end="", file=out, flush=True))
    limited = tuned.limit is not None and tuned.limit.bottleneck == "generator"
    return INTERRUPTED if interrupted else test.code(generator_limited=limited, silent=True)
