"""``loadtop report``: print or write the report of a recording."""

import sys
from argparse import Namespace

from loadtop.analysis.tune.outcome import Outcome
from loadtop.analysis.tune.step import Sweep
from loadtop.cli.exit_codes import DONE, UsageError
from loadtop.cli.options.command_line import Output
from loadtop.cli.outputs import print_report, write_json, write_page
from loadtop.cli.recordings import opened
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording.totals import story_of
from loadtop.reports.tune import report as tuning_report


def main(arguments: Namespace) -> int:
    """Print or write the report; returns the exit code."""
    output = Output(json=arguments.json, html=arguments.html, ab=arguments.ab)
    with opened(arguments.session) as session:
        sweep = Sweep() if session.meta.command_line[:1] == ("tune",) else None
        story = story_of(session)
        if sweep is not None:
            for snapshot in snapshots(session.frames()):
                sweep.add(snapshot)
    summary = story.summary
    if output.ab and summary.load.last is None:
        raise UsageError(f"--ab: {arguments.session} contains no load; leave --ab out for the report of the hosts")
    outcome = None if sweep is None else Outcome.of(sweep.results)
    figures = summary.as_json() if outcome is None else outcome.into(summary.as_json())
    out = sys.stderr if output.json == "-" else sys.stdout
    if output.json is not None:
        write_json(figures, output.json)
    write_page(story, output)
    if arguments.markdown:
        from loadtop.reports.markdown import markdown

        print(markdown(story), end="", file=out)
    elsewhere = output.json is not None or output.html is not None or arguments.markdown
    if outcome is not None and not output.ab and (arguments.text or not elsewhere):
        print(tuning_report(outcome), end="", file=out)
    elif arguments.text or output.ab or not elsewhere:
        print_report(summary, figures, output, out)
    return DONE
