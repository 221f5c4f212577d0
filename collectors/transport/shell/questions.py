"""Questions to servers of a remote host that perl asks there while it takes a sample (``questions.pl``).

Through the connection to the host each would have a channel of its own, for which sshd wakes up eight times there: that
costs more than to ask. Perl waits for no server longer than :data:`ANSWER_S`, because the sample waits with it: what is
not answered by then is asked again through the connection, and so are the next questions to that server.
"""

import asyncio
import contextlib
import ipaddress
import re
from collections import Counter
from collections.abc import Iterator
from itertools import count

from msgspec import Struct

from collectors.errors import FetchError
from collectors.machine import Page
from collectors.parsing import count_or_none
from collectors.transport.exchange import host_and_port
from collectors.transport.status_client import plain_request, read_page

ANSWER_S = 0.02
ANSWER_BYTES = 1 << 18  # of all answers in one frame
PATIENCE = 15  # questions after one without an answer that are not asked this way
WAIT_S = 0.02
"""How long a question waits for a frame: a sample follows at once on the questions that belong to it."""

_MOST_BYTES = 4096
_UNIX, _IPV4, _IPV6 = 1, 2, 10  # Linux's
_MOST_OF_A_PATH = 107
_ANSWER = re.compile(r"([ax]) (\d{1,9})\n", re.ASCII)


class _Question(Struct, eq=False):
    address: str
    order: str
    answer: "asyncio.Future[bytes | None]"


class Questions:
    """Those of one connection. Without ``perl`` there, none is asked."""

    def __init__(self, *, perl: bool = False) -> None:
        self._perl = perl
        self._waiting: list[_Question] = []
        self._asked: dict[int, _Question] = {}
        self._numbers = count(1)
        self._silent = Counter[str]()

    async def page(self, url: str) -> Page | None:
        """The page if the server sends it at once."""
        try:
            request = plain_request(url)
            answer = await self.ask(*request) if request else None
            return await read_page(url, answer) if answer else None
        except FetchError:
            return None

    async def ask(self, address: str, question: bytes) -> bytes | None:
        """All that ``HOST:PORT`` or the unix socket of that path answers, if it does at once and closes the
        connection."""
        place = _packed(address)
        if not self._perl or place is None or len(question) > _MOST_BYTES:
            return None
        if self._silent[address] > 0:
            self._silent[address] -= 1
            return None
        loop = asyncio.get_running_loop()
        asked = _Question(address, f"{place} {question.hex()}", loop.create_future())
        self._waiting.append(asked)
        timer = loop.call_later(WAIT_S, self._give_up, asked)
        try:
            return await asked.answer
        finally:
            timer.cancel()
            if asked in self._waiting:
                self._waiting.remove(asked)

    def orders(self) -> list[str]:
        """The orders for the questions that wait."""
        asked = dict(zip(self._numbers, self._waiting, strict=False))
        self._asked |= asked
        self._waiting = []
        return [f"Q {number} {question.order}" for number, question in asked.items()]

    def settle(self, frame: str, mark: str) -> None:
        """Give the answers in a frame to those who asked. Whoever gets none there gets ``None``."""
        for number, answer in _answers(frame, mark) if self._asked else ():
            question = self._asked.pop(number, None)
            if question is not None and not question.answer.done():
                question.answer.set_result(answer)
        for question in self._asked.values():
            if not question.answer.done():
                self._silent[question.address] = PATIENCE
                question.answer.set_result(None)
        self._asked = {}

    def _give_up(self, question: _Question) -> None:
        if question in self._waiting and not question.answer.done():
            question.answer.set_result(None)


def _answers(frame: str, mark: str) -> Iterator[tuple[int, bytes]]:
    for part in frame.split(f"\n#{mark}"):
        head = _ANSWER.match(part)
        number = count_or_none(head[2]) if head else None
        if head and number:
            text = part[head.end() :]
            with contextlib.suppress(ValueError):
                yield number, bytes.fromhex(text) if head[1] == "x" else text.encode()


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
