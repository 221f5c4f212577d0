"""ab's own report, line for line: for tools that read what ab prints.

Labels, widths and the conditions of lines are those of ApacheBench 2.3 (httpd 2.4); figures are ours. They differ from
ab's on purpose: medians are the usual ones, percentiles come from a histogram (under 1 % off), HTTP/1.1 is spoken.
"""

import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import BinaryIO, TextIO

from loadtop import __version__
from loadtop.analysis.totals.totals import RunResult
from loadtop.generator.plan import PlanError, Target
from loadtop.i18n import plain
from loadtop.model import Distribution, Failures, LoadSample, ServerSeen
from loadtop.model.histogram import mean, percentile, sd

PERCENTS = (50, 66, 75, 80, 90, 95, 98, 99)
TIMES = {
    "connect": ("Connect:", "initial connection"),
    "processing": ("Processing:", "processing"),
    "waiting": ("Waiting:", "waiting"),
    "total": ("Total:", "total"),
}
"""Parts of a response time: ab's label, and what its warnings call them."""

TITLE = f"This is loadtop, Version {__version__}, reporting in the format of ApacheBench 2.3"
Rows = list[tuple[str | None, object]]
"""Labels and values. ``None`` for a value: not known, without a line; for a label: the line is the value alone."""


def ab_report(result: RunResult, *, percentiles: bool = True, spread: bool = True) -> str:
    """The report of the whole run; empty where no load was run.

    ``percentiles`` is off with ab's -d; ``spread`` (medians, deviations and warnings) with its -S.
    """
    last = result.last_load
    if last is None:
        return ""
    seen, total = _server_of(result), result.distributions["total"]
    through = f"[through {plain(seen.proxy)}] " if seen is not None and seen.proxy else ""
    lines = [
        TITLE,
        "",
        f"Benchmarking {'' if seen is None else plain(seen.hostname)} {through}(be patient).....done",
        "",
        "",
        *_lines(_server(seen) + _tls(seen)),
        "",
        *_lines(_document(seen, last)),
        "",
        *_lines(_counters(result, last, ("Connect", "Receive", "Length", "Exceptions")) + _speed(result, last)),
    ]
    if last.requests and total.count:
        lines += ["", "Connection Times (ms)", *(_spread(result) if spread else _short(result))]
        if percentiles and last.requests > 1:
            lines += ["", *_percentiles(total)]
    return "\n".join(lines) + "\n"


def percentiles_csv(result: RunResult) -> str:
    """ab's -e: the time in ms within which each percentage of the requests was served."""
    total = result.distributions["total"]
    if not total.count:
        return "Percentage served,Time in ms\n"
    rows = (f"{percent},{percentile(total, percent) / 1000:.3f}" for percent in range(101))
    return "\n".join(["Percentage served,Time in ms", *rows]) + "\n"


def _server_of(result: RunResult) -> ServerSeen | None:
    """The server as its answers showed it; where there was none, or the engine does not show them, as ``url`` names
    it. ``None`` where nothing is known."""
    seen = None if result.last_load is None else result.last_load.server
    if seen is not None or result.url is None:
        return seen
    try:
        target = Target.parse(result.url)
    except PlanError:
        return None
    return ServerSeen("", target.origin.host, target.origin.port, target.path)


def _server(seen: ServerSeen | None) -> Rows:
    return [
        ("Server Software:", "" if seen is None else plain(seen.software.partition(" ")[0])),
        ("Server Hostname:", "" if seen is None else plain(seen.hostname)),
        ("Server Port:", "" if seen is None else seen.port),
    ]


def _tls(seen: ServerSeen | None) -> Rows:
    if seen is None or not seen.tls:
        return []
    values = {"SSL/TLS Protocol:": seen.tls, "Server Temp Key:": seen.tls_key, "TLS Server Name:": seen.tls_name}
    return [(label, plain(value) or None) for label, value in values.items()]


def _document(seen: ServerSeen | None, last: LoadSample) -> Rows:
    """The length is that of the first good answer, ``Variable`` with -l."""
    length = None
    if last.server is not None:
        length = "Variable" if last.server.document_bytes is None else f"{last.server.document_bytes} bytes"
    return [("Document Path:", "" if seen is None else plain(seen.path)), ("Document Length:", length)]


