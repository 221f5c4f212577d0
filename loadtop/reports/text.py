"""The text report, printed on the normal screen when a test has ended."""

from collections.abc import Iterable, Sequence

from loadtop.analysis.statistic import Json
from loadtop.analysis.totals.totals import RunResult
from loadtop.diagnosis.finding import Dependency, Evidence
from loadtop.generator.notable import MOST_SLOW
from loadtop.i18n import Translatable, figure, folded, grouped, mean_figure, pad, plain, rendered, tr, width
from loadtop.rates.records import HostRates
from loadtop.reports import profile, requests
from loadtop.reports.limits import limits_in_words, on_host
from loadtop.reports.tables import (
    connections_of,
    failure_classes,
    largest_parts_by_step,
    load_in_words,
    model_of,
    part_title,
    verdict,
)
from loadtop.servers.registry import KINDS, evidence_title

WIDTH = 78
TOLD_PCT = 1.0  # percent of the processors from which nice and interrupts are listed
MUCH_PCT = 10.0  # percent of a core, over the whole test, from which a process that belongs to no server is listed
LEAST_PART = 0.01  # share of the mean time from which a part has a row of its own
MOST_CELLS, BAR = 40, 14  # cells of a part's name, and of the bar that is all the time
MOST_PEERS = 5  # services that are listed of those that a machine asks
PARTS: tuple[Translatable, ...] = ("connect", "processing", "waiting")  # of a response time
TIMES: tuple[Translatable, ...] = ("min", "mean", "sd", "median", "max")


def report(result: RunResult, slow_requests: int = MOST_SLOW) -> str:
    """The whole report, with up to ``slow_requests`` slow requests. Lines have at most about 78 columns."""
    summary = result.summary
    lines = _verdict(result)
    for each in result.profiles:
        lines += ["", *profile.lines(each)]
    if summary["load"] is not None:
        lines += ["", *_load(summary["load"], summary["steps"], summary["duration_s"], rendered(result.message))]
    if summary["steps"]:
        lines += ["", *_steps(summary["steps"]), *breakdown_by_step(summary["steps"])]
    if summary["breakdown"] is not None and summary["breakdown"]["parts"] is not None:
        lines += ["", *_breakdown(summary["breakdown"])]
    if found := list(requests.lines(result.last_load, slow_requests)):
        lines += ["", *found]
    for host in summary["hosts"]:
        lines += ["", *_host(host)]
    if summary["marks"]:
        lines += ["", tr("Marks"), *(f"  {mark['at_s']:8.1f} s  {plain(mark['text'])}" for mark in summary["marks"])]
    return "\n".join(lines) + "\n"


def _verdict(result: RunResult) -> list[str]:
    main, seconds = result.main, result.summary["duration_s"]
    sentence, held, what_to_do = verdict(result)
    if not held:
        return [sentence, *wrapped(what_to_do, "  ")]
    if main.seconds >= 1:
        share = f"{min(main.seconds, seconds):.0f}"
        sentence += tr(" (for {held} s of {all} s)", held=share, all=f"{seconds:.0f}")
    lines = [f"{sentence}  [{main.finding.bottleneck}]"]
    lines += wrapped(rendered(grouped(limits_in_words(result.held))), "  ")
    lines += evidence_lines(main.finding.evidence)
    lines += wrapped(what_to_do, "  ")
    if not main.is_limit and (following := result.summary["forecast"]) is not None:
        lines += wrapped(next_limit(following), "  ")
    return lines


def evidence_lines(evidence: Sequence[Evidence]) -> list[str]:
    """A line per item: the value, its relation to the threshold as both are printed (supporting evidence can lie on
    either side), and the source of the threshold."""
    titles = [plain(evidence_title(item.metric)) for item in evidence]
    cells, units = (max(map(width, texts), default=0) for texts in (titles, [item.unit for item in evidence]))
    found = [
        f"  {pad(title, cells)} {value:>7} {item.unit:<{units}} {_relation(item, value, threshold):<2} {threshold:<6} "
        f"{item.source}"
        for title, item in zip(titles, evidence, strict=True)
        for value, threshold in [(figure(item.value), figure(item.threshold))]
    ]
    return [tr("  (measured, threshold, and where the threshold comes from)"), *found] if found else []


def _relation(item: Evidence, value: str, threshold: str) -> str:
    if value == threshold:
        return "<=" if item.below else ">="
    return "<" if item.value < item.threshold else ">"


def next_limit(forecast: Json) -> str:
    rps, low, high = (figure(float(f"{forecast[name]:.3g}")) for name in ("rps", "low", "high"))
    text = "Next limit: {resource}{where} at about {rps} requests/s ({low} to {high})."
    return tr(text, resource=forecast["resource"], where=on_host(forecast["host"]), rps=rps, low=low, high=high)


