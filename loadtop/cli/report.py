"""``loadtop report``: the report of a recording."""

import sys

from loadtop.analysis.tune.outcome import Outcome
from loadtop.analysis.tune.step import Sweep
from loadtop.cli.exit_codes import DONE, UsageError
from loadtop.cli.options.command_line import parse
from loadtop.cli.outputs import print_report, write_json, write_page
from loadtop.cli.recordings import opened
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.totals import story_of
from loadtop.reports.tune import report as tuning_report


def main(verb: str, words: list[str]) -> int:
    """Sum the recording up; the exit code."""
    options = parse([verb, *words])
    output = options.output
    if options.text + options.markdown + output.ab > 1:
        raise UsageError("--text, --ab and --markdown contradict each other: give one of them")
    with opened(options.session) as session:
        sweep = Sweep() if session.meta.command_line[:1] == ("tune",) else None
        story = story_of(session)
        if sweep is not None:
            for snapshot in snapshots(session.frames()):
                sweep.add(snapshot)
    summary = story.summary
    if output.ab and summary.load.last is None:
        raise UsageError(f"--ab: {options.session} holds no load to report on; without --ab it tells of the machines")
    outcome = None if sweep is None else Outcome.of(sweep.results)
    figures = summary.as_json() if outcome is None else outcome.into(summary.as_json())
    # With the JSON on standard output, there is nothing else on it.
    out = sys.stderr if output.json == "-" else sys.stdout
    if output.json is not None:
        write_json(figures, output.json)
    write_page(story, options)
    if options.markdown:
        from loadtop.reports.markdown import markdown

        print(markdown(story), end="", file=out)
    elsewhere = output.json is not None or output.html is not None or options.markdown
    if outcome is not None and not output.ab and (options.text or not elsewhere):
        print(tuning_report(outcome), end="", file=out)
    elif options.text or output.ab or not elsewhere:
        print_report(summary, figures, options, out)
    return DONE
