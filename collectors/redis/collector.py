"""The Redis servers of one machine, and Valkey and KeyDB, which answer alike: their INFO over their own protocol.

Source: Redis serialization protocol (RESP2): a reply is one line that begins with its type, ``+`` (a word), ``-`` (an
error), ``:`` (a number), or ``$`` with a length, after which so many bytes follow. INFO: its page in the commands'
reference. Commands are sent together. The first time, QUIT after them makes the server close the connection; if the
server answers, the next connection stays open: one from a remote host itself where possible, otherwise one from here.
"""

import asyncio
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from msgspec.structs import replace

from collectors.database_collector import DatabaseCollector
from collectors.errors import AbsentError, FetchError, ParseError, SilentError
from collectors.kind import Kind
from collectors.machine import Machine, Page
from collectors.parsing import LONGEST_TEXT, MOST_PORT, complete_lines, count_or_none, counts, decimal, excerpt, short
from collectors.redis.session import Session
from collectors.under_test import UnderTest
from loadtop.servers.redis.record import SERVER, RedisStatus

KIND = Kind(
    *SERVER,
    processes=re.compile(r"(?:redis|valkey|keydb)-server", re.ASCII),
    port=6379,
    socket=re.compile(r"/(?:redis|valkey)[^/]{0,40}\.sock$"),
)

PASSWORD = "REDISCLI_AUTH"  # noqa: S105 - the environment variable that redis-cli reads
FIX = "ACL SETUSER default +info +slowlog|len"
FIX_PASSWORD = "REDISCLI_AUTH=PASSWORD loadtop --redis ADDRESS ..."  # noqa: S105 - a pattern

OPENING_S = 1.0
"""How long the answer is held back until the connection that stays is open; our own."""

_TOO_MANY = "ERR max number of clients reached"
_MOST_REPLIES = 16
_COUNTS = (
    "tcp_port",
    "uptime_in_seconds",
    "connected_clients",
    "blocked_clients",
    "maxclients",
    "total_commands_processed",
    "rejected_connections",
)
_TIMES = ("used_cpu_sys", "used_cpu_user", "used_cpu_sys_main_thread", "used_cpu_user_main_thread")


class RedisCollector(DatabaseCollector[RedisStatus]):
    kind = KIND
    sockets = ("/run/redis/redis-server.sock", "/run/redis/redis.sock", "/run/valkey/valkey.sock")

    def __init__(self, machine: Machine, urls: Sequence[str], under_test: UnderTest, *, find: bool = True) -> None:
        super().__init__(machine, urls, under_test, find=find)
        self._sessions: dict[str, Session] = {}
        self._there = set[str]()  # who has answered on a connection from the machine itself
        self._single = set[str]()  # where a connection was closed before its second answer

    async def fetch(self, url: str, timeout_s: float) -> Page:
        password = os.environ.get(PASSWORD, "") if await self.is_trusted(url) else ""
        asked = commands(password)
        self._close_others()
        if page := await self._ask_there(url, asked, timeout_s):
            return page
        answer = await self._ask_session(url, asked, timeout_s)
        if answer is None:
            answer = await self.machine.ask(url, b"".join((*asked, b"QUIT\r\n")), timeout_s)
            if url in self._followed() - self._single - self._there and answer.startswith((b"$", b"+OK")):
                with suppress(FetchError, OSError):
                    async with asyncio.timeout(min(OPENING_S, timeout_s)):
                        self._keep(url, await Session.opened(await self.machine.reach(url)))
            self._there.discard(url)  # the next time, a connection from here is opened
        return Page(url, 200, answer.decode("latin-1"))  # its lengths are of bytes

    async def _ask_there(self, url: str, asked: Sequence[bytes], timeout_s: float) -> Page | None:
        """The answer on a connection from the machine itself, which replaces one from here."""
        if url not in self._followed():
            return None
        page = await self.machine.ask_again(url, b"".join(asked), len(asked), timeout_s)
        if page is not None:
            self._there.add(url)
            if session := self._sessions.pop(url, None):
                session.close()
        return page

    async def _ask_session(self, url: str, asked: Sequence[bytes], timeout_s: float) -> bytes | None:
        """The answer on a connection from here, ``None`` if there is none. Raises :class:`SilentError`."""
        session = self._sessions.pop(url, None)
        if session is None:
            return None
        answer: bytes | None = None
        try:
            async with asyncio.timeout(timeout_s):
                answer = await session.ask(b"".join(asked), len(asked))
        except TimeoutError:
            raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
        except (OSError, EOFError, ValueError):  # the server was restarted, or ends idle connections
            if not session.answers:
                self._single.add(url)
        finally:
            if answer is None:
                session.close()
            else:
                self._keep(url, session)
        return answer

    def _keep(self, url: str, session: Session) -> None:
        if url in self._sessions:  # of a search that has asked meanwhile
            session.close()
        else:
            self._sessions[url] = session

    def _followed(self) -> frozenset[str]:
        return frozenset(page.url for page in self.pages)

    def _close_others(self) -> None:
        self._there &= self._followed()
        for url in self._sessions.keys() - self._followed():
            self._sessions.pop(url).close()

    async def close(self) -> None:
        await super().close()
        for session in self._sessions.values():
            session.close()

    def records(self, page: Page, at: float) -> Sequence[RedisStatus]:
        return (replace(parse_page(page), at=at),)


