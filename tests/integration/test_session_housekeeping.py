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

HOLD = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1])
database.execute("PRAGMA journal_mode = WAL")
database.execute("SELECT * FROM session").fetchall()
print()
input()
"""
DAY = 86400


def loadtop(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "loadtop", *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four recordings, of one, two, three and four days ago, and files that are none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = tmp_path / "loadtop"
    for days in range(1, 5):
        meta = SessionMeta(time.time() - days * DAY, (), f"http://web{days}/", "0.1.0", 1.0)
        Writer(folder / f"day{days}.loadtop", meta).close()
    (folder / "notes.loadtop").write_text("no recording at all")
    (folder / "other.db").write_text("nor this")
    return folder


@pytest.fixture
def held(state: Path) -> Iterator[str]:
    """One of them is open elsewhere."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(state / "day3.loadtop")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        yield "day3.loadtop"
        holder.kill()


def _names(state: Path) -> set[str]:
    return {path.name for path in state.iterdir()} - {"day3.loadtop-wal", "day3.loadtop-shm"}


def test_prune_takes_old_recordings_only(state: Path) -> None:
    before = _names(state)
    done = loadtop("sessions", "prune", "--older-than", "36h", "--keep", "2", "--dry-run")
    assert (done.returncode, done.stdout.count("would remove day")) == (0, 2), done.stderr
    assert _names(state) == before
    done = loadtop("sessions", "prune", "--older-than", "36h", "--keep", "2")
    assert (done.returncode, "\n2 recordings, " in done.stdout) == (0, True), done.stderr
    done = loadtop("sessions", "prune", "--older-than", "36h", "--keep", "1", "--dry-run")
    assert "\n1 recording, " in done.stdout
    assert _names(state) == before - {"day3.loadtop", "day4.loadtop"}
    loadtop("sessions", "prune", "--older-than", "1s")
    assert _names(state) == {"notes.loadtop", "other.db"}


def test_what_is_open_stays(state: Path, held: str) -> None:
    done = loadtop("sessions", "prune", "--older-than", "1s")
    assert (done.returncode, done.stdout.count("removed day")) == (4, 3)
    assert f"{held} stays" in done.stderr
    assert _names(state) == {held, "notes.loadtop", "other.db"}
    assert loadtop("sessions", "rename", held, "new").returncode == 4
    assert (state / held).exists()


def test_rename_keeps_what_is_in_it(state: Path) -> None:
    done = loadtop("sessions", "rename", "day1", "before the change")
    assert done.returncode == 0, done.stderr
    with Session(state / "before the change.loadtop") as session:
        assert session.meta.url == "http://web1/"
    assert not (state / "day1.loadtop").exists()
    for wrong in (["day2", "day3"], ["day2", "../out"], ["notes.loadtop", "x"], ["nothing", "x"]):
        done = loadtop("sessions", "rename", *wrong)
        assert (done.returncode, done.stderr.count("\n")) == (4, 1), done.stderr
    assert {"day2.loadtop", "day3.loadtop", "notes.loadtop"} <= _names(state)


def test_prune_wants_to_know_what(state: Path) -> None:
    before = _names(state)
    for words in ([], ["--older-than", "soon"], ["--keep", "0"], ["--keep", "1.5"]):
        done = loadtop("sessions", "prune", *words)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert _names(state) == before
