"""What is said to the shell on a far machine and what comes back; no input or output here.

An order is a line (``far_loop.sh`` has the list). The answers stand between marks that hold a word chosen for this
frame, so that nothing that a machine prints by itself (a banner, a late answer, a hostile file) can pass for them.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from collectors.problem import TransportError
from collectors.reading import LIMIT_BYTES, Missing, Request
from collectors.tcp import LISTENERS, TABLES

UPTIME = "/proc/uptime"
_TABLES = frozenset(wanted.path for wanted in TABLES)
_PATH = re.compile(r"/[\w./:@%+,=~\\-]*", re.ASCII)
_HEAD = re.compile(r"(?:\A|\n)==> ([^\n]+) <==\n")
_REFUSED = re.compile(
    r"head: (?:cannot open |error reading )?'?((?:/|\d+/)[^\n':]*)'?(?: for reading)?: ([^\n]+)(?:\n|\Z)"
)
_STAT = re.compile(r"^([1-9]\d{0,9}) \(", re.ASCII | re.MULTILINE)
_UPTIME = re.compile(r"(\d{1,12}\.\d{1,9}) ", re.ASCII)
_REASONS = {
    "No such file or directory": "no such file",
    "Not a directory": "no such file",
    "Permission denied": "not permitted",
    "Operation not permitted": "not permitted",
    "No such process": "the process has ended",
}


def far_script() -> str:
    """The loop as it is sent: without comments."""
    lines = Path(__file__).with_name("far_loop.sh").read_text().splitlines()
    return "".join(f"{line.strip()}\n" for line in lines if not line.lstrip().startswith("#"))


@dataclass(frozen=True, slots=True)
class Far:
    """What the shell says of itself: its pid, kB of a page, and whether ``ss`` is there."""

    pid: int
    page_kb: int
    has_ss: bool


@dataclass(frozen=True, slots=True)
class Texts:
    """What a frame holds: the uptime at its beginning, files by path, processes by pid, and all pids that exist."""

    at: float
    files: Mapping[str, str | Missing]
    processes: Mapping[int, str]
    pids: frozenset[int]


class Orders:
    """Turns requests into lines. Remembers what the far shell keeps, so that only what is new is sent.

    ``sockets`` says whether listening sockets are asked for this time: that is the dearest part of a reading there.
    """

    def __init__(self) -> None:
        self._files: tuple[str, ...] = ()
        self._before: tuple[str, ...] = ()
        self._stats: frozenset[int] = frozenset()
        self._wanted: frozenset[int] = frozenset()

    def sample(self, request: Request, pids: frozenset[int], mark: str, *, sockets: bool, has_ss: bool) -> str:
        """The lines for one reading, where ``pids`` are the processes known to exist."""
        lines = [f"m {mark}"]
        plain = tuple(wanted.path for wanted in request.files if _readable(wanted.path) and wanted.path not in _TABLES)
        if request.processes:
            lines += self._processes(plain, pids - request.skip)
        else:
            lines.append(f"h {LIMIT_BYTES} /dev/null {UPTIME} {' '.join(plain)}")
        for wanted in request.files:
            if wanted.path.endswith("/") and _PATH.fullmatch(wanted.path):
                lines += [f"m {mark}d {wanted.path}", f"d {wanted.path}"]
        tables = [wanted for wanted in request.files if wanted.path in _TABLES]
        if tables and (sockets or not request.processes):
            lines += [f"m {mark}h", f"h {tables[0].limit} /dev/null {' '.join(wanted.path for wanted in tables)}"]
        if sockets and has_ss:
            lines += [f"m {mark}q", "q"]
        lines.append(f"m {mark}.")
        return "".join(f"{line}\n" for line in lines)

    def _processes(self, files: tuple[str, ...], wanted: frozenset[int]) -> Iterable[str]:
        if not set(self._files) <= set(files):
            before = set(self._before)
            self._files = tuple(path for path in files if path in before) if before else files
            yield f"f {UPTIME} {' '.join(self._files)}"
        elif not self._files:
            self._files = files
            yield f"f {UPTIME} {' '.join(self._files)}"
        if len(self._stats - wanted) > 8 or len(wanted & self._wanted - self._stats) > 4:
            self._stats = wanted & self._wanted
            yield f"p {' '.join(f'{pid}/stat' for pid in sorted(self._stats))}"
        kept = set(self._files)
        more = [path for path in files if path not in kept]
        yield f"o {' '.join(f'{pid}/stat' for pid in sorted(wanted - self._stats))}"
        self._before, self._wanted = files, wanted
        yield f"s {' '.join(more)}"


def parse_far(answer: str) -> Far:
    """What the order ``i`` prints."""
    words = answer.split()
    if not words or not words[0].isdecimal():
        raise TransportError("its shell does not answer as a POSIX shell does")
    bytes_of_page = int(words[1]) if len(words) > 1 and words[1].isdecimal() else 4096
    return Far(int(words[0]), max(1, bytes_of_page // 1024), words[-1].endswith("ss"))


def parse_frame(frame: str, mark: str, request: Request) -> Texts:
    """The texts in what stands between the marks. Raises :class:`TransportError` where it is no frame."""
    first, *parts = frame.split(f"\n#{mark}")
    first, _, listed = first.partition("\n#pids ") if request.processes else (first, "", "")
    listed, _, stats = listed.partition("\n")
    found = parse_files(first)
    for part in parts:
        kind, _, text = part.partition("\n")
        if kind == "h":
            found.update(parse_files(text))
        elif kind == "q":
            found[LISTENERS] = text if not text or text.startswith("LISTEN ") else Missing("ss does not work there")
        elif kind.startswith("d "):
            found[kind[2:]] = _links(text, kind[2:])
    uptime = found.get(UPTIME)
    dated = _UPTIME.match(uptime) if isinstance(uptime, str) else None
    if dated is None:
        raise TransportError(f"its answer cannot be understood: {first.strip()[:60]!a}")
    files = {
        wanted.path: found.get(wanted.path, Missing("no such file" if _asked(wanted.path) else "not made there"))
        for wanted in request.files
    }
    pids = frozenset(int(pid) for pid in listed.split() if pid.isdecimal())
    return Texts(float(dated[1]), files, parse_stats(stats), pids)


def parse_files(printed: str) -> dict[str, str | Missing]:
    """Texts by path from what ``head`` prints of many files, with what it says of those that it cannot read."""
    found: dict[str, str | Missing] = {}

    def refuse(match: re.Match[str]) -> str:
        found[match[1]] = Missing(_REASONS.get(match[2], match[2].lower()[:80]))
        return ""

    _, *parts = _HEAD.split(printed)
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        # One that is opened and then refused has its name printed too: what was said of it counts.
        content = _REFUSED.sub(refuse, text) if "head: " in text else text
        found.setdefault(name, content)
    return found


def parse_stats(printed: str) -> dict[int, str]:
    """Texts by pid from the ``stat`` of many processes one after another. A name can contain line ends, and so the
    beginning of another's text: of a pid that is there twice nothing is believed."""
    begins = list(_STAT.finditer(printed))
    ends = [*(begin.start() for begin in begins[1:]), len(printed)]
    times = Counter(begin[1] for begin in begins)
    return {
        int(begin[1]): printed[begin.start() : end]
        for begin, end in zip(begins, ends, strict=False)
        if times[begin[1]] == 1
    }


def parse_pss(printed: str) -> dict[int, str | Missing]:
    """Proportional memory by pid from what ``head`` prints of several ``smaps_rollup``."""
    return {
        int(name.partition("/")[0]): text
        for name, text in parse_files(printed).items()
        if name.endswith("/smaps_rollup") and name.partition("/")[0].isdecimal()
    }


def cut_out(chunk: bytes, mark: str) -> str:
    """The frame at the end of what came, without what was printed before it (a banner, an answer too late)."""
    begin = f"\n#{mark}\n".encode()
    before, found, frame = chunk.rpartition(begin)
    if not found:
        raise TransportError(f"its answer has no beginning: {before.decode('utf-8', 'replace')[:60]!a}")
    return frame.decode("utf-8", "replace")


def _readable(path: str) -> bool:
    return _asked(path) and not path.endswith("/")


def _asked(path: str) -> bool:
    """Whether a path can be named to the shell; control groups and interfaces can have any name."""
    return _PATH.fullmatch(path) is not None


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
        reason = listing.strip().rpartition(": ")[2]
        return Missing(_REASONS.get(reason, reason.lower()[:80]))
    return "".join(f"{path}\n" for path in found)
