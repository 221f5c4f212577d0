"""Load averages from /proc/loadavg, with the counts of tasks from /proc/stat.

Source: Linux, Documentation/filesystems/proc.rst: three averages, ``running/all`` scheduling entities, newest pid. Who
reads these files is always one of those that run: as in vmstat and sar it is not counted.
"""

from collectors.errors import ParseError
from collectors.parsing import complete_lines, count_or_none, counts, decimal
from loadtop.model import Scheduler

LOADAVG = "/proc/loadavg"
_TASKS = ("procs_running", "procs_blocked", "ctxt", "processes")


def parse(loadavg: str, stat: str | None = None) -> Scheduler:
    """``running`` is procs_running, or else the first number of ``running/all``, in either case without the reader."""
    words = next(complete_lines(loadavg), "").split()
    if len(words) < 3:
        raise ParseError("/proc/loadavg has no three averages")
    load1, load5, load15 = (decimal(word, "/proc/loadavg") for word in words[:3])
    first, _, existing = words[3].partition("/") if len(words) > 3 else ("", "", "")
    tasks = counts(stat or "", _TASKS)
    running = tasks.get("procs_running", count_or_none(first))
    return Scheduler(
        load1=load1,
        load5=load5,
        load15=load15,
        running=None if running is None else max(0, running - 1),
        blocked=tasks.get("procs_blocked"),
        tasks=count_or_none(existing),
        context_switches=tasks.get("ctxt"),
        forks=tasks.get("processes"),
    )
