"""A recording that was added up while it was written says what its frames say."""

import shutil
import sqlite3
import zlib
from array import array
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from loadtop.analysis.compare.course import Course
from loadtop.diagnosis import finding
from loadtop.pipeline.snapshot import Snapshot, snapshots
from loadtop.recording import digest as digesting
from loadtop.recording import file, writer
from loadtop.recording.definitions import checksum
from loadtop.recording.graph import Graph, UnknownClassError
from loadtop.recording.meta import SessionMeta
from loadtop.recording.reader import Session
from loadtop.recording.retelling import digest_of, story_of
from loadtop.recording.schema import TABLES
from loadtop.recording.writer import Writer
from loadtop.reports.html import html
from loadtop.reports.markdown import markdown
from loadtop.reports.story import Story
from tests.lab.keeping import SUFFIX, unpack

Record = Callable[[Path, Sequence[Snapshot]], None]
Make = Callable[[int], list[Snapshot]]
LAB = sorted((Path(__file__).parents[2] / "fixtures" / "lab").glob(f"*{SUFFIX}"))


def read_through(session: Session) -> Story:
    """What the frames say, one after the other."""
    story = Story(session.meta.url or None, session.meta.command_line)
    for snapshot in snapshots(session.frames()):
        story.add(snapshot)
    return story


def told(story: Story) -> tuple[Any, ...]:
    """All that a report can say, to the bit."""
    figures = story.summary.as_json()
    return figures, story.settings.all(), story.curves.times, html(story), markdown(story)


def numbers(course: Course) -> tuple[Any, ...]:
    """All that a comparison reads, NaN as words."""
    values = {key: repr(course.series(key)) for key in course.values}
    return course.began, course.ended, course.width, course.at, course.steps, course.shapes, values


@pytest.mark.parametrize("kept", LAB, ids=lambda path: path.name.removesuffix(SUFFIX))
def test_real_recordings_are_told_the_same_both_ways(kept: Path, tmp_path: Path, record: Record) -> None:
    with Session(unpack(kept, tmp_path)) as session:
        assert session.digest() is None  # it is older than this
        record(tmp_path / "again.loadtop", list(snapshots(session.frames())))
    with Session(tmp_path / "again.loadtop") as session:
        assert session.digest() is not None
        assert told(story_of(session)) == told(read_through(session))
        course = Course()
        for snapshot in snapshots(session.frames()):
            course.add(snapshot)
        assert numbers(digest_of(session).course) == numbers(course)


@pytest.mark.parametrize("count", [1, 12, 25, 70])
def test_what_came_after_it_is_read(
    count: int, tmp_path: Path, meta: SessionMeta, made_moments: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "EVERY", 12)
    path = tmp_path / "a.loadtop"
    file.create(path, meta)
    writing = Writer(path)
    for snapshot in made_moments(count):
        writing.take(snapshot)
        writing.write()
    # Nobody closed it: it ends as one that was killed does.
    with Session(path) as session:
        digest = session.digest()
        assert (0 if digest is None else digest.frame) == count - count % 12
        assert told(story_of(session)) == told(read_through(session))
    writing.close()
    with Session(path) as session:
        digest = session.digest()
        assert digest is not None
        assert digest.frame == count
        assert told(story_of(session)) == told(read_through(session))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory, record: Record, made_moments: Make) -> Path:
    path = tmp_path_factory.mktemp("original") / "a.loadtop"
    record(path, made_moments(70))
    return path


@pytest.fixture(scope="module")
def said(original: Path) -> tuple[Any, ...]:
    with Session(original) as session:
        return told(read_through(session))


@pytest.fixture
def recording(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path))


def alter(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_another_program_reads_the_frames(
    original: Path, said: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digesting, "maker", lambda: "0.0.9 0badc0de")
    with Session(original) as session:
        assert session.digest() is None
        assert told(story_of(session)) == said


@pytest.mark.parametrize(
    "statement",
    [
        "DROP TABLE digest",
        "DELETE FROM digest",
        "UPDATE digest SET state = x'00'",
        "UPDATE digest SET frame = frame + 1",
        "UPDATE digest SET frame = frame - 1",
    ],
)
def test_without_a_digest_that_is_whole_the_frames_are_read(
    recording: Path, said: tuple[Any, ...], statement: str
) -> None:
    alter(recording, "PRAGMA writable_schema = ON", statement)
    if statement.startswith("DROP"):
        # As in a recording that is older than digests.
        with closing(sqlite3.connect(recording)) as connection, connection:
            tables = checksum(tuple(connection.execute(TABLES)))
            row = (*connection.execute("SELECT * FROM session").fetchone()[:-2], tables)
            connection.execute("UPDATE session SET tables = ?, crc = ?", (tables, checksum(row)))
    with Session(recording) as session:
        assert session.digest() is None
        assert told(story_of(session)) == said
        assert (session.count, session.damage) == (70, [])


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE memory_block SET free_kb_from = free_kb_from + 1 WHERE id = (SELECT min(id) FROM memory_block)",
        "DELETE FROM core_block WHERE id = (SELECT min(id) FROM core_block)",
        "DELETE FROM latency_histogram WHERE id = (SELECT min(id) FROM latency_histogram)",
        "DELETE FROM frame WHERE id = 30",
    ],
)
def test_damage_is_said_by_a_report_as_well(recording: Path, statement: str) -> None:
    alter(recording, statement)
    with Session(recording) as session:
        assert session.digest() is None
        told(story_of(session))
        assert session.damage


def test_no_secret_reaches_it(tmp_path: Path, record: Record, made_moments: Make) -> None:
    (snapshot,) = made_moments(1)
    frame = replace(snapshot.measured.frame, marks=("restarted http://bob:Hu5h@web1/?token=Hu5h",))
    record(tmp_path / "a.loadtop", [replace(snapshot, measured=replace(snapshot.measured, frame=frame))])
    with closing(sqlite3.connect(tmp_path / "a.loadtop")) as connection:
        (state,) = connection.execute("SELECT state FROM digest").fetchone()
    assert b"restarted http://***@web1/" in zlib.decompress(state)
    assert b"Hu5h" not in zlib.decompress(state)


def test_only_classes_that_are_known_are_written_or_read() -> None:
    graph = Graph((finding,))
    with pytest.raises(UnknownClassError):
        graph.written(Path("/"))
    text = graph.written(finding.Forecast(finding.Bottleneck.CPU, None, 1.5, float("inf"), 2.0))
    assert graph.read(text) == finding.Forecast(finding.Bottleneck.CPU, None, 1.5, float("inf"), 2.0)
    with pytest.raises(KeyError):
        graph.read(text.replace("loadtop.diagnosis.finding.Forecast", "subprocess.Popen"))


def test_arrays_come_back_to_the_bit() -> None:
    graph = Graph(())
    values = array("d", [0.1, float("inf"), -0.0, float("nan")])
    whole, real = graph.read(graph.written([array("q", [-1, 1 << 40]), values]))
    assert whole == array("q", [-1, 1 << 40])
    assert (real.typecode, real.tobytes()) == ("d", values.tobytes())


def test_an_object_that_is_met_twice_is_one_again() -> None:
    graph = Graph((finding,))
    once = finding.Forecast(finding.Bottleneck.CPU, "\udcff", 1, 2, 3)
    things = graph.read(graph.written([once, {("a", 1): once}, {2, None}, deque([True], maxlen=3)]))
    assert things == [once, {("a", 1): once}, {2, None}, deque([True])]
    assert things[0] is things[1]["a", 1]
    assert things[3].maxlen == 3
