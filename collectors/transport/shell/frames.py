"""What is said to the shell on a remote host and what comes back; no input or output here.

An order is a line (``orders.sh``, ``read.awk`` and the texts of perl have the list). The answers stand between marks
that hold a word chosen for this frame: nothing that a machine prints unasked (a banner, a late answer, a hostile file)
can pass for them. A text that is the same as in the frame before is not sent again.
"""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec import Struct

from collectors import host_names
from collectors.errors import TransportError
from collectors.linux import sleeping
from collectors.linux.cgroup import SETTINGS
from collectors.linux.locks import OPEN_FILES
from collectors.linux.peers import CLOCKS
from collectors.linux.profile import LIMIT_S
from collectors.linux.queueing import LIMITING, QDISC_BYTES, QDISCS
from collectors.linux.sockets import (
    FEW,
    HELD,
    HOLDERS,
    LISTENER_BYTES,
    LISTENERS,
    LISTENING,
    MOST_CLIENTS,
    OPEN,
    TABLES,
    TIME_WAIT,
)
from collectors.linux.unix_sockets import STREAMS
from collectors.machine import IDLE_EVERY, LIMIT_BYTES, NO_FILE, Missing, Reading, Request, Wanted
from collectors.parsing import MOST_DEVICES, MOST_LINES, complete_lines, count_or_none, decimal, pids
from collectors.transport.shell.questions import ANSWER_BYTES, ANSWER_S
from collectors.transport.shell.remote_clocks import CLOCK_BYTES
from loadtop.i18n import Message

UPTIME = "/proc/uptime"
_HERE = Path(__file__).parent
_OF_PERL = ("queues.pl", "questions.pl", "read.pl")
LOOP_SILENCE_S = 60
"""So long a remote loop hears nothing until it ends, if not told otherwise."""

SCRIPT_FAILURES = (
    ("awk.{0,200}not found", Message("awk is missing: install mawk, gawk or busybox there")),
    ("dd.{0,20}not found", Message("dd is missing: install coreutils or busybox there")),
    ("the reading process ended", Message("its awk or perl, which reads the samples, was killed or ran out of memory")),
)
"""What the shell or the scripts there print when they fail, as regular expressions, and what that means."""

_SETTINGS_EVERY = 5  # samples
_SETTLED_EVERY = 2 * IDLE_EVERY  # samples: the stat of a process whose waits are measured, if it hardly runs
_MOST_LOOKS, _MOST_MOMENTS = 36, 4
"""Between two samples: the most looks at threads in all (about 5 us each there), and the most moments to look at."""

MEMORY_S = 4
"""The time limit for reading the proportional memory of some processes: one deep in swap can take for ever to read."""

NO_QUEUES = "accept queues cannot be read there"
_LISTS = {HOLDERS: "o", HELD: "l", OPEN_FILES: "x"}  # orders
_TABLES = frozenset(wanted.path for wanted in TABLES)
_FAMILIES = dict(zip((wanted.path for wanted in TABLES), (2, 10), strict=True))  # Linux's AF_INET, AF_INET6
_SELECTIONS = {OPEN: "", LISTENING: "=", FEW: "~"}
"""What of a table of sockets is wanted, in the order for it."""

_PATH = re.compile(r"/[\w./:@%+,=~\\-]{0,4095}", re.ASCII)
"""What can be named to the shell; control groups have any name."""

