"""Every request by itself, for ab's -g: in a file that has no name, so that nothing stays behind, however it ends.

A row is four native 64-bit integers: when the request began (``perf_counter_ns``), and in nanoseconds its total, its
connect and its waiting time. The worker's memory does not grow with the run.
"""

import os
import tempfile
from array import array
from typing import BinaryIO

ROW = 4
"""Numbers in a row."""


class Journal:
    """The worker's side: rows go into an array, and with :meth:`flush` into the file of the given descriptor."""

    def __init__(self, descriptor: int) -> None:
        self._file = open(descriptor, "wb", buffering=0)  # noqa: SIM115 - a descriptor, open as long as this is
        self._rows = array("q")
        self._extend = self._rows.extend
        self.problem = ""

    def add(self, started: int, total: int, connect: int, waiting: int) -> None:
        self._extend((started, total, connect, waiting))

    def flush(self) -> None:
        """Write what has gathered. When that fails, :attr:`problem` says why, and nothing more is written."""
        if self._rows and not self.problem:
            try:
                rest = memoryview(self._rows).cast("B")
                while rest:
                    rest = rest[self._file.write(rest) :]
                rest.release()
            except OSError as error:
                self.problem = f"the times of single requests (-g) cannot be kept: {error.strerror}: see TMPDIR"
        self._rows = array("q")
        self._extend = self._rows.extend

    def restart(self) -> None:
        """Forget everything so far: the warm-up is over."""
        self.flush()
        self._file.seek(0)
        self._file.truncate()


class JournalFiles:
    """The other side: a file for each worker. ``OSError`` where none can be made."""

    def __init__(self) -> None:
        self._files: list[BinaryIO] = []

    def add(self) -> int:
        """A new file; its descriptor, for a worker to inherit."""
        file: BinaryIO = tempfile.TemporaryFile(prefix="loadtop-")  # noqa: SIM115 - closed by close
        self._files.append(file)
        return file.fileno()

    def rows(self) -> "array[int]":
        """The rows of all workers, one after the other; a row that was cut short by the end of a worker is left out."""
        found = array("q")
        for file in self._files:
            whole = os.fstat(file.fileno()).st_size // (ROW * found.itemsize)
            file.seek(0)
            found.fromfile(file, whole * ROW)
        return found

    def close(self) -> None:
        for file in self._files:
            file.close()
