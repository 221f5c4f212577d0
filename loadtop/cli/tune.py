"""``loadtop tune``: step the concurrency up until the knee is found; say what is the limit and what to set."""

import asyncio
import sys
from argparse import Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loadtop.analysis.fail_if import Watchdog
from loadtop.analysis.totals.totals import SummaryBuilder
from loadtop.analysis.tune.controller import Pilot
from loadtop.analysis.tune.outcome import Outcome
from loadtop.analysis.tune.step import StepResult, Sweep
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE, FAILED_IF, INTERRUPTED, INVALID, UNREACHABLE, ExitError, UsageError
from loadtop.cli.hosts import connect_far, disconnect, watched_hosts
from loadtop.cli.options.command_line import Options, checked
from loadtop.cli.outputs import begin_story, check_writable, write_json, write_page
from loadtop.cli.recordings import recording_name, start_recorder, tell_recording
from loadtop.i18n import rendered
from loadtop.pipeline.feed import Feed, PreparedFeed
from loadtop.pipeline.monitor import Monitor
from loadtop.pipeline.snapshot import Snapshot
from loadtop.reports.tune import HEADING, report, row

if TYPE_CHECKING:
    from loadtop.generator.plan import Plan
    from loadtop.pipeline.monitor import LoadSource
    from loadtop.reports.story import Story
    from tui.apps.cockpit import FirstPage


def main(arguments: Namespace) -> int:
    """Search the knee; returns the exit code."""
    options = checked(arguments)
    return asyncio.run(_tune(options, list(options.words)))


async def _tune(options: Options, words: list[str]) -> int:
    plan, settings = options.plan, options.tune
    if plan is None or settings is None:
        raise UsageError("no URL given: for example loadtop tune http://127.0.0.1/ (see loadtop tune --help)")
    from loadtop.analysis.tune.controller import SteppedLoad

    url = plan.targets[0].url
    source = _source(options, plan)
    check_writable(options.output)
    far = await connect_far(options)
    try:
        recorder = start_recorder(options, words, url, url)
    except ExitError:
        await disconnect(far)
        raise
    summary = SummaryBuilder(url)
    load = SteppedLoad(source)
    pilot = Pilot(settings.climb(), settings.bounds, load.command, _StepPrinter(options).show)
    watchdog = Watchdog(list(options.output.fail_if))
    story = begin_story(options.output, words, summary)
    sinks: list[Callable[[Snapshot], None]] = [summary.add, pilot.add, watchdog.add]
    if story is not None:
        sinks.append(story.add)
    if recorder is not None:
        sinks.insert(0, recorder.record)

    async def prepare() -> Feed:
        hosts = await asyncio.to_thread(watched_hosts, options, plan, None, far)
        return Monitor(
            url,
            load,
            hosts,
            interval_s=options.watching.interval_s,
            sinks=sinks,
            until_load_ends=not with_screen(options),
            recording=recording_name(recorder),
            url=url,
        )

    feed = PreparedFeed(url, options.watching.interval_s, recording_name(recorder), prepare)
    try:
        interrupted = await show(feed, options, _first_page(options, pilot.sweep, lambda: _why(pilot)))
    finally:
        await disconnect(far)
        if recorder is not None:
            await asyncio.to_thread(recorder.close)
    outcome = Outcome.of(pilot.sweep.results, _why(pilot))
    figures = outcome.into(summary.as_json())
    _leave(options, outcome, figures, story)
    tell_recording(recorder)
    broken = watchdog.broken(figures)
    for text in broken:
        print(f"--fail-if held: {text}", file=sys.stderr)
    code = INTERRUPTED if interrupted else _code(options, outcome, summary)
    return FAILED_IF if code == DONE and broken else code


def _source(options: Options, plan: "Plan") -> "LoadSource":
    """The load that is turned. Raises UsageError where its engine cannot be used so."""
    if options.engine.name != "builtin":
        from loadtop.cli.engine import engine_load

        return engine_load(options.engine, plan, tuned=True)()
    from loadtop.generator.pool import LoadPool

    return LoadPool(plan)


def _why(pilot: Pilot) -> str:
    """Why the climb ended."""
    return pilot.climb.reason or ("" if pilot.over == "done" else pilot.over)


def _first_page(options: Options, sweep: Sweep, why: Callable[[], str]) -> "FirstPage | None":
    """The table, where there is a screen to show it on."""
    if not with_screen(options):
        return None
    from tui.screens.tune import TuneScreen

    return lambda appearance, view: TuneScreen(appearance, view, sweep, why)


def _leave(options: Options, outcome: Outcome, figures: dict[str, Any], story: "Story | None") -> None:
    """Print the report, write the page and the JSON summary."""
    out = sys.stderr if options.output.json == "-" else sys.stdout
    print(report(outcome), end="", file=out, flush=True)
    write_page(story, options.output)
    if options.output.json is not None:
        write_json(figures, options.output.json)


def _code(options: Options, outcome: Outcome, summary: SummaryBuilder) -> int:
    """The exit code of a sweep that nobody cut short."""
    last = summary.last_load
    if last is not None and last.state == "failed":
        print(f"loadtop: {rendered(last.message)}", file=sys.stderr)
        return UNREACHABLE
    if options.output.strict and outcome.limit is not None and outcome.limit.bottleneck == "generator":
        print("--strict: the load generator was the bottleneck, the figures are not the server's", file=sys.stderr)
        return INVALID
    return DONE


class _StepPrinter:
    """A line per step on standard error where there is no screen."""

    def __init__(self, options: Options) -> None:
        self._silent = options.output.quiet or with_screen(options)
        self._begun = False

    def show(self, result: StepResult) -> None:
        """Print the step's line, below a heading for the first."""
        if self._silent:
            return
        if not self._begun:
            print(HEADING, file=sys.stderr)
            self._begun = True
        print(row(result), file=sys.stderr, flush=True)
