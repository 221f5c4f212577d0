"""CPU time of processes and their descendants, and how long they waited for a CPU, thread by thread."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import psutil

from loadtop.generator.limits import cpu_wait_s
from loadtop.model import GeneratorSample

MAX_THREADS = 256  # threads with a counter of their own; all others share one
INTERVAL_S = 0.5


class CpuTime:
    """Seconds of these processes on a CPU and waiting for one: two counters for each thread ever seen, in the order of
    appearance."""

    def __init__(self, *pids: int, proc: Path = Path("/proc")) -> None:
        self._pids, self._proc = pids, proc
        self._seconds: dict[tuple[int, int], float] = {}
        self._waits: dict[tuple[int, int], float] = {}

    def read(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Return both kinds of counters; those of threads that have ended keep their value, and the last is that of the
        threads without one of their own, if any. Waits are empty where the kernel counts none. Blocks for some
        milliseconds."""
        others = 0.0
        for process in self._processes():
            with contextlib.suppress(psutil.Error):
                for thread in process.threads():
                    key, seconds = (process.pid, thread.id), thread.user_time + thread.system_time
                    if key in self._seconds or len(self._seconds) < MAX_THREADS:
                        self._seconds[key] = max(self._seconds.get(key, 0.0), seconds)
                        waited = cpu_wait_s(self._proc / f"{process.pid}/task/{thread.id}/schedstat")
                        if waited is not None:
                            self._waits[key] = waited
                    else:
                        others += seconds
        rest = (others,) if others else ()
        waits = tuple(self._waits.get(key, 0.0) for key in self._seconds) if self._waits else ()
        return (*self._seconds.values(), *rest), (*waits, *(0.0 for _ in rest if waits))

    async def samples(self) -> AsyncIterator[GeneratorSample]:
        """Yield the counters twice a second, without end."""
        while True:
            with contextlib.suppress(OSError):
                seconds, waits = await asyncio.to_thread(self.read)
                if seconds:
                    yield GeneratorSample(seconds, None, None, None, worker_wait_s=waits)
            await asyncio.sleep(INTERVAL_S)

    def _processes(self) -> list[psutil.Process]:
        found: list[psutil.Process] = []
        for pid in self._pids:
            with contextlib.suppress(psutil.Error):
                first = psutil.Process(pid)
                found += [first, *first.children(recursive=True)]
        return found
