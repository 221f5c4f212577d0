"""The tables of a recording as CSV, JSON lines or an SQLite database."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict
from pathlib import Path
from typing import TextIO

from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionMeta
from loadtop.reports.export.tables import TABLES, Cell, Table

MAX_SQLITE_INTEGER = 1 << 63


def write_csv(snapshots: Iterable[Snapshot], folder: Path) -> list[str]:
    """Write a file for each table that has rows; return their names. Raises OSError.

    RFC 4180 with a line of names. A number is written so that it reads back as the same number, a text is in quotation
    marks, and what was not measured is empty without them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files: dict[str, TextIO] = {}
    with ExitStack() as stack:
        for table, row in _rows(snapshots):
            name = f"{table.name}.csv"
            if name not in files:
                # Names of processes may be bytes that are not UTF-8: they are written as they were.
                opened = (folder / name).open("w", encoding="utf-8", errors="surrogateescape", newline="")
                files[name] = stack.enter_context(opened)
                files[name].write(",".join(table.names) + "\r\n")
            files[name].write(csv_line(row))
    return list(files)


def csv_line(row: Sequence[Cell]) -> str:
    return ",".join(map(_csv_cell, row)) + "\r\n"


def _csv_cell(value: Cell) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
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


def _rows(snapshots: Iterable[Snapshot]) -> Iterator[tuple[Table, list[Cell]]]:
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
