"""Reads where threads wait in the kernel, at several moments between two samples: those of a server often wait
together, and are all awake a moment later."""

import os
import threading
from collections.abc import Mapping, Sequence

from collectors.linux.sleeping import AT_EASE, EPOLL, MOST_MOMENTS
from collectors.transport import files

MOST_LOOKS = 300  # between two samples, at all threads in sum: at 8 us each, 0.24 % of a core
_MOST_BYTES = 400


class ThreadLooks:
    """``root`` is a directory with the ``/proc`` of tests. :meth:`look` may be called from another thread."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._is_root = os.geteuid() == 0  # other users read 0 for most threads, even for those that wait
        self._wanted: tuple[str, ...] = ()
        self._most = self._done = 0
        self._calls = self._calls_before = 0
        self._found: dict[str, str] = {}
        self._lock = threading.Lock()

    def look(self) -> None:
        """Read the threads that are wanted, unless that was done often enough since they were named. Where it is called
        more often than they may be read, the readings are spread over as many calls as there were last time."""
        with self._lock:
            self._calls += 1
            if self._done < self._most and self._calls * self._most >= self._done * self._calls_before:
                self._look()

    def exchange(self, wanted: Sequence[str]) -> Mapping[str, str]:
        """The texts of the threads that were wanted until now, as in :attr:`~collectors.machine.Reading.wchan`; those
        of others are read from now on."""
        with self._lock:
            if not self._found:
                self._look()
            found, self._found = self._found, {}
            self._wanted = tuple(wanted)
            self._most, self._done = max(1, min(MOST_MOMENTS, MOST_LOOKS // max(1, len(wanted)))), 0
            self._calls, self._calls_before = 0, self._calls
        return found

    def _look(self) -> None:
        self._done += 1
        for thread in self._wanted:
            line = self._text(thread, "wchan").strip()
            if EPOLL.match(line):
                line += f" {self._text(thread, 'syscall').strip()}"
            elif line and not AT_EASE.match(line) and (line != "0" or self._is_root):
                line += f" {self._text(thread, 'stat').rpartition(')')[2][1:2]}"
            if line:
                self._found[thread] = f"{self._found.get(thread, '')}{line}\n"

    def _text(self, thread: str, name: str) -> str:
        text = files.read_whole(f"{self._root}/proc/{thread}/{name}", _MOST_BYTES, once=True)
        return text if isinstance(text, str) else ""