def _load(load: Json, steps: Sequence[Json], seconds: float, message: str) -> list[str]:
    how = ", ".join(filter(None, (plain(model_of(load)), load_in_words(load, steps))))
    by = "" if load["engine"] == "builtin" else tr(" by {engine}", engine=plain(load["engine"]))
    received = None if load["received_bytes"] is None else load["received_bytes"] / 1024
    got = f"{tr('received')} {figure(received)} kB"
    ended = tr("{state} after {seconds} s", state=tr(load["state"]), seconds=f"{seconds:.2f}")
    lines = [
        f"{tr('Load')}{by}  {how}  {ended}",
        f"  {pad(tr('requests'), 8)} {figure(load['requests']):>10}   {figure(load['rps']):>10} /s   {got}",
    ]
    if load["failed"] is None:
        lines.append(f"  {pad(tr('failed'), 8)} {figure(None):>10}   ({tr('not measured')})")
    elif load["failed"]:
        lines.append(f"  {pad(tr('failed'), 8)} {figure(load['failed']):>10}   ({failure_classes(load['failures'])})")
    if load["non_2xx"]:
        lines.append(f"  {pad(tr('not 2xx'), 8)} {figure(load['non_2xx']):>10}")
    if load["pending"]:
        lines.append(
            f"  {pad(tr('pending'), 8)} {figure(load['pending']):>10}   ({tr('no response when the load ended')})"
        )
    if load["late"] or load["unsent"]:
        lines.append(
            f"  {pad(tr('late'), 8)} {figure(load['late']):>10}   ({tr('never sent')} {figure(load['unsent'])})"
        )
    if message:
        lines += wrapped(message, "  ")
    lines += _workers(load.get("workers") or ())
    if load["latency_ms"] is not None:
        heads = "".join(pad(tr(name), 10, right=True) for name in TIMES)
        lines += ["", f"{pad(tr('Times in ms'), 13)}{heads}"]
        if load.get("latency_source") == "stated":
            lines.append(tr("  (as reported by {engine})", engine=plain(load["engine"])))
        lines += [_times(tr(part), load[f"{part}_ms"]) for part in PARTS]
        total = {**load["latency_ms"], "median": load["latency_ms"]["p50"]}
        lines.append(_times(tr("total"), total))
        lines += ["", *_percentiles(tr("Percentiles in ms"), load["latency_ms"])]
    if load["corrected_latency_ms"] is not None:
        lines += _percentiles(tr("  incl. late start"), load["corrected_latency_ms"])
    return lines


def _workers(workers: Sequence[Json]) -> list[str]:

    def shown(statistic: Json | None, name: str = "mean", scale: float = 1.0) -> str:
        return figure(None if statistic is None else round(statistic[name] / scale, 1))

    cells = max((len(plain(worker["name"])) for worker in workers), default=0)
    return [
        tr(
            "  worker   {name}  {state}  users {users}  cpu {cpu} % (max {most})  {size} MB",
            name=plain(worker["name"]).ljust(cells),
            state=plain(worker["state"]).ljust(8),
            users=shown(worker["users"], "max"),
            cpu=shown(worker["cpu_pct"]),
            most=shown(worker["cpu_pct"], "max"),
            size=shown(worker["memory_kb"], "max", 1024.0),
        )
        for worker in workers
    ]


def _times(title: str, times: Json | None) -> str:
    if times is None:
        return f"  {pad(title, 11)}  {tr('not measured')}"
    return f"  {pad(title, 11)}" + "".join(f"{_decimal(times[name], 2):>10}" for name in TIMES)


def _percentiles(title: str, latency: Json) -> list[str]:
    names = ("p50", "p75", "p90", "p95", "p99", "p99_9", "max")
    return [
        pad(title, 19) + "".join(f"{name.replace('_', '.'):>8}" for name in names),
        " " * 19 + "".join(f"{_decimal(latency[name], 1):>8}" for name in names),
    ]


def _decimal(value: float | None, digits: int) -> str:
    return figure(None) if value is None else f"{value:,.{digits}f}"


def _steps(steps: Iterable[Json]) -> list[str]:
    """A table that fits into 80 columns with up to 99,999 requests/s and any name of a limit."""
    titles = ("c", "req/s", "ms mean", "p50", "p99", tr("failed"), "%idle", "%iowait", "%swap", tr("limit"))
    rows: list[tuple[str, ...]] = [titles]
    for step in steps:
        latency: Json = step["latency_ms"] or {}
        times = (latency.get(name) for name in ("mean", "p50", "p99"))
        shares = (step[name] for name in ("idle_pct", "iowait_pct", "swap_used_pct"))
        figures = map(figure, (step["rps"], *times, step["failed"], *shares))
        rows.append((connections_of(step), *figures, step["bottleneck"] or "-"))
    cells = [max(5, *map(width, column)) for column in zip(*rows, strict=True)]
    return [
        "".join(f"{pad(text, most, right=True)} " for text, most in zip(row[:-1], cells, strict=False)) + row[-1]
        for row in rows
    ]


