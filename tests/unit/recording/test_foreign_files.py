"""Recordings that someone else made: nothing in them is run, hangs, fills the memory, or reaches the terminal."""

import json
import os
import resource
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import zstandard
from msgspec.structs import replace

from loadtop.cli import main
from loadtop.model import MAX_HOSTS, Process
from loadtop.recording import codec
from loadtop.recording.container import SessionError, checksum, connect_reader
from loadtop.recording.library import recordings
from loadtop.recording.reader import MAX_NOTES, Session, program
from loadtop.recording.state import signature
from tests.unit.recording.made import alter, moments, record

MEMORY_KB = 50_000
CPU_S = 2.0
TITLE = "\x1b]0;owned\x07"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = tmp_path / "loadtop" / "made.loadtop"
    record(path, moments(20))
    return path


def set_meta(path: Path, **changes: object) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        (text,) = database.execute("SELECT meta FROM session").fetchone()
        text = json.dumps(json.loads(text) | changes)
        database.execute("UPDATE session SET meta = ?, crc = ?", (text, checksum(text)))


def put_frames(path: Path, *messages: bytes) -> None:
    """Replace all frames by these, with right checksums."""
    alter(path, "DELETE FROM block")
    alter(path, "DELETE FROM totals")
    with closing(sqlite3.connect(path)) as database, database:
        for number, message in enumerate(messages, start=1):
            data = zstandard.compress(message)
            row = (number, float(number), checksum(number, float(number), data=data), data)
            database.execute("INSERT INTO frame VALUES (?, ?, ?, ?)", row)


def put_totals(path: Path, content: bytes) -> None:
    """As the user's own, which are looked into."""
    data = zstandard.compress(content)
    row = (20, f"{program()} {signature(program(), 20, data)}")
    alter(path, "DELETE FROM totals")
    alter(path, "INSERT INTO totals VALUES (?, ?, ?, ?)", *row, checksum(*row, data=data), data)