def commands(password: str) -> tuple[bytes, ...]:
    """Return the commands to send; the first tells the password, if there is one."""
    secret = password.encode("utf-8", "surrogateescape")
    auth = (b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%b\r\n" % (len(secret), secret),) if secret else ()
    return (*auth, b"INFO\r\n", b"SLOWLOG LEN\r\n")


def parse_page(page: Page) -> RedisStatus:
    """The status in an answer. Raises :class:`AbsentError` with what to do where there is none."""
    try:
        _check_refusal(page.text)
        return parse(page.text, page.url)
    except ParseError as error:
        raise AbsentError("{error}: set its address with --redis ADDRESS", error=str(error)) from None


def parse(text: str, address: str = "") -> RedisStatus:
    """One answer, a character for each byte. Raises :class:`ParseError` where it has no INFO."""
    found = list(_replies(text))
    info = next((reply for kind, reply in found if kind == "$"), None)
    if info is None:
        if ("-", _TOO_MANY) in found:
            return RedisStatus(address, refuses=True)
        raise ParseError("the response has no INFO")
    version = _version(info)
    if not version:
        raise ParseError("INFO has no version")
    figures = counts(info, _COUNTS, ":")
    length = next((reply for kind, reply in found if kind == ":"), None)
    return RedisStatus(
        address=address,
        version=version,
        clients=figures.get("connected_clients"),
        blocked=figures.get("blocked_clients"),
        max_clients=figures.get("maxclients"),
        slowlog=count_or_none(length),
        commands=figures.get("total_commands_processed"),
        rejected=figures.get("rejected_connections"),
        cpu=_cpu(info),
        port=figures.get("tcp_port") if figures.get("tcp_port", 0) <= MOST_PORT else None,
        uptime_s=figures.get("uptime_in_seconds"),
    )


def _replies(text: str) -> Iterator[tuple[str, str]]:
    """Each reply with its type."""
    begin = 0
    for _ in range(_MOST_REPLIES):
        end = text.find("\r\n", begin)
        if end < 0:
            return
        kind, rest = text[begin : begin + 1], text[begin + 1 : end]
        begin = end + 2
        if kind == "$":
            length = count_or_none(rest)
            if length is None or begin + length + 2 > len(text):
                raise ParseError(f"the response of Redis is cut off: {excerpt(rest)}")
            yield kind, text[begin : begin + length]
            begin += length + 2
        elif kind in ("+", "-", ":"):
            yield kind, rest
        else:
            raise ParseError(f"not a response of Redis: {excerpt(text)}")


def _check_refusal(text: str) -> None:
    """Raise :class:`AbsentError` where it refuses to tell, with what to do."""
    found = list(_replies(text))
    if any(kind == "$" for kind, _ in found) or ("-", _TOO_MANY) in found:
        return
    said = next((short(reply, LONGEST_TEXT) for kind, reply in found if kind == "-"), "")
    word = said.partition(" ")[0]
    if word in ("NOAUTH", "WRONGPASS"):
        raise AbsentError(
            "a password is required. Set the server with --redis, and the password in the "
            "environment variable {variable}.",
            variable=PASSWORD,
            fix=FIX_PASSWORD,
        )
    if word == "NOPERM":
        raise AbsentError(
            "the Redis user is not allowed to run INFO: grant it (in redis-cli, as an administrator)", fix=FIX
        )
    if word == "BUSY":
        raise AbsentError("a script has blocked Redis for over 5 s")
    if said:
        raise AbsentError("Redis reports an error: {error}", error=said)


def _version(info: str) -> str:
    lines = (line.rstrip("\r").partition(":") for line in complete_lines(info))
    return short(next((value for name, _, value in lines if name == "redis_version"), ""))


def _cpu(info: str) -> float | None:
    """CPU time in hundredths of a second: that of the main thread, or where it is not told (before 6.2) that of all."""
    times: dict[str, float] = {}
    for line in complete_lines(info):
        name, _, value = line.rstrip("\r").partition(":")
        if name in _TIMES:
            with suppress(ParseError):
                times[name] = decimal(value, name)
    for suffix in ("_main_thread", ""):
        system, user = times.get(f"used_cpu_sys{suffix}"), times.get(f"used_cpu_user{suffix}")
        if system is not None and user is not None:
            return 100.0 * (system + user)
    return None
