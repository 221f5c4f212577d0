"""Load averages from /proc/loadavg, with the counts of tasks from /proc/stat.

Source: Linux, Documentation/filesystems/proc.rst: three averages, ``running/all`` scheduling entities, newest pid. Who
reads these files is always one of those that run: as in vmstat and sar it is not counted.
"""

from collectors.errors import ParseError
from collectors.linux import cpu
from collectors.linux.cpu import STAT, Tasks
from collectors.parsing import complete_lines, count_or_none, decimal
from collectors.reading import Reading, Wanted
from loadtop.model import Scheduler

LOADAVG = "/proc/loadavg"
FILES = (Wanted(LOADAVG), Wanted(STAT))


def parse(loadavg: str, tasks: Tasks | None = None) -> Scheduler:
    """Averages over 1, 5 and 15 minutes. ``running`` is procs_running, or else the first number of ``running/all``, in
    either case without the reader."""
    words = next(complete_lines(loadavg), "").split()
    if len(words) < 3:
        raise ParseError("/proc/loadavg has no three averages")
    load1, load5, load15 = (decimal(word, "/proc/loadavg") for word in words[:3])
    first, _, existing = words[3].partition("/") if len(words) > 3 else ("", "", "")
    running = tasks.running if tasks and tasks.running is not None else count_or_none(first)
    return Scheduler(
        load1=load1,
        load5=load5,
        load15=load15,
        running=None if running is None else max(0, running - 1),
        blocked=tasks.blocked if tasks else None,
        tasks=count_or_none(existing),
        context_switches=tasks.context_switches if tasks else None,
        forks=tasks.forks if tasks else None,
    )


def collect(reading: Reading) -> Scheduler:
    stat = reading.optional(STAT)
    return parse(reading.text(LOADAVG), None if stat is None else cpu.parse_tasks(stat))
