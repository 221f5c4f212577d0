"""Follows the control group of the first web server on a machine: finds it, and asks for its files in each sample."""

from collectors import cgroup
from collectors.cgroup import Mount, Place
from collectors.problem import AbsentError
from collectors.reading import Missing, Reading, Wanted
from loadtop.model import CgroupLimits

MOUNTS_EVERY = 60
"""The mounts are read again after this many samples: containers come and go, hierarchies hardly ever."""


class CgroupWatch:
    """The group of one process over time. What a sample finds out decides which files the next one wants."""

    def __init__(self) -> None:
        self._pid: int | None = None
        self._mounts: tuple[Mount, ...] | None = None
        self._mounts_in = 0
        self._place: Place | None = None
        self._reason = "not read yet"

    def files(self, servers: tuple[int, ...]) -> tuple[Wanted, ...]:
        """What the next sample is to read, where ``servers`` are the first processes of the web servers."""
        pid = servers[0] if servers else None
        if pid != self._pid:
            self._pid, self._place, self._reason = pid, None, "not read yet"
        if pid is None:
            return ()
        mounts = (Wanted(cgroup.MOUNTS),) if self._mounts_in <= 0 else ()
        found = self._place.files() if self._place is not None else ()
        return (cgroup.membership_file(pid), *mounts, *found)

    def collect(self, reading: Reading) -> CgroupLimits:
        """The limits of the group; raises :class:`AbsentError` with the reason where there is none (yet)."""
        if self._pid is None:
            raise AbsentError("no web server process here")
        place = self._place
        if cgroup.membership_file(self._pid).path in reading.files:
            self._locate(reading, self._pid)
        if place is None or place != self._place:
            raise AbsentError(self._reason)
        return cgroup.collect(reading, place)

    def _locate(self, reading: Reading, pid: int) -> None:
        """Learn where the files are that the next sample wants."""
        self._mounts_in -= 1
        mountinfo = reading.files.get(cgroup.MOUNTS)
        if isinstance(mountinfo, str):
            self._mounts = cgroup.parse_mounts(mountinfo)
            self._mounts_in = MOUNTS_EVERY
        if self._mounts is None:
            reason = mountinfo.reason if isinstance(mountinfo, Missing) else "not read"
            raise AbsentError(f"{cgroup.MOUNTS}: {reason}")
        membership = cgroup.parse_membership(reading.text(cgroup.membership_file(pid).path))
        self._place = cgroup.locate(membership, self._mounts)
        self._reason = "not read yet" if self._place else "the control groups of the web server are not mounted here"
