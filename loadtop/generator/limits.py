"""Limits of this machine that a load can reach: local ports, open files, the CPU quota of the control group."""

import contextlib
import re
import resource
from collections.abc import Iterator
from operator import itemgetter
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
