"""A machine for tests of what is made of its samples and pages."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from collectors.errors import FetchError, SilentError, TransportError
from collectors.machine import Endpoint, Machine, Member, Missing, Page, Wanted
from collectors.servers import KINDS
from collectors.under_test import UnderTest
from loadtop.i18n import verbatim
from loadtop.model import HostFacts, HostSample, Listener, Outcome, State, Tcp

Collector = TypeVar("Collector")

PAGE = "web1\nServerMPM: prefork\nTotal Accesses: 5\nServerUptimeSeconds: 9\nScoreboard: _W\n"


def fastcgi_record(kind: int, content: bytes, padding: int = 0) -> bytes:
    return bytes([1, kind, 0, 1]) + len(content).to_bytes(2, "big") + bytes([padding, 0]) + content + bytes(padding)


class FakeFiles:
    """The files of a machine, as texts; a directory is what they say."""

    def __init__(self, files: Mapping[str, str | Missing] | None = None) -> None:
        self.files: dict[str, str | Missing] = dict(files or {})
        self._followed: set[str] = set()

    async def texts(self, files: Iterable[Wanted]) -> Mapping[str, str | Missing]:
        return {file.path: self._text(file.path) for file in files}

    def _text(self, path: str) -> str | Missing:
        if not path.endswith("/") or path in self.files:
            return self.files.get(path, Missing("no such file"))
        inside = {f"{path}{name[len(path) :].split('/')[0]}" for name in self.files if name.startswith(path)}
        return "".join(f"{name}\n" for name in inside) or Missing("no such file")

    async def profile(self, pids: Sequence[int]) -> str:
        return f"perf x86_64\n7 fake;of {len(pids)} processes\n"

    def follow(self, path: str) -> None:
        self._followed.add(path)

    def followed(self, path: str) -> str | Missing:
        return self._text(path) if path in self._followed else Missing("not read")


class FakeMachine(FakeFiles):
    """A machine whose samples take as long as a test says, and whose pages are texts, statuses or problems."""

    def __init__(self) -> None:
        super().__init__()
        self.takes_s = 0.01
        self.problem = ""
        self.error: BaseException | None = None
        self.began: list[float] = []
        self.pages: dict[str, str | int] = {}
        self.page_takes_s = 0.002
        self.fetched: list[str] = []
        self.group = "httpd"
        self.httpd: dict[int, tuple[Endpoint, ...]] = {}  # where each server of that group listens
        self.aside: frozenset[int] | None = None
        self.services = frozenset[int]()
        self.members: dict[int, Sequence[Member]] = {}
        self.answers: dict[str, bytes] = {}
        self.answers_again: dict[str, Page] = {}
        self.listeners: tuple[Listener, ...] = ()
        self.closed = False

    async def sample(self) -> HostSample:
        self.began.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self.takes_s)
        if self.error is not None:
            raise self.error
        if self.problem:
            raise TransportError(verbatim(self.problem))
        facts = HostFacts("web1", "fake", "Linux", "6.1", 2)
        tcp = Tcp(listeners=self.listeners)
        return HostSample("", self.began[-1], facts, self.takes_s, tcp=tcp, outcomes=(Outcome("cpu", State.OK),))

    def servers(self, group: str) -> tuple[int, ...]:
        return tuple(self.httpd) if group == self.group else ()

    def tested(self, group: str) -> tuple[int, ...]:
        return tuple(pid for pid in self.servers(group) if pid not in (self.aside or ()))

    def set_aside(self, pids: frozenset[int], services: frozenset[int]) -> None:
        self.aside, self.services = pids, services

    def lineage(self, pid: int) -> Sequence[Member]:
        return self.members.get(pid, ())

    def prefer(self, ports: frozenset[int]) -> None:
        """All sockets are read."""

    async def listening(self, pids: Collection[int]) -> Mapping[int, tuple[Endpoint, ...]]:
        return {pid: self.httpd[pid] for pid in pids}

    async def fetch(self, url: str, timeout_s: float) -> Page:
        self.fetched.append(url)
        if self.page_takes_s > timeout_s:
            await asyncio.sleep(timeout_s)
            raise SilentError(verbatim(f"no response within {timeout_s:.1f} s"))
        await asyncio.sleep(self.page_takes_s)
        answer = self.pages.get(url)
        if answer is None:
            raise FetchError(verbatim("connection refused: nothing is listening there"))
        code, text = (answer, "") if isinstance(answer, int) else (200, answer)
        return Page(url, code, text, self.page_takes_s)

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes:  # noqa: ARG002 - a Machine
        return self.answers[address]

    async def ask_again(self, address: str, question: bytes, replies: int, timeout_s: float) -> Page | None:  # noqa: ARG002
        return self.answers_again.get(address)

    async def reach(self, address: str) -> str:
        return address

    async def close(self) -> None:
        self.closed = True


def collector_of(
    kind: Callable[[Machine, Sequence[str], UnderTest], Collector], machine: FakeMachine | None = None, *urls: str
) -> Collector:
    """A collector that follows these addresses on a machine."""
    known = cast("Machine", machine or FakeMachine())
    return kind(known, urls, UnderTest(known, KINDS, ()))
