"""The databases of one machine that are queried in SQL: what each kind of them does alike."""

import asyncio
import getpass
import importlib
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import ClassVar

from collectors.database_collector import DatabaseCollector, S
from collectors.errors import AbsentError, FetchError, ParseError, SilentError, TransportError
from collectors.machine import Machine, Page, Wanted, lines_of
from collectors.parsing import LONGEST_TEXT, short
from collectors.sql_session import Login, Session
from collectors.transport.exchange import refused
from collectors.under_test import UnderTest

STATEMENT_S = 5  # time limit of each statement, which the server keeps; our own
REFUSES = 503  # the status of a page in whose place the server said that it has no connection left

_OWN_STATUS = Wanted("/proc/self/status")
_USERS = Wanted("/etc/passwd", regular=True)


class SqlCollector(DatabaseCollector[S]):
    """A subclass names its client library and its statements, whose rows are a name and a value, and logs in."""

    library: ClassVar[str]
    package: ClassVar[str]  # that has the library
    statements: ClassVar[tuple[str, ...]]

    def __init__(self, machine: Machine, urls: Sequence[str], under_test: UnderTest, *, find: bool = True) -> None:
        super().__init__(machine, urls, under_test, find=find)
        self._sessions: dict[str, Session] = {}
        self._user = ""

    def login(self, library: ModuleType, address: str, user: str, *, trusted: bool) -> Login:
        """How to log in at this address, with a password only if it is ``trusted``. ``user`` is the user that the
        machine takes us for. May read files."""
        raise NotImplementedError

    def refusal(self, error: Exception) -> FetchError | None:
        """What an error of the library means; ``None`` for those without a special meaning."""
        raise NotImplementedError

    def is_full(self, error: Exception) -> bool:
        """Whether the server said that it has no connection left."""
        raise NotImplementedError

    async def fetch(self, url: str, timeout_s: float) -> Page:
        session = self._sessions.get(url)
        if session is None:
            session = self._sessions[url] = Session(lambda: self._opening(url))
        try:
            async with asyncio.timeout(timeout_s):
                text = await session.ask(self.statements)
        except TimeoutError:
            raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
        except FetchError:
            raise
        except OSError as error:
            raise refused(error) from None
        except Exception as error:  # whatever the library raises
            if self.is_full(error):
                return Page(url, REFUSES, "")
            said = short(f"{type(error).__name__}: {error}", LONGEST_TEXT)
            raise self.refusal(error) or FetchError("cannot read its response ({error})", error=said) from None
        return Page(url, 200, text)

    async def close(self) -> None:
        await super().close()
        await asyncio.gather(*(asyncio.to_thread(session.cut) for session in self._sessions.values()))

    async def _opening(self, address: str) -> tuple[str, Login]:
        try:
            library = await asyncio.to_thread(importlib.import_module, self.library)
        except ImportError:
            raise FetchError(
                "loadtop needs the Python package {package} to query it",
                package=self.package,
                fix=f"pipx inject loadtop {self.package}",
            ) from None
        try:
            self._user = self._user or await user_of(self.machine)
        except TransportError as error:
            raise FetchError(error.message) from None
        place = await self.machine.reach(address)
        trusted = await self.is_trusted(address)
        return place, await asyncio.to_thread(self.login, library, address, self._user, trusted=trusted)


def status_of(page: Page, record: type[S], parse: Callable[[str, str], S]) -> S:
    """The status in an answer. Raises :class:`AbsentError` where it is none."""
    if page.status == REFUSES:
        return record(page.url, refuses=True)
    try:
        return parse(page.text, page.url)
    except ParseError as error:
        raise AbsentError(str(error)) from None


async def user_of(machine: Machine) -> str:
    """The user as whom we are on a machine: unix sockets know us by that name. Raises ``TransportError``."""
    texts = await machine.texts((_OWN_STATUS, _USERS))
    own = (line.split() for line in lines_of(texts[_OWN_STATUS.path]) if line.startswith("Uid:"))
    ids = [words[1:2] for words in own if len(words) > 1]
    users = (line.split(":") for line in lines_of(texts[_USERS.path]))
    found = next((short(fields[0]) for fields in users if fields[2:3] in ids), "")
    return found or getpass.getuser()