def _level(result: RunResult, last: LoadSample) -> int | None:
    """The connections that were asked for; without a number of them (open model), how many requests were under way on
    average (Little's law), at least 1."""
    total = result.distributions["total"]
    if last.concurrency is not None or not total.count or last.elapsed_s <= 0:
        return last.concurrency
    return max(1, round(total.sum_us / 1e6 / last.elapsed_s))


def _counters(result: RunResult, last: LoadSample, classes: Sequence[str]) -> Rows:
    """Counters; ``classes`` are the kinds of failed requests that are known."""
    received, body = last.received_bytes, last.body_bytes
    return [
        ("Concurrency Level:", _level(result, last)),
        ("Time taken for tests:", f"{last.elapsed_s:.3f} seconds"),
        ("Complete requests:", last.requests),
        ("Failed requests:", last.failed),
        (None, _classes(last.failures, classes)),
        ("Non-2xx responses:", last.non_2xx or None),
        ("Keep-Alive requests:", last.keepalive_requests if last.keepalive else None),
        ("Total transferred:", None if received is None else f"{received} bytes"),
        ("Total body sent:", last.sent_bytes if last.with_body else None),
        ("HTML transferred:", None if body is None else f"{body} bytes"),
    ]


def _classes(failures: Failures | None, names: Sequence[str]) -> str | None:
    """ab's classes of failed requests with their counts, ``-`` for one that the engine does not tell apart; ``None``
    where nothing failed or no class is known."""
    if failures is None or not failures.total:
        return None
    # ab would have counted time-outs as exceptions; its HTML table has no class for broken receptions either.
    others = (failures.timeout or 0) + (0 if "Receive" in names else failures.receive or 0)
    counts = {
        "Connect": failures.connect,
        "Receive": failures.receive,
        "Length": failures.length,
        "Exceptions": None if failures.exceptions is None else failures.exceptions + others,
    }
    if all(counts[name] is None for name in names):
        return None
    shown = {name: "-" if count is None else count for name, count in counts.items()}
    return f"({', '.join(f'{name}: {shown[name]}' for name in names)})"


def _speed(result: RunResult, last: LoadSample, *, table: bool = False) -> Rows:
    """Requests and bytes per second, in the words of ab's text or of its table."""
    done, seconds = last.requests, last.elapsed_s
    if not done or seconds <= 0:
        return []
    rps = done / seconds if last.stated_rps is None else last.stated_rps
    rows: Rows = [("Requests per second:", f"{rps:.2f}" if table else f"{rps:.2f} [#/sec] (mean)")]
    if not table:
        level, each = _level(result, last), seconds * 1000 / done
        rows += [
            ("Time per request:", None if level is None else f"{level * seconds * 1000 / done:.3f} [ms] (mean)"),
            ("Time per request:", f"{each:.3f} [ms] (mean, across all concurrent requests)"),
        ]
    received, sent = last.received_bytes, last.sent_bytes
    if received is not None:
        unit = "kb/s" if table else "[Kbytes/sec]"
        rows.append(("Transfer rate:", f"{received / 1024 / seconds:.2f} {unit} received"))
        if last.with_body and sent is not None:
            rows.append(("", f"{sent / 1024 / seconds:.2f} kb/s sent"))
            rows.append(("", f"{(received + sent) / 1024 / seconds:.2f} kb/s total"))
    return rows


def _times(result: RunResult) -> Iterator[tuple[str, Distribution]]:
    return ((part, result.distributions[part]) for part in TIMES if result.distributions[part].count)


def _spread(result: RunResult) -> Iterator[str]:
    yield "              min  mean[+/-sd] median   max"
    for part, times in _times(result):
        yield (
            f"{TIMES[part][0]:<12}{_ms(times.min_us):5d} {_ms(mean(times)):4d} {sd(times) / 1000:5.1f} "
            f"{_ms(percentile(times, 50)):6d} {_ms(times.max_us):7d}"
        )
    # What ab says where mean and median are far apart.
    for part, times in _times(result):
        distance, deviation = abs(_ms(mean(times)) - _ms(percentile(times, 50))), sd(times) / 1000
        if distance > 2 * deviation:
            yield f"ERROR: The median and mean for the {TIMES[part][1]} time are more than twice the standard"
            yield "       deviation apart. These results are NOT reliable."
        elif distance > deviation:
            yield f"WARNING: The median and mean for the {TIMES[part][1]} time are not within a normal deviation"
            yield "        These results are probably not that reliable."


