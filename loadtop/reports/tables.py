"""The report as tables of plain texts, and in Markdown: for a wiki, a ticket or a pull request after a test."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from msgspec import Struct

from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.settings import LOAD
from loadtop.analysis.totals.timeline import Held
from loadtop.analysis.totals.totals import RunResult
from loadtop.analysis.tune.sizing import TuneResult
from loadtop.diagnosis.breakdown import ASLEEP, TIMER, in_order
from loadtop.diagnosis.breakdown import TITLES as PART_TITLES
from loadtop.diagnosis.finding import SURE, Dependency, Evidence
from loadtop.i18n import Translatable, clock, duration, figure, plain, rendered, tr
from loadtop.model import LoadLevel, LoadSample
from loadtop.reports import profile, requests
from loadtop.reports.limits import at_load, loads_in_words, on_host, sentence_of, subject_after
from loadtop.reports.tune_advice import KNEE, SETTING, advice
from loadtop.servers.registry import KINDS, evidence_title

Row = Sequence[str]

MODELS: dict[str, Translatable] = {"closed": "closed model", "open": "open model"}
PERCENTILES = ("p50", "p75", "p90", "p95", "p99", "p99_9")
FAILURE_CLASSES: tuple[Translatable, ...] = ("connect", "receive", "length", "exceptions", "timeout", "unclassified")
MOST_PARTS, LEAST_OF_STEP = 4, 0.05  # parts of a step's mean time that are shown, and the least share of one
_SPECIAL = re.compile(r"[\\`*_\[\]<>|~&#]")


class Table(Struct, frozen=True):
    """A title, the names of the columns, and the rows. ``numbers``: every column but the first is of numbers.

    Title and names are English until they are written down; the rows are in the language spoken.
    """

    title: Translatable
    head: Sequence[Translatable]
    rows: Sequence[Row]
    numbers: bool = True


def model_of(load: Mapping[str, Any]) -> str:
    """The load model in words; one that is unknown, as a recording by others may name, stays as it is."""
    model: str = load["model"]
    return tr(MODELS.get(model, model))


def markdown(result: RunResult, more: Sequence[Table] = ()) -> str:
    """The whole report, with a line end, and ``more`` tables before the others. Tables are GitHub's."""
    figures = result.summary
    load = figures["load"]
    how = () if load is None else (model_of(load), load_in_words(load, figures["steps"]))
    about = (figures["started"], f"{figures['duration_s']:.1f} s", *how, f"loadtop {figures['version']}")
    sentence, held, what_to_do = verdict(result)
    lines = [
        f"# {escaped(title(figures))}",
        "",
        ", ".join(escaped(words) for words in about if words),
        "",
        f"**{escaped(sentence)}**" + (f" (`{result.main.finding.bottleneck}`, {held})" if held else ""),
        "",
        escaped(what_to_do),
        *_tuned(result),
    ]
    for table in (*more, *tables(result)):
        rules = ["---"] + ["--:" if table.numbers else "---"] * (len(table.head) - 1)
        lines += ["", f"## {tr(table.title)}", "", f"| {' | '.join(map(tr, table.head))} |", f"| {' | '.join(rules)} |"]
        lines += [f"| {' | '.join(map(escaped, row))} |" for row in table.rows]
    if result.command_line:
        # Four blanks make it code, in which nothing is markup.
        lines += ["", f"## {tr('Command')}", "", f"    {plain(shlex.join(['loadtop', *result.command_line]))}"]
    return "\n".join(lines) + "\n"


def _tuned(result: RunResult) -> Iterator[str]:
    """What a sweep was made for: the knee and what to set."""
    if not (result.is_tune and result.steps):
        return
    found = advice(TuneResult.of(result.steps))
    yield from ("", f"## {tr(KNEE)}", "", f"**{escaped(found.knee)}**", "", escaped(found.law))
    yield from ("", f"## {tr(SETTING)}", "", f"**{escaped(found.setting)}**")
    if found.configuration:
        yield from ("", *(f"    {plain(line)}" for line in found.configuration.splitlines()))
        yield from ("", escaped(found.caution))


def escaped(text: str) -> str:
    """An external text, escaped so that it contains no markup and stays in its cell."""
    return _SPECIAL.sub(r"\\\g<0>", plain(text))


