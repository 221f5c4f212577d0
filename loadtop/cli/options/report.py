"""ab's reports on the command line: they are about one load, which not every verb makes."""

import argparse
from collections.abc import Collection
from typing import Any

from loadtop.cli.exit_codes import UsageError

REPORTS = {
    "ab": "--ab",
    "no_percentiles": "-d",
    "no_spread": "-S",
    "percentiles_csv": "--percentiles-csv",
    "gnuplot": "--gnuplot",
    "as_html": "--html-table",
    "html_table": "-x",
    "html_tr": "-y",
    "html_td": "-z",
}
"""ab's reports on one load, by what argparse calls them."""

OF_EACH_REQUEST = ("percentiles_csv", "gnuplot")
"""Those that need the times of a load of loadtop's own: a command of the user's tells sums."""


def hide(parser: argparse.ArgumentParser, names: Collection[str]) -> None:
    """Leave options out of ``--help`` that are refused: they are still understood, to say why."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to change what was added
        if any(name in names for name in action.option_strings):
            action.help = argparse.SUPPRESS


def refused_by(command: str) -> list[str]:
    """Options that ``--help`` of ``watch`` and ``demo`` need not list."""
    return [REPORTS[name] for name in {"watch": OF_EACH_REQUEST, "demo": ("gnuplot",)}.get(command, ())]


def check_reports(arguments: Any, command: str, *, program: bool, engine: str) -> None:
    """Raise :class:`UsageError` for reports that ``watch``, with a program or without, ``demo`` or an engine lacks."""
    if engine != "builtin" and arguments.gnuplot:
        raise UsageError(f"--gnuplot needs the time of each request, which {engine} does not tell: leave it out")
    if command == "demo" and arguments.gnuplot:
        raise UsageError("--gnuplot is not for the demo: leave it out, or give it with a URL")
    if command != "watch":
        return
    for name in OF_EACH_REQUEST if program else REPORTS:
        if getattr(arguments, name):
            why = "needs the time of each request, which no command tells" if program else "is about a load"
            how = "leave it out" if program else "leave it out of watch, or give a command after --"
            raise UsageError(f"{REPORTS[name]} {why}: {how}")
