"""Which processes are worth a row, and which must be read how often. Keeps what is known of each; does no I/O.

Reading ``stat`` of every process each second would be the dearest part of a sample on a machine with many, and most of
them sleep. So servers and the generator's own are read every time, others every time while they use the processor, and
sleeping others in turn, each every :data:`IDLE_EVERY` samples. Proportional memory (``smaps_rollup``) makes the kernel
walk all page tables of a process (0.1 to 0.3 ms for an httpd with mod_php): a sample reads :data:`PSS_FIRST` that were
never read and :data:`PSS_AGAIN` of the oldest values, and the last value is kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from collectors.problem import AbsentError, ParseError
from collectors.processes import ProcessStat, parse_pss, parse_stat, server_group
from collectors.reading import IDLE_EVERY, Missing, Reading
from loadtop.model import Group, Process

BUSIEST = 5
PSS_FIRST = 8
PSS_AGAIN = 1
PSS_EVERY = 15
_PSS_GROUPS = (Group.HTTPD, Group.FPM)


@dataclass(slots=True)
class _Known:
    """The newest of one process: ``ticks_s`` is its processor time per second between its last two readings."""

    stat: ProcessStat
    at: float
    group: Group
    ticks_s: float = 0.0
    readings: int = 1
    pss_kb: int | None = None
    pss_asked: int = 0


class ProcessTable:
    """All processes of one machine over time."""

    def __init__(self) -> None:
        self._known: dict[int, _Known] = {}
        self._turn = 0
        self._pss_refused = ""
        self._others_hidden = False
        self.aside: frozenset[int] = frozenset()
        """First processes of servers that are not under test: they and what they started count as others."""

    def asleep(self) -> frozenset[int]:
        """Others that slept when last looked at."""
        return frozenset(
            pid
            for pid, known in self._known.items()
            if self._counted(known) is Group.OTHER and known.readings > 1 and not known.ticks_s
        )

    def skip(self) -> frozenset[int]:
        """Processes that need not be read in the next sample: those asleep whose turn it is not."""
        return frozenset(pid for pid in self.asleep() if (pid + self._turn) % IDLE_EVERY)

    def want_pss(self) -> tuple[int, ...]:
        """Processes whose proportional memory is to be read next: those never asked for, then the oldest values."""
        members = [(known.pss_asked, pid) for pid, known in self._known.items() if self._counted(known) in _PSS_GROUPS]
        first = [pid for asked, pid in members if not asked][:PSS_FIRST]
        again = [pid for asked, pid in sorted(members) if asked and self._turn - asked >= PSS_EVERY][:PSS_AGAIN]
        chosen = (*first, *again)
        for pid in chosen:
            self._known[pid].pss_asked = self._turn
        return chosen

    def update(self, reading: Reading) -> tuple[Process, ...]:
        """The rows after a reading: servers, the generator's own, and the busiest others. Kernel threads count too."""
        texts = reading.processes
        if isinstance(texts, Missing):
            raise AbsentError(texts.reason)
        self._turn += 1
        self._others_hidden = bool(reading.pids) and 1 not in reading.pids
        self._learn(texts, reading)
        self._learn_pss(reading.pss)
        read = [known for known in self._known.values() if known.at == reading.at]
        if texts and not read:
            raise ParseError("no stat of any process could be understood")
        groups = [(known, self._counted(known)) for known in read]
        others = [pair for pair in groups if pair[1] is Group.OTHER and pair[0].ticks_s]
        others.sort(key=lambda pair: pair[0].ticks_s, reverse=True)
        rows = [pair for pair in groups if pair[1] is not Group.OTHER] + others[:BUSIEST]
        return tuple(_process(known, group, reading.page_kb) for known, group in rows)

    def note(self) -> str:
        """What keeps the table from telling more, or an empty string."""
        if self._others_hidden:
            return "processes of other users are hidden here (hidepid): read as root to see them"
        if self._pss_refused == "not permitted":
            return "proportional memory of the servers' processes may be read by root only"
        if self._pss_refused == "no such file":
            return "no smaps_rollup, so no proportional memory: the kernel is older than 4.14"
        return ""

    def pids(self, group: Group) -> tuple[int, ...]:
        """The processes of a group that were there at the last reading."""
        return tuple(pid for pid, known in self._known.items() if known.group is group)

    def roots(self, group: Group) -> tuple[int, ...]:
        """Those of a group whose parent is not of it: one for each running server."""
        return tuple(pid for pid in self.pids(group) if self._group_of(self._known[pid].stat.parent) is not group)

    def _counted(self, known: _Known) -> Group:
        """The group that a process counts in."""
        for _ in range(64):
            if known.stat.pid in self.aside:
                return Group.OTHER
            parent = self._known.get(known.stat.parent)
            if not self.aside or parent is None or parent.group is not known.group:
                break
            known = parent
        return known.group

    def _group_of(self, pid: int) -> Group | None:
        known = self._known.get(pid)
        return known.group if known else None

    def _learn(self, texts: Mapping[int, str], reading: Reading) -> None:
        for pid in self._known.keys() - reading.pids:
            del self._known[pid]
        fresh: list[_Known] = []
        for text in texts.values():
            try:
                stat = parse_stat(text)
            except ParseError:
                continue  # it ended while it was read: the rest of the table is as good as without it
            known = self._known.get(stat.pid)
            if known is None or known.stat.started_ticks != stat.started_ticks or known.stat.name != stat.name:
                fresh.append(_Known(stat, reading.at, Group.OTHER))
                self._known[stat.pid] = fresh[-1]
                continue
            passed = reading.at - known.at
            known.ticks_s = (stat.cpu_ticks - known.stat.cpu_ticks) / passed if passed > 0 else 0.0
            known.readings += 1
            known.stat = stat
            known.at = reading.at
        for known in fresh:  # when all are known, so that each finds its parents
            known.group = server_group(known.stat.name) or self._own_or_other(known.stat, reading.own)

    def _learn_pss(self, texts: Mapping[int, str | Missing]) -> None:
        for pid, text in texts.items():
            known = self._known.get(pid)
            if known is None:
                continue
            try:
                known.pss_kb = None if isinstance(text, Missing) else parse_pss(text)
            except ParseError:
                known.pss_kb = None
            self._pss_refused = text.reason if isinstance(text, Missing) else ""

    def _own_or_other(self, stat: ProcessStat, own: frozenset[int]) -> Group:
        """Whether a process is loadtop's: one of ``own`` or a descendant. A server that loadtop started is a server."""
        pid, parent = stat.pid, stat.parent
        for _ in range(64):
            if pid in own:
                return Group.LOADTOP
            known = self._known.get(parent)
            if known is None:
                return Group.LOADTOP if parent in own else Group.OTHER
            pid, parent = known.stat.pid, known.stat.parent
        return Group.OTHER


def _process(known: _Known, group: Group, page_kb: int) -> Process:
    stat = known.stat
    return Process(
        pid=stat.pid,
        name=stat.name,
        group=group,
        state=stat.state,
        threads=stat.threads,
        cpu_ticks=stat.cpu_ticks,
        started_ticks=stat.started_ticks,
        rss_kb=stat.rss_pages * page_kb,
        pss_kb=known.pss_kb,
    )
