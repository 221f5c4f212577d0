"""Reads a recording back, also while it is being written."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from loadtop.diagnosis.finding import Diagnosis
from loadtop.model import Frame
from loadtop.recording.block_reading import Block, Blocks, UnknownError
from loadtop.recording.changes import Changes
from loadtop.recording.definitions import DamagedError, Definitions, checked, checksum, loaded_text
from loadtop.recording.digest import Digest
from loadtop.recording.frame_reading import FrameReader
from loadtop.recording.meta import SessionMeta
from loadtop.recording.schema import APPLICATION_ID, BLOCK, SCHEMA_VERSION, TABLES
from loadtop.recording.series import read_real
from loadtop.recording.soundness import is_sound

UNREADABLE = (sqlite3.Error, DamagedError, UnicodeDecodeError)
"""What reading a damaged file raises; the last is Python's answer to some of SQLite's messages about it."""


class SessionError(Exception):
    """The file cannot be read as a recording; the message says why in one line."""


class NoSessionError(SessionError):
    """There is no such file."""


class Session:
    """A recording, opened for reading only; it may still be written to.

    ``damage`` says, after frames or verdicts were read, which intervals had to be left out because they are damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: list[str] = []
        self._connection = connection_to(path)
        try:
            self.meta = self._meta()
            self._definitions = Definitions(self._connection)
            self._blocks = Blocks(self._connection, self._definitions)
            self._changes = Changes(self._connection, self._definitions, self._at)
        except UnknownError as error:
            self._connection.close()
            raise SessionError(f"{path}: written by a newer loadtop (this one does not know {error})") from None
        except UNREADABLE as error:
            self._connection.close()
            raise SessionError(f"{path}: the recording is damaged at its beginning ({error})") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @property
    def duration(self) -> float:
        """Seconds from the start of the session to its last frame so far."""
        last = self.count
        times = (self._at(number) for number in range(last, max(0, last - 2 * BLOCK), -1))
        return next((at for at in times if at is not None), 0.0)

    @property
    def count(self) -> int:
        """How many frames there are so far, or can be reached in a file that is damaged at its end."""
        try:
            return self._blocks.count()
        except UNREADABLE as error:
            last = self._blocks.readable()
            problem = f"everything after interval {last} left out: {error}"
            if problem not in self.damage:
                self.damage.append(problem)
            return last

    def frames(self, start: float | None = None) -> Iterator[Frame]:
        """The frames as recorded, from the first at or after ``start`` seconds on.

        Damaged ones are left out and noted in ``damage``. Frames that are written while this runs are given too.
        """
        return self.frames_from(1 if start is None else self.index(start))

    def frames_from(self, index: int) -> Iterator[Frame]:
        """The frames from the ``index``-th on, counted from 1: to go on where an earlier reading ended."""
        reader = FrameReader(self._blocks.names, self._definitions, self._blocks.fetch)
        for block, number in self._numbers(index, lines=True):
            try:
                frame = reader.frame(block, number)
            except UNREADABLE as error:
                self._note(number, number, error)
            else:
                yield frame

    def digest(self) -> Digest | None:
        """What its frames add up to, up to one of them; ``None`` where they have to be read: another program wrote
        it, or something is damaged. Reads the file through."""
        query = "SELECT * FROM digest WHERE EXISTS (SELECT 1 FROM frame WHERE id = digest.frame)"
        try:
            row = self._connection.execute(query).fetchone()
            known = None if row is None else Digest.of(checked(row))
        except UNREADABLE:
            return None
        return known if known is not None and is_sound(self._connection) else None

    def verdicts(self, start: float | None = None) -> Iterator[tuple[float, Diagnosis]]:
        """What was shown live: seconds of the session, and the diagnosis."""
        return self.verdicts_from(1 if start is None else self.index(start))

    def verdicts_from(self, index: int) -> Iterator[tuple[float, Diagnosis]]:
        """What was shown live from the ``index``-th frame on."""
        reader = FrameReader(self._blocks.names, self._definitions, self._blocks.fetch)
        for block, number in self._numbers(index, lines=False):
            try:
                at, diagnosis = reader.at(block, number), reader.diagnosis(block, number)
            except UNREADABLE as error:
                self._note(number, number, error)
            else:
                yield at, diagnosis

    def verdict_changes(self) -> list[tuple[float, str, str | None]]:
        """When another verdict began to be shown, in seconds, and which: its name and machine. Raises SessionError."""
        self.learn_changes()
        return list(self._changes.found)

    def learn_changes(self, most: int = -1) -> bool:
        """Read ahead for that, so many intervals at most; the result says whether there may be more."""
        try:
            return self._changes.learn(most)
        except UNREADABLE as error:
            raise SessionError(f"{self.path}: the verdicts are damaged ({error})") from None

    def time_of(self, index: int) -> float:
        """The time of the ``index``-th frame in seconds, of the first or last one where there are not so many."""
        last = self.count
        return self._at(max(1, min(index, last))) or 0.0

    def longest_verdict(self) -> str:
        """The bottleneck that was shown in most intervals with load (of all, where there was none), or an empty string.
        Raises SessionError."""
        stretches: list[tuple[int, int]] = []
        with suppress(*UNREADABLE):
            stretches = self._blocks.with_load()
        try:
            return self._changes.longest(stretches or [(1, self.count)])
        except UNREADABLE as error:
            raise SessionError(f"{self.path}: the verdicts are damaged ({error})") from None

    def marks(self) -> list[tuple[float, str]]:
        """Seconds of the session, and the text noted there. Raises SessionError."""
        found: list[tuple[float, str]] = []
        try:
            for row in self._connection.execute("SELECT * FROM mark ORDER BY frame, position"):
                number, _, text = checked(row)
                found.append((self._at(number) or 0.0, loaded_text(text)))
        except UNREADABLE as error:
            raise SessionError(f"{self.path}: the marks are damaged ({error})") from None
        return found

    def index(self, at: float) -> int:
        """The number of the first frame at or after ``at`` seconds (one more than the last where there is none)."""
        low, high = 1, self.count + 1
        while low < high:
            middle = (low + high) // 2
            found = self._at(middle)
            if found is not None and found < at:
                low = middle + 1
            else:
                high = middle
        return low

    def _numbers(self, number: int, *, lines: bool) -> Iterator[tuple[Block, int]]:
        """The frames from ``number`` on, each with its block."""
        while number <= (last := self.count):
            end = min(last, number - (number - 1) % BLOCK + BLOCK - 1)
            try:
                block = self._blocks.fetch(number, lines=lines)
            except UNREADABLE as error:
                self._note(number, end, error)
            else:
                end = max(end, block.first + block.count - 1)
                for each in range(number, end + 1):
                    yield block, each
            number = end + 1

    def _note(self, first: int, last: int, error: Exception) -> None:
        which = f"interval {first}" if first == last else f"intervals {first} to {last}"
        problem = f"{which} left out: {error}"
        if problem not in self.damage:
            self.damage.append(problem)

    def _at(self, number: int) -> float | None:
        try:
            return self._blocks.at(number)
        except UNREADABLE:
            return None

    def _meta(self) -> SessionMeta:
        row = self._connection.execute("SELECT * FROM session").fetchone()
        if row is None:
            raise DamagedError("it says nothing of itself")
        _, started, url, version, interval_s, title, tables = checked(row)
        if checksum(tuple(self._connection.execute(TABLES))) != tables:
            raise DamagedError("its tables were altered")
        words = self._connection.execute("SELECT * FROM word ORDER BY position")
        return SessionMeta(
            started=read_real(started),
            command_line=tuple(loaded_text(checked(word)[1]) for word in words),
            url=loaded_text(url),
            version=loaded_text(version),
            interval_s=read_real(interval_s),
            title=loaded_text(title),
        )


