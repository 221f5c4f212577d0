"""The views of a recording as CSV and JSONL: what ``sqlite3`` shows, to the bit."""

import json
import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from loadtop.recording.meta import SessionMeta
from loadtop.recording.reader import SessionError, connection_to

OWN = "texts"
"""The view that only serves the others."""


def _any_text(stored: bytes) -> str:
    return stored.decode("utf-8", "surrogateescape")


class Views:
    """The views of a recording, read one by one. Raises SessionError where there are none or they are damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connection_to(path)
        # Names of processes can be bytes that are no UTF-8; written with the same handler, they are the same bytes.
        self._connection.text_factory = _any_text
        query = "SELECT name FROM sqlite_schema WHERE type = 'view' AND name <> ? ORDER BY name"
        try:
            self.names: list[str] = [row[0] for row in self._connection.execute(query, (OWN,))]
        except sqlite3.Error as error:
            self.close()
            raise SessionError(f"{path}: its views are damaged ({error})") from None
        if not self.names:
            self.close()
            raise SessionError(f"{path}: it holds nothing yet, so there is nothing to export")

    def close(self) -> None:
        self._connection.close()

    def read(self, name: str) -> tuple[list[str], Iterator[Sequence[Any]]]:
        """The names of a view's columns, and its rows."""
        try:
            cursor = self._connection.execute(f'SELECT * FROM "{name}"')  # noqa: S608 - a name from the file's schema
        except sqlite3.Error as error:
            raise SessionError(f"{self._path}: the view {name} is damaged ({error})") from None
        return [column[0] for column in cursor.description], self._rows(name, cursor)

    def _rows(self, name: str, cursor: sqlite3.Cursor) -> Iterator[Sequence[Any]]:
        try:
            for row in cursor:
                yield tuple(map(_number, row)) if any(type(value) is bytes for value in row) else row
        except sqlite3.Error as error:
            raise SessionError(f"{self._path}: the view {name} is damaged ({error})") from None


def _number(value: Any) -> Any:
    """What SQLite has no number for is kept as its digits: beyond 64 bits, or a zero with a sign. NaN is no value."""
    if not isinstance(value, bytes):
        return value
    text = value.decode()
    if text.lstrip("-").isdigit():
        return int(text)
    number = float(text)
    return None if math.isnan(number) else number


def write_csv(path: Path, folder: Path) -> list[str]:
    """Write a file for each view that has rows; their names. Raises OSError and SessionError.

    RFC 4180 with a line of names. A number is written so that it reads back as the same number, a text is in quotation
    marks, and what was not measured is empty without them.
    """
    written: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    with closing(Views(path)) as views:
        for name in views.names:
            columns, rows = views.read(name)
            first = next(rows, None)
            if first is None:
                continue
            target = folder / f"{name}.csv"
            with target.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file:
                file.write(",".join(columns) + "\r\n")
                file.write(csv_line(first))
                file.writelines(map(csv_line, rows))
            written.append(target.name)
    return written


def csv_line(row: Sequence[Any]) -> str:
    """A row of CSV with its line end."""
    return ",".join(map(_cell, row)) + "\r\n"


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return '"' + value.replace('"', '""') + '"'
    return repr(value)


def jsonl(path: Path, meta: SessionMeta) -> Iterator[str]:
    """A line for the session and one for each row of each view, which is its ``view``. Raises SessionError."""
    session: dict[str, Any] = {
        "view": "session",
        "started": meta.started,
        "url": meta.url,
        "version": meta.version,
        "interval_s": meta.interval_s,
        "command_line": list(meta.command_line),
    }
    yield json.dumps(session) + "\n"
    with closing(Views(path)) as views:
        for name in views.names:
            columns, rows = views.read(name)
            for row in rows:
                pairs = zip(columns, row, strict=True)
                yield _object({"view": name, **dict(pairs)})


def _object(found: dict[str, Any]) -> str:
    try:
        return json.dumps(found, allow_nan=False) + "\n"
    except ValueError:
        # JSON has no infinity; its readers take a number that is too great for one.
        infinite = {k: v for k, v in found.items() if isinstance(v, float) and math.isinf(v)}
        text = json.dumps({**found, **dict.fromkeys(infinite)})
        for key, value in infinite.items():
            name = json.dumps(key)
            text = text.replace(f"{name}: null", f"{name}: {'1e999' if value > 0 else '-1e999'}", 1)
        return text + "\n"
