"""The report in Markdown: what people type by hand into a wiki, a ticket or a pull request after a test."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from loadtop.reporting.story import Story
from loadtop.reporting.tables import Table, shape, tables
from loadtop.summary.text import TITLES
from loadtop.words import plain

Json = dict[str, Any]

_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]")


def escaped(text: object) -> str:
    """A text that was not written here, so that nothing in it is markup, and none of it leaves its cell."""
    return _SPECIAL.sub(r"\\\g<0>", plain(str(text)))


def markdown(story: Story) -> str:
    """The whole report, with a line end. Tables are GitHub's."""
    figures = story.summary.as_json()
    lines = [*_head(figures), "", *_verdict(figures)]
    for table in tables(story, figures):
        lines += ["", f"## {table.title}", "", *_table(table)]
    if story.command_line:
        # Four blanks make it code, in which nothing is markup.
        lines += ["", "## Command", "", f"    {plain(shlex.join(['loadtop', *story.command_line]))}"]
    return "\n".join(lines) + "\n"


def _head(figures: Json) -> Iterator[str]:
    what = f"Load test of {escaped(figures['url'])}" if figures["url"] else "Machines watched"
    load = figures["load"]
    how = "" if load is None else f", {escaped(load['model'])} model, {shape(load, figures['steps'])}"
    yield f"# {what}"
    yield ""
    yield f"{figures['started']}, {figures['duration_s']:.1f} s{how}, loadtop {escaped(figures['version'])}"


def _verdict(figures: Json) -> Iterator[str]:
    verdict, load = figures["verdict"], figures["load"]
    if load is not None and load["state"] == "failed" and verdict["bottleneck"] == "none":
        yield "**The load failed: no verdict.**"
        yield ""
        yield escaped(load["message"] or "")
        return
    where = f" on {escaped(verdict['host'])}" if verdict["host"] else ""
    held = min(verdict["held_s"], figures["duration_s"])
    yield (
        f"**{TITLES[verdict['bottleneck']]}{where}** (`{verdict['bottleneck']}`, {held:.0f} s of "
        f"{figures['duration_s']:.0f} s, confidence {verdict['confidence']:.2f})"
    )
    yield ""
    yield escaped(verdict["advice"])


def _table(table: Table) -> Iterator[str]:
    rules = ["---"] + ["--:" if table.numbers else "---"] * (len(table.head) - 1)
    yield f"| {' | '.join(table.head)} |"
    yield f"| {' | '.join(rules)} |"
    for row in table.rows:
        yield f"| {' | '.join(map(escaped, row))} |"
