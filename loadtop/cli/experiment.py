"""``loadtop experiment PLAN.toml``: measure every variant under every load; print the table."""

import asyncio
import json
import sys
import time

from msgspec.structs import replace

from loadtop.analysis.experiment.plan import Cell, ExperimentPlan
from loadtop.analysis.experiment.results import CellResult, ResultFile, cell_result
from loadtop.analysis.experiment.runner import ExperimentFeed, Progress, Runner, VariantError
from loadtop.cli.display import show, with_screen
from loadtop.cli.exit_codes import DONE, INTERRUPTED, UNREACHABLE, UnreachableError, UsageError
from loadtop.cli.live_test import LiveTest, Show
from loadtop.cli.load import Load, load_maker
from loadtop.cli.options.command_line import parse
from loadtop.cli.options.experiment_plan import read_plan
from loadtop.cli.options.table import Options
from loadtop.cli.outputs import writing
from loadtop.cli.public_target import confirm_public_targets
from loadtop.i18n import Message, duration, plain, plural, rendered, tr
from loadtop.model import LoadState
from loadtop.pipeline.feed import Feed
from loadtop.reports import experiment as table


def main(options: Options) -> int:
    plan = read_plan(options.plan_file)
    loads = [] if options.table else _loads(plan)
    file = ResultFile(options.out or plan.file.with_suffix(".results"))
    if options.check:
        each, cells = plan.seconds(), len(plan.cells())
        variants = plural(len(plan.variants), "{n} variant", "{n} variants")
        counted = plural(cells, "{n} cell", "{n} cells")
        said = tr("{plan} is valid: {variants}, {cells}", plan=plan.file, variants=variants, cells=counted)
        about = "" if each is None else tr(", about {duration}", duration=duration(each * cells))
        print(said + about)
        return DONE
    confirm_public_targets(loads, yes=options.yes or all(load.yes for load in loads))
    with writing("the results", file.directory):
        file.directory.mkdir(parents=True, exist_ok=True)
        if options.again:
            file.file.unlink(missing_ok=True)
        if options.table:
            _write(plan, file, file.read())
            return DONE
    return asyncio.run(_run(plan, file, screen=with_screen(options), quiet=options.quiet))


async def _run(plan: ExperimentPlan, file: ResultFile, *, screen: bool, quiet: bool) -> int:
    def say(text: str) -> None:
        if not quiet and not screen:
            print(plain(text), file=sys.stderr, flush=True)

    def begin(progress: Progress) -> None:
        feed.progress = progress
        say(_beginning(plan, progress))

    async def on_screen(cell: Feed, _: Options) -> bool:
        await feed.show_cell(cell)
        return False

    async def measure(cell: Cell) -> CellResult | None:
        result = await _measure(cell, file, on_screen if screen else show)
        if result is not None:
            rps = "-" if result.rps is None else f"{result.rps:.1f}"
            failed = tr(", {number} failed", number=result.failed) if result.failed else ""
            say(tr("    {rps} requests/s, {limit}{failed}", rps=rps, limit=result.bottleneck, failed=failed))
        return result

    with writing("the results", file.directory):
        runner = Runner(plan, file, measure, begin)
    feed = ExperimentFeed(plan.title, runner.run)
    known = sum(cell.key in runner.results for cell in plan.cells())
    if known:
        one = "1 cell is already measured (--again repeats it)"
        several = "{count} cells are already measured (--again repeats them)"
        say(plural(known, one, several, count=known).render())
    try:
        try:
            await (_on_screen(plan, feed, runner) if screen else runner.run())
        finally:
            if runner.finish_error is not None:
                failure = Message("the finish command failed: {error}", error=runner.finish_error.message)
                print(f"loadtop: {rendered(failure)}", file=sys.stderr)
    except VariantError as error:
        output = [f"    {plain(line)}" for line in error.output.splitlines()]
        said = [f"loadtop: {rendered(error.message)}", *output, f"loadtop: {rendered(error.restored)}"]
        print("\n".join(said), file=sys.stderr)
        _write(plan, file, runner.results)
        return UNREACHABLE
    except UnreachableError:
        _write(plan, file, runner.results)
        raise
    _write(plan, file, runner.results)
    if not all(cell.key in runner.results for cell in plan.cells()):
        text = "interrupted: run `loadtop experiment {plan}` to continue"
        print(tr(text, plan=plan.file), file=sys.stderr)
        return INTERRUPTED
    return DONE if runner.finish_error is None else UNREACHABLE


