"""Questions to servers of a remote host that perl asks there while it takes a sample (``questions.pl``).

Through the connection to the host each would have a channel of its own: for that, sshd wakes up eight times there,
which costs more than to ask. When the files of the sample are read, perl waits for servers :data:`ANSWER_S` at most. So
only a server that has answered before is asked this way. If it does not answer in time, it is asked through the
connection until it has answered :data:`PATIENCE` times: one that is busy gets no second request for each page. The
connection to a server that speaks RESP stays open there.
"""

import asyncio
import contextlib
import ipaddress
import re
import time
from collections.abc import Iterator
from itertools import count

from msgspec import Struct
from msgspec.structs import replace

from collectors.errors import FetchError, SilentError
from collectors.machine import Page
from collectors.parsing import count_or_none
from collectors.transport.exchange import host_and_port
from collectors.transport.status_client import plain_request, read_page

ANSWER_S = 0.02
ANSWER_BYTES = 1 << 18  # of all answers in one frame
PATIENCE = 15
WAIT_S = 0.02
"""How long a question waits for a sample, which follows at once on the questions that belong to it."""

_MOST_BYTES = 4096
_MOST_SERVERS = 256
_UNIX, _IPV4, _IPV6 = 1, 2, 10  # Linux's
_MOST_OF_A_PATH = 107
_ANSWER = re.compile(r"([ax]) (\d{1,9}) (\d{1,9})\n", re.ASCII)


class _Answer(Struct, frozen=True):
    """``took_s`` is 0 where it is not known."""

    text: bytes
    took_s: float


class _Question(Struct, eq=False):
    address: str
    order: str
    content: str
    answer: "asyncio.Future[_Answer | None]"


class Questions:
    """Those of one connection. Without ``perl`` there, none is asked."""

    def __init__(self, *, perl: bool = False) -> None:
        self._perl = perl
        self._waiting: list[_Question] = []
        self._asked: dict[int, _Question] = {}
        self._sent = 0.0
        self._numbers = count(1)
        self._patience: dict[str, int] = {}

    def answered(self, address: str) -> None:
        """A server has answered through the connection."""
        if address in self._patience or len(self._patience) < _MOST_SERVERS:
            self._patience[address] = max(0, self._patience.get(address, 0) - 1)

    async def page(self, url: str, timeout_s: float) -> Page | None:
        """The page if the server sends it at once. Raises :class:`FetchError`."""
        request = plain_request(url)
        told = await self._ask(*request, timeout_s) if request else None
        if request is None or told is None:
            return None
        try:
            page = await read_page(url, told.text)
        except FetchError:
            self._patience[request[0]] = PATIENCE
            return None
        return self._dated(told, page)

    async def ask(self, address: str, question: bytes, timeout_s: float) -> bytes | None:
        """All that ``HOST:PORT`` or the unix socket of that path answers, if it does at once and closes the
        connection. Raises :class:`FetchError` where the host itself does not answer within the time-out."""
        told = await self._ask(address, question, timeout_s)
        return told.text if told else None

    async def ask_again(self, address: str, question: bytes, replies: int, timeout_s: float) -> Page | None:
        """The same on a connection that stays open there: the given number of RESP ``replies``. A server that does
        not answer at once is asked another way up to :data:`PATIENCE` times, whether it answers then or not."""
        left = self._patience.get(address)
        if left:
            self._patience[address] = left - 1
        told = None if left or left is None else await self._ask(address, question, timeout_s, f"R {replies}")
        return None if told is None else self._dated(told, Page(address, 200, told.text.decode("latin-1")))

    async def _ask(self, address: str, question: bytes, timeout_s: float, order: str = "Q") -> _Answer | None:
        place = _packed(address)
        if not self._perl or place is None or len(question) > _MOST_BYTES or self._patience.get(address, 1):
            return None
        loop = asyncio.get_running_loop()
        asked = _Question(address, order, f"{place} {question.hex()}", loop.create_future())
        self._waiting.append(asked)
        timer = loop.call_later(WAIT_S, self._give_up, asked)
        try:
            async with asyncio.timeout(timeout_s):
                return await asked.answer
        except TimeoutError:
            raise SilentError("no response within {seconds:.1f} s", seconds=timeout_s) from None
        finally:
            timer.cancel()
            if asked in self._waiting:
                self._waiting.remove(asked)

    def _dated(self, told: _Answer, page: Page) -> Page:
        return replace(page, took_s=told.took_s, came=self._sent + told.took_s) if told.took_s else page

    def orders(self) -> list[str]:
        """The orders for the questions that wait."""
        asked = {next(self._numbers): question for question in self._waiting}
        self._asked |= asked
        self._waiting, self._sent = [], time.monotonic()
        return [f"{question.order} {number} {question.content}" for number, question in asked.items()]

    def settle(self, frame: str | None, mark: str) -> None:
        """Give the answers in a frame to those who asked; ``None`` to others, and to all where there is no frame."""
        asked, self._asked = self._asked, {}
        answers = dict(_answers(frame, mark)) if asked and frame is not None else {}
        for number, question in asked.items():
            if number not in answers and frame is not None:
                self._patience[question.address] = PATIENCE
            if not question.answer.done():
                question.answer.set_result(answers.get(number))

    def _give_up(self, question: _Question) -> None:
        if question in self._waiting and not question.answer.done():
            question.answer.set_result(None)


def _answers(frame: str, mark: str) -> Iterator[tuple[int, _Answer]]:
    for part in frame.split(f"\n#{mark}"):
        head = _ANSWER.match(part)
        number, took_ms = (count_or_none(head[2]), count_or_none(head[3])) if head else (None, None)
        if head and number and took_ms is not None:
            text = part[head.end() :]
            with contextlib.suppress(ValueError):
                answer = bytes.fromhex(text) if head[1] == "x" else text.encode()
                if len(answer) <= ANSWER_BYTES:
                    yield number, _Answer(answer, took_ms / 1000)


def _packed(address: str) -> str | None:
    """The family of an address, and the rest of its ``struct sockaddr`` in hexadecimal; ``None`` for a name."""
    if address.startswith("/"):
        path = address.encode()
        return f"{_UNIX} {path.hex()}00" if len(path) <= _MOST_OF_A_PATH else None
    place = host_and_port(address)
    try:
        found = ipaddress.ip_address(place[0] if place else "")
    except ValueError:
        return None
    port = (place[1] if place else 0).to_bytes(2, "big").hex()
    if found.version == 4:
        return f"{_IPV4} {port}{found.packed.hex()}{bytes(8).hex()}"
    return f"{_IPV6} {port}{bytes(4).hex()}{found.packed.hex()}{bytes(4).hex()}"
