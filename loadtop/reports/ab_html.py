"""ab's -w: its report as an HTML table, poorer than the text, with the rows and attributes that ab gives it."""

from html import escape

from loadtop import __version__
from loadtop.analysis.totals.load import LoadSummary
from loadtop.i18n import plain
from loadtop.model import Failures, LoadSample
from loadtop.model.histogram import mean
from loadtop.reports.ab import concurrency_level, document_length, server_of

ROWS = {"Connect:": "connect", "Processing:": "processing", "Total:": "total"}


def ab_table(load: LoadSummary, table: str, row: str, cell: str, url: str | None = None) -> str:
    """The report of the whole run; empty where no load was run. The attributes go into the elements as they are;
    ``url`` is what was asked for."""
    last = load.last
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
        *_figures(load, last, url, row, cell),
        *_times(load, row, cell),
        "</table>",
    ]
    return "\n".join(lines) + "\n"


def _figures(load: LoadSummary, last: LoadSample, url: str | None, row: str, cell: str) -> list[str]:
    """Counters. What the engine did not measure has no row."""
    seen, failures = server_of(load, url), last.failures
    rows: list[tuple[str, object]] = [
        ("Server Software:", "" if seen is None else _text(seen.software.partition(" ")[0])),
        ("Server Hostname:", "" if seen is None else _text(seen.hostname)),
        ("Server Port:", "" if seen is None else seen.port),
        ("Document Path:", "" if seen is None else _text(seen.path)),
        ("Document Length:", document_length(load)),
        ("Concurrency Level:", concurrency_level(load)),
        ("Time taken for tests:", f"{last.elapsed_s:.3f} seconds"),
        ("Complete requests:", last.requests),
        ("Failed requests:", last.failed),
    ]
    lines = _known(rows, row, cell)
    if failures is not None and failures.total:
        lines += _classes(failures, row, cell)
    rows = [
        ("Non-2xx responses:", last.non_2xx or None),
        ("Keep-Alive requests:", last.keepalive_requests if last.keepalive else None),
        ("Total transferred:", _bytes(last.received_bytes)),
        ("Total body sent:", last.sent_bytes if last.with_body else None),
        ("HTML transferred:", _bytes(last.body_bytes)),
    ]
    return [*lines, *_known(rows, row, cell), *_rates(last, row, cell)]


def _classes(failures: Failures, row: str, cell: str) -> list[str]:
    """ab's classes, ``-`` for one that the engine does not tell apart; no row where it tells none."""
    # ab's table has no class for broken receptions or time-outs; here they are among the exceptions.
    others = (failures.receive or 0) + (failures.timeout or 0)
    counts = (failures.connect, failures.length, None if failures.exceptions is None else failures.exceptions + others)
    if set(counts) == {None}:
        return []
    connect, length, other = ("-" if count is None else str(count) for count in counts)
    said = f"(Connect: {connect}, Length: {length}, Exceptions: {other})"
    return [f"<tr {row}><td colspan=4 {cell} >   {said}</td></tr>"]


def _rates(last: LoadSample, row: str, cell: str) -> list[str]:
    seconds = last.elapsed_s
    if not last.requests or seconds <= 0:
        return []
    rps = last.requests / seconds if last.stated_rps is None else last.stated_rps
    rows: list[tuple[str, object]] = [("Requests per second:", f"{rps:.2f}")]
    if last.received_bytes is None:
        return _known(rows, row, cell)
    received = last.received_bytes / 1024 / seconds
    lines = _known([*rows, ("Transfer rate:", f"{received:.2f} kb/s received")], row, cell)
    if last.with_body and last.sent_bytes is not None:
        sent = last.sent_bytes / 1024 / seconds
        lines += [
            f"<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{figure}</td></tr>"
            for figure in (f"{sent:.2f} kb/s sent", f"{received + sent:.2f} kb/s total")
        ]
    return lines


def _times(load: LoadSummary, row: str, cell: str) -> list[str]:
    titles = "   ".join(f"<th {cell}>{title}</th>" for title in ("min", "avg", "max"))
    lines = [
        f"<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>",
        f"<tr {row}><th {cell}>&nbsp;</th> {titles}</tr>",
    ]
    for label, part in ROWS.items():
        times = load.distributions[part]
        if times.count:
            values = "".join(f"<td {cell}>{_ms(each):5d}</td>" for each in (times.min_us, mean(times), times.max_us))
            lines.append(f"<tr {row}><th {cell}>{label}</th>{values}</tr>")
    return lines if load.distributions["total"].count else []


def _known(rows: list[tuple[str, object]], row: str, cell: str) -> list[str]:
    return [
        f"<tr {row}><th colspan=2 {cell}>{label}</th><td colspan=2 {cell}>{value}</td></tr>"
        for label, value in rows
        if value is not None
    ]


def _bytes(count: int | None) -> str | None:
    return None if count is None else f"{count} bytes"


def _text(words: str) -> str:
    return escape(plain(words))


def _ms(microseconds: float) -> int:
    """Whole milliseconds, rounded as ab does."""
    return int((microseconds + 500) // 1000)
