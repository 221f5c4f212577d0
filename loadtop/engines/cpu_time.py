"""CPU time of processes and their descendants, thread by thread."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import psutil

from loadtop.model import GeneratorSample

MAX_THREADS = 256  # threads with a counter of their own; all others share one
INTERVAL_S = 0.5


class CpuTime:
    """CPU seconds of these processes: one counter for each thread ever seen, in the order of appearance."""

    def __init__(self, *pids: int) -> None:
        self._pids = pids
        self._seconds: dict[tuple[int, int], float] = {}

    def read(self) -> tuple[float, ...]:
        """Return the counters; those of threads that have ended keep their value. Blocks for some milliseconds."""
        others = 0.0
        for process in self._processes():
            with contextlib.suppress(psutil.Error):
                for thread in process.threads():
                    key, seconds = (process.pid, thread.id), thread.user_time + thread.system_time
                    if key in self._seconds or len(self._seconds) < MAX_THREADS:
                        self._seconds[key] = max(self._seconds.get(key, 0.0), seconds)
                    else:
                        others += seconds
        return (*self._seconds.values(), others) if others else tuple(self._seconds.values())

    async def samples(self) -> AsyncIterator[GeneratorSample]:
        """Yield the counters twice a second, without end."""
        while True:
            with contextlib.suppress(OSError):
                if seconds := await asyncio.to_thread(self.read):
                    yield GeneratorSample(seconds, None, None, None)
            await asyncio.sleep(INTERVAL_S)

    def _processes(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for pid in self._pids:
            with contextlib.suppress(psutil.Error):
                first = psutil.Process(pid)
                found += [first, *first.children(recursive=True)]
        return found
