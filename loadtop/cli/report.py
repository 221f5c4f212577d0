"""``loadtop report``: print or write the report of a recording."""

import sys
from argparse import Namespace

from loadtop.analysis.tune.result import TuneResult
from loadtop.cli.exit_codes import DONE, UsageError
from loadtop.cli.options.command_line import Output
from loadtop.cli.outputs import print_report, write_json, write_page
from loadtop.cli.recordings import opened
from loadtop.recording.totals import result_of
from loadtop.reports.tune import report as tuning_report


def main(arguments: Namespace) -> int:
    output = Output(json=arguments.json, html=arguments.html, ab=arguments.ab)
    with opened(arguments.session) as session:
        result = result_of(session)
    if output.ab and result.last_load is None:
        raise UsageError(f"--ab: {arguments.session} contains no load; leave --ab out for the report of the hosts")
    tuned = TuneResult.of(result.steps) if result.is_tune else None
    out = sys.stderr if output.json == "-" else sys.stdout
    if output.json is not None:
        write_json(result.summary if tuned is None else tuned.into(result.summary), output.json)
    write_page(result, output)
    if arguments.markdown:
        from loadtop.reports.markdown import markdown

        print(markdown(result), end="", file=out)
    elsewhere = output.json is not None or output.html is not None or arguments.markdown
    if tuned is not None and not output.ab and (arguments.text or not elsewhere):
        print(tuning_report(tuned), end="", file=out)
    elif arguments.text or output.ab or not elsewhere:
        print_report(result, output, out)
    return DONE
