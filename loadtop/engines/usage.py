"""Processor time of processes and everything that descends from them, thread by thread."""

import contextlib

import psutil

MOST = 256
"""Threads told apart; further ones are added up in one figure."""


class Usage:
    """Counters of processor seconds, one for each thread that was ever seen, in the order in which they appeared."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._places: dict[tuple[int, int], int] = {}
        self._seconds: list[float] = []

    def read(self) -> tuple[float, ...]:
        """The counters now; those of threads that have ended stay as they were. Blocks for some milliseconds."""
        surplus = 0.0
        for process in self._processes():
            try:
                threads = process.threads()
            except psutil.Error:
                continue
            for thread in threads:
                key = process.pid, thread.id
                seconds = thread.user_time + thread.system_time
                if key not in self._places and len(self._places) >= MOST:
                    surplus += seconds
                    continue
                place = self._places.setdefault(key, len(self._seconds))
                if place == len(self._seconds):
                    self._seconds.append(0.0)
                self._seconds[place] = max(self._seconds[place], seconds)
        return (*self._seconds, surplus) if surplus else tuple(self._seconds)

    def _processes(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for pid in self._pids:
            with contextlib.suppress(psutil.Error):
                first = psutil.Process(pid)
                found += [first, *first.children(recursive=True)]
        return found