def breakdown_by_step(steps: Sequence[Json]) -> list[str]:
    """The largest parts of each step's mean response time."""
    rows = largest_parts_by_step(steps)
    lines = ["", tr("Where the time goes in each step (ms)")] if rows else []
    for load, mean_ms, parts in rows:
        first, *more = wrapped(", ".join(parts), " " * 21) or [""]
        lines += [f"  {pad(load, 8, right=True)} {figure(mean_ms):>8}  {first.strip()}".rstrip(), *more]
    return lines


def _breakdown(found: Json) -> list[str]:
    """Where the mean time goes, the largest part first. Parts of less than 1 % are added up in the last row."""
    mean = found["mean_ms"]
    rows = [(part_title(part), part["ms"]) for part in found["parts"] if part["ms"] and part["ms"] >= LEAST_PART * mean]
    rows.append((tr("unexplained"), mean - sum(ms for _, ms in rows)))
    cells = min(MOST_CELLS, max(width(title) for title, _ in rows))
    lines = [tr("Where the time goes  (mean {mean} ms)", mean=figure(mean))]
    for title, ms in rows:
        share = ms / mean if mean else 0.0
        bar = "#" * round(min(1.0, max(0.0, share)) * BAR)
        lines.append(f"  {pad(title, cells)}  {figure(ms):>8} ms  {100 * share:>4.0f} %  {bar}".rstrip())
    return lines


def _host(host: Json) -> list[str]:
    stale = tr(", {number} missing", number=host["stale"]) if host["stale"] else ""
    text = "Host {name}  ({role}; {number} samples{stale})"
    lines = [tr(text, name=plain(host["name"]), role=tr(host["role"] or "-"), number=host["samples"], stale=stale)]
    if not host["samples"]:
        return lines
    cpu, swap, mean = host["cpu"], host["swap"], mean_figure
    names = ("user", "system", "iowait", "steal", "idle")
    rare = [name for name in ("nice", "irq", "softirq") if cpu[name] is not None and cpu[name]["mean"] >= TOLD_PCT]
    for title, some in (("  cpu %    ", names), ("           ", rare)):
        if some:
            lines.append(title + "  ".join(f"{name} {mean(cpu[name]):>5}" for name in some))
    lines.extend(
        f"    core {core['id']:<3} idle {mean(core['idle']):>5}  iowait {mean(core['iowait']):>5}  "
        f"steal {mean(core['steal']):>5}"
        for core in host["cores"]
    )
    total, swapped = host["memory"]["total_kb"], tr("no swap space")
    if swap["total_kb"] != 0:
        text = "swap used {used} %  in {in_} kB/s  out {out} kB/s"
        swapped = tr(text, used=mean(swap["used_pct"]), in_=mean(swap["in_kb_s"]), out=mean(swap["out_kb_s"]))
    free, total = _megabytes(host["memory"]["available_kb"]), figure(total // 1024 if total else None)
    lines.append(tr("  memory   available {free} of {total} MB   {swap}", free=free, total=total, swap=swapped))
    for kind in KINDS:
        lines += kind.rows(host)
    lines += _dependencies(host["dependencies"])
    busy = [other for other in host["processes"]["busiest_others"] if other["cpu_pct"]["mean"] >= MUCH_PCT]
    if busy:
        told = ", ".join(
            f"{plain(other['name'])} (pid {other['pid']}) {figure(round(other['cpu_pct']['mean']))} %" for other in busy
        )
        lines += wrapped(tr("others   {processes} of a core", processes=told), "  ")
    return lines


def _dependencies(peers: Sequence[Json]) -> list[str]:
    """The services that the host calls, those with the most pending requests first."""
    template = (
        "  calls    {service}{address}  pending {questions} on {connections} connections  {exchanges}/s  {ms} ms each"
    )
    lines: list[str] = []
    for peer in peers[:MOST_PEERS]:
        figures = {
            "service": f"{plain(peer['kind'])} " if peer["kind"] else "",
            "address": rendered(Dependency(peer["address"], None, peer.get("host")).place),
            "questions": mean_figure(peer["questions"]),
            "connections": mean_figure(peer["connections"]),
            "exchanges": mean_figure(peer["exchanges_s"]),
            "ms": mean_figure(peer["exchange_ms"]),
        }
        lines.append(tr(template, **figures))
        growth: Json | None = peer["growth"]
        if growth is not None:
            factor, few, many = (figure(growth[name]) for name in ("factor", "from", "to"))
            template = "a request spends {factor} times as long there with {many} connections as with {few}"
            lines.append(f"           {tr(template, factor=factor, few=few, many=many)}")
    return lines


def brief(rates: HostRates) -> str:
    """The servers of a host in a few figures; empty without servers."""
    return "".join(kind.brief(kind.rates(rates)) for kind in KINDS)


def _megabytes(statistic: Json | None) -> str:
    return figure(None if statistic is None else round(statistic["mean"] / 1024))


def wrapped(text: str, indent: str, cells: int = WIDTH) -> list[str]:
    """The text in lines of at most ``cells`` columns. Between Japanese characters a line can end anywhere. Names and
    options are not split, so that they can be copied."""
    return [f"{indent}{line.strip()}" for line in folded(text, cells - len(indent)) if line]
