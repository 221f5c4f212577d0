"""Processes from /proc/PID/stat: parsing, the rows to report, and how often each process is read. No I/O here.

Source: Linux, Documentation/filesystems/proc.rst, table 1-4. A name can contain spaces, parentheses and newlines: the
fields begin after the last ``)``. Servers and loadtop's own processes are read every time, others every time while they
use the CPU, and sleeping others in turn, because reading all would be the most expensive part of a sample. All are read
when the machine uses much more CPU time than those that were read (:data:`UNSEEN_TICKS_S`).

For proportional memory (``smaps_rollup``), the kernel walks all page tables of a process (0.1 to 0.3 ms with PHP in a
web server): a sample reads :data:`PSS_FIRST` processes that were never read. One in :data:`PSS_AGAIN_EVERY` also reads
:data:`PSS_AGAIN` whose resident memory has changed since. What a process shares changes without that too: one in
:data:`PSS_OLDEST_EVERY` reads those with the oldest values instead. Several are read together, because each such
reading starts a process on a remote host.

What children used that ended without ever being read counts for their parent, if that is of no server: a build starts
hundreds of processes per second, and none of them lives long enough to be seen. CPU time of other children was counted
while they ran.

How long servers and loadtop's own processes had a CPU, and waited for one, is read for each thread: ``schedstat`` of a
process is that of its first thread (Linux, Documentation/scheduler/sched-stats.rst). Where several threads (without a
perl on a remote host: any) have run for less than a tick, ``stat`` is unchanged, and they are not read again. A perl
there reads what hardly runs with every second sample: what a process ran in both counts for the second. Beyond
:data:`MOST_TASKS` threads of one machine, the processes with the most threads are left out.

Whether the page that a thread serves sleeps (:mod:`collectors.linux.sleeping`) is asked of :data:`ASKED_THREADS`
threads that have just run, chosen at random, and of some that ran earlier: idle workers have not. Programs of no known
kind are not asked: one in Go, say, has a thread that always sleeps, and event loops have timers of their own.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from collectors.errors import AbsentError, ParseError
from collectors.kind import Kind
from collectors.linux import sleeping
from collectors.machine import NO_FILE, NOT_PERMITTED, Member, Missing, ProcessStat, Reading
from collectors.parsing import complete_lines, count, count_or_none, excerpt, row, short
from loadtop.i18n import Message
from loadtop.model import LOADTOP, OTHER, SERVICE, SERVING, USER_HZ, Cause, CpuTimes, Process, Role

BUSIEST = 5
MOST_SERVERS = 50  # of one kind on one machine: anyone can start processes of these names
MOST_ANCESTORS = 64
PSS_FIRST = 8
PSS_EVERY = 15  # samples, at least, before that of a process is read again
PSS_AGAIN, PSS_AGAIN_EVERY = 10, 30  # of those that were read that long ago, so many are read in one of so many samples
PSS_CHANGED = 0.05  # where resident memory has changed by more than this share of it,
PSS_OLDEST_EVERY = 4 * PSS_AGAIN_EVERY  # and in one of so many samples also where it has not
UNSEEN_TICKS_S, UNSEEN_MOST_TICKS_S, UNSEEN_SHARE = 10.0, 25.0, 0.2
"""All processes are read where it is not known who uses so much CPU time per second: that share of what is used, but no
less than the first and no more than the second. The kernel counts the time of processes exactly, and that of the
machine by what runs at each tick."""

ALL_EVERY = 5  # samples, at least, between readings of all: the time of processes that live briefly stays unseen
_TICK_NS = 1_000_000_000 // USER_HZ
ROUNDED_NS = 2 * _TICK_NS
"""How far CPU time in ticks and that of the threads may come apart: user and system time are each rounded down to whole
ticks (Linux, fs/proc/array.c, do_task_stat()). Further apart, threads have ended, or were not read before, or a remote
host has not told the ticks of the last 10 ms yet, which are then counted later."""

MOST_TASKS = 600
ASKED_THREADS, ASKED_EARLIER = 28, 8
JUST, RECENT = 3, 30  # samples: a thread that has not run for longer has no request, or one that hardly counts
MOST_REPORTED = 3 * MOST_TASKS  # threads in a reading: new ones may have started, but a machine can also make them up


def parse_stat(stat: str) -> ProcessStat:
    opening, closing = stat.find("("), stat.rfind(")")
    fields = stat[closing + 1 :].split()
    if opening < 1 or closing < opening or len(fields) < 23:  # one more than needed: the last may be cut
        raise ParseError("stat of a process: too few fields")
    state = fields[0]
    if len(state) != 1 or not state.isascii() or not state.isalpha():
        raise ParseError(f"stat of a process: not a state: {excerpt(state)}")
    pid, parent, user, system, children_user, children_system, threads, started, resident = row(
        (stat[:opening].strip(), fields[1], *fields[11:15], fields[17], fields[19], fields[21]), "stat of a process"
    )
    name = short(stat[opening + 1 : closing])
    ended = children_user + children_system
    return ProcessStat(pid, name, state, parent, threads, user + system, started, resident, ended)


def parse_pss(smaps_rollup: str) -> int | None:
    """Proportional set size in kB; ``None`` for a process that is ending and has no memory any more."""
    if not smaps_rollup:
        return None
    for line in complete_lines(smaps_rollup):
        if line.startswith("Pss:"):
            words = line[4:].split()
            return count(words[0] if words else "", "Pss in smaps_rollup")
    raise ParseError("smaps_rollup has no Pss")


def parse_schedstats(schedstats: str) -> dict[int, tuple[int, int]]:
    """Nanoseconds that each thread had a CPU, and was runnable without one, from lines of its number and its
    ``schedstat``. Threads that never ran are left out: all seem so if the kernel does not count."""
    threads: dict[int, tuple[int, int]] = {}
    for line in complete_lines(schedstats):
        words = line.split()
        if len(words) != 4:
            raise ParseError("schedstat: expected three fields")
        task, ran, waited, slices = row(words, "schedstat")
        if slices:
            threads[task] = ran, waited
    return threads


@dataclass(slots=True)
class _Known:
    """The newest of one process: ``source`` is its ``stat`` as it was read, ``counted`` the group that it counts in,
    ``ticks_s`` the CPU time per second that it and its ended children took between its last two readings. Of these
    children, ``brief_ticks`` is the CPU time of those that were never read, ``apart_ticks`` that of all others.
    ``ran_ns`` and ``wait_ns`` are how long its threads had a processor and waited for one, ``by_thread`` the same of
    each, ``schedstats`` the text of that, and ``ran`` the reading in which it last changed. ``ran_ahead_ns`` is how far
    ``ran_ns`` was ahead of the ticks at first. ``shows``: where one of them waits was seen. ``row`` is what is reported
    until something of that changes."""

    source: str | ProcessStat
    stat: ProcessStat
    at: float
    group: str = OTHER
    counted: str = OTHER
    ticks_s: float | None = None
    brief_ticks: int = 0
    apart_ticks: int = 0
    pss_kb: int | None = None
    pss_asked: int = 0
    pss_rss_pages: int = 0
    by_thread: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    schedstats: str = ""
    shows: bool = False
    ran: int = 0
    ran_ns: int | None = None
    ran_ahead_ns: int = 0
    wait_ns: int | None = None
    row: Process | None = None


class ProcessTable:
    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._weighed = [kind.group for kind in kinds if kind.role in (Role.WEB, Role.APPLICATION)]
        self._served = [kind for kind in kinds if kind.role in SERVING]
        self._looping = {kind.group for kind in kinds if kind.pause}
        self._timed = {SERVICE, LOADTOP, *(kind.group for kind in self._served)}
        self._known: dict[int, _Known] = {}
        self._members: dict[str, tuple[_Known, ...]] = {}
        self._roots: dict[str, tuple[int, ...]] = {}
        self._turn = 0
        self._at = 0.0
        self._used_ticks = self._all_read = 0
        self._busy_ticks: int | None = None
        self._unseen = False
        self._pss_refused = ""
        self._waits_wanted: dict[int, int] = {}
        self._stands_for: dict[str, float] = {}
        self._asked: dict[str, float] = {}
        self.sleeping: float | None = None
        """How many threads of the servers under test wait for a timer; ``None`` where that may not be read."""

        self.blocked: float | None = None
        """How many of these threads wait in an uninterruptible sleep."""

        self.timeouts_ms: tuple[int, ...] = ()
        """How long their event loops that have just run wait at most, as in :class:`~loadtop.model.HostSample`."""

        self._others_hidden = False
        self._aside: frozenset[int] = frozenset()
        self._services: frozenset[int] = frozenset()
        self._own: frozenset[int] = frozenset()

    def tested(self, group: str) -> tuple[int, ...]:
        return tuple(pid for pid in self.roots(group) if pid not in self._aside)

    def serving(self) -> Mapping[int, str]:
        """The first processes of the servers under test and the group that each counts in, web servers first."""
        groups = sorted(self._served, key=lambda kind: kind.role is not Role.WEB)
        found = {pid: kind.group for kind in groups for pid in self.tested(kind.group)}
        return found | dict.fromkeys(sorted(self._services & self._known.keys()), SERVICE)

    def set_aside(self, pids: frozenset[int], services: frozenset[int] = frozenset()) -> None:
        self._aside, self._services = pids, services
        self._count()

    def lineage(self, pid: int) -> tuple[Member, ...]:
        found: list[Member] = []
        while len(found) < MOST_ANCESTORS and (known := self._known.get(pid)) is not None:
            if pid == 1 and known.group == OTHER:
                break  # init: it can hold the sockets of other programs
            found.append(Member(pid, known.stat.name, known.group))
            pid = known.stat.parent
        return tuple(found)

    def asleep(self) -> frozenset[int]:
        """The processes to read only in turn this time."""
        if self._unseen:
            return frozenset()
        return frozenset(pid for pid, known in self._known.items() if known.ticks_s == 0.0 and known.counted == OTHER)

    def want_pss(self) -> tuple[int, ...]:
        """The processes whose proportional memory is read next: those never asked for, at times also the oldest values
        of those whose resident memory has changed, and rarely the oldest of all."""
        members = [known for group in self._weighed for known in self._of(group) if known.counted == group]
        first = [known for known in members if not known.pss_asked][:PSS_FIRST]
        if self._turn % PSS_AGAIN_EVERY == 0:
            due = [known for known in members if known.pss_asked and self._turn - known.pss_asked >= PSS_EVERY]
            if self._turn % PSS_OLDEST_EVERY:
                due = [known for known in due if self._has_changed(known)]
            due.sort(key=lambda known: (known.pss_asked, known.stat.pid))
            first += due[:PSS_AGAIN]
        for known in first:
            known.pss_asked, known.pss_rss_pages = self._turn, known.stat.rss_pages
        return tuple(known.stat.pid for known in first)

    def _has_changed(self, known: _Known) -> bool:
        """Whether resident memory has changed since proportional memory was asked for. Without an answer that is not
        known."""
        changed = abs(known.stat.rss_pages - known.pss_rss_pages)
        return changed > PSS_CHANGED * known.pss_rss_pages or (known.pss_kb is None and not self._pss_refused)

    def want_waits(self) -> Mapping[int, int]:
        """Processes whose waits for a processor are to be read next, with the number of their threads."""
        counted = [known for known in self._known.values() if known.counted in self._timed]
        counted.sort(key=lambda known: known.stat.threads)
        wanted: dict[int, int] = {}
        tasks = 0
        for known in counted:
            tasks += known.stat.threads
            if tasks <= MOST_TASKS:
                wanted[known.stat.pid] = known.stat.threads
        for pid in self._waits_wanted.keys() & self._known.keys() - wanted.keys():
            gone = self._known[pid]
            gone.ran_ns = gone.wait_ns = gone.row = None  # after a gap there is no rate
        self._waits_wanted = wanted
        return wanted

    def want_threads(self) -> tuple[str, ...]:
        """The threads to look at next; where they wait comes with the reading after the next."""
        serving = {kind.group for kind in self._served}
        just, earlier = list[str](), list[str]()
        for known in self._known.values():
            passed = self._turn - known.ran
            if known.counted in serving and passed <= RECENT:
                threads = just if passed <= JUST else earlier
                threads += [f"{known.stat.pid}/task/{task}" for task in known.by_thread]
        self._asked, self._stands_for = self._stands_for, {}
        for threads, most in ((just, ASKED_THREADS), (earlier, ASKED_EARLIER)):
            asked = random.sample(threads, min(most, len(threads)))
            self._stands_for |= dict.fromkeys(asked, len(threads) / max(1, len(asked)))
        return tuple(self._stands_for)

    def update(self, reading: Reading, cpu: CpuTimes | None = None) -> tuple[Process, ...]:
        """The rows after a reading: servers, the generator's own, and the busiest others. Kernel threads count too.
        ``cpu`` is the machine's CPU time."""
        sources = reading.processes
        if isinstance(sources, Missing):
            raise AbsentError(sources.message)
        self._turn += 1
        passed, self._used_ticks = reading.at - self._at, 0
        self._others_hidden = bool(reading.pids) and 1 not in reading.pids
        self._learn(sources, reading)
        self._look_for_unseen(cpu, passed)
        self._learn_pss(reading.pss)
        self._learn_waits(reading.waits)
        self._learn_sleeping(reading.wchan)
        read = [known for known in self._known.values() if known.at == reading.at]
        if sources and not read:
            raise ParseError("no stat file of a process could be parsed")
        busy = [known for known in read if known.ticks_s and known.counted == OTHER]
        busy.sort(key=lambda known: known.ticks_s or 0.0, reverse=True)
        told = [known for known in read if known.counted != OTHER] + busy[:BUSIEST]
        return tuple([_row(known, reading.page_kb) for known in told])

    def _look_for_unseen(self, cpu: CpuTimes | None, passed_s: float) -> None:
        before, self._busy_ticks = self._busy_ticks, None if cpu is None else cpu.user + cpu.nice + cpu.system
        if self._unseen:
            self._all_read = self._turn
        busy = 0 if before is None or self._busy_ticks is None else self._busy_ticks - before
        least = min(max(UNSEEN_TICKS_S * passed_s, UNSEEN_SHARE * busy), UNSEEN_MOST_TICKS_S * passed_s)
        self._unseen = busy - self._used_ticks > least and self._turn - self._all_read >= ALL_EVERY

    def lacks(self) -> tuple[Message | None, Cause | None]:
        if self._others_hidden:
            reason = Message("processes of other users are hidden (hidepid): run as root to see them")
            return reason, Cause.ROOT
        if self._pss_refused == NOT_PERMITTED:
            return Message("only root can read the proportional memory (PSS) of the server processes"), Cause.ROOT
        if self._pss_refused == NO_FILE:
            return Message("no proportional memory (PSS): the kernel is older than 4.14"), None
        return None, None

    def roots(self, group: str) -> tuple[int, ...]:
        """The processes of a group whose parent belongs to another group: one for each running server. Of too many, the
        oldest count."""
        if group not in self._roots:
            parents = {known.stat.pid: known.stat.parent for known in self._of(group)}
            found = [pid for pid, parent in parents.items() if parent not in parents]
            if len(found) > MOST_SERVERS:
                found = sorted(found, key=lambda pid: self._known[pid].stat.started_ticks)[:MOST_SERVERS]
            self._roots[group] = tuple(found)
        return self._roots[group]

    def _of(self, group: str) -> tuple[_Known, ...]:
        if group not in self._members:
            self._members[group] = tuple(known for known in self._known.values() if known.group == group)
        return self._members[group]

    def _counted(self, known: _Known) -> str:
        """The group that a process counts in: its own, unless its server is set aside. One of no known kind that serves
        the tested requests, or descends from one that does, is a service."""
        for _ in range(MOST_ANCESTORS):
            if known.stat.pid in self._aside:
                return OTHER
            if known.group == OTHER and known.stat.pid in self._services:
                return SERVICE
            parent = self._known.get(known.stat.parent)
            if parent is None or parent.group != known.group:
                break
            known = parent
        return known.group

    def _count(self) -> None:
        for known in self._known.values():
            known.counted = self._counted(known) if self._aside or self._services else known.group

    def _learn(self, sources: Mapping[int, str | ProcessStat], reading: Reading) -> None:
        ended = self._known.keys() - reading.pids
        self._forget(ended)
        fresh: list[_Known] = []
        moved = False
        for pid, source in sources.items():
            same = self._known.get(pid)
            if same is not None and same.source == source:
                same.ticks_s = 0.0
                same.at = reading.at
                continue
            try:
                stat = parse_stat(source) if isinstance(source, str) else source
            except ParseError:
                continue  # it ended while it was read: the rest of the table is as good as without it
            known = self._known.get(stat.pid)
            if known is None or known.stat.started_ticks != stat.started_ticks or known.stat.name != stat.name:
                fresh.append(_Known(source, stat, reading.at, apart_ticks=stat.ended_ticks))
                if stat.started_ticks >= self._at * USER_HZ:
                    self._used_ticks += stat.cpu_ticks
                self._known[stat.pid] = fresh[-1]
            else:
                moved = moved or known.stat.parent != stat.parent
                passed = reading.at - known.at
                used = stat.cpu_ticks + stat.ended_ticks - known.stat.cpu_ticks - known.stat.ended_ticks
                known.ticks_s = used / passed if passed > 0 else 0.0
                brief_ticks = known.brief_ticks
                self._count_brief(known, stat)
                self._used_ticks += stat.cpu_ticks - known.stat.cpu_ticks + known.brief_ticks - brief_ticks
                known.source, known.stat, known.at, known.row = source, stat, reading.at, None
        if reading.own - self._own:
            fresh.extend(known for known in self._known.values() if known.group == OTHER)
        self._own = reading.own
        for known in fresh:  # when all are known, so that each finds its parents
            known.group = known.counted = self._group_of(known.stat, reading.own)
            parent = self._known.get(known.stat.parent)
            if parent is not None and parent.ticks_s == 0.0:
                parent.ticks_s = None  # it starts processes: read it again
        self._at = reading.at
        if ended or fresh or moved:
            self._members.clear()
            self._roots.clear()
            if self._aside or self._services:
                self._count()

    def _forget(self, ended: set[int]) -> None:
        """Children before their parents, which have their CPU time now."""
        for pid in sorted(ended, key=lambda pid: self._known[pid].stat.started_ticks, reverse=True):
            gone = self._known.pop(pid)
            parent = self._known.get(gone.stat.parent)
            if parent is not None:
                parent.apart_ticks += gone.stat.cpu_ticks + max(gone.stat.ended_ticks, gone.apart_ticks)

    def _count_brief(self, known: _Known, stat: ProcessStat) -> None:
        """Children that were never read, one reading late: one that was may have ended before its parent was read. What
        ran while the parent was not read is left out, as when it ran is not known. Init adopts what others leave."""
        if known.at != self._at:
            known.apart_ticks = stat.ended_ticks - known.brief_ticks
        elif known.counted != LOADTOP and stat.pid != 1:
            known.brief_ticks = max(known.brief_ticks, known.stat.ended_ticks - known.apart_ticks)

    def _learn_pss(self, texts: Mapping[int, str | Missing]) -> None:
        for pid, text in texts.items():
            known = self._known.get(pid)
            if known is None:
                continue
            known.row = None
            try:
                known.pss_kb = None if isinstance(text, Missing) else parse_pss(text)
            except ParseError:
                known.pss_kb = None
            self._pss_refused = text.reason if isinstance(text, Missing) else ""

    def _learn_waits(self, texts: Mapping[int, str]) -> None:
        """Add up what has passed, thread by thread: the sum of all would fall when one ends."""
        threads = 0
        for pid, text in texts.items():
            known = self._known.get(pid)
            if known is None:
                continue
            threads += text.count("\n")
            if text == known.schedstats and known.wait_ns is not None:
                continue
            try:
                by_thread = parse_schedstats(text) if threads <= MOST_REPORTED else {}
            except ParseError:
                by_thread = {}
            before = {} if known.wait_ns is None else known.by_thread
            ran_ns, wait_ns = known.ran_ns or 0, known.wait_ns or 0
            for task, (ran, waited) in by_thread.items():
                ran_before, waited_before = before.get(task, (0, 0))
                ran_ns += ran - ran_before if ran >= ran_before else ran  # less: the number of a thread used again
                wait_ns += waited - waited_before if waited >= waited_before else waited
            if known.ran_ns is None:
                known.ran_ahead_ns = ran_ns - known.stat.cpu_ticks * _TICK_NS
            known.ran_ns, known.wait_ns = (ran_ns, wait_ns) if by_thread else (None, None)
            known.ran = known.ran if text == known.schedstats else self._turn
            known.schedstats, known.by_thread, known.row = text, by_thread, None
        for known in self._known.values():
            if known.ran_ns is not None:
                ticks_ns = known.stat.cpu_ticks * _TICK_NS + known.ran_ahead_ns
                known.ran_ns = min(max(known.ran_ns, ticks_ns - ROUNDED_NS), ticks_ns + ROUNDED_NS)

    def _learn_sleeping(self, texts: Mapping[str, str]) -> None:
        """Each thread that was asked counts for as many as it stands for."""
        self.sleeping, self.blocked, self.timeouts_ms = None, None, ()
        hidden = False
        for thread in texts.keys() & self._asked.keys():
            pid = count_or_none(thread.partition("/")[0])
            lines, known = texts[thread].splitlines()[: sleeping.MOST_MOMENTS], self._known.get(pid or 0)
            if known is None or not lines:
                continue
            known.shows = known.shows or any(map(sleeping.is_known, lines))
            if not known.shows:  # it ran each time, or belongs to somebody else
                hidden = True
                continue
            each = self._asked[thread] / len(lines)
            self.sleeping, self.blocked = self.sleeping or 0.0, self.blocked or 0.0
            self.blocked += each * sum(map(sleeping.is_blocked, lines))
            if known.counted not in self._looping:
                self.sleeping += each * sum(map(sleeping.sleeps, lines))
            elif self._turn - known.ran <= JUST:
                timeouts = map(sleeping.timeout_ms, lines)
                self.timeouts_ms += tuple(timeout for timeout in timeouts if timeout is not None)
        if hidden:
            self.blocked = None

    def _group_of(self, stat: ProcessStat, own: frozenset[int]) -> str:
        """By its name that of a server, also where loadtop started it; loadtop's are ``own`` and their descendants."""
        for kind in self._kinds:
            if kind.processes.fullmatch(stat.name):
                return kind.group
        pid, parent = stat.pid, stat.parent
        for _ in range(MOST_ANCESTORS):
            if pid in own:
                return LOADTOP
            known = self._known.get(parent)
            if known is None:
                return LOADTOP if parent in own else OTHER
            pid, parent = known.stat.pid, known.stat.parent
        return OTHER


def _row(known: _Known, page_kb: int) -> Process:
    if known.row is None or known.row.group != known.counted:
        stat, is_other = known.stat, known.counted == OTHER
        known.row = Process(
            pid=stat.pid,
            name=stat.name,
            group=known.counted,
            state=stat.state,
            threads=stat.threads,
            cpu_ticks=stat.cpu_ticks + (known.brief_ticks if is_other else 0),
            started_ticks=stat.started_ticks,
            rss_kb=stat.rss_pages * page_kb,
            pss_kb=known.pss_kb,
            wait_ns=known.wait_ns,
            run_us=None if known.ran_ns is None else known.ran_ns // 1000,
            child_ticks=0 if is_other else known.brief_ticks,
        )
    return known.row