_HEAD = re.compile(r"(?:\A|\n)==> ([^\n]{1,4096}) <==\n")
_REFUSED = re.compile(
    r"head: (?:cannot open |error reading )?'?((?:/|\d{1,9}/)[^\n':]{0,999})'?(?: for reading)?: ([^\n]{1,99})(?:\n|\Z)"
)
_OF_THE_KERNEL = re.compile(r"/sys/(?!fs/)\S{0,4096}|/proc/(?:self|\d{1,10})/(?:ns|fd)/", re.ASCII)
"""Directories that perl reads: others can be on a file system that is dead."""

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,252}", re.ASCII)
_PAGE_BYTES = range(1024, (1 << 20) + 1)
_USUAL_PAGE = 4096
_MOST_PID = 1 << 31
_STAT_LENGTH = 512  # longer than any: about 52 numbers, most of them left out there
_WCHAN = re.compile(r"f [1-9]\d{0,9}/task/\d{1,10}/wchan", re.ASCII)
_STAT = re.compile(r"([1-9]\d{0,9})/stat", re.ASCII)
_UPTIME = re.compile(r"(\d{1,12}\.\d{1,9}) ", re.ASCII)


def remote_script(key: str, silence_s: int = LOOP_SILENCE_S) -> str:
    """The loop as it is sent: without comments, with the word that orders to awk begin with, and with the time without
    orders after which it ends."""
    awk, perl = reading_programs(silence_s)
    orders = bare(_HERE / "orders.sh").replace("@CLOCKS@", bare(_HERE / "clocks.awk"))
    orders = orders.replace("@PROFILE@", shlex.quote(profiler())).replace("@PROFILE_S@", str(LIMIT_S))
    orders = orders.replace("@DEVICES@", str(MOST_DEVICES)).replace("@TIME_WAIT@", TIME_WAIT)
    orders = orders.replace("@LIMIT@", str(LIMIT_BYTES)).replace("@MEMORY_S@", str(MEMORY_S))
    script = bare(_HERE / "loop.sh").replace("@ORDERS@", shlex.quote(orders)).replace("@SILENCE@", str(silence_s))
    return script.replace("@AWK@", awk).replace("@PERL@", perl).replace("@KEY@", key)


def reading_programs(silence_s: int = LOOP_SILENCE_S) -> tuple[str, str]:
    """What reads files and processes there: a program of awk, and one of perl, which asks for sockets too."""
    awk, perl = bare(_HERE / "read.awk"), "".join(bare(_HERE / text) for text in _OF_PERL)
    perl = perl.replace("@LIMIT@", str(LIMIT_BYTES)).replace("@SILENCE@", str(silence_s))
    perl = perl.replace("@DEVICES@", str(MOST_DEVICES)).replace("@LINES@", str(MOST_LINES))
    perl = perl.replace("@ANSWER_S@", str(ANSWER_S)).replace("@ANSWER_BYTES@", str(ANSWER_BYTES))
    perl = perl.replace("@CLIENTS@", str(MOST_CLIENTS))
    perl = perl.replace("@LOOKS@", str(_MOST_LOOKS)).replace("@MOMENTS@", str(_MOST_MOMENTS))
    perl = perl.replace("@LIMITING@", "|".join(LIMITING)).replace("@SETTLED_EVERY@", str(_SETTLED_EVERY))
    perl = perl.replace("@MEMORY_S@", str(MEMORY_S)).replace("@SETTINGS_EVERY@", str(_SETTINGS_EVERY))
    perl = perl.replace("@SETTINGS@", "|".join(map(re.escape, SETTINGS)))
    perl = perl.replace("@EPOLL@", sleeping.EPOLL.pattern).replace("@AT_EASE@", sleeping.AT_EASE.pattern)
    return awk.replace("@IDLE_EVERY@", str(IDLE_EVERY)), perl.replace("@IDLE_EVERY@", str(IDLE_EVERY))


def bootstrap(script: str) -> str:
    """The command of a shell that runs a script which comes as the first bytes of its input."""
    return f"""eval "$(dd bs=1 count={len(script.encode())} 2>/dev/null)\""""


def profiler() -> str:
    """The script that finds out where the CPU time of a machine goes."""
    return bare(_HERE / "profile.sh")


def bare(script: Path) -> str:
    """The text of one of our own scripts without comments and indentation."""
    lines = script.read_text().splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if line.strip() and not line.lstrip().startswith("#"))


