"""Limits of this machine that a load can reach: local ports, open files, the CPU quota of the control group."""

import contextlib
import re
import resource
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from loadtop.i18n.message import Message
from loadtop.model.load import TOO_MANY_CONNECTIONS

RESERVED_FILES = 32
"""Descriptors of a worker that are not for connections."""
_UNLIMITED_FILES = 1 << 20
_PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
_SOCKETS = Path("/proc/net/sockstat")
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


def too_many_connections(connections: int, file_limit: int) -> Message | None:
    """Return what to do if a worker may not open enough files for so many connections."""
    if connections + RESERVED_FILES <= file_limit:
        return None
    needed = connections + RESERVED_FILES
    return Message(TOO_MANY_CONNECTIONS, connections=connections, limit=file_limit, needed=needed)


def local_ports() -> int | None:
    """Return how many local ports there are; None where the system does not say.

    Each connection to one address and port needs its own, and keeps it for a minute after closing (TIME_WAIT).
    """
    try:
        first, last = map(int, _PORT_RANGE.read_text().split())
    except (OSError, ValueError):
        return None
    return last - first + 1


def ports_in_time_wait() -> int | None:
    """Return how many connections of this machine are in TIME_WAIT; None where the system does not say.

    Which of them lead to the target is not known, so this is an upper bound of its ports in use.
    """
    try:
        found = re.search(r"^TCP:.* tw (\d+)", _SOCKETS.read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if found is None else int(found[1])


@dataclass(frozen=True, slots=True)
class QuotaPeriods:
    """Periods of a CPU quota, and those in which the group was throttled. Counters."""

    all: int
    throttled: int


class CpuQuota:
    """Reads the quota periods of this process's control group and those above it, each of which may be limited.

    ``root`` is where the system's files are. Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (``cpu.stat``)
    and scheduler/sched-bwc.rst (version 1).
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._files = _cpu_stat_files(root)

    def periods(self) -> QuotaPeriods | None:
        """Return None if there is no quota or there are no control groups."""
        found: list[QuotaPeriods] = []
        for file in self._files:
            with contextlib.suppress(OSError):  # the group was removed
                counts = dict(line.split() for line in file.read_text().splitlines())
                found.append(QuotaPeriods(int(counts.get("nr_periods", 0)), int(counts.get("nr_throttled", 0))))
        # If several groups have a quota, the one that is throttled most limits the generator.
        return max((each for each in found if each.all), key=lambda each: each.throttled, default=None)


def _cpu_stat_files(root: Path) -> list[Path]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in {"", "cpu"} & set(controllers.split(",")):
            groups = (PurePosixPath(path), *PurePosixPath(path).parents)
            found += [root / _CGROUP_ROOTS[name] / str(group).lstrip("/") / "cpu.stat" for group in groups]
    return [file for file in found if file.exists()]
