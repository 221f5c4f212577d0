"""A recording as tables, written as CSV, JSON lines or an SQLite database.

There is a table for each kind of thing, with a row for each thing and interval and a column for each figure.

The columns follow from the fields of the records and from the metrics. Counters stand as they were measured; what was
computed from two of them has the same name with ``_rate`` (of cores: ``_pct``) where names meet.
"""

import json
import math
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from enum import Enum
from itertools import zip_longest
from operator import attrgetter, itemgetter
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, NamedTuple, TextIO, cast, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import asdict, astuple

from loadtop import model
from loadtop.diagnosis.breakdown import Share
from loadtop.diagnosis.finding import Evidence, Finding
from loadtop.i18n import Message
from loadtop.model import HostSample
from loadtop.model.histogram import bounds, mean, percentile
from loadtop.model.server import Measure, ServerReading, columns
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.measured import HostView
from loadtop.rates.metrics import LOAD_METRICS, PERCENTILES
from loadtop.rates.records import CpuShares, DiskRates, GroupRates, HostRates, LoadRates, NetworkRates
from loadtop.recording.container import SessionMeta
from loadtop.servers.kind import AnyKind
from loadtop.servers.registry import HOST_METRICS, KINDS

Cell = str | int | float | None
Read = Callable[[Any], Any]
OfHost = Callable[[HostSample, HostView], Iterable[Any]]
"""What the rows of a machine's table are about: records, or pairs of records and rates."""

MAX_SQLITE_INTEGER = 1 << 63

FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""How a cell begins that a spreadsheet computes (OWASP, CSV Injection)."""

RECORD, RATES = attrgetter("record"), attrgetter("rates")


class ExportTable(Struct, frozen=True):
    """``things`` yields what each row is about; a column reads its cell from that."""

    name: str
    columns: Mapping[str, Read]
    things: Callable[[Snapshot], Iterable[Any]]

    @property
    def names(self) -> tuple[str, ...]:
        return ("interval", "at", *self.columns)

    def rows(self, snapshot: Snapshot) -> Iterator[list[Cell]]:
        for thing in self.things(snapshot):
            yield [snapshot.measured.frame.number, snapshot.at, *(_cell(read(thing)) for read in self.columns.values())]


def _cell(value: Any) -> Cell:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, int):
        return value
    return str(value.value if isinstance(value, Enum) else value)


def _figures(record: type[Any], of: Read, *, leave: Sequence[str] = (), prefix: str = "") -> dict[str, Read]:
    """Return a column for each field that is one figure or text, those of records within records too."""
    columns: dict[str, Read] = {}
    for name, hint in get_type_hints(record).items():
        kinds = [kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if kind is not NoneType]
        if name in leave or not all(isinstance(kind, type) for kind in kinds):
            continue
        if all(issubclass(kind, (str, int, float, Message)) for kind in kinds):
            columns[prefix + name] = _field(of, name)
        elif len(kinds) == 1 and issubclass(kinds[0], Struct):
            columns |= _figures(cast("type[Any]", kinds[0]), _field(of, name), prefix=f"{prefix}{name}_")
    return columns


def _field(of: Read, name: str) -> Read:
    def read(thing: Any) -> Any:
        record = of(thing)
        return None if record is None else getattr(record, name)

    return read


def _joined(measured: dict[str, Read], computed: dict[str, Read]) -> dict[str, Read]:
    return measured | {f"{name}_rate" if name in measured else name: read for name, read in computed.items()}


class Row(NamedTuple):
    """What a row is about: the machine's name, the record that was measured, and its rates where there are any."""

    host: str
    record: Any
    rates: Any = None


def _of_hosts(name: str, things: OfHost, columns: dict[str, Read]) -> ExportTable:
    """Return a table of things that belong to a machine. Machines without a new sample have no rows."""

    def rows(snapshot: Snapshot) -> Iterator[Row]:
        for host in snapshot.measured.hosts:
            if host.state.fresh and host.sample is not None:
                for thing in things(host.sample, host):
                    yield Row(host.name, *thing) if isinstance(thing, tuple) else Row(host.name, thing)

    return ExportTable(name, {"host": attrgetter("host"), **columns}, rows)