def connection_to(path: Path) -> sqlite3.Connection:
    """A connection for reading that has been used once. Raises SessionError."""
    _check_file(path)
    try:
        return _connect(path, "mode=ro")
    except (sqlite3.Error, UnicodeDecodeError) as error:
        name = getattr(error, "sqlite_errorname", "")
        problem = str(error)
    if name == "SQLITE_NOTADB":
        raise SessionError(f"{path}: not a recording of loadtop")
    if not os.access(path, os.R_OK):
        raise SessionError(f"{path}: not permitted to read it")
    if name.startswith(("SQLITE_CANTOPEN", "SQLITE_READONLY")):
        journal = path.with_name(f"{path.name}-wal")
        if journal.exists() and journal.stat().st_size:
            raise SessionError(f"{path}: copy it and {journal.name} to a directory that can be written, to read both")
        # Nobody writes and nothing is left to be done: it can be read as it is.
        with suppress(sqlite3.Error, UnicodeDecodeError):
            return _connect(path, "immutable=1")
    raise SessionError(f"{path}: the recording is damaged at its beginning ({problem})")


def _check_file(path: Path) -> None:
    """Raise SessionError where there is no file, or something else than one."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise NoSessionError(f"{path}: no such file") from None
    except PermissionError:
        raise SessionError(f"{path}: not permitted to read it") from None
    except OSError as error:
        raise SessionError(f"{path}: {error.strerror}") from None
    if stat.S_ISDIR(mode):
        raise SessionError(f"{path}: this is a directory, give a recording in it")
    if not stat.S_ISREG(mode):
        raise SessionError(f"{path}: not a recording of loadtop")


def _connect(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, isolation_level=None, timeout=5.0)
    try:
        # Rows are checked one by one: a file that was cut off, or whose views are damaged, is read as far as it goes.
        connection.execute("PRAGMA writable_schema = ON")
        _check(connection, path)
    except (sqlite3.Error, UnicodeDecodeError, SessionError):
        connection.close()
        raise
    return connection


def _check(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise SessionError(f"{path}: not a recording of loadtop")
    if version > SCHEMA_VERSION:
        known = f"schema {version}; this one knows up to {SCHEMA_VERSION}"
        raise SessionError(f"{path}: written by a newer loadtop ({known})")
    connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
