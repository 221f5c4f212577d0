"""``loadtop compare``: runs side by side, with direction and significance."""

import sys
from collections.abc import Sequence

from loadtop.analysis.comparison import By, Run, alignment, common, compare
from loadtop.analysis.totals.series import SeriesTotals
from loadtop.cli.display import on_terminal
from loadtop.cli.exit_codes import UsageError
from loadtop.cli.options.table import Options
from loadtop.cli.outputs import write_json
from loadtop.cli.recordings import opened
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.reader import result_of
from loadtop.reports.compare import as_json, text

FEW = 60  # points of a long run in the time all have, below which its intervals are read again: ten for each part


def main(options: Options) -> None:
    if len(options.sessions) < 2:
        raise UsageError("compare needs at least two recordings (list them with `loadtop sessions list`)")
    runs: list[Run] = []
    for path in options.sessions:
        with opened(path) as session:
            runs.append(Run(session.path, result_of(session)))
    _refine(runs, options.by)
    try:
        comparison = compare(runs, options.margin, options.by)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if options.json is not None:
        write_json(as_json(comparison), options.json, "the comparison")
    if options.json is None or options.text:
        if not options.text and on_terminal():
            from tui.apps.terminal import PageApp
            from tui.drawing.appearance import Appearance
            from tui.screens.comparison import ComparisonPage

            PageApp[None](ComparisonPage(Appearance.of_terminal(), comparison)).run()
        out = sys.stderr if options.json == "-" else sys.stdout
        print(text(comparison, everything=options.all), end="", file=out)


def _refine(runs: Sequence[Run], by: By | None) -> None:
    """A long run beside a short one: what they have in common is read interval by interval."""
    end = common(runs)
    for run in runs if alignment(runs, by) == "time" else ():
        points = sum(at - run.series.began <= end for at in run.series.at)
        if run.series.width > 1 and points < FEW:
            beginning = SeriesTotals()
            with opened(run.path) as session:
                for snapshot in snapshots(session.frames()):
                    if beginning.duration >= end:
                        break
                    beginning.add(snapshot)
            run.beginning = beginning.series
