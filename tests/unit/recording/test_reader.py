"""Reading back: jumps, files that are still written, files of other versions, and files that are no good."""

import random
import resource
import sqlite3
from collections.abc import Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from loadtop.model import Frame, HostState
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording import codec
from loadtop.recording.container import SessionError, checksum
from loadtop.recording.reader import Session
from loadtop.recording.recorder import Recorder
from tests.unit.recording.made import META, alter, moments, record, with_frame

COUNT = 300


@cache
def frames() -> list[Frame]:
    return [snapshot.measured.frame for snapshot in moments(COUNT)]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reader") / "made.loadtop"
    record(path, moments(COUNT))
    return path


def test_everything_comes_back_over_several_blocks(path: Path) -> None:
    with Session(path) as session:
        assert list(session.frames()) == frames()
        assert session.verdict_changes() == changes(moments(COUNT))
        assert session.marks() == [(frame.at, text) for frame in frames() for text in frame.marks]
        assert session.count == COUNT
        assert session.duration == frames()[-1].at
        assert session.damage == []


def test_the_newest_profile_up_to_a_moment(path: Path) -> None:
    made = {frame.number: (frame.at, frame.profiles[0]) for frame in frames() if frame.profiles}
    with Session(path) as session:
        assert session.profiles(5.0) == {}
        assert session.profiles(60.0) == {"web1": made[49]}
        assert session.profiles(1e9) == {"web1": made[289]}


@pytest.mark.parametrize("start", [-5.0, 0.0, 5.5, 127.0, 128.005, 129.5, 200.0, 299.9, 300.5, 1e9])
def test_jumps(path: Path, start: float) -> None:
    wanted = [frame for frame in frames() if frame.at >= start]
    with Session(path) as session:
        assert list(session.frames(session.index(start))) == wanted


def test_a_machine_that_was_silent_since_before_the_jump(tmp_path: Path) -> None:
    host = moments(COUNT)[0].measured.frame.hosts[0]
    silent = HostState("web1", "target", host.sample, fresh=False, problem="no answer")
    stale = [with_frame(each, hosts=(silent if n else host,)) for n, each in enumerate(moments(COUNT))]
    record(tmp_path / "a.loadtop", stale)
    with Session(tmp_path / "a.loadtop") as session:
        found = next(session.frames(session.index(290.0)))
    assert found.hosts == (silent,)


def test_following_a_recording_while_it_is_written(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.loadtop", meta=META)
    with Session(recorder.path) as session:
        assert session.count == 0
        assert session.duration == 0.0
        assert list(session.frames()) == []
        seen: list[Frame] = []
        for snapshot in moments(COUNT):
            recorder.record(snapshot)
            recorder.flush()
            if len(seen) < 3 or snapshot.at > 100:
                seen += session.frames(len(seen) + 1)
                assert seen[-1] == snapshot.measured.frame
        recorder.close()
        assert seen == frames()


def test_frames_that_come_while_reading_are_given_too(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "a.loadtop", meta=META)
    with Session(recorder.path) as session:
        recorder.record(moments(COUNT)[0])
        recorder.flush()
        reading = session.frames()
        assert next(reading) == frames()[0]
        for snapshot in moments(COUNT)[1:100]:
            recorder.record(snapshot)
        recorder.close()
        assert list(reading) == frames()[1:100]


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("missing.loadtop", "no such file"),
        ("a" * 300, "File name too long"),
        ("", "this is a directory"),
        ("/dev/null", "not a recording of loadtop"),
    ],
)
def test_unreadable_files(tmp_path: Path, name: str, problem: str) -> None:
    with pytest.raises(SessionError, match=problem):
        Session(tmp_path / name)


def test_a_place_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(SessionError, match="not permitted to read it"):
        Session(tmp_path / "a.loadtop")


@pytest.mark.parametrize("content", [b"", b"x", b"some text that is longer than the header of a database" * 20, None])
def test_a_file_that_is_not_a_recording(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "a.loadtop"
    if content is None:
        alter(file, "CREATE TABLE frame (id)")
    else:
        file.write_bytes(content)
    before = file.read_bytes()
    with pytest.raises(SessionError, match="not a recording of loadtop"):
        Session(file)
    assert file.read_bytes() == before


DAMAGED = 130  # frames in two blocks


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("short") / "made.loadtop", moments(DAMAGED)).path


