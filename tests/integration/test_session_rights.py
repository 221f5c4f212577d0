"""Recordings in places where one may read but not write."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import os, signal, sys
from pathlib import Path
from benchmarks.made_frames import made_frames
from loadtop.servers.registry import KINDS, VERDICTS, DEMANDS
from loadtop.diagnosis.diagnoser import Diagnoser
from loadtop.rates.measured import Measurer
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import SessionMeta
from loadtop.recording.reader import Session
from loadtop.recording.container import SessionError
from loadtop.recording.recorder import Recorder

path, task = Path(sys.argv[1]), sys.argv[2]
if task != "write" and os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
if task == "read":
    try:
        with Session(path) as session:
            print(len(list(session.frames())), session.damage)
    except SessionError as error:
        print(error)
else:
    measurer, diagnoser = Measurer(KINDS), Diagnoser(VERDICTS, DEMANDS)
    recorder = Recorder(path, meta=SessionMeta(1.8e9, ("loadtop",), "http://web1/", "0", 1.0))
    for frame, _ in zip(made_frames(1, 5), range(3)):
        measured = measurer.measure(frame)
        recorder.record(Snapshot(measured, diagnoser.diagnose(measured)))
    recorder.flush()
    print(recorder.problem, flush=True)
    if len(sys.argv) > 3:
        os.kill(os.getpid(), signal.SIGKILL)
    recorder.close()
"""


def run(path: Path, *task: str) -> str:
    """What the program says; it gives up the rights of root, but for the task ``write``."""
    command = [sys.executable, "-c", PROGRAM, str(path), *task]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, timeout=60).stdout.strip()


@pytest.fixture
def path() -> Iterator[Path]:
    """Where a recording can be, in a directory that everyone may look into."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder / "a.loadtop"
        folder.chmod(0o755)


def close_off(path: Path) -> None:
    """From now on everyone may read and no one write."""
    for each in path.parent.iterdir():
        each.chmod(0o444)
    path.parent.chmod(0o555)


def test_a_directory_that_cannot_be_written(path: Path) -> None:
    close_off(path)
    assert run(path, "record") == f"cannot record to {path}: Permission denied"
    assert list(path.parent.iterdir()) == []


def test_a_complete_recording_can_be_read_there(path: Path) -> None:
    assert run(path, "write") == ""
    close_off(path)
    assert run(path, "read") == "3 []"


def test_one_whose_journal_was_emptied_can_be_read_there(path: Path) -> None:
    assert run(path, "write", "and die") == ""
    assert run(path, "write") != ""  # it exists
    journal = path.with_name("a.loadtop-wal")
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert not journal.exists()
    close_off(path)
    assert run(path, "read") == "3 []"


def test_one_that_was_cut_short_comes_with_advice(path: Path) -> None:
    run(path, "write", "and die")
    path.with_name("a.loadtop-shm").unlink()
    close_off(path)
    wanted = f"{path}: copy it and a.loadtop-wal to a writable directory, then open the copy"
    assert run(path, "read") == wanted


def test_a_recording_of_another_user(path: Path) -> None:
    run(path, "write")
    path.chmod(0o000)
    assert run(path, "read") == f"{path}: not permitted to read it"
