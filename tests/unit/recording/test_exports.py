"""Exports hold what was measured and computed, to the bit."""

import csv
import io
import json
import math
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import astuple

from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.metrics import LOAD_METRICS
from loadtop.reports.export.sar import sar
from loadtop.reports.export.tables import TABLES, csv_line, json_lines, write_csv, write_sqlite
from loadtop.servers.registry import HOST_METRICS
from tests.unit.known import known
from tests.unit.recording.made import META, moments, with_frame

SAVED = 40
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def snapshots() -> list[Snapshot]:
    return moments(SAVED)


@pytest.fixture(scope="module")
def rows(snapshots: list[Snapshot]) -> Rows:
    """The rows of every table that has some."""
    found = {table.name: [tuple(row) for each in snapshots for row in table.rows(each)] for table in TABLES}
    return {name: rows for name, rows in found.items() if rows}


def of(name: str, column: str, rows: Rows) -> list[Any]:
    """One column of a table."""
    table = next(table for table in TABLES if table.name == name)
    return [row[table.names.index(column)] for row in rows[name]]


def test_counters_stand_as_measured_and_rates_as_computed(snapshots: list[Snapshot], rows: Rows) -> None:
    hosts = [host for snapshot in snapshots for host in snapshot.measured.hosts]
    fresh = [(host, host.sample) for host in hosts if host.state.fresh and host.sample is not None]
    disks = [disk for _, sample in fresh for disk in sample.disks or ()]
    assert of("disk", "reads", rows) == [disk.reads for disk in disks]
    assert of("host", "host", rows) == [host.name for host in hosts]
    for metric in HOST_METRICS:
        found = of("host", metric.name.replace(".", "_"), rows)
        read = [metric.read(host) for host in hosts]
        assert [cell for cell, value in zip(found, read, strict=True) if value is not None] == [
            value for value in read if value is not None
        ]
    for figure in LOAD_METRICS:
        values = [figure.read(snapshot.measured) for snapshot in snapshots if snapshot.load is not None]
        assert of("load", figure.name, rows) == values
    util = [rates.util for host, _ in fresh if host.rates is not None for rates in host.rates.disks or ()]
    assert [each for each in of("disk", "util", rows) if each is not None] == [
        each for each in util if each is not None
    ]
    assert len(of("process", "cpu_pct", rows)) == sum(len(sample.processes or ()) for _, sample in fresh)
    assert any(each is not None for each in of("apache", "busy", rows))
    assert of("apache", "closing", rows)
    (columns,) = (table.names for table in TABLES if table.name == "host")
    assert {"paging_oom_kills_rate", "tcp_active_opens_rate", "cgroup_memory_failures_rate"} <= set(columns)


def test_the_parts_of_the_breakdown_add_up_to_the_mean(snapshots: list[Snapshot], rows: Rows) -> None:
    found = {each.measured.frame.number: each.breakdown for each in snapshots if each.breakdown is not None}
    shares = [(number, *astuple(share)) for number, each in found.items() for share in each.shares or ()]
    exported = [(number, *cells) for number, _, *cells in rows["breakdown"]]
    assert shares
    assert [row for row in exported if row[1] != "unexplained"] == shares
    for number, each in found.items():
        parts = [ms for row, _, _, _, ms, *_ in exported if row == number and ms is not None]
        assert sum(parts) == pytest.approx(0.0 if each.shares is None else each.mean_ms)


def test_every_kind_of_server_has_a_table(rows: Rows) -> None:
    assert {"apache", "fpm", "haproxy"} <= rows.keys()
    for table in TABLES:
        assert len(set(table.names)) == len(table.names)


def test_sqlite_is_the_tables(snapshots: list[Snapshot], rows: Rows, tmp_path: Path) -> None:
    path = tmp_path / "tables.db"
    write_sqlite(snapshots, META, path)
    assert path.stat().st_mode & 0o777 == 0o600
    with closing(sqlite3.connect(path)) as database:
        for name, found in rows.items():
            assert database.execute(f"SELECT * FROM {name}").fetchall() == found  # noqa: S608 - names of our own
        assert database.execute("SELECT url, interval_s FROM session").fetchall() == [(META.url, META.interval_s)]
    with pytest.raises(FileExistsError):
        write_sqlite(snapshots, META, path)


def test_what_sqlite_cannot_hold_is_written_as_near_as_it_can(tmp_path: Path, snapshots: list[Snapshot]) -> None:
    odd = with_frame(snapshots[0], number=1 << 70, marks=("\udcff",), at=math.inf)
    write_sqlite([odd], META, tmp_path / "a.db")
    with closing(sqlite3.connect(tmp_path / "a.db")) as database:
        assert database.execute("SELECT * FROM mark").fetchall() == [(float(1 << 70), math.inf, "\\udcff")]


