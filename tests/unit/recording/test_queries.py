"""The queries in the manual can be asked of a recording."""

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from loadtop.pipeline.snapshot import Snapshot

MANUAL = Path(__file__).resolve().parents[3] / "docs" / "recordings.md"
QUERIES = re.findall(r"```sql\n(.*?)```", MANUAL.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def path(
    made_moments: Callable[[int], list[Snapshot]],
    record: Callable[[Path, Sequence[Snapshot]], None],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    path = tmp_path_factory.mktemp("queries") / "made.loadtop"
    record(path, made_moments(60))
    return path


def test_there_are_ten() -> None:
    assert len(QUERIES) == 10


@pytest.mark.parametrize("number", range(len(QUERIES)))
def test_each_has_an_answer(path: Path, number: int) -> None:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute(QUERIES[number]).fetchall()
    assert rows
    assert any(value is not None for value in rows[-1])


def test_every_view_is_in_the_manual(path: Path) -> None:
    text = MANUAL.read_text()
    with closing(sqlite3.connect(path)) as database:
        views = {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'view'")}
    assert {view for view in views - {"texts"} if f"`{view}`" not in text} == set()