def title(figures: Json) -> str:
    if figures["url"]:
        return tr("Load test of {url}", url=figures["url"])
    return tr("Load test") if figures["load"] is not None else tr("Watched hosts")


def verdict(result: RunResult) -> tuple[str, str, str]:
    """The limit under the highest load as a sentence, how long it held and how sure it is, and what to do; the second
    is empty where the load failed."""
    load, seconds = result.summary["load"], result.summary["duration_s"]
    main, found = result.main, result.main.finding
    if load is not None and load["state"] == "failed" and not main.is_limit:
        return tr("The load failed: no verdict"), "", rendered(result.message)
    held, confidence = f"{min(main.seconds, seconds):.0f}", f"{found.confidence:.2f}"
    text = "for {held} s of {all} s, confidence {confidence}"
    how_long = tr(text, held=held, all=f"{seconds:.0f}", confidence=confidence)
    sentence = sentence_of(found) + on_host(found.host) + at_load(main)
    if found.confidence < SURE:
        sentence = tr("Probably: {sentence}", sentence=sentence)
    return sentence, how_long, rendered(found.advice)


def tables(result: RunResult) -> Iterator[Table]:
    figures = result.summary
    settings = [
        (
            tr("load") if each.subject == LOAD else each.subject,
            tr(each.name),
            tr(MODELS.get(each.value, each.value) if each.name == "model" else each.value),
        )
        for each in result.settings
    ]
    every = (
        *_of_load(figures["load"]),
        _of_steps(figures["steps"]),
        _of_breakdown(figures["breakdown"]),
        _of_breakdown_by_step(figures["steps"]),
        _of_bounds(result),
        *_of_requests(result.last_load),
        _of_limits(result.held),
        _of_evidence(result.main.finding.evidence),
        Table("Hottest functions", ("function", "share", "host", "tool"), profile.rows(result.profiles), numbers=False),
        _of_workers(figures["load"]),
        _of_machines(figures["hosts"]),
        Table("Settings", ("applies to", "setting", "value"), settings, numbers=False),
        _of_times(figures),
    )
    yield from (table for table in every if table.rows)


def _of_requests(load: LoadSample | None) -> Iterator[Table]:
    """The slowest requests, the first failures, and the heads of both where they were kept."""
    head: Sequence[Translatable] = ("request", "started (UTC)", "total", *requests.PHASES, "status")
    yield Table("Slowest requests in ms", head, requests.slowest_rows(load))
    head = ("failure", "request", "started (UTC)", "ms", "reason")
    yield Table("First failure of each kind", head, requests.failure_rows(load), numbers=False)
    head = ("started (UTC)", "status", "headers")
    yield Table("Headers of these requests", head, requests.head_rows(load), numbers=False)


def _of_breakdown(found: Json | None) -> Table:
    """Where the mean time goes while the main verdict holds: the largest part first, the unexplained rest last."""
    rows: list[Row] = []
    if found is not None and found["parts"] is not None:
        parts = [(part_title(part), part["host"], part["ms"]) for part in found["parts"] if part["ms"]]
        for words, host, ms in (*parts, (tr("unexplained"), None, found["unexplained_ms"])):
            share = 100.0 * ms / found["mean_ms"] if found["mean_ms"] else 0.0
            rows.append((words, plain(host or "-"), figure(ms), f"{share:.0f} %"))
    return Table("Where the response time goes", ("part", "host", "mean (ms)", "share"), rows)


def _of_breakdown_by_step(steps: Sequence[Json]) -> Table:
    rows = [(load, figure(mean_ms), ", ".join(parts)) for load, mean_ms, parts in largest_parts_by_step(steps)]
    head = ("connections", "mean (ms)", "largest parts")
    return Table("Where the response time goes in each step", head, rows, numbers=False)


def largest_parts_by_step(steps: Sequence[Json]) -> list[tuple[str, float, list[str]]]:
    """Where each of several steps has a breakdown: the load, the mean response time in ms, and up to
    :data:`MOST_PARTS` parts with their ms, the largest first."""
    found: list[tuple[str, Json]] = [
        (connections_of(step), step["breakdown"])
        for step in (steps if len(steps) > 1 else ())
        if step["breakdown"] is not None and step["breakdown"]["parts"] is not None
    ]
    hosts: set[str] = {part["host"] for _, told in found for part in told["parts"] if part["ms"] and part["host"]}
    rows: list[tuple[str, float, list[str]]] = []
    for load, told in found:
        parts = [(told["unexplained_ms"], tr("unexplained"))]
        for part in told["parts"]:
            where = on_host(part["host"]) if len(hosts) > 1 else ""
            parts.append((part["ms"] or 0.0, f"{place_title(part)}{where}"))
        largest = sorted((part for part in parts if part[0] >= LEAST_OF_STEP * told["mean_ms"]), reverse=True)
        rows.append((load, told["mean_ms"], [f"{title} {figure(ms)}" for ms, title in largest[:MOST_PARTS]]))
    return rows


