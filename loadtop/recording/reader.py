"""Reads a recording back, also while it is being written, and says what it adds up to."""

import sqlite3
import zlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, groupby, islice
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

import loadtop
from loadtop.analysis.totals.totals import RunResult, Totals
from loadtop.model import Frame, Profile
from loadtop.model.secrets import blanked
from loadtop.pipeline.snapshot import snapshots
from loadtop.recording import codec, container
from loadtop.recording.codec import DamagedError
from loadtop.recording.container import SessionError, SessionMeta, checksum
from loadtop.recording.state import signature

Data = TypeVar("Data")

UNREADABLE = (sqlite3.Error, DamagedError, UnicodeDecodeError, msgspec.MsgspecError)
"""What reading a damaged file raises. UnicodeDecodeError is Python's answer to some of SQLite's messages about it."""

MAX_EVENT = 1 << 17  # characters of the marks, or the verdict, of one interval
MAX_NOTES = 20  # pieces of damage that are named
PACKAGES = ("model", "rates", "servers", "diagnosis", "pipeline", "analysis")  # whose code decides what the totals are


class ShownVerdict(Struct, frozen=True):
    """The verdict that was shown live from ``frame`` (at ``at`` seconds of the session) on. ``loaded``: load ran."""

    frame: int
    at: float
    bottleneck: str
    host: str | None
    since: float
    loaded: bool

    @property
    def name(self) -> str:
        return f"{self.bottleneck} on {self.host}" if self.host else self.bottleneck


@dataclass(frozen=True)
class Block:
    """Consecutive frames, each decoded on request. ``lengths`` are in bytes."""

    first: int
    times: list[float]
    lengths: list[int]
    data: bytes

    @property
    def last(self) -> int:
        return self.first + len(self.times) - 1

    @cached_property
    def _messages(self) -> list[memoryview]:
        whole = memoryview(codec.decompress(self.data, codec.MAX_BLOCK))
        ends = list(accumulate(self.lengths))
        if ends[-1] != len(whole):
            raise DamagedError("its length is wrong")
        return [whole[end - length : end] for end, length in zip(ends, self.lengths, strict=True)]

    def frame(self, number: int) -> Frame:
        return codec.decode(self._messages[number - self.first])


