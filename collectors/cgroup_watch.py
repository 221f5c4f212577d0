"""Follows the control group of the first web server on a machine: finds it, and asks for its files in each sample."""

from collectors.errors import AbsentError
from collectors.linux import cgroup
from collectors.linux.cgroup import Mount, Place
from collectors.reading import Missing, Reading, Wanted
from loadtop.model import CgroupLimits

MOUNTS_EVERY = 60
"""The mounts are read again after this many samples: containers come and go, hierarchies hardly ever."""


class CgroupWatch:
    """The group of one process over time. What a sample finds out decides which files the next one wants."""

    def __init__(self) -> None:
        self._membership: Wanted | None = None
        self._mounts: tuple[Mount, ...] | None = None
        self._mounts_in = 0
        self._located: tuple[str, tuple[Mount, ...]] | None = None
        self._place: Place | None = None
        self._files: tuple[Wanted, ...] = ()
        self._reason = "not read yet"

    def files(self, servers: tuple[int, ...]) -> tuple[Wanted, ...]:
        """What the next sample is to read, where ``servers`` are the first processes of the web servers."""
        membership = cgroup.membership_file(servers[0]) if servers else None
        if membership != self._membership:
            self._membership, self._located = membership, None
            self._place, self._files, self._reason = None, (), "not read yet"
        if membership is None:
            return ()
        mounts = (Wanted(cgroup.MOUNTS),) if self._mounts_in <= 0 else ()
        return (membership, *mounts, *self._files)

    def collect(self, reading: Reading) -> CgroupLimits:
        """The limits of the group; raises :class:`AbsentError` with the reason where there is none (yet)."""
        if self._membership is None:
            raise AbsentError("no web server process here")
        place = self._place
        if self._membership.path in reading.files:
            self._locate(reading, self._membership)
        if place is None or place != self._place:
            raise AbsentError(self._reason)
        return cgroup.collect(reading, place)

    def _locate(self, reading: Reading, membership: Wanted) -> None:
        """Learn where the files are that the next sample wants: from the mounts and the process's groups, which both
        hardly ever change."""
        self._mounts_in -= 1
        mountinfo = reading.files.get(cgroup.MOUNTS)
        if isinstance(mountinfo, str):
            self._mounts = cgroup.parse_mounts(mountinfo)
            self._mounts_in = MOUNTS_EVERY
        if self._mounts is None:
            reason = mountinfo.reason if isinstance(mountinfo, Missing) else "not read"
            raise AbsentError(f"{cgroup.MOUNTS}: {reason}")
        text = reading.text(membership.path)
        if (text, self._mounts) == self._located:
            return
        self._place = cgroup.locate(cgroup.parse_membership(text), self._mounts)
        self._files = self._place.files() if self._place is not None else ()
        self._located = text, self._mounts
        self._reason = "not read yet" if self._place else "the control groups of the web server are not mounted here"
