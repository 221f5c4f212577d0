"""The slowest requests and the first failures as texts: for the report, for tables, for the cockpit."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from math import isfinite

from loadtop.generator.notable import MOST_KINDS, MOST_SLOW
from loadtop.i18n import Translatable, figure, pad, plain, rendered, tr
from loadtop.model import LoadSample, RequestRecord, Requests

SHORT = 5  # slow requests in the report at the end of a test
PHASES: tuple[Translatable, ...] = ("connect", "sending", "waiting", "receiving")
NONE = Requests()


def noted(load: LoadSample | None) -> Requests:
    """Those of a load, as many as a test can have; empty if the engine does not report individual requests."""
    known = NONE if load is None or load.noted is None else load.noted
    return Requests(known.slowest[:MOST_SLOW], known.failures[:MOST_KINDS])


def clock_of(record: RequestRecord) -> str:
    """When it began, as servers log it: ``12:00:03.125``, in UTC."""
    try:
        at = datetime.fromtimestamp(record.started, UTC)
    except (OverflowError, ValueError, OSError):  # a recording may say anything
        return "-"
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"


def times_of(record: RequestRecord) -> list[str]:
    """The total, and the times of :data:`PHASES`, in ms."""
    times = (record.total_ms, record.connect_ms, record.sending_ms, record.waiting_ms, record.receiving_ms)
    # A recording may say anything, also that a time is infinite.
    return [figure(None if value is None or not isfinite(value) else value) for value in times]


def called(record: RequestRecord) -> str:
    """Method and URL, with the trace id where there is one."""
    words = (plain(record.method), plain(record.url), f"trace {plain(record.trace_id)}" if record.trace_id else "")
    return " ".join(word for word in words if word)


def kind_of(record: RequestRecord) -> str:
    """The kind of a failure: its class, or its status."""
    if record.status is not None and not record.reason:
        return tr("status {number}", number=record.status) if record.failure == "status" else tr(plain(record.failure))
    return tr(plain(record.failure))


def heads_of(record: RequestRecord) -> Iterator[str]:
    """The lines of the heads sent (``>``) and received (``<``), which ``-v`` keeps."""
    for sign, head in ((">", record.request_head), ("<", record.response_head)):
        yield from (f"{sign} {plain(text)}" for text in head.splitlines())


def lines(load: LoadSample | None, most: int = MOST_SLOW) -> Iterator[str]:
    """The part of the printed report, with ``most`` slow requests."""
    found = noted(load)
    if found.slowest:
        yield tr("Slowest requests in ms (start times in UTC)")
        heads = "".join(pad(tr(name), 10, right=True) for name in ("total", *PHASES))
        yield f"  {'':12}{heads}  {tr('status')}"
        one = len({called(each) for each in found.slowest}) == 1
        for record in found.slowest[:most]:
            total, *phases = times_of(record)
            times = f"{total:>9}{''.join(f'{time:>10}' for time in phases)}"
            yield f"  {clock_of(record):12} {times}  {record.status or '-'}"
            if not one:
                yield f"    {called(record)}"
            if record is found.slowest[0] or most == MOST_SLOW:
                yield from (f"      {text}" for text in heads_of(record))
    if found.failures:
        yield tr("First failures (start times in UTC)")
        for record in found.failures:
            total = times_of(record)[0]
            yield f"  {clock_of(record):12} {kind_of(record)}  {tr('after {ms} ms', ms=total)}  {called(record)}"
            if record.reason:
                yield f"    {rendered(record.reason)}"
            yield from (f"      {text}" for text in heads_of(record))


def slowest_rows(load: LoadSample | None) -> list[Sequence[str]]:
    """The request, when it began, the times, the status."""
    return [
        (called(each), clock_of(each), *times_of(each), "-" if each.status is None else str(each.status))
        for each in noted(load).slowest
    ]


def failure_rows(load: LoadSample | None) -> list[Sequence[str]]:
    """The kind of the failure, the request, when it began, how long it took, the reason."""
    return [
        (kind_of(each), called(each), clock_of(each), times_of(each)[0], rendered(each.reason) or "-")
        for each in noted(load).failures
    ]


def head_rows(load: LoadSample | None) -> list[Sequence[str]]:
    """When a request began, what became of it, and the heads, where they were kept."""
    found = noted(load)
    return [
        (clock_of(each), str(each.status or each.failure), "; ".join(heads_of(each)))
        for each in (*found.slowest, *found.failures)
        if each.request_head or each.response_head
    ]
