"""The queries in docs/recordings.md work on an exported database."""

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from loadtop.reports.export.tables import TABLES, write_sqlite
from tests.unit.recording.made import META, moments

MANUAL = (Path(__file__).parents[3] / "docs" / "recordings.md").read_text()
QUERIES = re.findall(r"```sql\n(.*?)```", MANUAL, re.DOTALL)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queries") / "tables.db"
    write_sqlite(moments(60), META, path)
    return path


@pytest.mark.parametrize("query", QUERIES, ids=range(1, len(QUERIES) + 1))
def test_the_manual_has_an_answer(tables: Path, query: str) -> None:
    with closing(sqlite3.connect(tables)) as database:
        assert database.execute(query).fetchall()


def test_the_manual_names_every_table() -> None:
    assert len(QUERIES) == 3
    assert {table.name for table in TABLES} <= set(re.findall(r"`(\w+)`", MANUAL))
