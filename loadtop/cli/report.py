"""``loadtop report``: print or write the report of a recording."""

import sys

from loadtop.analysis.tune.sizing import TuneResult
from loadtop.cli.exit_codes import DONE, UsageError
from loadtop.cli.options.option import Options
from loadtop.cli.outputs import print_report, write_json, write_page
from loadtop.cli.recordings import opened
from loadtop.recording.totals import result_of
from loadtop.reports.tune import report as tuning_report


def main(options: Options) -> int:
    with opened(options.session) as session:
        result = result_of(session)
    if options.ab and result.last_load is None:
        raise UsageError(f"--ab: {options.session} contains no load; leave --ab out for the report of the hosts")
    tuned = TuneResult.of(result.steps) if result.is_tune else None
    out = sys.stderr if options.json == "-" else sys.stdout
    if options.json is not None:
        write_json(result.summary if tuned is None else tuned.into(result.summary), options.json)
    write_page(result, options)
    if options.markdown:
        from loadtop.reports.tables import markdown

        print(markdown(result), end="", file=out)
    elsewhere = options.json is not None or options.html is not None or options.markdown
    if tuned is not None and not options.ab and (options.text or not elsewhere):
        print(tuning_report(tuned), end="", file=out)
    elif options.text or options.ab or not elsewhere:
        print_report(result, options, out)
    return DONE
