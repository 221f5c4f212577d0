"""CPU time and tasks from /proc/stat, load averages from /proc/loadavg.

Source: Linux, Documentation/filesystems/proc.rst. Columns of /proc/stat were added over time (steal in 2.6.11, guest in
2.6.24, guest_nice in 2.6.33): those that a kernel does not print are ``None``. The reader of these files is always a
running task; as in vmstat and sar, it is not counted.
"""

from itertools import islice

from collectors.errors import ParseError
from collectors.machine import Wanted
from collectors.parsing import MOST_CORES, complete_lines, count, count_or_none, counts, decimal, row
from loadtop.model import Core, Cpu, CpuTimes, Scheduler

STAT = "/proc/stat"
LOADAVG = "/proc/loadavg"
FILES = (Wanted(STAT, lines="^(cpu|ctxt|processes|procs_)"),)
LOAD_FILES = (Wanted(LOADAVG),)
_COLUMNS = 10
_TASKS = ("procs_running", "procs_blocked", "ctxt", "processes")


def parse(stat: str) -> Cpu:
    """CPU time since boot in ticks; needs the line of all cores together."""
    total: CpuTimes | None = None
    cores: dict[int, Core] = {}
    lines = (line for line in complete_lines(stat) if line.startswith("cpu"))
    for line in islice(lines, MOST_CORES + 1):
        label, *columns = line.split()
        if label == "cpu":
            total = _times(label, columns)
        else:
            number = count(label[3:], "number of a core in /proc/stat")
            cores[number] = Core(number, _times(label, columns))
    if total is None:
        raise ParseError("/proc/stat has no complete cpu line")
    return Cpu(total, tuple(cores.values()))


def _times(label: str, columns: list[str]) -> CpuTimes:
    if len(columns) < 4:
        raise ParseError(f"/proc/stat: {label} has {len(columns)} columns, expected at least 4")
    return CpuTimes(*row(columns[:_COLUMNS], "time in /proc/stat"))


def parse_load(loadavg: str, stat: str | None = None) -> Scheduler:
    """``running`` is procs_running, or else the first number of ``running/all``, in either case without the reader."""
    words = next(complete_lines(loadavg), "").split()
    if len(words) < 3:
        raise ParseError("/proc/loadavg has fewer than three averages")
    load1, load5, load15 = (decimal(word, LOADAVG) for word in words[:3])
    first, _, existing = words[3].partition("/") if len(words) > 3 else ("", "", "")
    tasks = counts(stat or "", _TASKS)
    running = tasks.get("procs_running", count_or_none(first))
    return Scheduler(
        load1,
        load5,
        load15,
        running=None if running is None else max(0, running - 1),
        blocked=tasks.get("procs_blocked"),
        tasks=count_or_none(existing),
        context_switches=tasks.get("ctxt"),
        forks=tasks.get("processes"),
    )