def report(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code of a report and what is said on standard error, within the limits of time and memory."""
    memory, began = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    code = main(["report", str(path)])
    assert time.process_time() - began < CPU_S
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MEMORY_KB
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE VIEW "../../x" AS SELECT 1',
        "CREATE TRIGGER t AFTER INSERT ON frame BEGIN DELETE FROM frame; END",
        "CREATE TABLE more (a)",
        "CREATE VIRTUAL TABLE more USING fts5(a)",
        "CREATE INDEX more ON frame (at)",
    ],
)
def test_a_file_with_other_tables_is_not_a_recording(path: Path, statement: str) -> None:
    alter(path, statement)
    with pytest.raises(SessionError, match="not a recording of loadtop"):
        Session(path)


def test_a_table_that_is_a_view_is_not_run(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS number, x AS at FROM n"
    alter(path, "DROP TABLE frame")
    alter(path, f"CREATE VIEW frame AS {endless}")
    code, said = report(path, capsys)
    assert code == 4
    assert len(said.splitlines()) == 1


def test_a_connection_cannot_write_or_attach(path: Path) -> None:
    with closing(connect_reader(path)) as connection:
        for statement in ("DELETE FROM frame", "ATTACH ':memory:' AS other", "CREATE TEMP TABLE t (a)"):
            with pytest.raises(sqlite3.Error):
                connection.execute(statement)


@pytest.mark.parametrize(
    "content",
    [
        b"[" + b"0," * 4_000_000 + b"0]",
        b"[" + b"[]," * 2_000_000 + b"[]]",
        b'{"summary": ' + b'{"a":' * 100_000,
        b'{"steps": ' + b"9" * 1_000_000 + b"}",
    ],
)
def test_totals_that_are_a_bomb_are_left_aside(path: Path, content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    put_totals(path, content)
    assert report(path, capsys) == (0, "")


def bomb(**parts: object) -> bytes:
    """A frame with these parts."""
    empty: dict[str, object] = {"number": 1, "at": 1.0, "wall": 1.8e9, "load": None, "hosts": [], "marks": []}
    frame = empty | parts
    return msgspec.msgpack.encode((frame, []))


LOAD = {"at": 1.0, "engine": "builtin", "state": "running", "model": "closed", "elapsed_s": 1.0}
TIMES = {"count": 1, "sum_us": 1, "sum_squares_us2": 1, "min_us": 1, "max_us": 1, "counts": [1]}


@pytest.mark.parametrize(
    "message",
    [
        bomb(marks=["a"] * 700_000),
        bomb(load=LOAD | {"generator": {"worker_cpu_s": [1] * 1_500_000, "loop_delay_s": None}}),
        bomb(load=LOAD | {"latencies": {"total": TIMES | {"buckets": [1 << 60]}}}),
        bomb(load=LOAD | {"latencies": {"total": TIMES | {"buckets": [-1]}}}),
        bomb(load=LOAD | {"latencies": {"total": TIMES | {"buckets": [1, 2, 3]}}}),
        bomb(hosts=[{"name": "a", "role": "", "sample": None, "fresh": False}] * 20_000),
        bomb(hosts=[{"name": "a", "role": "", "sample": None, "fresh": False}] * (MAX_HOSTS + 1)),
        bomb(at=1e300),
        bomb(at=float("nan")),
        bomb(wall=1e18),
        b"[" + b'[{"marks":[' + b"0," * 900_000 + b"0]}, []]",
        b'[{"number": ' + b"9" * 5000 + b"}, []]",
        b"\x00" * (2 << 20),
        b"\x00" * (16 << 20),
    ],
    ids=range(14),
)
def test_frames_that_are_a_bomb_are_one_line(path: Path, message: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    put_frames(path, *[message] * 30)
    code, said = report(path, capsys)
    assert code == 4
    (line,) = said.splitlines()
    assert "none of its intervals can be read" in line


def test_very_many_machines_are_refused(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each would take about 1 ms of every interval. JSON, for numbers of more than 64 bits, is slow to read besides."""
    frame = next(each.measured.frame for each in moments(9) if each.measured.frame.hosts[0].sample is not None)
    many = codec.encode(replace(frame, hosts=tuple(replace(frame.hosts[0], name=str(n)) for n in range(200))))
    assert many.startswith(b"[")
    put_frames(path, *[many] * 100)
    code, said = report(path, capsys)
    assert code == 4
    assert f"it has more than {MAX_HOSTS} machines" in said


def test_damage_at_many_places_is_reported_in_few_lines(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Session(path) as session:
        whole = [codec.encode(frame) for frame in session.frames()]
    put_frames(path, *(message if number % 2 else b"\x00" for number, message in enumerate(whole * 10)))
    with Session(path) as session:
        assert len(list(session.frames())) == 100
        assert len(session.damage) == MAX_NOTES + 1
    code, said = report(path, capsys)
    assert code == 0
    assert len(said.splitlines()) == MAX_NOTES + 1


def test_a_number_beyond_all_measure(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alter(path, "INSERT INTO frame VALUES (9223372036854775807, 1.0, 1, x'00')")
    code, said = report(path, capsys)
    assert code == 0
    assert "left out" in said


@pytest.mark.parametrize(
    "changes",
    [
        {"started": 1e18},
        {"started": float("nan")},
        {"started": -1.0},
        {"interval_s": 0.0},
        {"interval_s": 1e300},
        {"command_line": ["a"] * 20_000},
        {"started": "soon"},
        {"url": 7},
    ],
)
def test_a_bad_file_is_one_line_of_the_list(
    path: Path, changes: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    good = path.with_name("good.loadtop")
    good.write_bytes(path.read_bytes())
    set_meta(path, **changes)
    found = list(recordings())
    assert [bool(each.problem) for each in found] == [False, True]
    assert main(["sessions", "list"]) == 0
    assert "is damaged at its beginning" in capsys.readouterr().out
    assert main(["report", str(path)]) == 4


def test_no_text_of_a_file_reaches_the_terminal(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.unlink()
    record(path, moments(2))  # a replay takes as long as the test took
    set_meta(path, title=TITLE, url=f"http://web1/{TITLE}", version=TITLE, command_line=[TITLE])
    text = json.dumps([TITLE, TITLE, 0.0, True])
    alter(path, "DELETE FROM event")
    alter(path, "INSERT INTO event VALUES (1, 'verdict', 1.0, ?, ?)", checksum(1, "verdict", 1.0, text), text)
    for words in (["sessions", "list"], ["report", str(path)], ["replay", "--headless", str(path)]):
        assert main(words) == 0
    said = capsys.readouterr()
    assert "owned" in said.out
    assert "\x1b" not in said.out + said.err


def test_a_template_of_a_message_reaches_the_terminal_as_text(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    message: dict[str, object] = {"template": TITLE, "params": [], "many": ""}
    put_frames(path, bomb(load=LOAD | {"message": message, "state": "failed"}))
    assert main(["report", str(path)]) == 0
    said = capsys.readouterr()
    assert "owned" in said.out
    assert "\x1b" not in said.out + said.err


def test_a_frame_that_is_too_large_to_be_read_is_recorded_without_its_processes() -> None:
    frame = next(each.measured.frame for each in moments(9) if each.measured.frame.hosts[0].sample is not None)
    host = frame.hosts[0]
    assert host.sample is not None
    many = tuple(Process(pid, "httpd", "httpd", "S", 1, 5, 6, 7) for pid in range(40_000))
    large = replace(frame, hosts=(replace(host, sample=replace(host.sample, processes=many)), *frame.hosts[1:]))
    (first, *_) = codec.decode(codec.encode(large)).hosts
    assert first.sample == replace(host.sample, processes=None)


def test_an_export_stays_in_its_directory(path: Path, tmp_path: Path) -> None:
    folder, outside = tmp_path / "csv", tmp_path / "outside"
    folder.mkdir()
    outside.write_text("mine")
    (folder / "load.csv").symlink_to(outside)
    os.mkfifo(folder / "host.csv")
    assert main(["export", "--csv", str(folder), str(path)]) == 0
    assert outside.read_text() == "mine"
    assert all(each.is_file() and not each.is_symlink() for each in folder.iterdir())
    assert {each.name for each in tmp_path.iterdir()} == {"csv", "outside", "loadtop"}


def test_a_file_that_was_cut_off_is_read_with_the_same_care(path: Path) -> None:
    alter(path, 'CREATE VIEW "../../x" AS SELECT 1')
    os.truncate(path, path.stat().st_size - 4096)
    with pytest.raises(SessionError):
        Session(path)
