"""Finds and follows the status pages of the servers of one kind on one machine: what all kinds do alike.

Pages that the user gave are followed whatever they answer; otherwise the first candidate of each server that answers.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, Generic, TypeAlias, TypeVar

from msgspec import Struct

from collectors.accept_queues import AcceptQueues
from collectors.background import READ_AGAIN_S, Answer, Search, StatusPage
from collectors.config_files import View, view_of
from collectors.errors import AbsentError, FetchError, ParseError, ReadError, SilentError, TransportError
from collectors.kind import Kind
from collectors.machine import Endpoint, Machine, Page
from collectors.under_test import UnderTest
from loadtop.i18n import Message, Translatable
from loadtop.model import Cause, HostSample, Listener, Outcome, ServerReading, State
from loadtop.model.places import port_of

MOST_ASKED = 60  # pages that one search asks for: anyone can start processes with the name of a server

R = TypeVar("R", bound=ServerReading)

Candidates: TypeAlias = tuple[Sequence[str], ReadError | None]  # where a server's page may be, or why it has none


class PageAdvice(Struct, frozen=True, kw_only=True):
    """What to do where a server answers with another page than its status: not permitted (``denied``), ``missing``, or
    something else (``unread``). ``fix`` is what its configuration lacks, ``option`` names the page by hand."""

    denied: Translatable
    missing: Translatable
    unread: Translatable
    option: str
    fix: str

    def read(self, page: Page, parse: Callable[[Page], R]) -> R:
        """The status on a page. Raises :class:`AbsentError` with what to do where there is none."""
        if page.status in (401, 403):
            raise AbsentError(self.denied, status=page.status, fix=self.fix)
        if 300 <= page.status < 400:
            raise AbsentError(
                "the page redirects ({status}). Set the final page with {option}",
                status=page.status,
                option=self.option,
            )
        if page.status == 404:
            raise AbsentError(self.missing, fix=self.fix)
        if page.status != 200:
            raise AbsentError("the server answers with status {status}", status=page.status)
        try:
            return parse(page)
        except ParseError as error:
            raise AbsentError(self.unread, error=str(error), option=self.option, fix=self.fix) from None


class ServerCollector(Generic[R]):
    """The servers of one kind on one machine. A subclass has at least :meth:`records` and :meth:`candidates_of`."""

    kind: ClassVar[Kind]
    option_value: ClassVar[str] = "URL"  # what its option takes
    search_again_s: ClassVar[float] = READ_AGAIN_S  # how often pages are looked for although there are some

    def __init__(self, machine: Machine, urls: Sequence[str], under_test: UnderTest, *, find: bool = True) -> None:
        """``urls`` are the pages given; without any, and with ``find``, they are looked for."""
        self.machine = machine
        self.under_test = under_test
        self.timeout_s = 1.0
        self.pages: Sequence[StatusPage] = ()
        self.find = find and not urls
        self.active = find or bool(urls)
        self.unfound: ReadError = AbsentError(
            "loadtop has not looked for {program} yet", program=self.kind.group, cause=Cause.PENDING
        )
        self.search = Search(self.kind.name, self.running, self.search_pages, self.search_again_s)
        self.given = tuple(self.status_url(url) for url in urls)
        self._listeners: tuple[Listener, ...] = ()

    @staticmethod
    def status_url(url: str) -> str:
        """The URL to request for the URL, or the address, that the user gave."""
        return url.removeprefix("unix:")

    async def fetch(self, url: str, timeout_s: float) -> Page:
        """Raises :class:`FetchError`."""
        return await self.machine.fetch(url, timeout_s)

    def records(self, page: Page, at: float) -> Sequence[R]:
        """What a page says that came at this uptime of the machine. Raises :class:`AbsentError` with what to do."""
        raise NotImplementedError

    async def candidates(self, servers: tuple[int, ...]) -> Sequence[Candidates]:
        """Where the pages of these servers may be. Raises ``TransportError``."""
        listening = await self.machine.listening(servers)
        found: list[Candidates] = []
        for pid in servers:
            view = await view_of(self.machine, pid)
            if view.own_network:
                found.append(((), self.in_own_network))
            else:
                found += await self.candidates_of(pid, view, listening.get(pid, ()))
        return found

    async def candidates_of(self, pid: int, view: View, places: Sequence[Endpoint]) -> Sequence[Candidates]:
        """The same of one server, which listens at ``places`` as far as that is known."""
        raise NotImplementedError

    @property
    def option(self) -> str:
        return f"--{self.kind.name} {self.option_value}"

    @property
    def in_own_network(self) -> AbsentError:
        return AbsentError(
            "{program} runs in a container with its own network. Set its address, as seen from this host, with "
            "{option}.",
            program=self.kind.group,
            option=self.option,
        )

    @staticmethod
    def lacks(record: R) -> Message | None:  # noqa: ARG004 - for subclasses
        """Return a note on values that the page could report but does not, or ``None``."""
        return None

    def completed(self, record: R, sample: HostSample, queues: AcceptQueues) -> R:  # noqa: ARG002 - for subclasses
        """The record with what the sample and the kernel's accept queues add to it."""
        return record

    def merged(self, records: Iterable[R]) -> tuple[R, ...]:
        """The records of all pages, each server once."""
        return tuple(records)

    def running(self) -> tuple[int, ...]:
        return self.machine.tested(self.kind.group)

    def start(self, interval_s: float) -> None:
        """``interval_s`` is the time between samples; a page is called silent after that, or after 1 s if longer."""
        self.timeout_s = max(1.0, interval_s)
        self.pages = [self.page(url) for url in self.given]

    def ask(self) -> None:
        for page in self.pages:
            page.ask()

    def look(self, sample: HostSample) -> None:
        """Look for pages where it is time to. The accept queues of the newest sample say where not to ask."""
        self._listeners = sample.tcp.listeners if sample.tcp is not None else ()
        if self.find:
            self.search.go_on(found=bool(self.pages))

    def collect(self, sample: HostSample, uptime_less_monotonic: float) -> tuple[tuple[R, ...], Outcome]:
        """What came since the last call and how it went. The number turns the time of this program's clock into the
        machine's uptime, on which each record is dated."""
        if not self.active:
            return (), Outcome(self.kind.name, State.ABSENT, Message("not looked for"), cause=Cause.NOTHING)
        records, problems, duration_s = self.read(sample, uptime_less_monotonic)
        if not self.given and not self.running() and self.machine.servers(self.kind.group):
            records = []  # all of them have been set aside, which the next search notices
        duration_s = round(duration_s, 6)
        if not problems:
            note = next(filter(None, map(self.lacks, records)), "")
            return self.merged(records), Outcome(self.kind.name, State.OK, note, duration_s)
        worst = next((problem for problem in problems if problem.state is State.FAILED), problems[0])
        measured = any(record.read_at is not None for record in records)
        # Where some are measured, what the others lack is a note.
        state = State.OK if measured and worst.state is State.ABSENT else worst.state
        outcome = Outcome(self.kind.name, state, worst.message, duration_s, worst.cause, worst.fix)
        return self.merged(records), outcome

    def read(self, sample: HostSample, uptime_less_monotonic: float) -> tuple[list[R], list[ReadError], float]:
        """The records that came, what is wrong with the others, and the longest wait in seconds."""
        records: list[R] = []
        problems: list[ReadError] = [] if self.pages else [self.why_none]
        duration_s = 0.0
        queues = AcceptQueues(self.machine, sample)
        for page in self.pages:
            found, problem, answer = self.take(page, uptime_less_monotonic)
            records += (self.completed(record, sample, queues) for record in found)
            problems += [problem] if problem else []
            duration_s = max(duration_s, answer.waited_s)
        return records, problems, duration_s

    def take(self, page: StatusPage, uptime_less_monotonic: float) -> tuple[Sequence[R], ReadError | None, Answer]:
        answer = page.take()
        if answer.problem is not None:
            return (), answer.problem.at(page.shown_url), answer
        if answer.page is None:
            waiting = AbsentError(
                "{url}: no response for {seconds:.1f} s",
                url=page.shown_url,
                seconds=answer.waited_s,
                cause=Cause.PENDING,
            )
            return (), waiting, answer
        try:
            return self.records(answer.page, uptime_less_monotonic + answer.came), None, answer
        except AbsentError as absent:
            return (), absent.at(answer.page.url), answer

    def page(self, url: str) -> StatusPage:
        return StatusPage(url, self.fetch, self.timeout_s)

    async def close(self) -> None:
        await self.search.close()
        for page in self.pages:
            await page.close()

    async def search_pages(self, servers: tuple[int, ...]) -> None:
        """Follow the first candidate of each server that answers."""
        urls: list[str] = []
        problems: list[ReadError] = []
        followed = {page.url for page in self.pages}  # one that falls silent may have every worker busy
        asked = iter(range(MOST_ASKED))
        try:
            for candidates, otherwise in await self.candidates(servers):
                refused: list[ReadError] = []
                for url, _ in zip(candidates, asked, strict=False):
                    problem = await self.problem_of(url)
                    if problem is None or (url in followed and isinstance(problem, SilentError)):
                        urls.append(url)
                        break
                    refused.append(problem)
                else:
                    problems += filter(None, (self.telling(refused) if refused else otherwise,))
        except TransportError as error:
            problems.append(error)
        if not servers:
            problems.append(self.no_process)
        elif not problems and not urls:
            problems.append(self._bystander)
        kept = {page.url: page for page in self.pages if page.url in urls}
        left = [page for page in self.pages if page.url not in kept]
        self.pages = [kept.get(url) or self.page(url) for url in dict.fromkeys(urls)]
        for page in left:
            await page.close()
        if problems:
            self.unfound = problems[0]

    @staticmethod
    def telling(refused: Sequence[ReadError]) -> ReadError:
        """Why a server has no page: the first candidate that a server answers, or whose problem has a known cause."""
        return next((error for error in refused if isinstance(error, AbsentError) or error.cause), refused[0])

    @property
    def why_none(self) -> ReadError:
        return self.unfound if self.search.problem is None else AbsentError(self.search.problem)

    @property
    def no_process(self) -> AbsentError:
        if self.machine.servers(self.kind.group):
            return self._bystander
        return AbsentError("no {program} found", program=self.kind.group, cause=Cause.NOTHING)

    @property
    def _bystander(self) -> AbsentError:
        return AbsentError("{program} is running but does not receive the load", program=self.kind.group)

    async def problem_of(self, url: str) -> ReadError | None:
        """Why a page cannot be followed. If the accept queue of its port is full, it is not asked for: that would be
        one connection more in a queue in which others find no place, and no answer in time."""
        port = port_of(url) if url.startswith("http") else 0
        queue = next((found for found in self._listeners if found.port == port), None)
        if queue is not None and queue.backlog is not None and queue.queue >= queue.backlog:
            return FetchError(
                "{url}: not requested because its accept queue is full ({queue} connections)",
                url=url,
                queue=queue.queue,
            )
        try:
            self.records(await self.fetch(url, self.timeout_s * 2), 0.0)
        except (FetchError, AbsentError) as error:
            return error.at(url)
        return None


class WebServerCollector(ServerCollector[R]):
    """Web servers, whose pages are looked for where the load's target is and where their processes listen."""

    search_again_s = math.inf  # a page needs a free worker: it is not asked for once more while it is followed

    def status_paths(self) -> Sequence[str]:
        """The paths, with their query, at which the page may be."""
        raise NotImplementedError

    async def candidates(self, servers: tuple[int, ...]) -> Sequence[Candidates]:
        found = [
            [f"{origin}{path}" for origin in origins for path in self.status_paths()]
            for origins in await self.under_test.origins(self.kind)
        ]
        otherwise = None if all(found) else self._nowhere(servers)
        return [(urls, otherwise) for urls in found]

    def _nowhere(self, servers: tuple[int, ...]) -> ReadError | None:
        if not servers:
            return None
        if all(self.under_test.own_network(pid) for pid in servers):
            return self.in_own_network
        return AbsentError(
            "{program} is running, but its address cannot be read. Set its status page with {option}.",
            program=self.kind.group,
            option=self.option,
            cause=Cause.ROOT,
        )
