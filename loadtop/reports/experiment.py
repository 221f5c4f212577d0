"""The result: a row per variant, URL and load, its repeats together; as text, Markdown, CSV and JSON."""

import csv
import io
from collections import Counter
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from loadtop.analysis.experiment.plan import ExperimentPlan
from loadtop.analysis.experiment.results import CellResult
from loadtop.i18n import Message, Translatable, figure, pad, plain, tr, width
from loadtop.reports.export.tables import not_computed

SCHEMA = "loadtop.experiment/1"

SPREAD_PCT = 10.0
"""Percent of their mean by which the throughput of repeats may differ without a warning; our own."""

Value = str | float | None


class Row(Struct, frozen=True):
    """All repeats of a variant, URL and load. ``spread_pct`` is the difference of fastest and slowest in percent of the
    mean (``None`` for one alone); ``verdicts`` counts what was the limit."""

    variant: str
    url_name: str
    level: str
    wanted: int
    results: tuple[CellResult, ...]

    def mean(self, field: str) -> float | None:
        known = [value for result in self.results if (value := getattr(result, field)) is not None]
        return sum(known) / len(known) if known else None

    @property
    def rates(self) -> list[float]:
        """The throughput of each repeat, where it was measured."""
        return [result.rps for result in self.results if result.rps is not None]

    @property
    def spread_pct(self) -> float | None:
        rates, mean = self.rates, self.mean("rps")
        return 100.0 * (max(rates) - min(rates)) / mean if len(rates) > 1 and mean else None

    @property
    def warning(self) -> Message | None:
        """That the repeats differ too much for their mean to say anything; ``None`` if they agree."""
        spread = self.spread_pct
        if spread is None or spread <= SPREAD_PCT:
            return None
        return Message(
            "{cell}: repeats differ by {spread:.0f} % ({slowest} to {fastest} requests/s). Run it longer or more "
            "often.",
            cell=" ".join(filter(None, [self.variant, self.url_name, self.level])),
            spread=spread,
            slowest=figure(min(self.rates)),
            fastest=figure(max(self.rates)),
        )

    @property
    def verdicts(self) -> dict[str, int]:
        return dict(Counter(result.bottleneck for result in self.results).most_common())

    @property
    def verdict(self) -> str:
        """What was the limit, with how often where repeats differ."""
        said = self.verdicts
        if len(said) == 1:
            return next(iter(said))
        return " ".join(f"{name} {count}/{len(self.results)}" for name, count in said.items()) or "-"

    @property
    def failed(self) -> float | None:
        """Requests of all repeats that failed, or were not answered with 2xx where that is more."""
        return float(sum(max(each.failed, each.non_2xx) for each in self.results)) if self.results else None


def _mean(field: str) -> Callable[[Row], float | None]:
    return lambda row: row.mean(field)


COLUMNS: tuple[tuple[str, Translatable, Callable[[Row], Value]], ...] = (
    ("variant", "variant", attrgetter("variant")),
    ("url", "url", attrgetter("url_name")),
    ("load", "load", attrgetter("level")),
    ("runs", "runs", lambda row: float(len(row.results))),
    ("time_s", "time s", _mean("seconds")),
    ("rps", "req/s", _mean("rps")),
    ("spread_pct", "spread%", attrgetter("spread_pct")),
    ("mean_ms", "ms mean", _mean("mean_ms")),
    ("p50_ms", "p50", _mean("p50_ms")),
    ("p90_ms", "p90", _mean("p90_ms")),
    ("p99_ms", "p99", _mean("p99_ms")),
    ("failed", "failed", attrgetter("failed")),
    ("idle_pct", "%idle", _mean("idle_pct")),
    ("iowait_pct", "%iowait", _mean("iowait_pct")),
    ("swap_used_pct", "%swpused", _mean("swap_used_pct")),
    ("load1", "load1", _mean("load1")),
    ("running", "run", _mean("running")),
    ("httpd_running", "httpd run", _mean("httpd_running")),
    ("busy", "busy", _mean("busy")),
    ("received_kb_s", "kB/s", _mean("received_kb_s")),
    ("verdict", "limit", attrgetter("verdict")),
)
SHORTEST = ("variant", "url", "load", "rps", "spread_pct", "p99_ms", "verdict")
"""The columns that fit into 80 cells, where variants have short names."""

