"""What a test writes: the report, and the files that were asked for."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from loadtop.cli.exit_codes import FileError
from loadtop.cli.options.option import Options
from loadtop.i18n import english

if TYPE_CHECKING:
    from loadtop.analysis.totals.totals import RunResult
    from loadtop.generator.request_log import RequestLogFiles


def print_report(result: "RunResult", options: Options, out: TextIO) -> None:
    """Print the report: loadtop's, or ab's if asked for."""
    from loadtop.reports import ab, text

    if options.html_table is not None:
        report = ab.ab_table(result, *options.html_table)
    elif options.ab:
        report = ab.ab_report(result, percentiles=not options.no_percentiles, spread=not options.no_spread)
    else:
        report = text.report(result)
    print(report, end="", file=out, flush=True)


def write_ab_files(result: "RunResult", request_logs: "RequestLogFiles | None", options: Options) -> None:
    from loadtop.reports.ab import percentiles_csv, write_gnuplot

    if options.percentiles_csv is not None:
        write(percentiles_csv(result), options.percentiles_csv, "the percentiles")
    if request_logs is not None and options.gnuplot is not None:
        try:
            with options.gnuplot.open("w") as file:
                write_gnuplot(request_logs.rows(), file)
        except OSError as error:
            raise _unwritable("the times of requests", options.gnuplot, error) from None
        finally:
            request_logs.close()


def write_page(result: "RunResult", options: Options) -> None:
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
        raise _unwritable(what, path, error) from None


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
                raise _unwritable(what, file, error) from None


def _unwritable(what: str, file: str | Path, error: OSError) -> FileError:
    return FileError(f"cannot write {what} to {file}: {error.strerror}")