def _with_rates(name: str, key: str, rates_key: str = "", *, records: Read | None = None) -> OfHost:
    """Pair the records of this name, or others of a sample, with the rates of this name that have the same key."""
    key_of, key_of_rates, of = attrgetter(key), attrgetter(rates_key or key), records or attrgetter(name)

    def pairs(sample: HostSample, host: HostView) -> Iterator[tuple[Any, Any]]:
        rates = {key_of_rates(each): each for each in _rates(host, name)}
        for each in of(sample) or ():
            yield each, rates.get(key_of(each))

    return pairs


def _rates(host: HostView, name: str) -> Iterable[Any]:
    return (None if host.rates is None else getattr(host.rates, name)) or ()


def _load_columns() -> dict[str, Read]:
    measured = _figures(model.LoadSample, attrgetter("load"), leave=("latencies", "at"))
    metrics: dict[str, Read] = {metric.name: metric.read for metric in LOAD_METRICS}
    rates = _figures(LoadRates, attrgetter("load_rates"))
    columns: dict[str, Read] = {"wall": attrgetter("frame.wall")}
    return columns | _joined(measured | metrics, {name: read for name, read in rates.items() if name not in metrics})


def _host_columns() -> dict[str, Read]:
    measured = _figures(HostSample, _fresh, leave=("host", "at")) | {"uptime_s": _field(_fresh, "at")}
    metrics: dict[str, Read] = {metric.name.replace(".", "_"): metric.read for metric in HOST_METRICS}
    rates = _figures(HostRates, RATES)
    columns: dict[str, Read] = {"host": attrgetter("name"), "stale_s": attrgetter("stale_s")}
    columns |= _figures(model.HostState, attrgetter("state"), leave=("name", "sample"))
    return columns | _joined(metrics | measured, {name: read for name, read in rates.items() if name not in metrics})


def _fresh(host: HostView) -> HostSample | None:
    return host.sample if host.state.fresh else None


def _core_columns() -> dict[str, Read]:
    columns: dict[str, Read] = {"id": attrgetter("record.id"), **_figures(model.CpuTimes, attrgetter("record.times"))}
    return columns | {f"{name}_pct": read for name, read in _figures(CpuShares, _field(RATES, "shares")).items()}


def _servers(kind: AnyKind) -> ExportTable:
    """Return the table of a kind of server: its readings, what they compute of themselves, and rates per second."""

    def pairs(sample: HostSample, host: HostView) -> Iterator[tuple[Any, Any]]:
        rates = {id(each.reading): each for each in kind.rates(host.rates)}
        for reading in kind.readings(sample):
            yield reading, rates.get(id(reading))

    measured = (
        _figures(kind.record, RECORD, leave=("at",)) | {"clock_s": _field(RECORD, "at")} | _properties(kind.record)
    )
    counters = columns(kind.record, Measure.COUNTER)
    rates = {column.json: _per_second(column.field) for column in counters}
    return _of_hosts(kind.name, pairs, _joined(measured, rates))


def _properties(record: type[ServerReading]) -> dict[str, Read]:
    found: dict[str, Read] = {}
    for name in dict.fromkeys(name for each in record.__mro__ for name in vars(each)):
        value = getattr(record, name)
        if isinstance(value, property) and not hasattr(ServerReading, name):
            hint = get_type_hints(value.fget)["return"]
            if all(kind in (int, float, bool, NoneType) for kind in get_args(hint) or (hint,)):
                found[name] = _field(RECORD, name)
    return found


def _per_second(field: str) -> Read:
    return lambda row: None if row.rates is None else row.rates.per_second[field]


class Latency(NamedTuple):
    part: str
    values: model.Distribution


