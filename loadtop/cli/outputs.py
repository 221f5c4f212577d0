"""What a test writes: the report, and the files that were asked for."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from loadtop.analysis.totals.totals import RunResult
from loadtop.cli.exit_codes import FileError
from loadtop.cli.options.command_line import Output
from loadtop.i18n import english

if TYPE_CHECKING:
    from loadtop.generator.request_log import RequestLogFiles


def print_report(result: RunResult, output: Output, out: TextIO) -> None:
    """Print the report: loadtop's, or ab's if asked for."""
    if output.html_table is not None:
        from loadtop.reports.ab import ab_table

        text = ab_table(result, *output.html_table)
    elif output.ab:
        from loadtop.reports.ab import ab_report

        text = ab_report(result, percentiles=output.ab_percentiles, spread=output.ab_spread)
    else:
        from loadtop.reports.text import report

        text = report(result)
    print(text, end="", file=out, flush=True)


def open_request_logs(output: Output) -> "RequestLogFiles | None":
    """The files that hold the times of single requests for -g until the load has ended."""
    if output.gnuplot is None:
        return None
    from loadtop.generator.request_log import RequestLogFiles

    return RequestLogFiles()


def write_ab_files(result: RunResult, request_logs: "RequestLogFiles | None", output: Output) -> None:
    if output.percentiles_csv is not None:
        from loadtop.reports.ab import percentiles_csv

        write(percentiles_csv(result), output.percentiles_csv, "the percentiles")
    if request_logs is not None and output.gnuplot is not None:
        from loadtop.reports.ab import write_gnuplot

        try:
            with output.gnuplot.open("w") as file:
                write_gnuplot(request_logs.rows(), file)
        except OSError as error:
            raise FileError(f"cannot write the times of requests to {output.gnuplot}: {error.strerror}") from None
        finally:
            request_logs.close()


def write_page(result: RunResult, output: Output) -> None:
    if output.html is not None:
        from loadtop.reports.html import html

        write(html(result), output.html, "the page")


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


def check_writable(output: Output) -> None:
    """Raise FileError before the load starts if a file cannot be written."""
    for file, what in (
        (None if output.json == "-" else output.json, "the JSON summary"),
        (output.html, "the page"),
        (output.percentiles_csv, "the percentiles"),
        (output.gnuplot, "the times of requests"),
    ):
        if file is not None:
            try:
                Path(file).open("a").close()
            except OSError as error:
                raise FileError(f"cannot write {what} to {file}: {error.strerror}") from None
