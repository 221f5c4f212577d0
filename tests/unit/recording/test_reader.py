"""Reading back: jumps, files that are still written, files of other versions, and files that are no good."""

import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

import pytest

from loadtop.model import Frame, HostState
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording import block_writing, schema
from loadtop.recording.definitions import checksum, summed
from loadtop.recording.meta import SessionMeta
from loadtop.recording.reader import Session, SessionError
from loadtop.recording.recorder import Recorder
from loadtop.recording.schema import TABLES

COUNT = 150
Make = Callable[[int], list[Snapshot]]
Record = Callable[[Path, Sequence[Snapshot]], None]


@pytest.fixture(scope="module")
def snapshots(made_moments: Make) -> list[Snapshot]:
    return made_moments(COUNT)


@pytest.fixture(scope="module")
def frames(snapshots: list[Snapshot]) -> list[Frame]:
    return [snapshot.measured.frame for snapshot in snapshots]


@pytest.fixture(scope="module")
def path(snapshots: list[Snapshot], record: Record, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reader") / "made.loadtop"
    record(path, snapshots)
    return path


def test_everything_comes_back_over_several_blocks(path: Path, frames: list[Frame], snapshots: list[Snapshot]) -> None:
    with Session(path) as session:
        assert list(session.frames()) == frames
        assert list(session.verdicts()) == [(snapshot.at, snapshot.diagnosis) for snapshot in snapshots]
        assert session.marks() == [(frame.at, text) for frame in frames for text in frame.marks]
        assert session.count == COUNT
        assert session.duration == frames[-1].at
        assert session.damage == []


@pytest.mark.parametrize("start", [-5.0, 0.0, 5.5, 64.0, 64.005, 65.5, 100.0, 149.9, 150.5, 1e9])
def test_jumps(path: Path, frames: list[Frame], start: float) -> None:
    wanted = [frame for frame in frames if frame.at >= start]
    with Session(path) as session:
        assert list(session.frames(start)) == wanted
        assert list(session.frames_from(session.index(start))) == wanted
        assert [at for at, _ in session.verdicts(start)] == [frame.at for frame in wanted]


def test_a_machine_that_was_silent_since_before_the_jump(
    tmp_path: Path, record: Record, snapshots: list[Snapshot]
) -> None:
    host = snapshots[0].measured.frame.hosts[0]
    silent = HostState("web1", "target", host.sample, fresh=False, problem="no answer")
    stale = [
        replace(m, measured=replace(m.measured, frame=replace(m.measured.frame, hosts=(silent if n else host,))))
        for n, m in enumerate(snapshots)
    ]
    record(tmp_path / "a.loadtop", stale)
    with Session(tmp_path / "a.loadtop") as session:
        found = next(session.frames(140.0))
    assert found.hosts == (silent,)


def test_unchanged_things_are_the_same_object_again(path: Path) -> None:
    with Session(path) as session:
        samples = [state.sample for frame in session.frames() for state in frame.hosts if state.sample is not None]
    assert len({id(sample.facts) for sample in samples}) == 2
    assert len({id(sample.swap) for sample in samples}) == 2 * 3  # machines and blocks


def test_following_a_recording_while_it_is_written(
    tmp_path: Path, meta: SessionMeta, snapshots: list[Snapshot], frames: list[Frame]
) -> None:
    recorder = Recorder(tmp_path / "a.loadtop", meta=meta)
    with Session(recorder.path) as session:
        assert session.count == 0
        assert session.duration == 0.0
        assert list(session.frames()) == []
        seen: list[Frame] = []
        for snapshot in snapshots:
            recorder.record(snapshot)
            recorder.flush()
            if len(seen) < 3 or snapshot.at > 100:
                seen += session.frames_from(len(seen) + 1)
                assert seen[-1] == snapshot.measured.frame
        recorder.close()
        assert seen == frames


def test_frames_that_come_while_reading_are_given_too(
    tmp_path: Path, meta: SessionMeta, snapshots: list[Snapshot], frames: list[Frame]
) -> None:
    recorder = Recorder(tmp_path / "a.loadtop", meta=meta)
    with Session(recorder.path) as session:
        recorder.record(snapshots[0])
        recorder.flush()
        reading = session.frames()
        assert next(reading) == frames[0]
        for snapshot in snapshots[1:100]:
            recorder.record(snapshot)
        recorder.close()
        assert list(reading) == frames[1:100]


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(SessionError, match="no such file"):
        Session(tmp_path / "missing.loadtop")
    with pytest.raises(SessionError, match="File name too long"):
        Session(tmp_path / ("a" * 300))
    with pytest.raises(SessionError, match="this is a directory"):
        Session(tmp_path)
    with pytest.raises(SessionError, match="not a recording of loadtop"):
        Session(Path("/dev/null"))


def test_a_place_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(SessionError, match="not permitted to read it"):
        Session(tmp_path / "a.loadtop")


@pytest.mark.parametrize("content", [b"", b"x", b"some text that is longer than the header of a database" * 20])
def test_a_file_that_is_no_recording(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.loadtop"
    file.write_bytes(content)
    with pytest.raises(SessionError, match="not a recording of loadtop"):
        Session(file)
    assert file.read_bytes() == content


def test_a_database_of_another_program(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE frame (id)")
    with pytest.raises(SessionError, match="not a recording of loadtop"):
        Session(tmp_path / "other.db")


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "copy.loadtop"
    copied.write_bytes(path.read_bytes())
    return copied


def test_a_newer_schema(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(SessionError, match=r"written by a newer loadtop \(schema 99; this one knows up to 1\)"):
        Session(copy)


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("ALTER TABLE memory_block ADD COLUMN huge_kb TEXT", "memory.huge_kb"),
        ("CREATE TABLE gpu_block (id INTEGER PRIMARY KEY)", "gpu_block"),
    ],
)
def test_columns_and_parts_of_a_newer_version(copy: Path, statement: str, what: str) -> None:
    with closing(sqlite3.connect(copy)) as database:
        database.execute(statement)
        seal(database)
    with pytest.raises(SessionError, match=f"written by a newer loadtop .this one does not know {what}."):
        Session(copy)


def test_what_an_older_version_did_not_measure_has_its_default(
    tmp_path: Path, record: Record, snapshots: list[Snapshot], frames: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    older = schema.MEMORY.among(frozenset(schema.MEMORY.names) - {"available_kb"})
    get = attrgetter(*older.names)
    monkeypatch.setattr(schema, "SINGLES", tuple(older if part.name == "memory" else part for part in schema.SINGLES))
    monkeypatch.setattr(schema, "PARTS", tuple(older if part.name == "memory" else part for part in schema.PARTS))
    monkeypatch.setitem(block_writing.GETTERS, "memory", get)
    record(tmp_path / "old.loadtop", snapshots)
    monkeypatch.undo()
    with Session(tmp_path / "old.loadtop") as session:
        found = list(session.frames())
    assert session.damage == []
    assert found == [replace(frame, hosts=tuple(without_available(state) for state in frame.hosts)) for frame in frames]


def without_available(state: HostState) -> HostState:
    if state.sample is None or state.sample.memory is None:
        return state
    return replace(state, sample=replace(state.sample, memory=replace(state.sample.memory, available_kb=None)))


def seal(database: sqlite3.Connection) -> None:
    """Make the sums right again, as a version with these tables would have."""
    *row, _, _ = database.execute("SELECT * FROM session").fetchone()
    row.append(checksum(tuple(database.execute(TABLES))))
    database.execute("DELETE FROM session")
    database.execute("INSERT INTO session VALUES (?, ?, ?, ?, ?, ?, ?, ?)", summed(tuple(row)))
    database.commit()


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_file_gives_no_wrong_frame(
    copy: Path, frames: list[Frame], snapshots: list[Snapshot], seed: int
) -> None:
    draw = random.Random(seed)  # noqa: S311 - which bytes to damage is no secret
    content = bytearray(copy.read_bytes())
    if seed % 4 == 0:
        del content[draw.randrange(len(content)) :]
    else:
        for _ in range(seed % 4):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    copy.write_bytes(content)
    known = {frame.number: frame for frame in frames}
    shown = {snapshot.at: snapshot.diagnosis for snapshot in snapshots}
    try:
        with Session(copy) as session:
            found = list(session.frames())
            left_out = session.damage[:]
            for at, diagnosis in session.verdicts():
                assert shown[at] == diagnosis
    except SessionError as error:
        assert str(copy) in str(error)  # noqa: PT017 - that it is read as far as it goes is as good
        return
    for frame in found:
        assert known[frame.number] == frame
    assert len(found) == COUNT or left_out


def test_damaged_pages_are_no_sum_of_all_intervals(copy: Path) -> None:
    """SQLite may say so no earlier than at the end of a reading."""
    content = copy.read_bytes()
    with closing(sqlite3.connect(copy)) as database:
        (size,) = database.execute("PRAGMA page_size").fetchone()
        query = (
            "SELECT rootpage FROM sqlite_schema WHERE name IN ('frame', 'core_block', 'process_block', 'disk_block')"
        )
        roots = [root for (root,) in database.execute(query)]
    assert len(roots) == 4
    for root in roots:
        page = slice((root - 1) * size, root * size)
        copy.write_bytes(content[: page.start] + bytes(byte ^ 0x55 for byte in content[page]) + content[page.stop :])
        try:
            with Session(copy) as session:
                assert session.digest() is None
        except SessionError as error:
            assert "is damaged" in str(error)  # noqa: PT017 - some pages cannot be done without


def test_one_flipped_bit_costs_one_block_and_says_so(copy: Path, frames: list[Frame]) -> None:
    content = copy.read_bytes()
    with closing(sqlite3.connect(copy)) as database:
        (text,) = database.execute("SELECT cpu_ticks FROM process_block WHERE cpu_ticks IS NOT NULL LIMIT 1").fetchone()
    place = content.index(text.encode())
    copy.write_bytes(content[: place + 5] + bytes([content[place + 5] ^ 1]) + content[place + 6 :])
    with Session(copy) as session:
        assert list(session.frames()) == frames[64:]
        assert session.damage == ["intervals 1 to 64 left out: a check sum is wrong"]
        assert len(list(session.verdicts())) == COUNT
