"""Processes from /proc/PID/stat, and their proportional memory from /proc/PID/smaps_rollup.

Source: Linux, Documentation/filesystems/proc.rst, table 1-4. A name can contain spaces, parentheses and newlines: the
fields begin after the last ``)``. ``stat`` alone tells state, threads, time and resident pages in one cheap read.
"""

from dataclasses import dataclass

from collectors.errors import ParseError
from collectors.parsing import complete_lines, count, row


@dataclass(frozen=True, slots=True)
class ProcessStat:
    """The fields wanted of one ``stat``: ticks since boot, resident memory in pages."""

    pid: int
    name: str
    state: str
    parent: int
    threads: int
    cpu_ticks: int
    started_ticks: int
    rss_pages: int


def parse_stat(stat: str) -> ProcessStat:
    opening, closing = stat.find("("), stat.rfind(")")
    fields = stat[closing + 1 :].split()
    if opening < 1 or closing < opening or len(fields) < 23:  # one more than needed: the last may be cut
        raise ParseError("stat of a process: too few fields")
    state = fields[0]
    if len(state) != 1 or not state.isascii() or not state.isalpha():
        raise ParseError(f"stat of a process: no state: {state[:40]!a}")
    pid, parent, user, system, threads, started, resident = row(
        (stat[:opening].strip(), fields[1], fields[11], fields[12], fields[17], fields[19], fields[21]),
        "stat of a process",
    )
    return ProcessStat(pid, stat[opening + 1 : closing], state, parent, threads, user + system, started, resident)


def parse_pss(smaps_rollup: str) -> int | None:
    """Proportional set size in kB; ``None`` for a process that is ending and has no memory any more."""
    if not smaps_rollup:
        return None
    for line in complete_lines(smaps_rollup):
        if line.startswith("Pss:"):
            words = line[4:].split()
            return count(words[0] if words else "", "Pss in smaps_rollup")
    raise ParseError("smaps_rollup has no Pss")
