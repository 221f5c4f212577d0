"""A test continues whatever becomes of its recording, and the recording continues when it can."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from loadtop.diagnosis.finding import Diagnosis, Finding
from loadtop.i18n import Message, verbatim
from loadtop.model import LoadState
from loadtop.pipeline.snapshot import Pipeline, Snapshot
from loadtop.recording import recorder as recording
from loadtop.recording.container import SessionMeta
from loadtop.recording.library import recordings
from loadtop.recording.reader import Session, result_of
from loadtop.recording.recorder import Recorder, Writer
from tests.unit.recording.made import META, moments, record, with_frame


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def numbers(path: Path) -> list[int]:
    with Session(path) as session:
        found = [frame.number for frame in session.frames()]
        assert session.damage == []
    return found


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Recorder]:
    recorder = Recorder(tmp_path / "state" / "loadtop" / "a.loadtop", meta=META)
    yield recorder
    recorder.close()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Callable[[Exception | None], None]:
    """A function: from now on every transaction ends in this error (or, with None, as it should)."""
    problem: list[Exception] = []
    write = Writer.write

    def fail(self: Writer) -> None:
        if problem:
            raise problem[0]
        write(self)

    monkeypatch.setattr(Writer, "write", fail)

    def hold(error: Exception | None) -> None:
        problem[:] = [] if error is None else [error]

    return hold


def test_nothing_but_the_recording_is_left_and_it_is_private(opened: Recorder) -> None:
    for snapshot in moments(3):
        opened.record(snapshot)
    opened.close()
    opened.close()
    assert opened.problem == ""
    assert [path.name for path in opened.path.parent.iterdir()] == ["a.loadtop"]
    assert numbers(opened.path) == [1, 2, 3]
    assert (mode(opened.path), mode(opened.path.parent)) == (0o600, 0o700)


def test_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        recorder = Recorder(tmp_path / "deep" / "a.loadtop", meta=META)
        recorder.record(moments(1)[0])
        with Session(recorder.path):  # keeps the journal beside the file
            recorder.close()
            files = list((tmp_path / "deep").iterdir())
    finally:
        os.umask(before)
    assert {path.name for path in files} >= {"a.loadtop", "a.loadtop-wal", "a.loadtop-shm"}
    assert {mode(path) for path in files} == {0o600}
    assert mode(tmp_path / "deep") == 0o700


def test_a_file_that_is_there_is_never_overwritten_unless_it_is_empty(tmp_path: Path) -> None:
    path, empty = tmp_path / "a.loadtop", tmp_path / "made-by-mktemp"
    path.write_text("mine")
    problem = record(path, moments(1)).problem
    assert "exists already" in problem
    assert str(path) in problem
    assert path.read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["a.loadtop"]
    empty.touch()
    assert record(empty, moments(1)).problem == ""
    assert (numbers(empty), mode(empty)) == ([1], 0o600)


def test_the_journal_of_a_recording_that_is_gone_is_not_taken_over(tmp_path: Path) -> None:
    path, killed = tmp_path / "a.loadtop", tmp_path / "killed"
    recorder = Recorder(path, meta=META)
    for snapshot in moments(5):
        recorder.record(snapshot)
    recorder.flush()
    killed.write_bytes(path.with_name("a.loadtop-wal").read_bytes())
    recorder.close()
    path.unlink()
    killed.rename(path.with_name("a.loadtop-wal"))
    assert record(path, moments(1)).problem == ""
    assert numbers(path) == [1]


@pytest.mark.parametrize("links", [True, False], ids=["links", "a file system without links"])
def test_two_writers_to_one_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    def refuse(_: object, __: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    first, second = (Recorder(tmp_path / "a.loadtop", meta=META) for _ in range(2))
    for snapshot in moments(2):
        first.record(snapshot)
        second.record(snapshot)
    first.close()
    second.close()
    assert first.problem == ""
    assert "exists already" in second.problem
    assert numbers(first.path) == [1, 2]


def test_a_file_where_a_directory_should_be(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("")
    recorder = record(tmp_path / "state" / "a.loadtop", moments(1))
    assert recorder.problem == f"cannot record to {recorder.path}: File exists"


def test_a_full_disk_loses_nothing_once_there_is_room(
    opened: Recorder, held: Callable[[Exception | None], None]
) -> None:
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorname = "SQLITE_FULL"
    for number, snapshot in enumerate(moments(300)):
        if number in (10, 120):  # the second time over the border of a block
            held(full)
        if number in (30, 270):
            opened.flush()
            assert "the disk is full; " in opened.problem
            assert opened.problem.endswith("intervals are not recorded yet")
            held(None)
        opened.record(snapshot)
        if number % 50 == 0:
            opened.flush()
    opened.close()
    assert opened.problem == ""
    with Session(opened.path) as session:
        assert list(session.frames()) == [snapshot.measured.frame for snapshot in moments(300)]


def test_a_disk_that_stays_full_ends_the_recording(
    opened: Recorder, held: Callable[[Exception | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "MOST_UNWRITTEN", 20)
    first, *others = moments(30)
    opened.record(first)
    opened.flush()
    held(sqlite3.OperationalError("disk I/O error"))
    for snapshot in others:
        opened.record(snapshot)
    opened.close()
    assert opened.problem.endswith("disk I/O error; 20 intervals are not recorded, the recording has ended")
    assert numbers(opened.path) == [1]


def test_a_file_that_is_removed_ends_the_recording(opened: Recorder) -> None:
    first, second, third = moments(3)
    opened.record(first)
    opened.flush()
    opened.path.unlink()
    opened.record(second)
    opened.flush()
    opened.record(third)
    opened.close()
    assert opened.problem == f"{opened.path} was removed or replaced: the recording has ended, the test continues"
    assert not opened.path.exists()


def test_a_disk_that_does_not_answer_delays_nothing(opened: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = threading.Event()
    write = Writer.write

    def hang(self: Writer) -> None:
        answers.wait()
        write(self)

    monkeypatch.setattr(Writer, "write", hang)
    monkeypatch.setattr(recording, "CLOSING_S", 0.05)
    snapshots = moments(recording.QUEUE + 30)
    for snapshot in snapshots:
        opened.record(snapshot)
    assert "does not respond" in opened.problem
    (thread,) = (each for each in threading.enumerate() if each.name == "recorder")
    answers.set()
    monkeypatch.setattr(recording, "CLOSING_S", 10.0)
    opened.close()
    thread.join()
    kept = numbers(opened.path)
    assert kept == list(range(1, len(kept) + 1))
    assert recording.QUEUE <= len(kept) < len(snapshots)
    assert opened.problem == f"{len(snapshots) - len(kept)} intervals are missing in {opened.path}"


def test_no_secret_reaches_the_file(tmp_path: Path) -> None:
    meta = SessionMeta(1.0, ("-kA", "bob:Hu5h", "http://bob:Hu5h@web1/"), "http://bob:Hu5h@web1/", "0", 1.0)
    frame = moments(1)[0].measured.frame
    assert frame.load is not None
    load = replace(frame.load, message=verbatim("GET http://bob:Hu5h@web1/?token=Hu5h"))
    snapshot = Pipeline().snapshot(replace(frame, load=load, marks=("password=Hu5h",)))
    path = record(tmp_path / "a.loadtop", [snapshot], meta).path
    assert b"Hu5h" not in path.read_bytes()
    with Session(path) as session:
        (kept,) = session.frames()
        assert "Hu5h" not in repr(kept)
        assert "***" in repr(kept)
        assert kept.marks == ("password=***",)
        assert session.meta.command_line == ("-kA", "***", "http://***@web1/")
        assert session.meta.url == "http://***@web1/"


def test_a_mistake_of_this_program_is_reported_and_ends_no_test(
    opened: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def take(_: Writer, __: Snapshot) -> None:
        raise ValueError("no such thing")

    opened.record(moments(1)[0])
    opened.flush()
    monkeypatch.setattr(Writer, "take", take)
    for snapshot in moments(3):
        opened.record(snapshot)
    opened.close()
    assert "ended: ValueError('no such thing')" in opened.problem
    assert numbers(opened.path) == [1]


def test_the_list_of_recordings(tmp_path: Path) -> None:
    for name in ("b.loadtop", "a.loadtop"):
        record(tmp_path / name, moments(4))
    (tmp_path / "c.loadtop").write_text("something else entirely, longer than a header would be" * 20)
    (tmp_path / "notes.txt").touch()
    first, second, broken = recordings(tmp_path)
    (limit,) = {str(snapshot.diagnosis.verdict.bottleneck) for snapshot in moments(4)[2:]}  # after the warm-up
    assert [each.path.name for each in (first, second, broken)] == ["a.loadtop", "b.loadtop", "c.loadtop"]
    assert (first.started, first.what, first.verdict, first.problem) == (META.started, META.url, limit, "")
    assert first.duration_s == moments(4)[-1].at
    assert broken.problem == f"{broken.path}: not a recording of loadtop"
    assert list(recordings(tmp_path / "missing")) == []


def test_the_list_shows_the_limit_under_load(tmp_path: Path) -> None:
    """The cockpit may stay open, and the machines calm, for long after the load."""

    def shown(snapshot: Snapshot, number: int) -> Snapshot:
        state = LoadState.WARMUP if number < 25 else LoadState.RUNNING if number < 65 else LoadState.DONE
        name = "cpu" if state is LoadState.RUNNING else "errors" if number == 65 else "none"
        load = None if snapshot.load is None else replace(snapshot.load, state=state)
        found = Finding(name, None, 0.0, 1.0, 1.0, (), Message("Advice."))
        return replace(with_frame(snapshot, load=load), diagnosis=Diagnosis(found, ()))

    record(tmp_path / "a.loadtop", [shown(snapshot, number) for number, snapshot in enumerate(moments(110))])
    assert [each.verdict for each in recordings(tmp_path)] == ["cpu"]
    with Session(tmp_path / "a.loadtop") as session:
        last_loaded = [each.bottleneck for each in session.verdicts() if each.loaded][-1]
    assert last_loaded == "errors", "the interval in which the load ended"


@pytest.mark.parametrize("step", [1 << 63, -(1 << 70), 1 << 200])
def test_a_number_beyond_all_measure_ends_no_recording(opened: Recorder, step: int) -> None:
    for each in moments(12):
        load = each.measured.frame.load
        load = None if load is None else replace(load, state=LoadState.RUNNING, step=step)
        opened.record(with_frame(each, load=load))
    opened.close()
    assert opened.problem == ""
    assert numbers(opened.path) == [each.measured.frame.number for each in moments(12)]
    with Session(opened.path) as session:
        series = result_of(session).series
    assert set(series.steps) <= {0, (1 << 63) - 1, 1 - (1 << 63)}
    assert set(series.loads) <= set(series.steps)