class RemoteShell(Struct, frozen=True):
    """The remote shell: its pid, the page size in kB, and the program that reads the accept queues on that machine:
    ``perl`` (cheap, and for open sockets too), ``ss`` (expensive), or none."""

    pid: int
    page_kb: int
    queues: str


@dataclass(slots=True)
class Kept:
    """What a connection has reported so far; ``instead`` of what cannot be read: the reason, or a second look's
    text."""

    files: dict[str, str] = field(default_factory=dict[str, str])
    stats: dict[int, str] = field(default_factory=dict[int, str])
    pids: frozenset[int] = frozenset()
    instead: dict[str, str | Missing] = field(default_factory=dict[str, "str | Missing"])

    def learn(self, pids: frozenset[int]) -> None:
        self.pids = pids
        for ended in self.stats.keys() - pids:
            del self.stats[ended]

    def keep(self, name: str, text: str, asked: Mapping[str, int]) -> frozenset[int]:
        """Keep a file that was ``asked`` for, up to its limit, or the ``stat`` of a process that exists: returns which.
        Nothing else stays here, whatever the remote side sends."""
        process = _STAT.fullmatch(name)
        pid = count_or_none(process[1]) if process else None
        if name in asked:
            self.files[name] = text[: asked[name]]
            self.instead.pop(name, None)
        elif pid is not None and pid in self.pids:
            self.stats[pid] = text[:_STAT_LENGTH]
            return frozenset((pid,))
        return frozenset()


class _Sorted:
    """The files of a request, by how they are asked for: ``plain`` ones by name, those of which some lines are wanted,
    those that must be regular, directories of links, names to resolve, tables of sockets, and texts that are made
    there, those in ``listed`` with their order. What cannot be named to a shell is in none."""

    def __init__(self, files: tuple[Wanted, ...] = ()) -> None:
        named = [wanted for wanted in files if _PATH.fullmatch(wanted.path)]
        readable = [wanted for wanted in named if not wanted.path.endswith("/")]
        self.files = files
        self.plain = tuple(wanted.path for wanted in readable if not wanted.regular and wanted.path not in _TABLES)
        self.regular = [wanted for wanted in readable if wanted.regular]
        self.filtered = [wanted for wanted in readable if wanted.lines]
        self.directories = [wanted.path for wanted in named if wanted.path.endswith("/")]
        self.tables = [wanted for wanted in files if wanted.path in _TABLES]
        made = [(wanted, *wanted.made_of) for wanted in files]
        self.names = [words for _, what, words in made if what == host_names.RESOLVER and _NAME.fullmatch(words)]
        self.listed = {
            wanted.path: f"{_LISTS[what]} {words.replace(',', ' ')}"
            for wanted, what, words in made
            if what in _LISTS and words
        }
        self.opened = {wanted: f"/{words}" for wanted, what, words in made if what in _SELECTIONS}
        self.disciplines = [(wanted.path, words) for wanted, what, words in made if what == QDISCS]
        self.clocks, self.streams = (any(what == each for _, what, _ in made) for each in (CLOCKS, STREAMS.path))


def _brief(thread: str) -> str:
    """A process's first thread by its pid alone."""
    pid, _, task = thread.partition("/task/")
    return pid if pid == task else thread