def part_title(part: Json) -> str:
    """A part of the breakdown in words: ``calls to http 10.0.0.5:80 (41 times)``, ``apache on CPU``."""
    exchanges = part.get("exchanges")
    if exchanges is None:
        return place_title(part)
    return tr("{part} ({times} times)", part=place_title(part), times=figure(exchanges))


def place_title(part: Json) -> str:
    """The same without the number of exchanges."""
    name = part["name"]
    if part.get("kind") == TIMER:
        return tr(ASLEEP)
    if part.get("service_host"):
        name = rendered(Dependency(name, None, part["service_host"]).place)
    title, name = in_order(part["part"], tr(PART_TITLES[part["part"]]), name or "")
    return " ".join(plain(word) for word in (title, part.get("kind"), name) if word)


def failure_classes(failures: Json) -> str:
    """The classes that occurred, with their counts; ``-`` for classes that the engine does not distinguish."""
    if failures.get("unclassified") and all(failures[name] is None for name in failures if name != "unclassified"):
        return tr("unclassified")
    known = ((name, failures[name]) for name in FAILURE_CLASSES if name in failures)
    return ", ".join(f"{tr(name)} {figure(count)}" for name, count in known if count != 0)


def from_to(start: float, end: float) -> str:
    return tr("{start} to {end}", start=clock(start), end=clock(end))


def connections_of(step: Json) -> str:
    return figure(step["concurrency"]) if step["concurrency"] is not None else f"{figure(step['rate'])}/s"


def load_in_words(load: Json, steps: Sequence[Json]) -> str:
    """How much load there was: ``20 connections``, ``steps 1, 2, 4``. Empty where not known."""
    if len(steps) > 1:
        values = [step["concurrency"] if step["concurrency"] is not None else step["rate"] for step in steps]
        return tr("steps {values}", values=", ".join(figure(value) for value in values))
    return loads_in_words([LoadLevel(load["concurrency"], load["rate"])])


def _of_load(load: Json | None) -> Iterator[Table]:
    if load is None:
        return
    classes = failure_classes(load["failures"]) if load["failed"] else ""
    received: int | None = load["received_bytes"]
    columns: dict[Translatable, str] = {
        "requests": figure(load["requests"]),
        "failed": f"{figure(load['failed'])}{f' ({classes})' if classes else ''}",
        "not 2xx": figure(load["non_2xx"]),
        "requests/s": figure(load["rps"]),
        "MB received": "-" if received is None else f"{received / 1e6:.2f}",
    }
    if load["late"] or load["unsent"]:
        columns |= {"late": figure(load["late"]), "never sent": figure(load["unsent"])}
    yield Table("Load", tuple(columns), [tuple(columns.values())])
    if load["latency_ms"] is not None:
        names = ("min", "mean", "sd", *PERCENTILES, "max")
        kinds: tuple[tuple[Translatable, Json], ...] = (
            ("response time", load["latency_ms"]),
            ("incl. late start", load["corrected_latency_ms"]),
        )
        rows = [(tr(title), *(figure(kind[name]) for name in names)) for title, kind in kinds if kind is not None]
        yield Table("Response times in ms", ("", *(name.replace("_", ".") for name in names)), rows)


def _of_steps(steps: Sequence[Json]) -> Table:
    head = ("connections", "requests/s", "p50 ms", "p99 ms", "failed", "% idle", "% iowait", "% swap used", "limit")
    rows: list[Row] = []
    for step in steps if len(steps) > 1 else ():
        latency: Json = step["latency_ms"] or {}
        names = ("failed", "idle_pct", "iowait_pct", "swap_used_pct")
        values = (step["rps"], latency.get("p50"), latency.get("p99"), *(step[name] for name in names))
        rows.append((connections_of(step), *map(figure, values), step["bottleneck"] or "-"))
    return Table("Steps", head, rows)