SHORT = ("variant", "url", "load", "time_s", "rps", "spread_pct", "p50_ms", "p99_ms", "failed", "idle_pct", "verdict")
"""The columns of the text, which is read on a terminal; the files have all."""


def rows(plan: ExperimentPlan, results: dict[str, CellResult]) -> list[Row]:
    """A row for each cell of the plan, its repeats together, in the plan's own order; what is not measured yet too."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for cell in replace(plan, shuffle=False).cells():
        found.setdefault((cell.variant.name, cell.url_name, cell.level.label), []).append(cell.key)
    return [
        Row(*place, len(keys), tuple(results[key] for key in keys if key in results)) for place, keys in found.items()
    ]


def text(plan: ExperimentPlan, found: Sequence[Row]) -> str:
    warned = [message.render() for message in warnings(found)]
    return "\n".join([plain(plan.title), "", *lines(found, SHORT), *([""] if warned else []), *warned]) + "\n"


def warnings(found: Sequence[Row]) -> list[Message]:
    return [row.warning for row in found if row.warning is not None]


def lines(found: Sequence[Row], columns: Sequence[str]) -> list[str]:
    several_urls = len({row.url_name for row in found}) > 1
    shown = [column for column in COLUMNS if column[0] in columns and (column[0] != "url" or several_urls)]
    values = [
        [tr(_shown(read(row))) if name == "verdict" else _shown(read(row)) for name, _, read in shown] for row in found
    ]
    table = [[tr(title) for _, title, _ in shown], *values]
    sizes = [max(map(width, column)) for column in zip(*table, strict=True)]
    right = [name not in ("variant", "url", "load", "verdict") for name, _, _ in shown]
    # Columns as wide as their longest value: words to the left, numbers to the right.
    return [
        "  ".join(pad(value, size, right=end) for value, size, end in zip(row, sizes, right, strict=True)).rstrip()
        for row in table
    ]


def markdown(plan: ExperimentPlan, found: Sequence[Row]) -> str:
    shown = [column for column in COLUMNS if any(column[2](row) not in (None, "") for row in found)]
    lines = [
        [title for _, title, _ in shown],
        ["---" if i < 3 else "---:" for i in range(len(shown))],
        *([_shown(read(row)).replace("|", "\\|") for _, _, read in shown] for row in found),
    ]
    warned = [f"- {plain(str(message))}" for message in warnings(found)]
    table = [f"| {' | '.join(cells)} |" for cells in lines]
    return "\n".join([f"## {plain(plan.title)}", "", *table, *([""] if warned else []), *warned]) + "\n"


def as_csv(found: Sequence[Row]) -> str:
    """Every column, a line per row; what was not measured is empty. No text is one that a spreadsheet would compute."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([name for name, _, _ in COLUMNS])
    for row in found:
        cells = (_rounded(read(row)) for _, _, read in COLUMNS)
        writer.writerow([not_computed(cell) if isinstance(cell, str) else cell for cell in cells])
    return out.getvalue()


def as_json(plan: ExperimentPlan, found: Sequence[Row]) -> dict[str, Any]:
    """Schema ``loadtop.experiment/1``: rows as in the table, each with its runs; warnings in English."""
    return {
        "schema": SCHEMA,
        "title": plan.title,
        "complete": all(len(row.results) == row.wanted for row in found),
        "warnings": [str(message) for message in warnings(found)],
        "rows": [
            {
                **{name: _rounded(read(row)) for name, _, read in COLUMNS},
                "verdicts": row.verdicts,
                "cells": [asdict(result) for result in row.results],
            }
            for row in found
        ],
    }


def _rounded(value: Value) -> Value:
    return round(value, 3) if isinstance(value, float) else value


def _shown(value: Value) -> str:
    return plain(value) if isinstance(value, str) else figure(None if value is None else round(value, 2))
