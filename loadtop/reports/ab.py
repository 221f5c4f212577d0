"""ab's own report, line for line: for tools that read what ab prints.

Labels, widths and the conditions of lines are those of ApacheBench 2.3 (httpd 2.4); figures are ours. They differ from
ab's on purpose: medians are the usual ones, percentiles come from a histogram (under 1 % off), HTTP/1.1 is spoken.
"""

import time
from array import array
from collections.abc import Iterator, Sequence
from html import escape
from typing import TextIO

from loadtop import __version__
from loadtop.analysis.totals.totals import RunResult
from loadtop.generator.plan import PlanError, Target
from loadtop.generator.request_log import ROW
from loadtop.i18n import plain
from loadtop.model import Distribution, Failures, LoadSample, ServerSeen
from loadtop.model.histogram import mean, median, percentile, sd

PERCENTS = (50, 66, 75, 80, 90, 95, 98, 99)
ROWS = {"Connect:": "connect", "Processing:": "processing", "Waiting:": "waiting", "Total:": "total"}
TIMES = {"initial connection": "connect", "processing": "processing", "waiting": "waiting", "total": "total"}


def ab_report(result: RunResult, *, percentiles: bool = True, spread: bool = True) -> str:
    """The report of the whole run; empty where no load was run.

    ``percentiles`` is off with ab's -d; ``spread`` (medians, deviations and warnings) with its -S.
    """
    last = result.last_load
    if last is None:
        return ""
    seen = server_of(result)
    through = f"[through {plain(seen.proxy)}] " if seen is not None and seen.proxy else ""
    lines = [
        f"This is loadtop, Version {__version__}, reporting in the format of ApacheBench 2.3",
        "",
        f"Benchmarking {'' if seen is None else plain(seen.hostname)} {through}(be patient).....done",
        "",
        "",
        *_lines(*_server(seen), *_tls(seen)),
        "",
        *_lines(*_document(seen, result)),
        "",
        *_totals(last, concurrency_level(result)),
    ]
    if last.requests and result.distributions["total"].count:
        lines += ["", "Connection Times (ms)"]
        lines += _spread(result) if spread else _short(result)
        if percentiles and last.requests > 1:
            lines += ["", *_percentiles(result.distributions["total"])]
    return "\n".join(lines) + "\n"


def percentiles_csv(result: RunResult) -> str:
    """ab's -e: the time in ms within which each percentage of the requests was served."""
    total = result.distributions["total"]
    if not total.count:
        return "Percentage served,Time in ms\n"
    rows = (f"{percent},{percentile(total, percent) / 1000:.3f}" for percent in range(101))
    return "\n".join(["Percentage served,Time in ms", *rows]) + "\n"


def server_of(result: RunResult) -> ServerSeen | None:
    """The server as its answers showed it; where there was none, or the engine does not show them, as ``url`` names
    it. ``None`` where nothing is known."""
    seen = None if result.last_load is None else result.last_load.server
    if seen is not None or result.url is None:
        return seen
    try:
        target = Target.parse(result.url)
    except PlanError:
        return None
    return ServerSeen("", target.host, target.port, target.path)


def document_length(result: RunResult) -> str | None:
    """The length of the first good answer, ``Variable`` with -l; ``None`` where no answer was shown."""
    seen = None if result.last_load is None else result.last_load.server
    if seen is None:
        return None
    return "Variable" if seen.document_bytes is None else f"{seen.document_bytes} bytes"


def _server(seen: ServerSeen | None) -> list[tuple[str, object]]:
    return [
        ("Server Software:", "" if seen is None else plain(seen.software.partition(" ")[0])),
        ("Server Hostname:", "" if seen is None else plain(seen.hostname)),
        ("Server Port:", "" if seen is None else seen.port),
    ]


def _document(seen: ServerSeen | None, result: RunResult) -> list[tuple[str, object]]:
    return [
        ("Document Path:", "" if seen is None else plain(seen.path)),
        ("Document Length:", document_length(result)),
    ]


def _tls(seen: ServerSeen | None) -> list[tuple[str, object]]:
    if seen is None or not seen.tls:
        return []
    values = {"SSL/TLS Protocol:": seen.tls, "Server Temp Key:": seen.tls_key, "TLS Server Name:": seen.tls_name}
    return [(label, plain(value)) for label, value in values.items() if value]