def _of_bounds(result: RunResult) -> Table:
    """What bounds the setting that a sweep recommends, the one that binds first."""
    bounds = advice(TuneResult.of(result.steps)).bounds if result.is_tune and result.steps else ()
    return Table("Upper bounds for the setting", ("bound", "workers", "reason"), bounds, numbers=False)


def _of_limits(held: Sequence[Held]) -> Table:
    """Those under each load; empty where one verdict under one load is all."""
    rows = [
        (
            loads_in_words([each.level]) or "-",
            each.finding.bottleneck + subject_after(each.finding) + on_host(each.finding.host),
            duration(round(each.seconds)),
        )
        for each in held
    ]
    return Table("Limits", ("load", "limit", "duration"), rows if len(rows) > 1 else (), numbers=False)


def _of_evidence(evidence: Iterable[Evidence]) -> Table:
    rows: list[Row] = []
    for item in evidence:
        value, threshold = (f"{figure(number)} {item.unit}".strip() for number in (item.value, item.threshold))
        counts = tr("at most {threshold}" if item.below else "at least {threshold}", threshold=threshold)
        rows.append((plain(evidence_title(item.metric)), item.host, value, counts, item.source))
    return Table("Evidence", ("measured", "host", "value", "threshold", "source"), rows, numbers=False)


def _of_workers(load: Json | None) -> Table:
    """Those of another engine, with their state at the end."""
    rows = [
        (
            f"{each['name']} ({each['state']})",
            _cell(each["users"]),
            _cell(each["cpu_pct"]),
            _cell(each["memory_kb"], 1024),
        )
        for each in (load or {}).get("workers") or ()
    ]
    return Table("Workers of the engine", ("mean (min to max)", "users", "% of a core", "MB"), rows)


def _of_machines(hosts: Iterable[Json]) -> Table:
    """What was measured of each machine, a row each, so that the table is as narrow as a page: means, and the extremes
    in brackets."""
    rows = [
        (f"{host['name']} ({tr(host['role'] or '-')})", tr(title), value)
        for host in hosts
        for title, value in _of_machine(host)
        if value != "-"
    ]
    return Table("Hosts", ("host", "measured", "mean (min to max)"), rows, numbers=False)


def _of_machine(host: Json) -> Iterator[tuple[Translatable, str]]:
    cpu, swap = host["cpu"], host["swap"]
    measured: dict[Translatable, str] = {
        "% user": _cell(cpu["user"]),
        "% system": _cell(cpu["system"]),
        "% iowait": _cell(cpu["iowait"]),
        "% steal": _cell(cpu["steal"]),
        "% idle": _cell(cpu["idle"]),
        "load 1 min": _cell(host["load1"]),
        "MB available": _cell(host["memory"]["available_kb"], 1024),
        "% swap used": tr("none") if swap["total_kb"] == 0 else _cell(swap["used_pct"]),
        "swap in kB/s": _cell(swap["in_kb_s"]),
        "swap out kB/s": _cell(swap["out_kb_s"]),
    }
    yield from measured.items()
    yield from ((column.title, _of_all(*column.cell(host))) for kind in KINDS for column in kind.columns)


def _cell(statistic: Json | None, scale: float = 1.0) -> str:
    if statistic is None:
        return "-"
    mean, low, high = (statistic[name] / scale for name in ("mean", "min", "max"))
    if low == high:
        return figure(mean)
    return tr("{mean} ({low} to {high})", mean=_short(mean), low=_short(low), high=_short(high))


def _of_all(statistic: Json | None, of: int | None) -> str:
    return _cell(statistic) if of is None else tr("{done} of {all}", done=_cell(statistic), all=of)


def _short(value: float) -> str:
    return figure(round(value)) if abs(value) >= 10 else figure(round(value, 1))


def _of_times(figures: Json) -> Table:
    entries = [
        (span["from_s"], from_to(span["from_s"], span["to_s"]), span["bottleneck"] + on_host(span["host"]))
        for span in figures["timeline"]
    ]
    entries += [(mark["at_s"], clock(mark["at_s"]), tr("mark: {text}", text=mark["text"])) for mark in figures["marks"]]
    rows = [entry[1:] for entry in sorted(entries, key=itemgetter(0))]
    return Table("What happened", ("when", "limit or mark"), rows, numbers=False)
