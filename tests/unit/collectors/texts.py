"""Recorded texts, and a machine made of texts."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from collectors.machine import Missing, Page, Reading, Request

FIXTURES = Path(__file__).parents[2] / "fixtures"


def proc(kernel: str, name: str) -> str:
    """Return the text of a file in /proc as that kernel prints it."""
    return (FIXTURES / "proc" / kernel / name).read_text()


def status(name: str) -> str:
    """Return a status page."""
    return (FIXTURES / "status" / name).read_text()


class TextTransport:
    """A machine made of texts. A path set to :class:`Missing` cannot be read; one that is not set does not exist."""

    def __init__(self, files: Mapping[str, str | Missing]) -> None:
        self.files = dict(files)
        self.processes: dict[int, str] | Missing = {}
        self.pss: dict[int, str] = {}
        self.at = 1000.0
        self.requests: list[Request] = []
        self.pages: dict[str, Page] = {}
        self.answers: dict[str, bytes] = {}
        self.own: frozenset[int] = frozenset()
        self.waits: dict[int, str] = {}
        self.closed = False

    source = "text"

    async def read(self, request: Request) -> Reading:
        self.requests.append(request)
        self.at += 1.0
        wanted = [file.path for file in request.files]
        files = {path: self.files.get(path, Missing("no such file")) for path in wanted}
        processes = self.processes
        pids = frozenset[int]() if isinstance(processes, Missing) else frozenset(processes)
        pss = {pid: self.pss[pid] for pid in request.pss if pid in self.pss}
        return Reading(self.at, files, 4, processes, pids, pss, self.own, waits=self.waits)

    async def fetch(self, url: str, timeout_s: float) -> Page:  # noqa: ARG002 - a Transport
        return self.pages[url]

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:  # noqa: ARG002 - a Transport
        return self.answers[address]

    async def ask_again(self, address: str, question: bytes, replies: int, timeout_s: float) -> None: ...

    async def reach(self, address: str) -> str:
        return address

    async def profile(self, pids: Sequence[int]) -> str:
        return f"perf x86_64\n7 fake;of {len(pids)} processes\n"

    async def close(self) -> None:
        self.closed = True


def machine_of_texts(kernel: str) -> TextTransport:
    """Return a transport to a machine with the recorded texts of that kernel."""
    top = FIXTURES / "proc" / kernel
    files = {f"/proc/{path.relative_to(top)}": path.read_text() for path in top.rglob("*") if path.is_file()}
    return TextTransport(files)


def stat_text(
    pid: int, name: str, *, state: str = "S", parent: int = 1, ticks: int = 0, threads: int = 1, started: int = 500,
    pages: int = 100, ended: int = 0,
) -> str:  # fmt: skip
    """Return the text of /proc/PID/stat."""
    before: Iterable[object] = (state, parent, pid, pid, 0, -1, 4194624, 0, 0, 0, 0, ticks, 0, ended, 0, 20, 0, threads)
    return f"{pid} ({name}) {' '.join(map(str, before))} 0 {started} 1000000 {pages} 18446744073709551615 0 0 0\n"