@pytest.fixture
def copy(path: Path, tmp_path: Path) -> Path:
    copied = tmp_path / "copy.loadtop"
    copied.write_bytes(path.read_bytes())
    return copied


@pytest.mark.parametrize(
    ("version", "problem"),
    [
        (99, r"written by a newer loadtop \(format 99; this one knows up to 2\)"),
        (1, r"written in an older format, which this version cannot read"),
    ],
)
def test_other_formats_are_refused_in_one_line(copy: Path, version: int, problem: str) -> None:
    alter(copy, f"PRAGMA user_version = {version}")
    with pytest.raises(SessionError, match=problem):
        Session(copy)


def test_values_unknown_to_an_older_version_have_their_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode_now = codec.encode

    def encode(frame: Frame) -> bytes:
        data, servers = msgspec.msgpack.decode(encode_now(frame))
        for host in data["hosts"]:
            if host["sample"] is not None and host["sample"]["memory"] is not None:
                del host["sample"]["memory"]["available_kb"]
        return msgspec.msgpack.encode((data, servers))

    # Latencies hold huge numbers.
    few = [each for each in moments(COUNT) if each.load is None or each.load.latencies is None]
    monkeypatch.setattr(codec, "encode", encode)
    record(tmp_path / "old.loadtop", few)
    monkeypatch.undo()
    with Session(tmp_path / "old.loadtop") as session:
        found = list(session.frames())
    assert session.damage == []
    expected = [
        replace(m.measured.frame, hosts=tuple(without_available(state) for state in m.measured.frame.hosts))
        for m in few
    ]
    assert found == expected
    assert found != [m.measured.frame for m in few]


def without_available(state: HostState) -> HostState:
    if state.sample is None or state.sample.memory is None:
        return state
    return replace(state, sample=replace(state.sample, memory=replace(state.sample.memory, available_kb=None)))


def changes(snapshots: Sequence[Snapshot]) -> list[tuple[float, str, str | None]]:
    """When another verdict began to be shown."""
    found: list[tuple[float, str, str | None]] = []
    for snapshot in snapshots:
        verdict = snapshot.diagnosis.verdict
        if not found or found[-1][1:] != (verdict.bottleneck, verdict.host):
            found.append((snapshot.at, verdict.bottleneck, verdict.host))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_file_gives_no_wrong_frame(short: Path, tmp_path: Path, seed: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - which bytes to damage is no secret
    content, copy = bytearray(short.read_bytes()), tmp_path / "copy.loadtop"
    if seed % 4 == 0:
        del content[draw.randrange(len(content)) :]
    else:
        for _ in range(seed % 4):
            content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
    copy.write_bytes(content)
    known = {frame.number: frame for frame in frames()[:DAMAGED]}
    marks = [(frame.at, text) for frame in frames()[:DAMAGED] for text in frame.marks]
    try:
        with Session(copy) as session:
            found = list(session.frames())
            left_out = session.damage[:]
            assert set(session.verdict_changes()) <= set(changes(moments(DAMAGED))) or session.damage
            assert all(mark in marks for mark in session.marks())
    except SessionError as error:
        assert str(copy) in str(error)  # noqa: PT017 - that it is read as far as it goes is as good
        return
    for frame in found:
        assert known[frame.number] == frame
    assert len(found) == DAMAGED or left_out


def damage(path: Path, content: bytes) -> None:
    """Flip a bit in the middle of these bytes of the file."""
    whole = path.read_bytes()
    place = whole.index(content[len(content) // 2 :][:100])
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])


def test_one_flipped_bit_costs_one_block_and_says_so(copy: Path) -> None:
    with closing(sqlite3.connect(copy)) as database:
        (data,) = database.execute("SELECT data FROM block WHERE first = 129").fetchone()
    damage(copy, data)
    with Session(copy) as session:
        assert list(session.frames()) == frames()[:128] + frames()[256:]
        assert session.damage == ["intervals 129 to 256 left out: a checksum is wrong"]
        assert session.count == COUNT


def test_a_missing_block_is_reported(copy: Path) -> None:
    alter(copy, "DELETE FROM block WHERE first = 1")
    with Session(copy) as session:
        assert list(session.frames()) == frames()[128:]
        assert session.damage == ["intervals 1 to 128 left out: it is missing"]


def put_block(
    path: Path,
    data: bytes,
    times: Sequence[float] = (1.0,),
    lengths: Sequence[int] = (1,),
    count: int = 1,
    zeros: int = 0,
) -> None:
    """Replace all frames by one block with a right checksum, as an attacker would write it."""
    data = packed(bytes(zeros)) if zeros else data
    index = msgspec.msgpack.encode((times, lengths))
    alter(path, "DELETE FROM block")
    crc = checksum(1, count, index, data=data)
    alter(path, "INSERT INTO block VALUES (1, ?, ?, ?, ?)", count, crc, index, data)


def packed(data: bytes) -> bytes:
    return zstandard.compress(data)


SIZELESS = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(1 << 20))
MANY: dict[str, Any] = {"times": (1.0,) * 5000, "lengths": (1,) * 5000, "count": 5000}
BOMBS: list[tuple[dict[str, Any], str]] = [
    ({"data": b"", "zeros": 1 << 28}, "it would unpack to more than 10 MB"),
    ({"data": SIZELESS}, "it would unpack to more than"),
    ({"data": b"no zstd"}, "it cannot be unpacked"),
    ({"data": packed(b"\xdd\xff\xff\xff\xff"), "lengths": (5,)}, "a frame cannot be read"),
    ({"data": packed(b"\x91" * 100_000), "lengths": (100_000,)}, "more than 1000 times its size"),
    ({"data": packed(b"[" * 200_000), "lengths": (200_000,)}, "more than 1000 times its size"),
    ({"data": packed(b"[" * 5_000), "lengths": (5_000,)}, "a frame cannot be read"),
    ({"data": packed(b"abc"), "lengths": (1 << 40,)}, "its length is wrong"),
    ({"data": packed(b"abc"), "lengths": (-1,)}, "its length is wrong"),
    ({"data": packed(b"abc"), "lengths": (2,)}, "its length is wrong"),
    ({"data": packed(b"abc"), "count": 1 << 40}, "its length is wrong"),
    ({"data": packed(b""), "times": (), "lengths": (), "count": 0}, ""),
    ({"data": packed(b"a" * 5000), **MANY}, "its length"),
]