def concurrency_level(result: RunResult) -> int | None:
    """The connections that were asked for; without a number of them (open model), how many requests were under way on
    average (Little's law), at least 1."""
    last, total = result.last_load, result.distributions["total"]
    if last is None or last.concurrency is not None or not total.count or last.elapsed_s <= 0:
        return None if last is None else last.concurrency
    return max(1, round(total.sum_us / 1e6 / last.elapsed_s))


def _counted(last: LoadSample, level: int | None) -> list[tuple[str, object]]:
    return [
        ("Concurrency Level:", level),
        ("Time taken for tests:", f"{last.elapsed_s:.3f} seconds"),
        ("Complete requests:", last.requests),
        ("Failed requests:", last.failed),
    ]


def _transferred(last: LoadSample) -> list[tuple[str, object]]:
    received, body = last.received_bytes, last.body_bytes
    return [
        ("Non-2xx responses:", last.non_2xx or None),
        ("Keep-Alive requests:", last.keepalive_requests if last.keepalive else None),
        ("Total transferred:", None if received is None else f"{received} bytes"),
        ("Total body sent:", last.sent_bytes if last.with_body else None),
        ("HTML transferred:", None if body is None else f"{body} bytes"),
    ]


def _totals(last: LoadSample, level: int | None) -> list[str]:
    """Counters. What the engine did not measure has no line."""
    lines = _lines(*_counted(last, level))
    if (classes := _classes(last.failures, ("Connect", "Receive", "Length", "Exceptions"))) is not None:
        lines.append(f"   {classes}")
    lines += _lines(*_transferred(last))
    return lines + (_speed(last, level, last.requests, last.elapsed_s) if last.elapsed_s > 0 and last.requests else [])


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


def _rps(last: LoadSample, done: int) -> float:
    return done / last.elapsed_s if last.stated_rps is None else last.stated_rps


def _speed(last: LoadSample, level: int | None, done: int, seconds: float) -> list[str]:
    lines = _lines(
        ("Requests per second:", f"{_rps(last, done):.2f} [#/sec] (mean)"),
        ("Time per request:", None if level is None else f"{level * seconds * 1000 / done:.3f} [ms] (mean)"),
        ("Time per request:", f"{seconds * 1000 / done:.3f} [ms] (mean, across all concurrent requests)"),
    )
    received, sent = last.received_bytes, last.sent_bytes
    if received is not None:
        lines += _lines(("Transfer rate:", f"{received / 1024 / seconds:.2f} [Kbytes/sec] received"))
        if last.with_body and sent is not None:
            lines += _lines(
                ("", f"{sent / 1024 / seconds:.2f} kb/s sent"),
                ("", f"{(received + sent) / 1024 / seconds:.2f} kb/s total"),
            )
    return lines


def _rows(result: RunResult) -> list[tuple[str, str]]:
    """The rows of the table of times, without those that the engine did not measure."""
    return [(label, part) for label, part in ROWS.items() if result.distributions[part].count]


def _spread(result: RunResult) -> list[str]:
    lines = ["              min  mean[+/-sd] median   max"]
    for label, part in _rows(result):
        times = result.distributions[part]
        lines.append(
            f"{label:<12}{_ms(times.min_us):5d} {_ms(mean(times)):4d} {sd(times) / 1000:5.1f} "
            f"{_ms(median(times)):6d} {_ms(times.max_us):7d}"
        )
    measured = {part for _, part in _rows(result)}
    for name, part in TIMES.items():
        lines += _warning(name, result.distributions[part]) if part in measured else []
    return lines


def _short(result: RunResult) -> list[str]:
    lines = ["              min   avg   max"]
    for label, part in _rows(result):
        times = result.distributions[part]
        lines.append(f"{label:<12}{_ms(times.min_us):5d} {_ms(mean(times)):5d}{_ms(times.max_us):5d}")
    return lines


def _warning(name: str, times: Distribution) -> list[str]:
    """What ab says where mean and median are far apart."""
    distance = abs(_ms(mean(times)) - _ms(median(times)))
    if distance > 2 * sd(times) / 1000:
        return [
            f"ERROR: The median and mean for the {name} time are more than twice the standard",
            "       deviation apart. These results are NOT reliable.",
        ]
    if distance > sd(times) / 1000:
        return [
            f"WARNING: The median and mean for the {name} time are not within a normal deviation",
            "        These results are probably not that reliable.",
        ]
    return []


