"""``loadtop sessions``: what is renamed and removed, and what never is."""

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from loadtop.recording.container import SessionMeta
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Writer
from tests.loads.program import loadtop

HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode = WAL")
database.execute("SELECT * FROM session").fetchall()
print()
input()
"""
DAY = 86400


@pytest.fixture
def folder(state: Path) -> Path:
    """Four recordings, of one, two, three and four days ago, and files that are none."""
    for days in range(1, 5):
        meta = SessionMeta(time.time() - days * DAY, (), f"http://web{days}/", "0.1.0", 1.0)
        Writer(state / f"day{days}.loadtop", meta).close()
    (state / "notes.loadtop").write_text("no recording at all")
    (state / "other.db").write_text("nor this")
    return state


@pytest.fixture
def held(folder: Path) -> Iterator[str]:
    """One of them is open elsewhere."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder / "day3.loadtop")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield "day3.loadtop"
        holder.kill()


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()} - {"day3.loadtop-wal", "day3.loadtop-shm"}


def test_prune_takes_old_recordings_only(folder: Path) -> None:
    before = _names(folder)
    done = loadtop("sessions", "prune", "--older-than", "36h", "--keep", "2", "--dry-run")
    assert (done.returncode, done.stdout.count("would remove day")) == (0, 2), done.stderr
    assert _names(folder) == before
    done = loadtop("sessions", "prune", "--older-than", "36h", "--keep", "2")
    assert (done.returncode, "\n2 recordings, " in done.stdout) == (0, True), done.stderr
    done = loadtop("sessions", "prune", "--older-than", "36h", "--keep", "1", "--dry-run")
    assert "\n1 recording, " in done.stdout
    assert _names(folder) == before - {"day3.loadtop", "day4.loadtop"}
    loadtop("sessions", "prune", "--older-than", "1s")
    assert _names(folder) == {"notes.loadtop", "other.db"}


def test_what_is_open_stays(folder: Path, held: str) -> None:
    done = loadtop("sessions", "prune", "--older-than", "1s")
    assert (done.returncode, done.stdout.count("removed day")) == (4, 3)
    assert f"{held} was not removed" in done.stderr
    assert _names(folder) == {held, "notes.loadtop", "other.db"}
    assert loadtop("sessions", "rename", held, "new").returncode == 4
    assert (folder / held).exists()


def test_rename_keeps_the_contents(folder: Path) -> None:
    done = loadtop("sessions", "rename", "day1", "before the change")
    assert done.returncode == 0, done.stderr
    with Session(folder / "before the change.loadtop") as session:
        assert session.meta.url == "http://web1/"
    assert not (folder / "day1.loadtop").exists()
    for wrong in (["day2", "day3"], ["day2", "../out"], ["notes.loadtop", "x"], ["nothing", "x"]):
        done = loadtop("sessions", "rename", *wrong)
        assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert {"day2.loadtop", "day3.loadtop", "notes.loadtop"} <= _names(folder)


def test_prune_needs_a_criterion(folder: Path) -> None:
    before = _names(folder)
    for words in ([], ["--older-than", "soon"], ["--keep", "0"], ["--keep", "1.5"]):
        done = loadtop("sessions", "prune", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert _names(folder) == before