def _short(result: RunResult) -> Iterator[str]:
    yield "              min   avg   max"
    for part, times in _times(result):
        yield f"{TIMES[part][0]:<12}{_ms(times.min_us):5d} {_ms(mean(times)):5d}{_ms(times.max_us):5d}"


def _percentiles(total: Distribution) -> list[str]:
    lines = ["Percentage of the requests served within a certain time (ms)"]
    lines += [f"  {percent}%  {_ms(percentile(total, percent)):5d}" for percent in PERCENTS]
    return [*lines, f" 100%  {_ms(total.max_us):5d} (longest request)"]


def _lines(rows: Rows) -> list[str]:
    return [f"   {value}" if label is None else f"{label:<24}{value}" for label, value in rows if value is not None]


def _ms(microseconds: float) -> int:
    """Whole milliseconds, rounded as ab does."""
    return int((microseconds + 500) // 1000)


def ab_table(result: RunResult, table: str, row: str, cell: str) -> str:
    """ab's -w: the report as an HTML table with fewer rows than the text, as ab has it; empty where no load was run.

    ``table``, ``row`` and ``cell`` are attributes that go into the elements unchanged.
    """
    last = result.last_load
    if last is None:
        return ""
    seen = _server_of(result)
    figures = _server(seen) + _document(seen, last) + _counters(result, last, ("Connect", "Length", "Exceptions"))
    figures += _speed(result, last, table=True)
    lines = ["<p>", f" {TITLE}<br>", "</p>", "<p>", "..done", "", "", f"<table {table}>"]
    lines += [_html_row(label, value, row, cell) for label, value in figures if value is not None]
    return "\n".join([*lines, *_html_times(result, row, cell), "</table>"]) + "\n"


def _html_row(label: str | None, value: object, row: str, cell: str) -> str:
    shown = escape(str(value))
    if label is None:
        return f"<tr {row}><td colspan=4 {cell} >   {shown}</td></tr>"
    head = f"<th colspan=2 {cell}>{label}</th>" if label else f"<td colspan=2 {cell}>&nbsp;</td>"
    return f"<tr {row}>{head}<td colspan=2 {cell}>{shown}</td></tr>"


def _html_times(result: RunResult, row: str, cell: str) -> Iterator[str]:
    if not result.distributions["total"].count:
        return
    titles = "   ".join(f"<th {cell}>{title}</th>" for title in ("min", "avg", "max"))
    yield f"<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>"
    yield f"<tr {row}><th {cell}>&nbsp;</th> {titles}</tr>"
    for part, times in _times(result):
        if part != "waiting":
            values = "".join(f"<td {cell}>{_ms(each):5d}</td>" for each in (times.min_us, mean(times), times.max_us))
            yield f"<tr {row}><th {cell}>{TIMES[part][0]}</th>{values}</tr>"


GNUPLOT_HEADER = "starttime\tseconds\tctime\tdtime\tttime\twait\n"
_BATCH = 10_000


def write_gnuplot(files: Sequence[BinaryIO], out: TextIO) -> None:
    """Write the rows of :mod:`loadtop.generator.request_log`, of this machine since it started, sorted by total time as
    ab sorts them. Times are whole milliseconds, rounded as ab rounds; a start is local time, and seconds since 1970."""
    from loadtop.reports.sorted_rows import sorted_by_total

    clock = time.time_ns() - time.perf_counter_ns()
    names: dict[int, str] = {}
    out.write(GNUPLOT_HEADER)
    for table in sorted_by_total(files):
        seconds = (table[:, 0] + clock) // 1_000_000_000
        total, connect, waiting = (table[:, column] // 1000 for column in (1, 2, 3))
        columns = [seconds, *((each + 500) // 1000 for each in (connect, total - connect, total, waiting))]
        for second in set(seconds.tolist()) - names.keys():
            names[second] = time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(second))
        for start in range(0, len(table), _BATCH):
            batch = zip(*(column[start : start + _BATCH].tolist() for column in columns), strict=True)
            out.write("".join(f"{names[row[0]]}\t" + "\t".join(map(str, row)) + "\n" for row in batch))
