"""``loadtop report``: the report of a recording."""

import sys

from loadtop.cli.ends import DONE
from loadtop.cli.outputs import print_report, write_json
from loadtop.cli.recordings import opened
from loadtop.options import parse
from loadtop.session.replay import moments
from loadtop.summary.builder import SummaryBuilder


def main(verb: str, words: list[str]) -> int:
    """Sum the recording up; the exit code."""
    options = parse([verb, *words])
    with opened(options.session) as session:
        summary = SummaryBuilder(session.meta.url or None)
        for moment in moments(session.frames()):
            summary.add(moment)
    figures = summary.as_json()
    if options.output.json is not None:
        write_json(figures, options.output.json)
    if options.output.json is None or options.text or options.output.ab:
        print_report(summary, figures, options, sys.stdout)
    return DONE
