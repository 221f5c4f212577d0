"""Processor time from /proc/stat: all cores together and each.

Source: Linux, Documentation/filesystems/proc.rst, "Miscellaneous kernel statistics in /proc/stat". Columns were added
over time (steal in 2.6.11, guest in 2.6.24, guest_nice in 2.6.33): those that a kernel does not print are ``None``.
"""

from collectors.errors import ParseError
from collectors.parsing import complete_lines, count, row
from collectors.reading import Wanted
from loadtop.model import Core, Cpu, CpuTimes

STAT = "/proc/stat"
FILES = (Wanted(STAT, lines="^(cpu|ctxt|processes|procs_)"),)
_COLUMNS = 10


def parse(stat: str) -> Cpu:
    """Processor time since boot in ticks; needs the line of all cores together."""
    total: CpuTimes | None = None
    cores: dict[int, Core] = {}
    for line in complete_lines(stat):
        if not line.startswith("cpu"):
            continue
        label, *columns = line.split()
        if label == "cpu":
            total = _times(label, columns)
        else:
            number = count(label[3:], "number of a core in /proc/stat")
            cores[number] = Core(number, _times(label, columns))
    if total is None:
        raise ParseError("/proc/stat has no complete line of cpu")
    return Cpu(total, tuple(cores.values()))


def _times(label: str, columns: list[str]) -> CpuTimes:
    if len(columns) < 4:
        raise ParseError(f"/proc/stat: {label} has {len(columns)} columns, at least 4 are needed")
    return CpuTimes(*row(columns[:_COLUMNS], "time in /proc/stat"))
