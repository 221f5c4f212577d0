"""Whether everything in a recording is as it was written: every check sum right, no row missing."""

import sqlite3
from collections import Counter
from contextlib import suppress

from loadtop.recording.definitions import DamagedError, checked
from loadtop.recording.schema import BLOCK, DEFINITIONS, FRAME_TABLES, HOSTS, KINDS, PARTS, THINGS

_STRETCH = HOSTS * THINGS


def is_sound(connection: sqlite3.Connection) -> bool:
    """Read every row once. A recording that is being written is judged as it is at one moment."""
    connection.execute("BEGIN")
    try:
        return _is_sound(connection)
    except (sqlite3.Error, DamagedError, UnicodeDecodeError):
        return False
    finally:
        # SQLite's answer to the end of a reading, too, may be that the file is damaged.
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _is_sound(connection: sqlite3.Connection) -> bool:
    there = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    for table in sorted(there & DEFINITIONS.keys()):
        _count(connection, table, 1)
    lines: Counter[int] = Counter()
    for part in PARTS:
        if part.table in there:
            lines.update(_count(connection, part.table, _STRETCH))
    others: Counter[int] = Counter()
    for table in sorted(FRAME_TABLES.keys() - {"frame"}):
        others.update(_count(connection, table, KINDS if table == "latency_histogram" else 1))
    newest: dict[int, int] = {}
    for expected, row in enumerate(connection.execute("SELECT * FROM frame ORDER BY id"), start=1):
        frame, *_, its_others, its_lines = checked(row)
        if frame != expected or its_others != others[frame]:
            return False
        newest[(frame - 1) // BLOCK] = its_lines
    return newest == {block: lines[block] for block in newest} and lines.keys() <= newest.keys()


def _count(connection: sqlite3.Connection, table: str, stretch: int) -> Counter[int]:
    """How many rows there are by their first column divided by ``stretch``. Raises DamagedError."""
    rows = connection.execute(f"SELECT * FROM {table}")  # noqa: S608 - the name comes from the schema
    return Counter(checked(row)[0] // stretch for row in rows)