class Orders:
    """Turns requests into lines. Remembers the state of the remote side, so that only changes are sent."""

    def __init__(self) -> None:
        self._sorted = _Sorted()
        self._files: tuple[str, ...] = ()
        self._before: tuple[str, ...] = ()
        self._lines: dict[str, str] = {}
        self._asleep: frozenset[int] = frozenset()
        self._waits: Mapping[int, int] = {}
        self._threads: tuple[str, ...] = ()

    def sample(
        self,
        request: Request,
        pids: frozenset[int],
        mark: str,
        *,
        sockets: bool,
        queues: str,
        clocks: bool = True,
        questions: Sequence[str] = (),
    ) -> str:
        """The lines for one reading, where ``pids`` are the processes known to exist. ``sockets`` and ``clocks`` say
        whether to ask for listening sockets and for the clocks of connections this time: without perl, these are the
        dearest parts of a reading there. ``questions`` are orders for perl: the servers answer while it reads."""
        if request.files != self._sorted.files:
            self._sorted = _Sorted(request.files)
        asked = self._sorted
        lines = [*questions, *self._first(request, pids, mark, queues), *([f"A {mark}"] if questions else ())]
        if asked.regular:
            paths = " ".join(wanted.path for wanted in asked.regular)
            lines += [f"m {mark}h", f"c {asked.regular[0].limit} {paths}"]
        for directory in asked.directories:
            order = "D" if queues == "perl" and _OF_THE_KERNEL.fullmatch(directory) else "d"
            lines += [f"m {mark}d {directory}", f"{order} {directory}"]
        if asked.names:
            lines += [f"m {mark}r", f"r {' '.join(asked.names)}"]
        for path, order in asked.listed.items():
            lines += [f"m {mark}d {path}", order]
        ports = ",".join(map(str, sorted(request.ports))) or "-"
        lines += self._open_sockets(mark, queues, ports)
        for path, pid in asked.disciplines:
            lines += [f"m {mark}d {path}", f"y {QDISC_BYTES} {pid}"]
        if asked.clocks and queues == "perl":
            lines.append(f"k {mark}d {CLOCKS}")
        elif asked.clocks and queues and clocks:
            lines += [f"m {mark}d {CLOCKS}", f"j {CLOCK_BYTES}"]
        if asked.tables and (sockets or not request.processes):
            paths = " ".join(wanted.path for wanted in asked.tables)
            lines += [f"m {mark}h", f"h {asked.tables[0].limit} /dev/null {paths}"]
        if sockets and queues:
            lines += [f"m {mark}q", f"q {ports}"] if queues == "ss" else [f"p {ports} {mark}q"]
        lines.append(f"m {mark}.")
        return "".join(f"{line}\n" for line in lines)

    def _first(self, request: Request, pids: frozenset[int], mark: str, queues: str) -> Iterator[str]:
        """What begins the frame: a sample, or else files that are read once."""
        plain = self._sorted.plain
        if request.processes:
            yield from (*self._filters(), *self._sleepers(request.asleep & pids, pids), *self._kept(plain))
            yield from self._tasks(request.waits)
            kept = set(self._files)
            more = (path for path in plain if path not in kept)
            yield from self._sample(mark, more, request.threads, at_moments=queues == "perl")
        elif plain:
            yield from (f"m {mark}", f"h {LIMIT_BYTES} /dev/null {UPTIME} {' '.join(plain)}")
        else:
            yield f"U {mark}"

    def _open_sockets(self, mark: str, queues: str, ports: str) -> Iterable[str]:
        for wanted, table in self._sorted.opened.items():
            if queues == "perl":
                selection = _SELECTIONS[wanted.made_of[0]]
                yield f"e {_FAMILIES[table]} {wanted.limit} {selection}{ports} {mark}d {wanted.path}"
            else:
                yield from (f"m {mark}d {wanted.path}", f"v {wanted.limit} {table}")
        if self._sorted.streams and queues == "perl":
            yield f"u {STREAMS.limit} {mark}d {STREAMS.path}"

    def _sample(self, mark: str, more: Iterable[str], threads: tuple[str, ...], *, at_moments: bool) -> Iterator[str]:
        """Of the threads that were wanted before, perl has read where they wait; otherwise that is read now."""
        before, self._threads = self._threads, threads
        now = () if at_moments else (f"{thread}/wchan" for thread in before)
        yield " ".join(("s", mark, *more, *now))
        if at_moments and (before or threads):
            yield " ".join(("W", *map(_brief, threads)))

    def _filters(self) -> Iterable[str]:
        for wanted in self._sorted.filtered:
            if self._lines.get(wanted.path) != wanted.lines:
                self._lines[wanted.path] = wanted.lines
                yield f"g {wanted.path} {wanted.lines}"

    def _sleepers(self, asleep: frozenset[int], pids: frozenset[int]) -> Iterable[str]:
        for order, changed in (("z", asleep - self._asleep), ("w", (self._asleep - asleep) & pids)):
            if changed:
                yield f"{order} {' '.join(map(str, sorted(changed)))}"
        self._asleep = asleep

    def _tasks(self, waits: Mapping[int, int]) -> Iterable[str]:
        """What the shell makes a list of: it finds the threads of a process that has several."""
        if waits != self._waits:
            names = (f"{pid}/task/{'[0-9]*' if threads > 1 else pid}" for pid, threads in waits.items())
            yield f"t {' '.join(names)}"
        self._waits = waits

    def _kept(self, files: tuple[str, ...]) -> Iterable[str]:
        """The files of every sample: those that two in a row wanted."""
        before = frozenset(self._before or files)
        steady = tuple(path for path in files if path in before)
        if set(self._files) != set(steady):
            self._files = steady
            yield f"f {UPTIME} {' '.join(self._files)}"
        self._before = files


