"""Limits of this machine that a load can reach: local ports, open files, CPU quota, cores for more workers."""

import contextlib
import os
import re
import resource
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from pathlib import Path, PurePosixPath

WINDOW_S = 1.0  # for how long a worker must be busy
BUSY_CORE_SHARE = 0.85  # of a busy worker; from 0.9 on its results are distorted (diagnosis/generator.py)
MIN_IDLE_CORES = 0.5  # with fewer, another worker would only take CPU time from the others and the server
_UNLIMITED_FILES = 1 << 20
_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_SOCKETS = Path("/proc/net/sockstat")
_SCHEDSTAT = Path("/proc/self/schedstat")
_CGROUP_ROOTS = {"": "sys/fs/cgroup", "cpu": "sys/fs/cgroup/cpu"}
"""Where version 2 and version 1's CPU controller are mounted, by convention of systemd and all container engines."""


def raise_file_limit() -> int:
    """Raise the limit of open files as far as possible without privileges, and return it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _UNLIMITED_FILES if hard == resource.RLIM_INFINITY else hard
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return _UNLIMITED_FILES if soft == resource.RLIM_INFINITY else soft


def local_ports() -> int | None:
    """Return how many local ports there are; None where the system does not say. Each connection to one address and
    port needs its own, and keeps it for a minute after closing (TIME_WAIT)."""
    try:
        first, last = map(int, _PORT_RANGE.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1


def ports_in_time_wait() -> int | None:
    """Return how many connections of this machine are in TIME_WAIT; None where the system does not say. Which of them
    lead to the target is not known, so this is an upper bound of its ports in use."""
    try:
        found = re.search(r"^TCP:.{0,200} tw (\d{1,12})", _SOCKETS.read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1])


def cpu_wait_s(schedstat: Path = _SCHEDSTAT) -> float | None:
    """Return for how many seconds a thread was runnable without a processor, the main thread of this process unless
    another file is given: a counter. None where the kernel does not count that. Source: Linux,
    Documentation/scheduler/sched-stats.rst."""
    try:
        _, waited_ns, slices = map(int, schedstat.read_text().split())
    except (OSError, ValueError):
        return None
    return waited_ns / 1e9 if slices else None


def quota_periods(root: Path = Path("/")) -> tuple[int, int] | None:
    """Return the periods of the CPU quota of this process's control group, and how many of them stopped it: counters.

    Each group above it may be limited too: the one that was stopped most counts. None without a quota or control
    groups. ``root`` is where the system's files are. Sources: Linux, Documentation/admin-guide/cgroup-v2.rst
    (``cpu.stat``) and scheduler/sched-bwc.rst (version 1).
    """
    found: list[tuple[int, int]] = []
    for file in _cpu_stat_files(root):
        with contextlib.suppress(OSError):  # the group was removed
            counts = dict(line.split() for line in file.read_text().splitlines())
            found.append((int(counts.get("nr_periods", 0)), int(counts.get("nr_throttled", 0))))
    return max((each for each in found if each[0]), key=itemgetter(1), default=None)


def _cpu_stat_files(root: Path) -> Iterator[Path]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in {"", "cpu"} & set(controllers.split(",")):
            for group in (PurePosixPath(path), *PurePosixPath(path).parents):
                yield root / _CGROUP_ROOTS[name] / str(group).lstrip("/") / "cpu.stat"


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def idle_cores() -> float:
    """Return how many of the machine's cores were idle since the last call; waiting for a disk is idle too."""
    import psutil  # workers import this file, and have no use for that

    times = psutil.cpu_times_percent()
    return (times.idle + float(getattr(times, "iowait", 0.0))) / 100.0 * (psutil.cpu_count() or 1)


CpuUsage = tuple[float, float]
"""Of one worker: when it reported (a monotonic clock, seconds), and its CPU seconds until then."""


class ScalingPolicy:
    """Says when a load gets another worker (``--workers auto``): when the busiest was busy for :data:`WINDOW_S`, cores
    were idle meanwhile, and there are fewer than ``max_workers``."""

    def __init__(self, max_workers: int, idle_cores: Callable[[], float]) -> None:
        self._max_workers = max_workers
        self._idle_cores = idle_cores
        self._before: Sequence[CpuUsage] = ()

    def wants_worker(self, usage: Sequence[CpuUsage]) -> bool:
        """Whether to add a worker now; call this a few times a second."""
        if len(self._before) != len(usage):
            self._idle_cores()
            self._before = usage
            return False
        pairs = list(zip(self._before, usage, strict=True))
        if min(now[0] - before[0] for before, now in pairs) < WINDOW_S:
            return False
        busiest = max((now[1] - before[1]) / (now[0] - before[0]) for before, now in pairs)
        self._before = usage
        idle = self._idle_cores()
        return len(usage) < self._max_workers and busiest >= BUSY_CORE_SHARE and idle >= MIN_IDLE_CORES