def _latencies(snapshot: Snapshot) -> Iterator[Latency]:
    latencies = None if snapshot.load is None else snapshot.load.latencies
    for name in model.Latencies.__struct_fields__ if latencies is not None else ():
        values: model.Distribution | None = getattr(latencies, name)
        if values is not None:
            yield Latency(name, values)


def _latency_columns() -> dict[str, Read]:
    columns: dict[str, Read] = {"part": attrgetter("part")}
    columns |= _figures(model.Distribution, attrgetter("values"), leave=("sum_squares_us2",))
    columns["mean_ms"] = lambda latency: mean(latency.values) / 1e3 if latency.values.count else None
    return columns | {f"{name}_ms": _percentile(percent) for name, percent in PERCENTILES.items()}


def _percentile(percent: float) -> Read:
    return lambda latency: percentile(latency.values, percent) / 1e3 if latency.values.count else None


def _buckets(snapshot: Snapshot) -> Iterator[tuple[str, int, int, int]]:
    for part, values in _latencies(snapshot):
        for bucket, count in zip(values.buckets, values.counts, strict=True):
            yield (part, *bounds(bucket), count)


def _breakdown(snapshot: Snapshot) -> Iterator[tuple[Any, ...]]:
    """Yield the parts of the mean response time, then what they do not explain; nothing if no host was measured."""
    found = snapshot.breakdown
    if found is not None and found.shares is not None:
        yield from map(astuple, found.shares)
        yield "unexplained", None, None, found.unexplained_ms, None, None, None


def _generator_workers(snapshot: Snapshot) -> Iterator[tuple[int, float, float | None]]:
    generator = None if snapshot.load is None else snapshot.load.generator
    if generator is not None:
        for number, (cpu_s, wait_s) in enumerate(zip_longest(generator.worker_cpu_s, generator.worker_wait_s), start=1):
            yield number, cpu_s, wait_s


def _findings(snapshot: Snapshot) -> Iterable[tuple[int, Finding]]:
    """Return the verdict at position 0, then the others."""
    return enumerate((snapshot.diagnosis.verdict, *snapshot.diagnosis.findings[1:]))


def _evidence(snapshot: Snapshot) -> Iterator[tuple[int, str, Evidence]]:
    for position, finding in _findings(snapshot):
        for evidence in finding.evidence:
            yield position, finding.bottleneck, evidence


def _items(*names: str) -> dict[str, Read]:
    return {name: itemgetter(position) for position, name in enumerate(names)}


def _of_load(name: str) -> Callable[[Snapshot], Iterable[Any]]:
    return lambda snapshot: () if snapshot.load is None else getattr(snapshot.load, name)


def _same(record: Any) -> Any:
    return record


TABLES = (
    ExportTable("load", _load_columns(), lambda snapshot: () if snapshot.load is None else (snapshot.measured,)),
    ExportTable("generator_worker", _items("number", "cpu_s", "wait_s"), _generator_workers),
    ExportTable("engine_worker", _figures(model.EngineWorker, _same), _of_load("workers")),
    ExportTable("stated_times", _figures(model.StatedTimes, _same), _of_load("stated")),
    ExportTable("latency", _latency_columns(), _latencies),
    ExportTable("latency_bucket", _items("part", "from_us", "to_us", "count"), _buckets),
    ExportTable("breakdown", _items(*Share.__struct_fields__), _breakdown),
    ExportTable("host", _host_columns(), attrgetter("measured.hosts")),
    _of_hosts("core", _with_rates("cores", "id", records=_field(attrgetter("cpu"), "cores")), _core_columns()),
    _of_hosts(
        "disk",
        _with_rates("disks", "name"),
        _joined(_figures(model.Disk, RECORD), _figures(DiskRates, RATES, leave=("name", "swap"))),
    ),
    _of_hosts(
        "network",
        _with_rates("networks", "name"),
        _joined(
            _figures(model.Network, RECORD),
            _figures(NetworkRates, RATES, leave=("name", "link_mbit", "shaped_mbit", "queue_backlog", "policed_mbit")),
        ),
    ),
    _of_hosts(
        "listener",
        lambda sample, _: () if sample.tcp is None else sample.tcp.listeners,
        _figures(model.Listener, RECORD),
    ),
    _of_hosts(
        "process",
        _with_rates("processes", "pid", "process.pid"),
        _figures(model.Process, RECORD) | {"cpu_pct": _field(RATES, "cpu"), "wait_pct": _field(RATES, "wait")},
    ),
    _of_hosts("process_group", lambda _, host: _rates(host, "groups"), _figures(GroupRates, RECORD)),
    *map(_servers, KINDS),
    _of_hosts("collector", lambda sample, _: sample.outcomes, _figures(model.Outcome, RECORD)),
    ExportTable("finding", _items("position") | _figures(Finding, itemgetter(1)), _findings),
    ExportTable("evidence", _items("position", "bottleneck") | _figures(Evidence, itemgetter(2)), _evidence),
    ExportTable("mark", {"text": _same}, attrgetter("measured.frame.marks")),
)