def _read_csv(text: str) -> list[tuple[Any, ...]]:
    """The rows with their types: what is in quotation marks is a text, what is empty was not measured."""
    rows: list[tuple[Any, ...]] = []
    for line in re.split(r"\r\n", text)[1:-1]:
        cells = re.findall(r'(?:^|,)("(?:[^"]|"")*"|[^",]*)', line)
        rows.append(tuple(_value(cell) for cell in cells))
    return rows


def _value(cell: str) -> Any:
    if cell.startswith('"'):
        return cell[1:-1].replace('""', '"')
    if not cell:
        return None
    return float(cell) if re.search(r"[.en]", cell) else int(cell)


def test_csv_is_the_tables(snapshots: list[Snapshot], rows: Rows, tmp_path: Path) -> None:
    assert sorted(write_csv(snapshots, tmp_path)) == sorted(f"{name}.csv" for name in rows)
    for name, found in rows.items():
        text = (tmp_path / f"{name}.csv").read_bytes().decode()
        assert _read_csv(text) == found, name
        assert len(list(csv.reader(io.StringIO(text)))) == len(found) + 1


def test_jsonl_is_the_tables(snapshots: list[Snapshot], rows: Rows) -> None:
    first, *lines = [json.loads(line) for line in json_lines(snapshots, META)]
    assert first["command_line"] == ["-c", "8"]
    found: Rows = {}
    for line in lines:
        found.setdefault(line.pop("table"), []).append(tuple(line.values()))
    assert found == rows


def test_hostile_cells_stay_in_their_cell() -> None:
    row = ('a,"b"', "line\nbreak", None, "", 1.5e300, -7)
    assert list(csv.reader(io.StringIO(csv_line(row), newline=""))) == [
        ['a,"b"', "line\nbreak", "", "", "1.5e+300", "-7"]
    ]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@a", "\t=1", "\r=1", "\n=1", "\uff1d1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert csv_line((text, "a=1", -1)) == f'"\'{text}","a=1",-1\r\n'


def _blocks(lines: list[str]) -> dict[str, list[list[str]]]:
    """Sar's tables by the first column of their own."""
    blocks: dict[str, list[list[str]]] = {}
    name = ""
    for i, line in enumerate(lines):
        if i and not lines[i - 1]:
            name = line.split()[1]
        if line and not line.startswith("Linux"):
            blocks.setdefault(name, []).append(line.split())
    return blocks


def test_sar_has_the_rates(snapshots: list[Snapshot]) -> None:
    blocks = _blocks(list(sar(snapshots, "web1")))
    assert list(blocks) == ["CPU", "pswpin/s", "kbswpfree", "runq-sz", "IFACE"]
    seen = [
        host for snapshot in snapshots if (host := snapshot.measured.host("web1")) and host.state.fresh and host.rates
    ]
    lines = [cells for cells in blocks["CPU"][1:] if cells[1] == "all" and cells[0] != "Average:"]
    cpu = [host.rates.cpu for host in seen if host.rates is not None and host.rates.cpu is not None]
    assert [cells[7] for cells in lines] == [f"{shares.idle:.2f}" for shares in cpu]
    assert blocks["kbswpfree"][1][1:] == ["1999000", "1000", "0.05", "4", "0.40"]
    assert {len(cells) for cells in blocks["IFACE"]} == {10}
    assert [cells[6:9] for cells in blocks["IFACE"][1:]] == [["-", "-", "-"]] * (len(blocks["IFACE"]) - 1)
    average = next(cells for cells in blocks["CPU"] if cells[:2] == ["Average:", "all"])
    assert average[7] == f"{sum(shares.idle for shares in cpu) / len(cpu):.2f}"


def test_sar_counts_pages_not_kilobytes(snapshots: list[Snapshot]) -> None:
    hosts = [host for snapshot in snapshots if (host := snapshot.measured.host("web1")) and host.sample]
    first = next(host for host in hosts if host.rates is not None and host.rates.paging is not None)
    swapped_in, page_kb = known(known(known(first.rates).paging).swap_in_kb), known(first.sample).facts.page_kb
    assert _blocks(list(sar(snapshots, "web1")))["pswpin/s"][1][1] == f"{swapped_in / page_kb:.2f}"


def test_sar_shows_every_machine_the_target_first(snapshots: list[Snapshot]) -> None:
    heads = [line for line in sar(snapshots) if "CPU)" in line]
    assert len(heads) == 2
    assert "(web1)" in heads[0]
    assert list(sar(snapshots, "nobody")) == []
