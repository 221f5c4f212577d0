"""What a test writes: the report, and the files that were asked for."""

import json
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

from loadtop.cli.exit_codes import FileError
from loadtop.cli.options.table import Options
from loadtop.i18n import plain, tr

if TYPE_CHECKING:
    from loadtop.analysis.fail_if import RuleOutcome
    from loadtop.analysis.totals.totals import RunResult
    from loadtop.pipeline.snapshot import Snapshot
    from loadtop.reports.export.hdr import HdrLog
    from loadtop.reports.tables import Table


def print_report(result: "RunResult", options: Options, out: TextIO, *, short: bool = False) -> None:
    from loadtop.reports import ab, requests, text

    if options.html_table is not None:
        report = ab.ab_table(result, *options.html_table)
    elif options.ab:
        report = ab.ab_report(result, percentiles=not options.no_percentiles, spread=not options.no_spread)
    else:
        report = text.report(result, requests.SHORT) if short else text.report(result)
    print(report, end="", file=out, flush=True)


def write_ab_files(result: "RunResult", request_logs: Sequence[BinaryIO] | None, options: Options) -> None:
    from loadtop.reports.ab import percentiles_csv, write_gnuplot

    if options.percentiles_csv is not None:
        with writing("the percentiles", options.percentiles_csv):
            options.percentiles_csv.write_text(percentiles_csv(result), encoding="utf-8")
    if request_logs is not None and options.gnuplot is not None:
        with writing("the times of requests", options.gnuplot), options.gnuplot.open("w", encoding="utf-8") as file:
            write_gnuplot(request_logs, file)
        for log in request_logs:
            log.close()


def write_page(result: "RunResult", options: Options, more: "Sequence[Table]" = ()) -> None:
    if options.html is not None:
        from loadtop.reports.html import html

        with writing("the page", options.html):
            options.html.write_text(html(result, more), encoding="utf-8")


def write_junit(
    result: "RunResult", figures: dict[str, Any], outcomes: "Sequence[RuleOutcome]", error: str, file: Path
) -> None:
    from loadtop.reports.junit import junit
    from loadtop.reports.text import report

    with writing("the test cases", file):
        file.write_text(junit(figures, outcomes, report(result), error), encoding="utf-8")
    if not outcomes:
        said = tr("--junit: {file} has no test case, because there is no --fail-if", file=file)
        print(said, file=sys.stderr)


class HdrFile:
    """A log of HdrHistogram that grows with the test. An error while it runs ends the log, not the test, and is said
    when that has ended. Raises FileError where the file cannot be opened."""

    def __init__(self, file: Path) -> None:
        with writing("the histograms", file):
            self._opened = file.open("w", encoding="ascii", buffering=1)
        self._log: HdrLog | None = None
        self._problem = ""

    def add(self, snapshot: "Snapshot") -> None:
        from loadtop.reports.export.hdr import HdrLog

        if self._problem:
            return
        try:
            if self._log is None:
                self._log = HdrLog(snapshot.measured.frame.wall - snapshot.at)
                self._opened.write(self._log.head)
            self._opened.write(self._log.rows(snapshot))
        except OSError as error:
            self._problem = f"loadtop: the histograms in {self._opened.name} end early: {error.strerror}"

    def close(self) -> None:
        with suppress(OSError):  # what could not be written is tried again
            self._opened.close()
        if self._problem:
            print(plain(self._problem), file=sys.stderr)


def append_job_summary(result: "RunResult", more: "Sequence[Table]") -> None:
    """Add the report to the page of a GitHub Actions job, where this is one. No test fails for that file's sake."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    from loadtop.reports.tables import markdown

    try:
        with Path(file).open("a", encoding="utf-8") as page:
            page.write(f"{markdown(result, more)}\n")
    except OSError as error:
        said = tr("cannot write to GITHUB_STEP_SUMMARY, {file}: {error}", file=plain(file), error=error.strerror)
        print(f"loadtop: {said}", file=sys.stderr)


def write_json(figures: dict[str, Any], name: str, what: str = "the JSON summary") -> None:
    text = json.dumps(figures, indent=1)
    if name == "-":
        print(text, flush=True)
    else:
        with writing(what, name):
            Path(name).write_text(text + "\n", encoding="utf-8")


def check_writable(options: Options) -> None:
    """Raise FileError before the load starts if a file cannot be written."""
    for file, what in (
        (None if options.json == "-" else options.json, "the JSON summary"),
        (options.html, "the page"),
        (options.junit, "the test cases"),
        (options.hdr, "the histograms"),
        (options.percentiles_csv, "the percentiles"),
        (options.gnuplot, "the times of requests"),
    ):
        if file is not None:
            with writing(what, file):
                Path(file).open("a").close()


@contextmanager
def writing(what: str, file: str | Path) -> Generator[None]:
    """Raise FileError if the file cannot be written."""
    try:
        yield
    except OSError as error:
        raise FileError(f"cannot write {what} to {file}: {error.strerror}") from None
