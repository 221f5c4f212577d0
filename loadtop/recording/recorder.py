"""Writes every interval of a session to its file, from a separate thread."""

import json
import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from loadtop.analysis.totals.totals import RunResult
from loadtop.model import LoadState
from loadtop.model.secrets import blanked
from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording.container import CreationError, SessionMeta, checksum, create, reason
from loadtop.recording.state import signature

QUEUE = 120  # intervals that may wait for the thread, while the disk does not answer; then the newest are dropped
MOST_UNWRITTEN = 3600  # intervals that are kept while the file cannot be written; they are written as soon as it can be
CLOSING_S = 10.0  # how long Recorder.close waits for a disk that does not answer

Row = tuple[object, ...]


class Writer:
    """Writes each snapshot in a separate transaction; what could not be written is kept for the next one."""

    def __init__(self, path: Path, meta: SessionMeta) -> None:
        """Begin a recording. Raises CreationError."""
        self._path = path
        self._connection = create(path, meta)
        self._identity = _identity(path)
        self._number = 0
        self._written = 0
        self._in_blocks = 0
        self._times: list[float] = []
        self._messages: list[bytes] = []
        self._rows: list[tuple[str, Row]] = []
        self._shown: Row = ()
        self._load_ended = True

    @property
    def waiting(self) -> int:
        """Snapshots that are not in the file."""
        return self._number - self._written

    def take(self, snapshot: Snapshot) -> None:
        """Make rows of the snapshot; they are written with the next :meth:`write`."""
        from loadtop.recording import codec  # what is not needed before the first interval

        frame = snapshot.measured.frame
        message = codec.encode(frame)
        self._number += 1
        at = float(frame.at)
        self._times.append(at)
        self._messages.append(message)
        self._take_events(snapshot)
        if len(self._messages) >= codec.BLOCK_FRAMES or sum(map(len, self._messages)) >= codec.BLOCK_BYTES:
            self._end_block()
        else:
            data = codec.compress(message)
            self._rows.append(("frame", (self._number, at, checksum(self._number, at, data=data), data)))

    def write(self) -> None:
        """Write what waits, all of it or nothing. Raises sqlite3.Error, and FileNotFoundError when the file is gone."""
        if _identity(self._path) != self._identity:
            raise FileNotFoundError(str(self._path))
        run = self._connection.execute
        try:
            run("BEGIN IMMEDIATE")
            run("DELETE FROM frame WHERE number <= ?", (self._in_blocks,))
            for table, row in self._rows:
                run(f"INSERT OR REPLACE INTO {table} VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
            run("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self._connection.rollback()
            # Moving the journal into the file may make room for the next attempt.
            with suppress(sqlite3.Error):
                run("PRAGMA wal_checkpoint(TRUNCATE)")
            raise
        self._written = self._number
        self._rows = []

    def add_result(self, result: RunResult) -> None:
        """Keep what all snapshots add up to, so that reports need not read them again."""
        from loadtop.recording import codec
        from loadtop.recording.reader import program

        stored = json.dumps(blanked(result.as_data())).encode()
        if len(stored) <= codec.MAX_TOTALS:
            data = codec.compress(stored)
            row = (self._number, f"{program()} {signature(program(), self._number, data)}")
            self._rows.append(("totals", (*row, checksum(*row, data=data), data)))

    def close(self) -> None:
        """Close the file. If no other process has it open, its -wal file is merged into it."""
        if self._written == self._number and self._number:
            if self._messages:
                self._end_block()
            with suppress(OSError, sqlite3.Error):  # its frames are in the file already
                self.write()
        with suppress(sqlite3.Error):
            self._connection.executescript("PRAGMA incremental_vacuum")  # execute() would free one page only
        # With a reader the journal stays in use; the file is complete all the same.
        with suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def _take_events(self, snapshot: Snapshot) -> None:
        """Add the marks, and the verdict where it or whether load runs has changed."""
        frame, verdict = snapshot.measured.frame, snapshot.diagnosis.verdict
        loaded = False  # not in the warm-up, but in the interval in which the load ended
        if frame.load is not None:
            state = frame.load.state
            loaded = state is LoadState.RUNNING or (state.ended and not self._load_ended)
            self._load_ended = state.ended
        shown = (verdict.bottleneck, verdict.host, loaded)
        if shown != self._shown:
            self._shown = shown
            self._add_event("verdict", float(frame.at), [verdict.bottleneck, verdict.host, verdict.since_s, loaded])
        if frame.marks:
            self._add_event("mark", float(frame.at), list(frame.marks))
        if frame.profiles:
            self._add_event("profile", float(frame.at), [each.host for each in frame.profiles])

    def _add_event(self, kind: str, at: float, data: list[object]) -> None:
        text = json.dumps(data)
        self._rows.append(("event", (self._number, kind, at, checksum(self._number, kind, at, text), text)))

    def _end_block(self) -> None:
        import msgspec

        from loadtop.recording import codec

        times = msgspec.msgpack.encode((self._times, list(map(len, self._messages))))
        data = codec.compress(b"".join(self._messages))
        first, count = self._in_blocks + 1, len(self._times)
        self._rows = [(table, row) for table, row in self._rows if table != "frame"]
        self._rows.append(("block", (first, count, checksum(first, count, times, data=data), times, data)))
        self._in_blocks = self._number
        self._times, self._messages = [], []


def _identity(path: Path) -> tuple[int, int]:
    status = os.stat(path)  # noqa: PTH116 - called for every interval
    return status.st_dev, status.st_ino


class Recorder:
    """Nothing here raises and :meth:`record` never waits: a test continues even if its recording fails. ``problem``
    says in one line what is wrong now, or is empty; ``began`` says whether a file was made."""

    def __init__(self, path: Path, *, meta: SessionMeta) -> None:
        self.path = path
        self.problem = ""
        self.began = False
        self._queue: queue.Queue[Snapshot | None] = queue.Queue(QUEUE)
        self._dropped = 0
        self._result: Callable[[], RunResult] | None = None
        self._thread: threading.Thread | None = None
        try:
            writer = Writer(path, meta)
        except CreationError as error:
            self.problem = str(error)
        else:
            self.began = True
            self._thread = threading.Thread(target=self._run, args=(writer,), name="recorder", daemon=True)
            self._thread.start()

    def record(self, snapshot: Snapshot) -> None:
        if self._thread is None or not self._thread.is_alive():
            return
        try:
            self._queue.put_nowait(snapshot)
        except queue.Full:
            self._dropped += 1
            self.problem = f"the disk of {self.path} does not respond: {_intervals(self._dropped)} not recorded"

    def flush(self) -> None:
        """Wait until all that was handed over is in the file, or cannot be."""
        while self._thread is not None and self._thread.is_alive() and self._queue.unfinished_tasks:
            time.sleep(0.001)

    def close(self, result: Callable[[], RunResult] | None = None) -> None:
        """Write what waits, and what all of it adds up to; let go of the file. It can be called again."""
        thread, self._thread = self._thread, None
        self._result = result
        if thread is None or not thread.is_alive():
            return
        try:
            self._queue.put(None, timeout=CLOSING_S)
        except queue.Full:
            return
        thread.join(CLOSING_S)

    def _run(self, writer: Writer) -> None:
        try:
            while (snapshot := self._queue.get()) is not None:
                writer.take(snapshot)
                if not self._write(writer):
                    return
                self._queue.task_done()
            if writer.waiting:
                self._write(writer, last=True)
            if self._result is not None and not self._dropped:
                with suppress(ArithmeticError, ValueError):  # figures beyond all measure: reports read the frames
                    writer.add_result(self._result())
        except Exception as error:
            # A mistake of this program: the test continues, and says so at its end.
            self.problem = f"the recording to {self.path} ended: {error!r}"
        finally:
            writer.close()

    def _write(self, writer: Writer, *, last: bool = False) -> bool:
        """Write what waits; the result says whether it makes sense to go on."""
        try:
            writer.write()
        except FileNotFoundError:
            self.problem = f"{self.path} was removed or replaced: the recording has ended, the test continues"
            return False
        except (OSError, sqlite3.Error) as error:
            missing = f"cannot write to {self.path}: {reason(error)}; {_intervals(writer.waiting)} not recorded"
            going_on = writer.waiting < MOST_UNWRITTEN and not last
            self.problem = f"{missing} yet" if going_on else f"{missing}, the recording has ended"
            return going_on
        self.problem = f"{_intervals(self._dropped)} missing in {self.path}" if self._dropped else ""
        return True


def _intervals(count: int) -> str:
    return "1 interval is" if count == 1 else f"{count} intervals are"
