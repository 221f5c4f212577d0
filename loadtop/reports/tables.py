"""The tables of a report, as plain texts: how they are written down is another file's business."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from loadtop.analysis.totals.settings import LOAD
from loadtop.analysis.totals.totals import RunResult
from loadtop.i18n import Translatable, clock, tr
from loadtop.i18n.numbers import figure
from loadtop.reports.text import failure_classes
from loadtop.servers.registry import KINDS

Json = dict[str, Any]
Row = Sequence[str]

MODELS: dict[str, Translatable] = {"closed": "closed model", "open": "open model"}
PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99_9")


@dataclass(frozen=True, slots=True)
class Table:
    """A title, the names of the columns, and the rows. ``numbers``: every column but the first is of numbers.

    Title and names are English until they are written down; the rows are in the language spoken.
    """

    title: Translatable
    head: Sequence[Translatable]
    rows: Sequence[Row]
    numbers: bool = True


def tables(result: RunResult) -> Iterator[Table]:
    """Every table that has rows."""
    figures = result.summary
    every = (
        *_of_load(figures["load"]),
        _of_steps(figures["steps"]),
        _of_evidence(figures["verdict"]["evidence"]),
        _of_workers(figures["load"]),
        _of_machines(figures["hosts"]),
        Table(
            "Settings",
            ("of", "setting", "value"),
            [
                (tr("load") if each.subject == LOAD else each.subject, tr(each.name), tr(each.value))
                for each in result.settings
            ],
            numbers=False,
        ),
        _of_times(figures),
    )
    yield from (table for table in every if table.rows)


def shape(load: Json, steps: Sequence[Json] = ()) -> str:
    """How much load: connections, requests per second, or the steps."""
    if len(steps) > 1:
        values = [step["concurrency"] if step["concurrency"] is not None else step["rate"] for step in steps]
        return tr("steps {values}", values=", ".join(figure(value) for value in values))
    if load["concurrency"] is None:
        return tr("{rate} requests/s", rate=figure(load["rate"]))
    return tr("1 connection") if load["concurrency"] == 1 else tr("{c} connections", c=load["concurrency"])


def how_long(figures: Json) -> str:
    """How long the verdict of a JSON summary held, and how sure it is."""
    verdict, seconds = figures["verdict"], figures["duration_s"]
    held = f"{min(verdict['held_s'], seconds):.0f}"
    text = "{held} s of {all} s, confidence {confidence}"
    return tr(text, held=held, all=f"{seconds:.0f}", confidence=f"{verdict['confidence']:.2f}")


def limit_of(span: Json) -> str:
    """The verdict of a span of the timeline, with its machine."""
    return str(span["bottleneck"]) + (tr(" on {host}", host=span["host"]) if span["host"] else "")


def _of_load(load: Json | None) -> Iterator[Table]:
    if load is None:
        return
    classes = failure_classes(load["failures"]) if load["failed"] else ""
    received: int | None = load["received_bytes"]
    behind = [name for name in ("late", "unsent") if load["late"] or load["unsent"]]
    row = (
        figure(load["requests"]),
        f"{figure(load['failed'])}{f' ({classes})' if classes else ''}",
        figure(load["non_2xx"]),
        figure(load["rps"]),
        "-" if received is None else f"{received / 1e6:.2f}",
        *(figure(load[name]) for name in behind),
    )
    heads: tuple[Translatable, ...] = ("late", "never sent")
    shown = ("requests", "failed", "not 2xx", "requests/s", "MB received", *heads[: len(behind)])
    yield Table("Load", shown, [row])
    if load["latency_ms"] is not None:
        names = ("min", "mean", "sd", *PERCENTILES, "max")
        kinds: tuple[tuple[Translatable, Json], ...] = (
            ("response time", load["latency_ms"]),
            ("from the intended start", load["corrected_latency_ms"]),
        )
        rows = [(tr(title), *(figure(kind[name]) for name in names)) for title, kind in kinds if kind is not None]
        yield Table("Response times in ms", ("", *(name.replace("_", ".") for name in names)), rows)


def _of_steps(steps: Sequence[Json]) -> Table:
    head = ("connections", "requests/s", "p50 ms", "p99 ms", "failed", "% idle", "% iowait", "% swap used", "limit")
    rows = [_step(step) for step in steps]
    return Table("Steps", head, rows if len(rows) > 1 else [])


def _step(step: Json) -> Row:
    latency: Json = step["latency_ms"] or {}
    return (
        figure(step["concurrency"]) if step["concurrency"] is not None else f"{figure(step['rate'])}/s",
        figure(step["rps"]),
        figure(latency.get("p50")),
        figure(latency.get("p99")),
        figure(step["failed"]),
        figure(step["idle_pct"]),
        figure(step["iowait_pct"]),
        figure(step["swap_used_pct"]),
        step["bottleneck"] or "-",
    )


def _of_evidence(evidence: Iterable[Json]) -> Table:
    rows = [
        (
            item["metric"],
            item["host"],
            f"{figure(item['value'])} {item['unit']}".strip(),
            tr(
                "below {threshold}" if item["below"] else "above {threshold}",
                threshold=f"{figure(item['threshold'])} {item['unit']}".strip(),
            ),
            item["source"],
        )
        for item in evidence
    ]
    return Table("Evidence", ("measured", "machine", "value", "counts", "source"), rows, numbers=False)


def _of_workers(load: Json | None) -> Table:
    """Those of another engine, with their state at the end."""
    workers: Sequence[Json] = () if load is None else load.get("workers") or ()
    rows = [
        (
            f"{worker['name']} ({worker['state']})",
            _cell(worker["users"]),
            _cell(worker["cpu_pct"]),
            _cell(worker["memory_kb"], 1024),
        )
        for worker in workers
    ]
    return Table("Workers of the engine", ("mean (least to greatest)", "users", "% of a core", "MB"), rows)


def _of_machines(hosts: Iterable[Json]) -> Table:
    """Means, and the extremes in brackets."""
    columns = [column for kind in KINDS for column in kind.report.columns]
    rows = [
        (
            f"{host['name']} ({tr(host['role'] or '-')})",
            *(_cell(host["cpu"][state]) for state in ("user", "system", "iowait", "steal", "idle")),
            _cell(host["load1"]),
            _cell(host["memory"]["available_kb"], 1024),
            *(_cell(host["swap"][name]) for name in ("used_pct", "in_kb_s", "out_kb_s")),
            *(_server_cell(*column.cell(host)) for column in columns),
        )
        for host in hosts
    ]
    names = ("% user", "% system", "% iowait", "% steal", "% idle", "load 1 min", "MB available", "% swap used")
    head = ("mean (least to greatest)", *names, "swap in kB/s", "swap out kB/s", *(column.title for column in columns))
    return Table("Machines", head, rows)


def _cell(statistic: Json | None, scale: float = 1.0) -> str:
    if statistic is None:
        return "-"
    mean, low, high = (statistic[name] / scale for name in ("mean", "min", "max"))
    if low == high:
        return figure(mean)
    return tr("{mean} ({low} to {high})", mean=_short(mean), low=_short(low), high=_short(high))


def _server_cell(statistic: Json | None, of: int | None) -> str:
    return _cell(statistic) if of is None else tr("{done} of {all}", done=_cell(statistic), all=of)


def _short(value: float) -> str:
    return figure(round(value)) if abs(value) >= 10 else figure(round(value, 1))


def _of_times(figures: Json) -> Table:
    entries = [
        (
            span["from_s"],
            tr("{start} to {end}", start=clock(span["from_s"]), end=clock(span["to_s"])),
            limit_of(span),
        )
        for span in figures["timeline"]
    ]
    entries += [(mark["at_s"], clock(mark["at_s"]), tr("mark: {text}", text=mark["text"])) for mark in figures["marks"]]
    rows = [entry[1:] for entry in sorted(entries, key=lambda entry: entry[0])]
    return Table("What happened", ("when", "limit or mark"), rows, numbers=False)
