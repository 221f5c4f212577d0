"""The report a person reads on the normal screen when a test is over."""

from collections.abc import Iterable
from typing import Any

from loadtop.words import plain

Json = dict[str, Any]
WIDTH = 78
TITLES = {
    "none": "No limit was reached",
    "generator": "The load generator is the limit",
    "client-ports": "The generator's ports are the limit",
    "client-files": "The generator's file descriptors are the limit",
    "errors": "The server answers mostly with errors",
    "apache-workers": "Apache's worker slots are the limit",
    "fpm-workers": "The php-fpm pool is the limit",
    "haproxy-queue": "HAProxy's server slots are the limit",
    "listen-queue": "The accept queue is the limit",
    "swap": "Swapping is the limit",
    "memory": "Memory is the limit",
    "disk": "A disk is the limit",
    "steal": "The hypervisor is the limit",
    "throttled": "The CPU quota is the limit",
    "cpu": "The CPU is the limit",
    "cpu-core": "One core is the limit",
    "network": "The network line is the limit",
    "waiting": "Something that is not watched is the limit",
}


def report(summary: Json) -> str:
    """The whole report of a JSON summary, lines of at most about 78 columns, with a line end."""
    lines: list[str] = []
    lines += _verdict(summary)
    if summary["load"] is not None:
        lines += ["", *_load(summary["load"], summary["duration_s"])]
    if summary["steps"]:
        lines += ["", *_steps(summary["steps"])]
    for host in summary["hosts"]:
        lines += ["", *_host(host)]
    if summary["marks"]:
        lines += ["", "Marks", *(f"  {mark['at_s']:8.1f} s  {plain(mark['text'])}" for mark in summary["marks"])]
    return "\n".join(lines) + "\n"


def _verdict(summary: Json) -> list[str]:
    verdict = summary["verdict"]
    where = f" on {plain(verdict['host'])}" if verdict["host"] else ""
    seconds = summary["duration_s"]
    held = f" (held {min(verdict['held_s'], seconds):.0f} s of {seconds:.0f} s)" if verdict["held_s"] >= 1 else ""
    if summary["load"] is not None and summary["load"]["state"] == "failed" and verdict["bottleneck"] == "none":
        return ["The load failed: no verdict", *wrapped(plain(summary["load"]["message"] or ""), "  ")]
    lines = [f"{TITLES[verdict['bottleneck']]}{where}{held}  [{verdict['bottleneck']}]"]
    lines.extend(
        f"  {item['metric']:<24} {figure(item['value']):>7} {item['unit']:<5} "
        f"{'<' if item['below'] else '>'} {figure(item['threshold']):<6} {item['source']}"
        for item in verdict["evidence"]
    )
    lines += wrapped(verdict["advice"], "  ")
    if (following := summary["forecast"]) is not None:
        lines += wrapped(next_limit(following), "  ")
    return lines


def next_limit(forecast: Json) -> str:
    """A forecast of the JSON summary as a sentence."""
    where = f" on {plain(forecast['host'])}" if forecast["host"] else ""
    numbers = [figure(float(f"{forecast[name]:.3g}")) for name in ("rps", "low", "high")]
    return f"Next limit: {forecast['resource']}{where} at about {numbers[0]} requests/s ({numbers[1]} to {numbers[2]})."


def _load(load: Json, seconds: float) -> list[str]:
    shape = f" c={load['concurrency']}" if load["concurrency"] is not None else ""
    if load["rate"] is not None:
        shape = f" rate={load['rate']}/s"
    by = "" if load["engine"] == "builtin" else f" by {plain(load['engine'])}"
    received = None if load["received_bytes"] is None else load["received_bytes"] / 1024
    lines = [
        f"Load{by}  {load['model']}{shape}  {load['state']} after {seconds:.2f} s",
        f"  requests {figure(load['requests']):>10}   {figure(load['rps']):>10} /s   received {figure(received)} kB",
    ]
    if load["failed"] is None:
        lines.append(f"  failed   {figure(None):>10}   (not measured)")
    elif load["failed"]:
        classes = ", ".join(f"{name} {count}" for name, count in load["failures"].items() if count)
        lines.append(f"  failed   {load['failed']:>10}   ({classes})")
    if load["non_2xx"]:
        lines.append(f"  not 2xx  {load['non_2xx']:>10}")
    if load["message"]:
        lines += wrapped(plain(load["message"]), "  ")
    if load["latency_ms"] is not None:
        stated = f"  (as {plain(load['engine'])} states them)" if load.get("latency_source") == "stated" else ""
        lines += ["", f"Times in ms      min      mean        sd    median       max{stated}"]
        for title, part in (("connect", "connect_ms"), ("processing", "processing_ms"), ("waiting", "waiting_ms")):
            lines.append(_times(title, load[part]))
        total = {**load["latency_ms"], "median": load["latency_ms"]["p50"]}
        lines.append(_times("total", total))
        lines += ["", *_percentiles("Percentiles in ms", load["latency_ms"])]
    if load["corrected_latency_ms"] is not None:
        lines += _percentiles("  from the intended start", load["corrected_latency_ms"])
    return lines