async def _on_screen(plan: ExperimentPlan, feed: ExperimentFeed, runner: Runner) -> None:
    from tui.apps.cockpit import Cockpit, run_cockpit
    from tui.screens.series import ExperimentScreen

    def lines(wide: bool) -> list[str]:
        return table.lines(table.rows(plan, runner.results), table.SHORT if wide else table.SHORTEST)

    app = Cockpit(
        feed,
        first=lambda appearance, view: ExperimentScreen(appearance, view, lambda: feed.progress, lines),
        load_owner="plan",
    )
    await run_cockpit(app)


def _beginning(plan: ExperimentPlan, progress: Progress) -> str:
    left = "" if progress.left_s is None else tr(", about {time} left", time=duration(progress.left_s))
    place = {"number": progress.number, "of": progress.of}
    text = tr("measurement {number} of {of}{left}: {cell}", **place, left=left, cell=progress.cell.label)
    times = {"number": progress.cell.repeat, "of": plan.repeats}
    return text + (tr(" ({number} of {of})", **times) if plan.repeats > 1 else "")


async def _measure(cell: Cell, file: ResultFile, display: Show) -> CellResult | None:
    """Run the test of one cell, recorded, and store its result; None if a signal cut it short. Raises ExitError."""
    recording = file.directory / f"{cell.key}.loadtop"
    with writing("the results", file.directory):
        recording.unlink(missing_ok=True)
    options = parse(["run", "--quiet", "--headless", "--record", str(recording), *cell.words])
    began = time.monotonic()
    load = Load(load_maker(options)(), options.plan)

    options.words = cell.words
    test = LiveTest(options, cell.label, cell.url)
    interrupted = await test.run(load.prepared, display)
    last = test.totals.load.last
    if interrupted or last is None:
        return None
    if last.state is LoadState.FAILED:
        raise UnreachableError(Message("{cell}: {reason}", cell=cell.label, reason=last.message))
    result = cell_result(cell, test.totals.as_json(), round(time.monotonic() - began, 2), recording.name)
    with writing("the results", file.directory):
        file.add(result)
    return result


def _loads(plan: ExperimentPlan) -> list[Options]:
    """Return the loads of the cells. Raises UsageError for the first whose engine is not installed or cannot do it."""
    found: list[Options] = []
    for cell in replace(plan, repeats=1).cells():
        options = parse(["run", *cell.words])
        try:
            load_maker(options)
        except UsageError as error:
            raise UsageError(f"{plan.file}: {cell.label}: {error}") from None
        found.append(options)
    return found


def _write(plan: ExperimentPlan, file: ResultFile, results: dict[str, CellResult]) -> None:
    """Print the table, and write it to files beside the recordings. Existing files are replaced, so that nothing is
    written through a link."""
    found = table.rows(plan, results)
    for name, content in (
        ("table.txt", table.text(plan, found)),
        ("table.md", table.markdown(plan, found)),
        ("table.csv", table.as_csv(found)),
        ("table.json", json.dumps(table.as_json(plan, found), indent=1) + "\n"),
    ):
        path = file.directory / name
        with writing("the results", file.directory):
            path.unlink(missing_ok=True)
            with path.open("x", encoding="utf-8") as written:
                written.write(content)
    print(table.text(plan, found), end="", flush=True)
    where = tr("Recordings and tables (txt, md, csv, json) are in {directory}", directory=file.directory)
    print(f"\n{where}", file=sys.stderr)
