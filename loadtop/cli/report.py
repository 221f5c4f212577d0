"""``loadtop report``: the report of a recording."""

import sys

from loadtop.cli.ends import DONE
from loadtop.cli.outputs import print_report, write, write_json
from loadtop.cli.recordings import opened
from loadtop.options import parse
from loadtop.reporting.story import Story
from loadtop.session.replay import moments
from loadtop.summary.builder import SummaryBuilder
from loadtop.tuning.outcome import Outcome
from loadtop.tuning.report import report as tuning_report
from loadtop.tuning.sweep import Sweep


def main(verb: str, words: list[str]) -> int:
    """Sum the recording up; the exit code."""
    options = parse([verb, *words])
    output = options.output
    told = options.markdown or output.html is not None
    with opened(options.session) as session:
        meta = session.meta
        summary = SummaryBuilder(meta.url or None)
        story = Story(command_line=meta.command_line, summary=summary) if told else None
        sweep = Sweep() if meta.command_line[:1] == ("tune",) else None
        for moment in moments(session.frames()):
            summary.add(moment)
            if sweep is not None:
                sweep.add(moment)
            if story is not None:
                story.add(moment)
    outcome = None if sweep is None else Outcome.of(sweep.results)
    figures = summary.as_json() if outcome is None else outcome.into(summary.as_json())
    if output.json is not None:
        write_json(figures, output.json)
    if story is not None and output.html is not None:
        from loadtop.reporting.html import html

        write(html(story), output.html, "the page")
    if story is not None and options.markdown:
        from loadtop.reporting.markdown import markdown

        print(markdown(story), end="")
    elsewhere = output.json is not None or output.html is not None or options.markdown
    if outcome is not None and not output.ab and (options.text or not elsewhere):
        print(tuning_report(outcome), end="")
    elif options.text or output.ab or not elsewhere:
        print_report(summary, figures, options, sys.stdout)
    return DONE