def _times(title: str, times: Json | None) -> str:
    if times is None:
        return f"  {title:<11}  not measured"
    columns = "".join(f"{_decimal(times[name], 2):>10}" for name in ("mean", "sd", "median", "max"))
    return f"  {title:<11}{_decimal(times['min'], 2):>8}{columns}"


def _percentiles(title: str, latency: Json) -> list[str]:
    names = ("p50", "p75", "p90", "p95", "p99", "p99_9", "max")
    return [
        f"{title:<17}" + "".join(f"{name.replace('_', '.'):>8}" for name in names),
        " " * 17 + "".join(f"{_decimal(latency[name], 1):>8}" for name in names),
    ]


def _decimal(value: float | None, digits: int) -> str:
    return figure(None) if value is None else f"{value:.{digits}f}"


def _steps(steps: Iterable[Json]) -> list[str]:
    lines = ["   c     req/s    ms mean     p50     p99  failed  %idle  %iowait  %swpused  limit"]
    for step in steps:
        latency: Json = step["latency_ms"] or {}
        shape = step["concurrency"] if step["concurrency"] is not None else f"{step['rate']}/s"
        lines.append(
            f"{shape:>4}{figure(step['rps']):>10}{figure(latency.get('mean')):>11}{figure(latency.get('p50')):>8}"
            f"{figure(latency.get('p99')):>8}{figure(step['failed']):>8}{figure(step['idle_pct']):>7}"
            f"{figure(step['iowait_pct']):>9}{figure(step['swap_used_pct']):>10}  {step['bottleneck'] or '-'}"
        )
    return lines


def _host(host: Json) -> list[str]:
    stale = f", {host['stale']} missing" if host["stale"] else ""
    lines = [f"Host {plain(host['name'])}  ({host['role']}; {host['samples']} samples{stale})"]
    if not host["samples"]:
        return lines

    def mean(statistic: Json | None) -> str:
        return figure(None if statistic is None else statistic["mean"])

    cpu, swap, httpd, apache = host["cpu"], host["swap"], host["httpd"], host["apache"]
    names = ("user", "system", "iowait", "steal", "idle")
    lines.append("  cpu %    " + "  ".join(f"{name} {mean(cpu[name]):>5}" for name in names))
    lines.extend(
        f"    core {core['id']:<3} idle {mean(core['idle']):>5}  iowait {mean(core['iowait']):>5}  "
        f"steal {mean(core['steal']):>5}"
        for core in host["cores"]
    )
    lines.append(
        f"  memory   available {_megabytes(host['memory']['available_kb'])} of "
        f"{host['memory']['total_kb'] // 1024 if host['memory']['total_kb'] else '-'} MB   "
        f"swap used {mean(swap['used_pct'])} %  in {mean(swap['in_kb_s'])} kB/s  out {mean(swap['out_kb_s'])} kB/s"
    )
    if httpd["processes"] is not None:
        each = httpd["pss_kb_mean"] or httpd["rss_kb_mean"]
        basis = "PSS" if httpd["pss_kb_mean"] else "RSS"
        size = "" if each is None else f"  {each / 1024:.1f} MB each ({basis})"
        lines.append(
            f"  httpd    processes {mean(httpd['processes'])}  running {mean(httpd['running'])}  "
            f"cpu {mean(httpd['cpu_pct'])} % of a core{size}"
        )
    if apache is not None:
        lines.append(
            f"  apache   {apache['mpm']}  busy {mean(apache['busy'])} of {apache['capacity']} slots  "
            f"{mean(apache['requests_s'])} requests/s"
        )
    from loadtop.summary.server_rows import server_rows

    return lines + server_rows(host)


def _megabytes(statistic: Json | None) -> str:
    return "-" if statistic is None else f"{statistic['mean'] / 1024:.0f}"


def figure(value: float | None) -> str:
    """A number in at most four digits or thousands; ``-`` for what was not measured."""
    if value is None:
        return "-"
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value)}"
    if abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2f}"


def wrapped(text: str, indent: str) -> list[str]:
    """The text in lines of at most WIDTH columns."""
    import textwrap

    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=indent)
