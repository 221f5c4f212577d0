"""The one connection that writes to a recording."""

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.definitions import Numbering, Row
from loadtop.recording.digest import EVERY, Digest
from loadtop.recording.file import connect
from loadtop.recording.frame_writing import FrameWriter
from loadtop.recording.graph import UnknownClassError
from loadtop.recording.schema import HOSTS, THINGS, TWO_KEYS

STRETCH = HOSTS * THINGS
"""How far the ids of one block reach."""


class Writer:
    """Writes moments to an empty recording, each in a transaction of its own.

    What could not be written is kept, and written with the next moment.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._connection = connect(path)
        self._identity = _identity(path)
        self._numbering = Numbering()
        self._frames = FrameWriter(self._numbering)
        self._digest: Digest | None = None
        self._pending: dict[tuple[str, Row], Row] = {}
        self._replaced: list[tuple[str, int]] = []
        self._written = 0
        self._number = 0

    @property
    def waiting(self) -> int:
        """Moments that are not in the file."""
        return self._number - self._written

    def add_views(self) -> None:
        """Add what makes the file fit to be queried. Raises sqlite3.Error.

        It takes some hundredths of a second, so it is not done where somebody waits for the file.
        """
        from loadtop.recording.views import views

        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in views():
                self._connection.execute(statement)
            self._connection.execute("COMMIT")
        finally:
            self._roll_back()

    def take(self, snapshot: Snapshot) -> None:
        """Make rows of the moment; they are written with the next :meth:`write`."""
        self._number += 1
        done = self._frames.begin(self._number)
        if done:
            # Rows that grew leave gaps in their pages; written anew and in order, they need less room.
            self._replaced += sorted({(table, row[0] // STRETCH) for table, row in done})
            self._pending.update({(table, row[:1]): row for table, row in done})
        for table, row in self._frames.write(self._number, snapshot):
            self._pending[table, row[: 2 if table in TWO_KEYS else 1]] = row
        self._sum_up(snapshot)
        if self._number % EVERY == 0:
            self._add_digest()

    def write(self) -> None:
        """Write what waits, all of it or nothing. Raises sqlite3.Error, and FileNotFoundError when the file is gone."""
        if _identity(self._path) != self._identity:
            raise FileNotFoundError(str(self._path))
        run = self._connection.execute
        tables: dict[str, list[Row]] = {}
        for table, row in self._numbering.unwritten():
            tables.setdefault(table, []).append(row)
        for (table, _), row in self._pending.items():
            tables.setdefault(table, []).append(row)
        try:
            run("BEGIN IMMEDIATE")
            for table, stretch in self._replaced:
                bounds = stretch * STRETCH, stretch * STRETCH + STRETCH - 1
                run(f"DELETE FROM {table} WHERE id BETWEEN ? AND ?", bounds)  # noqa: S608 - the name is the schema's
            for table, rows in tables.items():
                self._connection.executemany(_insert(table, len(rows[0])), rows)
            run("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            # Moving the journal into the file may make room for the next attempt.
            with suppress(sqlite3.Error):
                run("PRAGMA wal_checkpoint(TRUNCATE)")
            raise
        self._written = self._number
        self._pending = {}
        self._replaced = []
        self._numbering.written()

    def close(self) -> None:
        """Let go. The file is made whole in itself (no -wal beside it) where nobody else has it open."""
        if self._written == self._number and self._number % EVERY:
            self._add_digest()
            # A report without it reads the frames.
            with suppress(OSError, sqlite3.Error):
                self.write()
        # With a reader the journal stays in use; the file is complete all the same.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def _sum_up(self, snapshot: Snapshot) -> None:
        if self._digest is None:
            return
        try:
            self._digest.add(snapshot.measured.frame)
        except (ArithmeticError, ValueError):
            # Figures beyond all measure, with which nothing can be computed: they are recorded all the same.
            self._digest = None

    def _add_digest(self) -> None:
        if self._digest is None:
            return
        # A recording without one is only slower to report.
        with suppress(UnknownClassError):
            row = self._digest.row()
            self._pending["digest", row[:1]] = row

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            with suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")


def _insert(table: str, columns: int) -> str:
    marks = ", ".join("?" * columns)
    return f"INSERT OR REPLACE INTO {table} VALUES ({marks})"  # noqa: S608 - the name comes from the schema


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - called for every interval
    return status.st_dev, status.st_ino