@pytest.mark.parametrize(("block", "problem"), BOMBS)
def test_a_bomb_is_one_line_and_takes_no_memory(copy: Path, block: dict[str, Any], problem: str) -> None:
    put_block(copy, **block)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with Session(copy) as session:
        assert list(session.frames()) == []
        assert session.duration >= 0
        assert session.index(5.0) >= 1
        assert len(session.damage) == (1 if problem else 0)
        assert problem in "".join(session.damage)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000


@pytest.mark.parametrize("statement", [
    "UPDATE block SET count = 'many'",
    "UPDATE block SET crc = NULL, data = 7",
    "UPDATE block SET times = NULL",
    "UPDATE block SET count = 9223372036854775807",
    "UPDATE event SET data = '[[', at = 'x'",
    "INSERT INTO frame VALUES (9223372036854775807, NULL, 'a', 'b')",
    "UPDATE session SET meta = '[]'",
    "DROP TABLE block",
    "DROP TABLE event",
    "DELETE FROM session",
])  # fmt: skip
def test_rows_of_another_kind_are_damage(copy: Path, statement: str) -> None:
    alter(copy, statement)
    try:
        with Session(copy) as session:
            found = list(session.frames())
            assert session.duration >= 0
            assert len(session.marks()) + len(session.verdict_changes()) + len(session.longest_verdict()) >= 0
            assert session.damage or len(found) == COUNT
    except SessionError as error:
        assert "is damaged" in str(error)  # noqa: PT017 - some rows cannot be done without


@pytest.mark.parametrize("message", [b"\x91" * 100_000, b"[" * 200_000, b"[" + b"0," * 700_000 + b"0]"])
def test_deep_and_long_messages_are_damage(message: bytes) -> None:
    with pytest.raises(codec.DamagedError, match="a frame cannot be read"):
        codec.decode(message)


@given(message=st.binary(max_size=300))
def test_any_bytes_are_a_frame_or_damage(message: bytes) -> None:
    with pytest.raises(codec.DamagedError):
        codec.decode(message)
    with suppress(codec.DamagedError):
        codec.decompress(message, 1000)
