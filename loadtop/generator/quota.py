"""The processor quota of the generator's own control group, which stops all of it when its time is used up.

Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (``cpu.stat``) and scheduler/sched-bwc.rst (version 1).
"""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_ROOTS = {"": "sys/fs/cgroup", "cpu": "sys/fs/cgroup/cpu"}
"""Where the hierarchies of version 2 and of version 1's controller are mounted, by the convention of systemd and of all
container engines."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Periods of the quota so far, and those in which the group was stopped. Counters."""

    all: int
    stopped: int


class Quota:
    """Reads the periods of the groups that this process is in: its own and those above it, any of which may be limited.

    ``root`` is where the system's files are.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._files = tuple(_files(root))

    def periods(self) -> Periods | None:
        """``None`` where there is no quota, or no control groups."""
        found = [counts for file in self._files if (counts := _counts(file))["nr_periods"]]
        if not found:
            return None
        # Where several have a quota, the one that stops most is what holds the generator.
        most = max(found, key=lambda counts: counts["nr_throttled"])
        return Periods(most["nr_periods"], most["nr_throttled"])


def _files(root: Path) -> list[Path]:
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    found: list[Path] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        for name in {"", "cpu"} & set(controllers.split(",")):
            own = PurePosixPath(path)
            found += [root / _ROOTS[name] / str(group).lstrip("/") / "cpu.stat" for group in (own, *own.parents)]
    return [file for file in found if file.exists()]


def _counts(file: Path) -> dict[str, int]:
    counts = {"nr_periods": 0, "nr_throttled": 0}
    try:
        words = file.read_text().split()
    except OSError:  # the group is gone, as we are elsewhere now
        return counts
    return counts | dict(zip(words[::2], map(int, words[1::2]), strict=True))
