"""What a test writes: the report, and the files that were asked for."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from loadtop.analysis.totals.totals import RunResult
from loadtop.cli.exit_codes import FileError
from loadtop.cli.options.option import Options
from loadtop.i18n import english

if TYPE_CHECKING:
    from loadtop.generator.request_log import RequestLogFiles


def print_report(result: RunResult, options: Options, out: TextIO) -> None:
    """Print the report: loadtop's, or ab's if asked for."""
    if options.html_table is not None:
        from loadtop.reports.ab import ab_table

        text = ab_table(result, *options.html_table)
    elif options.ab:
        from loadtop.reports.ab import ab_report

        text = ab_report(result, percentiles=not options.no_percentiles, spread=not options.no_spread)
    else:
        from loadtop.reports.text import report

        text = report(result)
    print(text, end="", file=out, flush=True)


def open_request_logs(options: Options) -> "RequestLogFiles | None":
    """The files that hold the times of single requests for -g until the load has ended."""
    if options.gnuplot is None:
        return None
    from loadtop.generator.request_log import RequestLogFiles

    return RequestLogFiles()


def write_ab_files(result: RunResult, request_logs: "RequestLogFiles | None", options: Options) -> None:
    if options.percentiles_csv is not None:
        from loadtop.reports.ab import percentiles_csv

        write(percentiles_csv(result), options.percentiles_csv, "the percentiles")
    if request_logs is not None and options.gnuplot is not None:
        from loadtop.reports.ab import write_gnuplot

        try:
            with options.gnuplot.open("w") as file:
                write_gnuplot(request_logs.rows(), file)
        except OSError as error:
            raise FileError(f"cannot write the times of requests to {options.gnuplot}: {error.strerror}") from None
        finally:
            request_logs.close()


def write_page(result: RunResult, options: Options) -> None:
    if options.html is not None:
        from loadtop.reports.html import html

        write(html(result), options.html, "the page")


def write_json(figures: dict[str, Any], name: str, what: str = "the JSON summary") -> None:
    text = json.dumps(figures, indent=1, default=english)
    if name == "-":
        print(text, flush=True)
    else:
        write(text + "\n", Path(name), what)


def write(text: str, path: Path, what: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot write {what} to {path}: {error.strerror}") from None


def check_writable(options: Options) -> None:
    """Raise FileError before the load starts if a file cannot be written."""
    for file, what in (
        (None if options.json == "-" else options.json, "the JSON summary"),
        (options.html, "the page"),
        (options.percentiles_csv, "the percentiles"),
        (options.gnuplot, "the times of requests"),
    ):
        if file is not None:
            try:
                Path(file).open("a").close()
            except OSError as error:
                raise FileError(f"cannot write {what} to {file}: {error.strerror}") from None