class Session(AbstractContextManager["Session"]):
    """A recording, opened for reading only; it may still be written to. Frames are numbered from 1. ``damage`` says
    what was left out of frames, verdicts or marks because it is damaged."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: list[str] = []
        self._connection = container.connect_reader(path)
        self._block: Block | None = None
        try:
            self.meta = self._meta()
        except (*UNREADABLE, *codec.UNREADABLE) as error:
            self._connection.close()
            raise SessionError(f"{path}: the recording is damaged at its beginning ({error})") from None

    def __exit__(self, *_exit: object) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def duration(self) -> float:
        """Seconds from the start of the session to its last frame so far."""
        last = self.count
        times = (self._at(number) for number in range(last, max(0, last - 2 * codec.BLOCK_FRAMES), -1))
        return next((at for at in times if at < inf), 0.0)

    @property
    def count(self) -> int:
        """The number of frames so far, or of those that can be reached in a file that is damaged at its end."""
        last, damage = 0, None
        for query in (
            "SELECT CAST(first + count - 1 AS INTEGER) FROM block ORDER BY first",
            "SELECT number FROM frame ORDER BY number",
        ):
            try:
                for (number,) in self._connection.execute(f"{query} DESC LIMIT 1"):
                    last = max(last, number if isinstance(number, int) else 0)
            except UNREADABLE as error:
                damage = error
                with suppress(*UNREADABLE):
                    for (number,) in self._connection.execute(query):
                        if not isinstance(number, int) or number <= last:
                            break
                        last = number
        last = min(last, container.MAX_FRAMES)
        if damage is not None:
            self._note(f"everything after interval {last}", damage)
        return last

    def frames(self, number: int = 1) -> Iterator[Frame]:
        """Yield the frames from this number on, also those that are written meanwhile. What is damaged is left out and
        noted in ``damage``."""
        while number <= (last := self.count):
            try:
                block = self._fetch(number)
            except UNREADABLE as error:
                end = self._next_readable(number, last) - 1
                self._note(_intervals(number, end), error)
                number = end + 1
                continue
            for each in range(number, block.last + 1):
                try:
                    frame = block.frame(each)
                except DamagedError as error:
                    self._note(_intervals(each, each), error)
                else:
                    yield frame
            number = block.last + 1

    def index(self, at: float) -> int:
        """Return the number of the first frame at or after ``at`` seconds, or one more than the last number."""
        return bisect_left(range(1, self.count + 1), at, key=self._at) + 1

    def time_of(self, number: int) -> float:
        """Return the time of a frame in seconds, of the first or last one where there are not so many."""
        at = self._at(max(1, min(number, self.count)))
        return at if at < inf else 0.0

    def verdicts(self) -> list[ShownVerdict]:
        """Return every change of the verdict that was shown live, or of whether load ran."""
        return [
            ShownVerdict(frame, at, *data)
            for frame, at, data in self._events("verdict", tuple[str, str | None, float, bool])
        ]

    def verdict_changes(self) -> list[tuple[float, str, str | None]]:
        """Return when another verdict began to be shown, in seconds, and which: its name and host."""
        same = groupby(self.verdicts(), key=attrgetter("bottleneck", "host"))
        return [(next(verdicts).at, name, host) for (name, host), verdicts in same]

    def longest_verdict(self) -> str:
        """Return the bottleneck that was shown in most intervals with load (of all, where there was none), or an empty
        string."""
        verdicts = self.verdicts()
        ends = [*(verdict.frame for verdict in verdicts[1:]), self.count + 1]
        loaded = any(verdict.loaded for verdict in verdicts)
        shown: Counter[str] = Counter()
        for verdict, end in zip(verdicts, ends, strict=False):
            if verdict.loaded or not loaded:
                shown[verdict.bottleneck] += end - verdict.frame
        return max(shown, key=shown.__getitem__, default="")

    def marks(self) -> list[tuple[float, str]]:
        return [(at, text) for _, at, texts in self._events("mark", tuple[str, ...]) for text in texts]

    def profiles(self, until: float) -> dict[str, tuple[float, Profile]]:
        """Return the newest profile of each host up to ``until`` seconds, and its time; without those damaged."""
        found: dict[str, tuple[float, Profile]] = {}
        for number, at, _ in self._events("profile", tuple[str, ...]):
            if at <= until:
                frames = islice(self.frames(number), 1)
                found |= {each.host: (at, blanked(each)) for frame in frames for each in frame.profiles}
        return found

    def stored_totals(self, program: str) -> bytes | None:
        """Return the totals that this program kept of all frames for this user; ``None`` where there are none or any
        frame is damaged, for which the whole file is read."""
        try:
            row = self._connection.execute("SELECT * FROM totals ORDER BY frame DESC LIMIT 1").fetchone()
            if row is None:
                return None
            frame, maker, crc, data = msgspec.convert(row, tuple[int, str, int, bytes])
            signed = f"{program} {signature(program, frame, data)}"
            if maker != signed or frame != self.count or crc != checksum(frame, maker, data=data):
                return None
            number = 1
            while number <= frame:
                number = self._fetch(number).last + 1
            return codec.decompress(data, codec.MAX_TOTALS)
        except UNREADABLE:
            return None

    def _events(self, kind: str, data_type: type[Data]) -> Iterator[tuple[int, float, Data]]:
        query = "SELECT frame, at, crc, data FROM event WHERE kind = ? ORDER BY frame"
        before = 0
        try:
            for row in self._connection.execute(query, (kind,)):
                frame, at, crc, data = msgspec.convert(row, tuple[int, float, int, str])
                if frame <= before:
                    raise DamagedError("they are out of order")
                before = frame
                if crc != checksum(frame, kind, at, data):
                    self._note(f"a {kind} at interval {frame}", DamagedError("a checksum is wrong"))
                    continue
                try:
                    found = msgspec.convert(codec.loads(data[:MAX_EVENT]), data_type)
                except codec.UNREADABLE as error:
                    self._note(f"a {kind} at interval {frame}", error)
                else:
                    yield frame, at, blanked(found)
        except UNREADABLE as error:
            self._note(f"{kind}s", error)

    def _fetch(self, number: int) -> Block:
        """Return the block that frame ``number`` is in, or one that holds it alone."""
        if self._block is None or not self._block.first <= number <= self._block.last:
            self._connection.execute("BEGIN")  # the writer may put the frame into a block meanwhile
            try:
                self._block = self._read_block(number) or self._read_single(number)
            finally:
                self._connection.execute("COMMIT")
        return self._block

    def _read_block(self, number: int) -> Block | None:
        query = "SELECT * FROM block WHERE first <= ? ORDER BY first DESC LIMIT 1"
        row = self._connection.execute(query, (number,)).fetchone()
        if row is None:
            return None
        first, count, crc, index, data = msgspec.convert(row, tuple[int, int, int, bytes, bytes])
        if number >= first + count:
            return None
        if crc != checksum(first, count, index, data=data):
            raise DamagedError("a checksum is wrong")
        times, lengths = msgspec.msgpack.decode(index, type=tuple[list[float], list[int]])
        if not 0 < count == len(times) == len(lengths) <= codec.BLOCK_FRAMES or min(lengths) < 0:
            raise DamagedError("its length is wrong")
        return Block(first, times, lengths, data)

    def _read_single(self, number: int) -> Block:
        row = self._connection.execute("SELECT * FROM frame WHERE number = ?", (number,)).fetchone()
        if row is None:
            raise DamagedError("it is missing")
        _, at, crc, data = msgspec.convert(row, tuple[int, float, int, bytes])
        if crc != checksum(number, at, data=data):
            raise DamagedError("a checksum is wrong")
        return Block(number, [at], [len(codec.decompress(data, codec.MAX_MESSAGE))], data)

    def _next_readable(self, number: int, last: int) -> int:
        """Return the number of the first frame after those that are lost together with ``number``."""
        queries = ("SELECT min(first) FROM block WHERE first > ?", "SELECT min(number) FROM frame WHERE number > ?")
        found = last + 1
        for query in queries:
            try:
                (first,) = self._connection.execute(query, (number,)).fetchone()
            except UNREADABLE:
                continue
            if isinstance(first, int) and first > number:
                found = min(found, first)
        return found

    def _note(self, which: str, error: Exception) -> None:
        problem = f"{which} left out: {error}"
        if problem not in self.damage and len(self.damage) <= MAX_NOTES:
            self.damage.append(problem if len(self.damage) < MAX_NOTES else "further damage is not listed")

    def _at(self, number: int) -> float:
        """Return the time of a frame; infinite where it is missing or damaged."""
        try:
            block = self._fetch(number)
        except UNREADABLE:
            return inf
        return block.times[number - block.first]

    def _meta(self) -> SessionMeta:
        row = self._connection.execute("SELECT meta, crc FROM session").fetchone()
        if row is None or checksum(row[0]) != row[1]:
            raise DamagedError("a checksum is wrong")
        meta = msgspec.convert(codec.loads(msgspec.convert(row[0], str)), SessionMeta)
        if not (0 <= meta.started <= container.MAX_UNIX_TIME and 0 < meta.interval_s <= container.MAX_SECONDS):
            raise DamagedError("it contains an invalid time")
        if len(meta.command_line) > container.MAX_WORDS:
            raise DamagedError("its command line is invalid")
        clean: SessionMeta = blanked(meta)
        return clean


def _intervals(first: int, last: int) -> str:
    return f"interval {first}" if first == last else f"intervals {first} to {last}"


def result_of(session: Session) -> RunResult:
    """The result of the recorded test: the one that was kept when it ended, or that of all its frames.

    Only the program that wrote it takes it as it is, for the user for whom it was written. Any other version, or other
    code, and other users, read the frames.
    """
    stored = session.stored_totals(program())
    if stored is not None:
        with suppress(*codec.UNREADABLE):  # the frames give the same
            return RunResult.from_data(codec.loads(stored))
    totals = Totals(session.meta.url or None, session.meta.command_line)
    for snapshot in snapshots(session.frames()):
        totals.add(snapshot)
    return totals.result()


@cache
def program() -> str:
    """The version of this program with a checksum of the code that computes totals."""
    package = Path(loadtop.__file__).parent
    total = 0
    for folder in PACKAGES:
        for path in sorted((package / folder).rglob("*.py")):
            total = zlib.crc32(path.read_bytes(), total)
    return f"{loadtop.__version__} {total:08x}"
