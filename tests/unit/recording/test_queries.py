"""The queries in docs/recordings.md work on an exported database."""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionMeta
from loadtop.reports.export.tables import TABLES, write_sqlite

MANUAL = (Path(__file__).parents[3] / "docs" / "recordings.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", MANUAL, re.DOTALL)


@pytest.fixture(scope="module")
def tables(
    made_moments: Callable[[int], list[Snapshot]], meta: SessionMeta, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("queries") / "tables.db"
    write_sqlite(made_moments(60), meta, path)
    return path


@pytest.mark.parametrize("query", QUERIES, ids=range(1, len(QUERIES) + 1))
def test_the_manual_has_an_answer(tables: Path, query: str) -> None:
    with closing(sqlite3.connect(tables)) as database:
        assert database.execute(query).fetchall()


def test_the_manual_names_every_table() -> None:
    assert len(QUERIES) == 3
    assert {table.name for table in TABLES} <= set(re.findall(r"`(\w+)`", MANUAL))
