"""What a test leaves: the report, and the files that were asked for."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

from loadtop.cli.ends import FileError
from loadtop.options import Options
from loadtop.summary.builder import SummaryBuilder


def print_report(summary: SummaryBuilder, figures: dict[str, Any], options: Options, out: TextIO) -> None:
    """Ours, or ab's where that was asked for."""
    output = options.output
    if output.ab:
        from loadtop.summary.ab import ab_report

        text = ab_report(summary.load, percentiles=output.ab_percentiles, spread=output.ab_spread)
    else:
        from loadtop.summary.text import report

        text = report(figures)
    with suppress(BrokenPipeError):
        print(text, end="", file=out, flush=True)


def write_json(figures: dict[str, Any], name: str) -> None:
    text = json.dumps(figures, indent=1)
    if name == "-":
        print(text, flush=True)
    else:
        write(text + "\n", Path(name), "the JSON summary")


def write(text: str, path: Path, what: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot write {what} to {path}: {error.strerror}") from None


def check_writable(options: Options) -> None:
    """Fail before the load begins, not after it, where a file could not be written."""
    output = options.output
    named = [(None if output.json in (None, "-") else output.json, "the JSON summary")]
    named.append((None if output.html is None else str(output.html), "the page"))
    named.append((None if output.percentiles_csv is None else str(output.percentiles_csv), "the percentiles"))
    for name, what in named:
        if name is None:
            continue
        try:
            with Path(name).open("a"):
                pass
        except OSError as error:
            raise FileError(f"cannot write {what} to {name}: {error.strerror}") from None
