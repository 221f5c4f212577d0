"""Exports agree with the views of the recording, to the bit."""

import csv
import io
import json
import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from loadtop.model import HostSample
from loadtop.pipeline.snapshot import Snapshot
from loadtop.rates.records import HostRates
from loadtop.recording.meta import SessionMeta
from loadtop.reports.export.rows import csv_line, jsonl, write_csv
from loadtop.reports.export.sar import sar

SAVED = 40


@pytest.fixture(scope="module")
def snapshots(made_moments: Callable[[int], list[Snapshot]]) -> list[Snapshot]:
    return made_moments(SAVED)


@pytest.fixture(scope="module")
def path(
    snapshots: list[Snapshot],
    record: Callable[[Path, Sequence[Snapshot]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    path = tmp_path_factory.mktemp("exports") / "made.loadtop"
    record(path, snapshots)
    return path


@pytest.fixture(scope="module")
def views(path: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every view, as ``sqlite3`` shows it."""
    with closing(sqlite3.connect(path)) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")]
        return {
            name: [
                tuple(int(value) if isinstance(value, bytes) else value for value in row)  # more than 64 bits
                for row in database.execute(f"SELECT * FROM {name}")  # noqa: S608 - names of our own
            ]
            for name in names
            if name != "texts"
        }


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


def test_csv_is_the_views(path: Path, views: dict[str, list[tuple[Any, ...]]], tmp_path: Path) -> None:
    written = write_csv(path, tmp_path)
    assert sorted(written) == sorted(f"{name}.csv" for name, rows in views.items() if rows)
    for name in written:
        text = (tmp_path / name).read_bytes().decode()
        assert _read_csv(text) == views[name.removesuffix(".csv")], name
        assert len(list(csv.reader(io.StringIO(text)))) == len(views[name.removesuffix(".csv")]) + 1


def test_jsonl_is_the_views(path: Path, views: dict[str, list[tuple[Any, ...]]], meta: SessionMeta) -> None:
    first, *rows = [json.loads(line) for line in jsonl(path, meta)]
    assert first["command_line"] == ["-c", "8"]
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row.pop("view"), []).append(tuple(row.values()))
    assert found == {name: rows for name, rows in views.items() if rows}


def test_hostile_cells_stay_in_their_cell() -> None:
    row = ('a,"b"', "line\nbreak", None, "", 1.5e300, -7)
    assert list(csv.reader(io.StringIO(csv_line(row), newline=""))) == [
        ['a,"b"', "line\nbreak", "", "", "1.5e+300", "-7"]
    ]


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
    assert {len(cells) for cells in blocks["IFACE"]} == {10}
    assert [cells[6:9] for cells in blocks["IFACE"][1:]] == [["-", "-", "-"]] * (len(blocks["IFACE"]) - 1)
    average = next(cells for cells in blocks["CPU"] if cells[:2] == ["Average:", "all"])
    assert average[7] == f"{sum(shares.idle for shares in cpu) / len(cpu):.2f}"


def test_sar_counts_pages_not_kilobytes(snapshots: list[Snapshot]) -> None:
    blocks = _blocks(list(sar(snapshots, "web1")))
    known: list[tuple[HostSample, HostRates]] = []
    for snapshot in snapshots:
        host = snapshot.measured.host("web1")
        if host is not None and host.sample is not None and host.rates is not None and host.rates.paging is not None:
            known.append((host.sample, host.rates))
    paging = known[0][1].paging
    assert paging is not None
    assert paging.swap_in_kb is not None
    assert blocks["pswpin/s"][1][1] == f"{paging.swap_in_kb / known[0][0].facts.page_kb:.2f}"


def test_sar_shows_every_machine_the_target_first(snapshots: list[Snapshot]) -> None:
    heads = [line for line in sar(snapshots) if "CPU)" in line]
    assert len(heads) == 2
    assert "(web1)" in heads[0]
    assert list(sar(snapshots, "nobody")) == []