def second_look(paths: Iterable[str], mark: str) -> str:
    return f"m {mark}\nh {LIMIT_BYTES} /dev/null {' '.join(paths)}\nm {mark}.\n"


def parse_remote(answer: str) -> RemoteShell:
    pid, page, *programs = [*answer.split(), "", ""]
    shell = count_or_none(pid, _MOST_PID)
    if shell is None:
        raise TransportError("its shell does not behave like a POSIX shell")
    bytes_of_page = count_or_none(page) or 0
    told = [word.rpartition("/")[2] for word in programs]
    queues = next((name for name in ("perl", "ss") if name in told), "")
    return RemoteShell(shell, (bytes_of_page if bytes_of_page in _PAGE_BYTES else _USUAL_PAGE) // 1024, queues)


def parse_frame(frame: str, mark: str, request: Request, kept: Kept) -> tuple[Reading, list[str]]:
    """The reading in what stands between the marks, at the uptime at its beginning, and files that cannot be read for a
    reason not known yet. Raises :class:`TransportError` where it is no frame."""
    first, *parts = frame.split(f"\n#{mark}")
    found = parse_looked(first)
    asked = {UPTIME: LIMIT_BYTES, **{wanted.path: wanted.limit for wanted in request.files}}
    read: set[int] = set()
    lost: list[str] = []
    for part in parts:
        line, _, text = part.partition("\n")
        kind, _, name = line.partition(" ")
        if kind == "f":
            read |= kept.keep(name, text, asked)
        elif kind == "=":
            read.update(pids(text.split()))
        elif kind == "!":
            lost.append(name)
            kept.files.pop(name, None)
        elif kind == "l":
            kept.learn(pids(text.split()))
        elif kind == "h":
            found.update(parse_looked(text))
        elif kind == "q":
            text = text.lstrip("\n")[:LISTENER_BYTES]
            found[LISTENERS] = text if not text or text.startswith("LISTEN ") else Missing(NO_QUEUES)
        elif kind == "d":
            found[name] = _links(text, name) if name.endswith("/") else text
        elif kind == "r":
            found.update(parse_resolved(text))
    if request.processes:
        found = {**kept.files, **{path: kept.instead[path] for path in lost if path in kept.instead}, **found}
    uptime = found.get(UPTIME)
    dated = _UPTIME.match(uptime) if isinstance(uptime, str) else None
    if dated is None:
        raise TransportError("cannot parse its response: {text}", text=ascii(first.strip()[:60]))
    files = {
        path: found[path] if path in found else Missing(NO_FILE if _PATH.fullmatch(path) else "not available there")
        for path in (wanted.path for wanted in request.files)
    }
    processes = {pid: kept.stats[pid] for pid in read & kept.stats.keys()}
    told = told_of(parts)
    waits = {pid: told[line] for pid in request.waits if (line := f"f {pid}/schedstat") in told}
    wchan = {line[2:-6]: text for line, text in told.items() if _WCHAN.fullmatch(line)}
    unexplained = [path for path in lost if path in files and path not in kept.instead]
    existing = kept.pids if request.processes else frozenset[int]()
    at = decimal(dated[1], UPTIME)
    return Reading(at, files, processes=processes, pids=existing, waits=waits, wchan=wchan), unexplained


def told_of(parts: Iterable[str]) -> dict[str, str]:
    """Texts by the line before each. Perl tells together what it read of processes with one thread, a line for each,
    and where threads wait, on a line for each thread (:func:`_brief`) with tabs between the moments."""
    told = {line: text for line, _, text in (part.partition("\n") for part in parts)}
    for line in complete_lines(told.pop("t", "")):
        told[f"f {line.partition(' ')[0]}/schedstat"] = f"{line}\n"
    for line in complete_lines(told.pop("w", "")):
        thread, _, moments = line.partition("\t")
        told[f"f {thread if '/' in thread else f'{thread}/task/{thread}'}/wchan"] = moments.replace("\t", "\n")
    return told


def parse_looked(printed: str) -> dict[str, str | Missing]:
    """What the order ``h`` brings: with a line end at its end that is the loop's, and, of awk, 1 for each byte that is
    0."""
    return parse_files(printed.removesuffix("\n").replace("\1", "\0"))


def parse_files(printed: str) -> dict[str, str | Missing]:
    """Texts by path from what ``head`` prints of many files, with what it says of those that it cannot read."""
    found: dict[str, str | Missing] = {}

    def refuse(match: re.Match[str]) -> str:
        found[match[1]] = Missing.because(match[2])
        return ""

    _, *parts = _HEAD.split(printed)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        # One that is opened and then refused has its name printed too: what was said of it counts.
        content = _REFUSED.sub(refuse, text) if "head: " in text else text
        found.setdefault(name, content)
    return found


def parse_pss(printed: str) -> dict[int, str | Missing]:
    """Proportional memory by pid from what ``head`` prints of several ``smaps_rollup``."""
    found: dict[int, str | Missing] = {}
    for name, text in parse_files(printed).items():
        number, _, file = name.partition("/")
        pid = count_or_none(number, _MOST_PID)
        if file == "smaps_rollup" and pid is not None:
            found[pid] = text
    return found


def parse_resolved(printed: str) -> dict[str, str | Missing]:
    """Addresses by what was wanted, from what ``getent ahosts`` prints of each name after a line with that name."""
    found: dict[str, str | Missing] = {}
    for part in f"\n{printed}".split("\nname ")[1:]:
        name, _, rows = part.partition("\n")
        told = sorted(host_names.addresses(row.split()[0] for row in rows.splitlines() if row.strip()))
        found[host_names.wanted(name).path] = "".join(f"{address}\n" for address in told) or host_names.UNKNOWN
    return found


def cut_out(chunk: bytes, mark: str) -> str:
    """The frame at the end of what came, without what was printed before it (a banner, an answer too late)."""
    begin = f"\n#{mark}\n".encode()
    before, found, frame = chunk.rpartition(begin)
    if not found:
        text = ascii(before.decode("utf-8", "replace")[:60])
        raise TransportError("it printed something other than loadtop's data: {text}", text=text)
    return frame.decode("utf-8", "replace")


def _links(listing: str, directory: str) -> str | Missing:
    """The targets of the links that ``ls -l`` shows, and other entries by their own path, one a line."""
    found: list[str] = []
    for line in listing.splitlines():
        _, link, target = line.partition(" -> ")
        row = line.split(None, 8)
        if link:
            found.append(target)
        elif len(row) == 9 and row[0][0] in "-ds":
            found.append(directory + row[8])
    if not found and "ls: " in listing:
        return Missing.because(listing.strip().rpartition(": ")[2])
    return "".join(f"{path}\n" for path in found)
