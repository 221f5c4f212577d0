"""Totals that were kept in a recording say what its frames say."""

import shutil
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from loadtop.analysis.totals.totals import RunResult
from loadtop.model.histogram import merge
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.recording import reader as reader_file
from loadtop.recording import state
from loadtop.recording.codec import decompress
from loadtop.recording.container import SessionMeta, checksum
from loadtop.recording.reader import Session, program, result_of
from loadtop.recording.recorder import Recorder
from loadtop.recording.state import signature
from loadtop.reports.ab import ab_report
from loadtop.reports.html import html
from loadtop.reports.tables import markdown
from tests.lab.keeping import SUFFIX, kept_frames
from tests.unit.recording.made import META, added_up, alter, moments, record, with_frame

LAB = sorted((Path(__file__).parents[2] / "fixtures" / "lab").glob(f"*{SUFFIX}"))


def keep(path: Path, snapshots: Sequence[Snapshot], meta: SessionMeta = META) -> None:
    """Record them with their totals, as a live test does."""
    totals = partial(added_up, snapshots, meta.url or None, meta.command_line)
    assert record(path, snapshots, meta, totals).problem == ""


def told(result: RunResult) -> tuple[Any, ...]:
    """All that a report or a comparison can say, to the bit."""
    ab = "" if result.last_load is None else ab_report(result)
    return result.as_data(), html(result), markdown(result), ab


def stored(session: Session) -> bool:
    return session.stored_totals(program()) is not None


@pytest.mark.parametrize("kept", LAB, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_real_recordings_are_reported_the_same_both_ways(
    kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tmp_path / "a.loadtop", list(snapshots(kept_frames(kept))))
    with Session(tmp_path / "a.loadtop") as session:
        assert stored(session)
        from_totals = told(result_of(session))
        monkeypatch.setattr(reader_file, "program", lambda: OTHER_PROGRAM)
        assert told(result_of(session)) == from_totals


OTHER_PROGRAM = "0.0.9 0badc0de"
FEW = 40
"""Frames of a recording that is read many times."""


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "a.loadtop"
    keep(path, moments(FEW))
    return path


@pytest.fixture(scope="module")
def said(original: Path) -> tuple[Any, ...]:
    with Session(original) as session:
        assert stored(session)
    return told(added_up(moments(FEW), META.url, META.command_line))


@pytest.fixture
def recording(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


def test_without_damage_they_are_taken(original: Path, said: tuple[Any, ...]) -> None:
    with Session(original) as session:
        assert told(result_of(session)) == said


def test_another_program_reads_the_frames(
    original: Path, said: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_file, "program", lambda: OTHER_PROGRAM)
    with Session(original) as session:
        assert session.stored_totals(reader_file.program()) is None
        assert told(result_of(session)) == said


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE totals",
        "DELETE FROM totals",
        "UPDATE totals SET data = x'00'",
        "UPDATE totals SET data = NULL",
        "UPDATE totals SET frame = frame + 1",
        "UPDATE totals SET frame = frame - 1",
        "UPDATE totals SET program = 7",
    ],
)
def test_without_totals_that_are_whole_the_frames_are_read(
    recording: Path, said: tuple[Any, ...], statement: str
) -> None:
    alter(recording, statement)
    with Session(recording) as session:
        assert not stored(session)
        assert result_of(session).as_data() == said[0], "of which reports are made"
        assert (session.count, session.damage) == (FEW, [])


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"figures": 1}', b"[" * 100_000])
def test_totals_that_are_none_are_left_aside(recording: Path, said: tuple[Any, ...], content: bytes) -> None:
    data = zstandard.compress(content)
    maker = f"{program()} {signature(program(), FEW, data)}"
    row = (data, maker, checksum(FEW, maker, data=data))
    alter(recording, "UPDATE totals SET data = ?, program = ?, crc = ?", *row)
    with Session(recording) as session:
        assert result_of(session).as_data() == said[0], "of which reports are made"


@pytest.mark.parametrize("end", ["", " ", f" {'0' * 32}"])
def test_totals_of_another_user_are_ignored(recording: Path, said: tuple[Any, ...], end: str) -> None:
    """All else of them is right: they would be taken as they are, and can say anything."""
    with closing(sqlite3.connect(recording)) as connection, connection:
        (data,) = connection.execute("SELECT data FROM totals").fetchone()
        maker = program() + end
        row = (maker, checksum(FEW, maker, data=data))
        connection.execute("UPDATE totals SET program = ?, crc = ?", row)
    with Session(recording) as session:
        assert not stored(session)
        assert result_of(session).as_data() == said[0]


def test_the_key_is_made_once_and_for_its_owner_alone() -> None:
    path = state.directory() / state.KEY
    path.unlink(missing_ok=True)
    state.own_key.cache_clear()
    first = signature("a", 1, b"")
    assert path.stat().st_mode & 0o777 == 0o600
    state.own_key.cache_clear()
    assert signature("a", 1, b"") == first
    path.write_bytes(b"")
    state.own_key.cache_clear()
    assert signature("a", 1, b"") != first, "where none is kept, one of the process"


@pytest.mark.parametrize("statement", ["DELETE FROM block WHERE first = 129", "UPDATE block SET crc = crc + 1"])
def test_damage_is_reported_by_a_report_as_well(tmp_path: Path, statement: str) -> None:
    path = tmp_path / "a.loadtop"
    keep(path, moments(130))  # in two blocks
    alter(path, statement)
    with Session(path) as session:
        assert not stored(session)
        told(result_of(session))
        assert session.damage or session.count < 130


def test_no_secret_reaches_them(tmp_path: Path) -> None:
    (snapshot,) = moments(1)
    keep(tmp_path / "a.loadtop", [with_frame(snapshot, marks=("restarted http://bob:Hu5h@web1/?token=Hu5h",))])
    with closing(sqlite3.connect(tmp_path / "a.loadtop")) as connection:
        (data,) = connection.execute("SELECT data FROM totals").fetchone()
    assert b"restarted http://***@web1/" in decompress(data, 1 << 20)
    assert b"Hu5h" not in decompress(data, 1 << 20)


def test_sums_of_more_than_64_bits_come_back(tmp_path: Path) -> None:
    made = moments(40)
    keep(tmp_path / "a.loadtop", made)
    with Session(tmp_path / "a.loadtop") as session:
        found = result_of(session).distributions["total"]
    parts = [
        each.load.latencies.total for each in made[2:] if each.load is not None and each.load.latencies is not None
    ]
    assert found == merge(parts)
    assert found.sum_squares_us2 > 1 << 64


def test_a_recording_that_was_cut_short_has_none(tmp_path: Path) -> None:
    made = moments(9)
    recorder = Recorder(tmp_path / "a.loadtop", meta=META)
    for snapshot in made:
        recorder.record(snapshot)
    recorder.close()
    with Session(tmp_path / "a.loadtop") as session:
        assert not stored(session)
        assert told(result_of(session)) == told(added_up(made, META.url, META.command_line))


def test_figures_that_cannot_be_added_up_are_recorded(tmp_path: Path) -> None:
    def overflow() -> RunResult:
        raise OverflowError("too much")

    recorder = Recorder(tmp_path / "a.loadtop", meta=META)
    for snapshot in moments(6):
        recorder.record(snapshot)
    recorder.close(overflow)
    assert recorder.problem == ""
    with Session(tmp_path / "a.loadtop") as session:
        assert len(list(session.frames())) == 6
        assert not stored(session)