def write_csv(snapshots: Iterable[Snapshot], folder: Path) -> list[str]:
    """Write a file for each table that has rows; return their names. Raises OSError.

    RFC 4180 with a line of names. A number is written so that it reads back as the same number, a text is in quotation
    marks, and what was not measured is empty without them. A text that a spreadsheet would compute begins with an
    apostrophe. Existing files are replaced: nothing is written through a link.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, TextIO] = {}
    with ExitStack() as stack:
        for table, row in _rows(snapshots):
            name = f"{table.name}.csv"
            if name not in files:
                (folder / name).unlink(missing_ok=True)
                # Names of processes may be bytes that are not UTF-8: they are written as they were.
                opened = (folder / name).open("x", encoding="utf-8", errors="surrogateescape", newline="")
                files[name] = stack.enter_context(opened)
                files[name].write(",".join(table.names) + "\r\n")
            files[name].write(csv_line(row))
    return list(files)


def csv_line(row: Sequence[Cell]) -> str:
    return ",".join(map(_csv_cell, row)) + "\r\n"


def not_computed(text: str) -> str:
    """A text as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def _csv_cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        text = not_computed(value).replace('"', '""')
        return f'"{text}"'
    return repr(int(value) if isinstance(value, bool) else value)


def json_lines(snapshots: Iterable[Snapshot], meta: SessionMeta) -> Iterator[str]:
    """Yield a line for the session and one for each row of each table, which is its ``table``."""
    yield json.dumps({"table": "session", **asdict(meta)}) + "\n"
    for table, row in _rows(snapshots):
        yield json.dumps({"table": table.name, **dict(zip(table.names, row, strict=True))}) + "\n"


def write_sqlite(snapshots: Iterable[Snapshot], meta: SessionMeta, path: Path) -> None:
    """Write a new database. Raises OSError (also where the file exists) and sqlite3.Error."""
    path.touch(mode=0o600, exist_ok=False)
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        session = asdict(meta) | {"command_line": json.dumps(meta.command_line)}
        database.execute(f"CREATE TABLE session ({_listed(session)})")
        database.execute(_insert("session", len(session)), [_sqlite_cell(value) for value in session.values()])
        for table in TABLES:
            database.execute(f"CREATE TABLE {table.name} ({_listed(table.names)})")
        for snapshot in snapshots:
            for table in TABLES:
                rows = (list(map(_sqlite_cell, row)) for row in table.rows(snapshot))
                database.executemany(_insert(table.name, len(table.names)), rows)
        database.commit()


def _rows(snapshots: Iterable[Snapshot]) -> Iterator[tuple[ExportTable, list[Cell]]]:
    return ((table, row) for snapshot in snapshots for table in TABLES for row in table.rows(snapshot))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _insert(table: str, columns: int) -> str:
    return f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608 - a table of this program


def _sqlite_cell(value: Cell) -> Cell:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, int) and not -MAX_SQLITE_INTEGER <= value < MAX_SQLITE_INTEGER:
        return float(value)
    return value
