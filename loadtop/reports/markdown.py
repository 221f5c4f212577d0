"""The report in Markdown: what people type by hand into a wiki, a ticket or a pull request after a test."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from loadtop.analysis.totals.totals import RunResult
from loadtop.i18n import plain, rendered, tr
from loadtop.reports.tables import MODELS, Table, how_long, shape, tables
from loadtop.servers.registry import verdict_named

Json = dict[str, Any]

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]")


def escaped(text: object) -> str:
    """A text that was not written here, so that nothing in it is markup, and none of it leaves its cell."""
    return _SPECIAL.sub(r"\\\g<0>", plain(str(text)))


def markdown(result: RunResult) -> str:
    """The whole report, with a line end. Tables are GitHub's."""
    figures = result.summary
    lines = [*_head(figures), "", *_verdict(result)]
    for table in tables(result):
        lines += ["", f"## {tr(table.title)}", "", *_table(table)]
    if result.command_line:
        # Four blanks make it code, in which nothing is markup.
        lines += ["", f"## {tr('Command')}", "", f"    {plain(shlex.join(['loadtop', *result.command_line]))}"]
    return "\n".join(lines) + "\n"


def _head(figures: Json) -> Iterator[str]:
    what = tr("Load test of {url}", url=escaped(figures["url"])) if figures["url"] else tr("Machines watched")
    load = figures["load"]
    how = "" if load is None else f", {tr(MODELS[load['model']])}, {shape(load, figures['steps'])}"
    yield f"# {what}"
    yield ""
    yield f"{figures['started']}, {figures['duration_s']:.1f} s{how}, loadtop {escaped(figures['version'])}"


def _verdict(result: RunResult) -> Iterator[str]:
    figures = result.summary
    verdict, load = figures["verdict"], figures["load"]
    if load is not None and load["state"] == "failed" and verdict["bottleneck"] == "none":
        yield f"**{tr('The load failed: no verdict')}**"
        yield ""
        yield escaped(rendered(result.message))
        return
    where = tr(" on {host}", host=escaped(verdict["host"])) if verdict["host"] else ""
    sentence = tr(verdict_named(verdict["bottleneck"]).sentence)
    yield f"**{sentence}{where}** (`{verdict['bottleneck']}`, {how_long(figures)})"
    yield ""
    yield escaped(rendered(result.advice))


def _table(table: Table) -> Iterator[str]:
    rules = ["---"] + ["--:" if table.numbers else "---"] * (len(table.head) - 1)
    yield f"| {' | '.join(map(tr, table.head))} |"
    yield f"| {' | '.join(rules)} |"
    for row in table.rows:
        yield f"| {' | '.join(map(escaped, row))} |"
