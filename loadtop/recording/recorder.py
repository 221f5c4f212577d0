"""Writes every moment of a session to its file, from a thread of its own."""

import queue
import sqlite3
import threading
from contextlib import suppress
from pathlib import Path

from loadtop.pipeline.snapshot import Snapshot
from loadtop.recording import file
from loadtop.recording.meta import SessionMeta
from loadtop.recording.writer import Writer

__all__ = ["Recorder", "SessionMeta"]

QUEUE = 120
"""Moments that may wait for the thread, while the disk does not answer, before the newest are dropped."""

PATIENCE = 3600
"""Moments that are kept while the file cannot be written. They are written as soon as it can be again."""

CLOSING_S = 10.0
"""How long :meth:`Recorder.close` waits for a disk that does not answer."""


class Recorder:
    """Records a session: one transaction per moment, each in the file before the next.

    Nothing here raises and :meth:`record` never waits: a test goes on whatever becomes of its recording. ``problem``
    says in one line what is wrong now, or is empty.
    """

    def __init__(self, path: Path, *, meta: SessionMeta) -> None:
        self.path = path
        self.problem = ""
        self._began = False
        self._queue: queue.Queue[Snapshot | None] = queue.Queue(QUEUE)
        self._dropped = 0
        self._thread: threading.Thread | None = None
        try:
            file.create(path, meta)
            writer = Writer(path)
        except file.CreationError as error:
            self.problem = str(error)
        except (OSError, sqlite3.Error) as error:
            self.problem = f"cannot record to {path}: {file.reason(error)}"
        else:
            self._began = True
            self._thread = threading.Thread(target=self._run, args=(writer,), name="recorder", daemon=True)
            self._thread.start()

    @property
    def kept(self) -> bool:
        """Whether there is a file, whole or in part."""
        return self._began and self.path.exists()

    def record(self, snapshot: Snapshot) -> None:
        """Hand a moment to the writer."""
        if self._thread is None or not self._thread.is_alive():
            return
        try:
            self._queue.put_nowait(snapshot)
        except queue.Full:
            self._dropped += 1
            self.problem = f"the disk of {self.path} does not answer: {_intervals(self._dropped)} not recorded"

    def flush(self) -> None:
        """Wait until all that was handed over is in the file, or cannot be."""
        if self._thread is not None and self._thread.is_alive():
            self._queue.join()

    def close(self) -> None:
        """Write what waits and let go of the file. It can be called again."""
        thread, self._thread = self._thread, None
        if thread is None or not thread.is_alive():
            return
        try:
            self._queue.put(None, timeout=CLOSING_S)
        except queue.Full:
            return
        thread.join(CLOSING_S)

    def _run(self, writer: Writer) -> None:
        views = False
        try:
            while (snapshot := self._queue.get()) is not None:
                writer.take(snapshot)
                going_on = self._write(writer)
                if not views:
                    # They are no part of what was measured, so they come after the first moment. What is wrong with the
                    # file, if anything, shows there.
                    with suppress(sqlite3.Error):
                        writer.add_views()
                    views = True
                self._queue.task_done()
                if not going_on:
                    return
            self._queue.task_done()
            if writer.waiting:
                self._write(writer, last=True)
        except Exception as error:
            # A mistake of this program: the test goes on, and says so at its end.
            self.problem = f"the recording to {self.path} broke off: {error!r}"
            with suppress(ValueError):
                self._queue.task_done()
        finally:
            writer.close()
            with suppress(queue.Empty):
                while True:  # whoever waits for these waits in vain
                    self._queue.get_nowait()
                    self._queue.task_done()

    def _write(self, writer: Writer, *, last: bool = False) -> bool:
        """Write what waits; the result says whether it makes sense to go on."""
        try:
            writer.write()
        except FileNotFoundError:
            self.problem = f"{self.path} was removed or replaced: the recording has ended, the test goes on"
            return False
        except (OSError, sqlite3.Error) as error:
            missing = f"cannot write to {self.path}: {file.reason(error)}; {_intervals(writer.waiting)} not recorded"
            going_on = writer.waiting < PATIENCE and not last
            self.problem = f"{missing} yet" if going_on else f"{missing}, the recording has ended"
            return going_on
        self.problem = f"{_intervals(self._dropped)} missing in {self.path}" if self._dropped else ""
        return True


def _intervals(count: int) -> str:
    return "1 interval is" if count == 1 else f"{count} intervals are"