def _percentiles(total: Distribution) -> list[str]:
    lines = ["Percentage of the requests served within a certain time (ms)"]
    lines += [f"  {percent}%  {_ms(percentile(total, percent)):5d}" for percent in PERCENTS]
    return [*lines, f" 100%  {_ms(total.max_us):5d} (longest request)"]


def _lines(*rows: tuple[str, object]) -> list[str]:
    """Labels and values; what is not known has no line."""
    return [f"{label:<24}{value}" for label, value in rows if value is not None]


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
    lines = [
        "<p>",
        f" This is loadtop, Version {__version__}, reporting in the format of ApacheBench 2.3<br>",
        "</p>",
        "<p>",
        "..done",
        "",
        "",
        f"<table {table}>",
        *_html_figures(result, last, row, cell),
        *_html_times(result, row, cell),
        "</table>",
    ]
    return "\n".join(lines) + "\n"


def _html_figures(result: RunResult, last: LoadSample, row: str, cell: str) -> Iterator[str]:
    """Counters; what the engine did not measure has no row."""
    seen, seconds, received = server_of(result), last.elapsed_s, last.received_bytes

    def rows(*values: tuple[str, object]) -> Iterator[str]:
        for label, value in values:
            if value is not None:
                shown = escape(str(value))
                yield f"<tr {row}><th colspan=2 {cell}>{label}</th><td colspan=2 {cell}>{shown}</td></tr>"

    yield from rows(*_server(seen), *_document(seen, result), *_counted(last, concurrency_level(result)))
    if (classes := _classes(last.failures, ("Connect", "Length", "Exceptions"))) is not None:
        yield f"<tr {row}><td colspan=4 {cell} >   {classes}</td></tr>"
    yield from rows(*_transferred(last))
    if not last.requests or seconds <= 0:
        return
    yield from rows(("Requests per second:", f"{_rps(last, last.requests):.2f}"))
    if received is None:
        return
    yield from rows(("Transfer rate:", f"{received / 1024 / seconds:.2f} kb/s received"))
    if last.with_body and last.sent_bytes is not None:
        sent, total = last.sent_bytes / 1024 / seconds, (received + last.sent_bytes) / 1024 / seconds
        for value in (f"{sent:.2f} kb/s sent", f"{total:.2f} kb/s total"):
            yield f"<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{value}</td></tr>"


def _html_times(result: RunResult, row: str, cell: str) -> list[str]:
    if not result.distributions["total"].count:
        return []
    titles = "   ".join(f"<th {cell}>{title}</th>" for title in ("min", "avg", "max"))
    lines = [
        f"<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>",
        f"<tr {row}><th {cell}>&nbsp;</th> {titles}</tr>",
    ]
    for label, part in _rows(result):
        if part != "waiting":
            times = result.distributions[part]
            values = "".join(f"<td {cell}>{_ms(each):5d}</td>" for each in (times.min_us, mean(times), times.max_us))
            lines.append(f"<tr {row}><th {cell}>{label}</th>{values}</tr>")
    return lines


GNUPLOT_HEADER = "starttime\tseconds\tctime\tdtime\tttime\twait\n"
_BATCH = 10_000


def write_gnuplot(rows: "array[int]", out: TextIO) -> None:
    """Write the rows of :mod:`loadtop.generator.request_log`, of this machine since it started, sorted by total time as
    ab sorts them. Times are whole milliseconds, rounded as ab rounds; a start is local time, and seconds since 1970."""
    import numpy as np  # which the other reports need not load

    table = np.frombuffer(rows, np.int64).reshape(-1, ROW)
    table = table[np.argsort(table[:, 1], kind="stable")]
    clock = time.time_ns() - time.perf_counter_ns()
    seconds = (table[:, 0] + clock) // 1_000_000_000
    total, connect, waiting = (table[:, column] // 1000 for column in (1, 2, 3))
    columns = [seconds, *((each + 500) // 1000 for each in (connect, total - connect, total, waiting))]
    names = {second: time.strftime("%a %b %d %H:%M:%S %Y", time.localtime(second)) for second in set(seconds.tolist())}
    out.write(GNUPLOT_HEADER)
    for start in range(0, len(table), _BATCH):
        batch = zip(*(column[start : start + _BATCH].tolist() for column in columns), strict=True)
        out.write("".join(f"{names[row[0]]}\t" + "\t".join(map(str, row)) + "\n" for row in batch))
