"""One request as it is sent again and again, and the responses to it that are already known by heart.

Most responses to a load test differ in nothing but their body, and once a second in their Date. So the bytes of every
head that was parsed are kept with what they meant: a response that begins with the very same bytes means the very same
thing, and only its end has to be found.
"""

import re
from collections.abc import Callable

import httptools

from loadtop.generator.target import Origin, Target

_MOST_HEADS = 1024
_LONGEST_KEPT_HEAD = 4096
LONGEST_HEAD = 1 << 18
"""Bytes of headers (interim responses included) after which a response counts as broken: more than servers can send."""
MOST_INTERIM = 100
"""Interim (1xx) responses before one final response, after which it counts as broken."""

_FRAMED = re.compile(rb"\r\n(?:content-length|transfer-encoding)[ \t]*:", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection[ \t]*:[^\r\n]*\bclose\b", re.IGNORECASE)
_KEEPS = re.compile(rb"\r\nconnection[ \t]*:[^\r\n]*\bkeep-alive\b", re.IGNORECASE)
_SERVER = re.compile(rb"\r\n[Ss][Ee][Rr][Vv][Ee][Rr]:[ \t]*([^\r\n]*)")


class Head:
    """What a response's head means: its status, whether the connection stays, the bytes of the whole response."""

    __slots__ = ("body", "hits", "known", "length", "persistent", "status", "total")

    def __init__(self, status: int, length: int, body: int, *, persistent: bool) -> None:
        self.status = status
        self.length = length
        self.body = body
        self.total = length + body
        self.persistent = persistent
        self.known = False
        """Whether its exchange knows it, and so counts its hits."""
        self.hits = 0


NEVER = Head(0, -1, 0, persistent=False)


class Exchange:
    """A target made ready: its bytes on the wire, the length its body ought to have, and the heads seen so far."""

    __slots__ = (
        "document",
        "head",
        "headless",
        "heads",
        "index",
        "kept",
        "learns",
        "lengths",
        "origin",
        "prefix",
        "size",
        "total",
        "wire",
    )

    def __init__(self, index: int, target: Target, wire: bytes, *, learns: bool = True) -> None:
        self.index = index
        self.learns = learns
        """Whether heads are learnt; where not, every response is parsed."""
        self.origin: Origin = target.origin
        self.wire = wire
        self.size = len(wire)
        self.headless = target.method == "HEAD"
        self.document: int | None = None
        self.heads: dict[bytes, Head] = {}
        self.lengths: tuple[int, ...] = ()
        self.prefix = b"\0"
        self.total = -1
        self.head = NEVER
        self.kept = False
        """Whether a response that begins with ``prefix`` leaves the connection open for the next request."""

    def find(self, data: bytes) -> Head | None:
        """The known head that ``data`` begins with."""
        if self.total >= 0 and data.startswith(self.prefix):
            return self.head
        for length in self.lengths:
            head = self.heads.get(data[:length])
            if head is not None:
                self._expect(data[:length], head)
                return head
        return None

    def learn(self, prefix: bytes, head: Head) -> None:
        """Know this head from now on. The owner counts the hits of heads before they are forgotten."""
        if not self.learns:
            return
        # Two connections may have parsed the same head side by side: the first one is kept, with its hits.
        head = self.heads.setdefault(prefix, head)
        head.known = True
        self._expect(prefix, head)
        if len(prefix) not in self.lengths:
            self.lengths = (len(prefix), *self.lengths[:7])

    def _expect(self, prefix: bytes, head: Head) -> None:
        self.prefix, self.head, self.total = prefix, head, head.total
        self.kept = head.persistent

    @property
    def full(self) -> bool:
        return len(self.heads) >= _MOST_HEADS

    def forget(self) -> None:
        """Forget all heads; their hits are lost unless they were counted before."""
        for head in self.heads.values():
            head.known = False
        self.heads.clear()
        self.lengths = ()
        self.prefix, self.head, self.total = b"\0", NEVER, -1


class BrokenResponseError(Exception):
    """What came is no HTTP/1 response, or one without end."""


class Reply:
    """One response being parsed by httptools, fed in pieces of any size.

    ``complete`` is set by the last byte of a final response; ``extra`` says that more came than the response has.
    """

    __slots__ = (
        "_feed",
        "_interim",
        "_parser",
        "_prefix",
        "_start",
        "_status",
        "body",
        "chunked",
        "complete",
        "extra",
        "headers_done",
        "headless",
        "persistent",
        "received",
        "status",
    )

    def __init__(self, *, headless: bool) -> None:
        self.headless = headless
        """Whether it answers HEAD, and so has no body whatever its length says."""
        self._parser = httptools.HttpResponseParser(self)
        self._feed: Callable[[bytes], None] = self._parser.feed_data
        self._status: Callable[[], int] = self._parser.get_status_code
        self.begin()

    def begin(self) -> None:
        """Get ready for the next response on the same connection."""
        self.status = self.body = self.received = self._interim = 0
        self._prefix = b""
        self._start = bytearray()
        self.complete = self.extra = self.chunked = self.headers_done = self.persistent = False

    def feed(self, data: bytes) -> None:
        """Take the next bytes. Raises :class:`BrokenResponseError` where they are no HTTP."""
        if not self.headers_done:
            if not self.received:
                self._prefix = data[: data.find(b"\r\n\r\n") + 4]
            self._start += data[:LONGEST_HEAD]
        self.received += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            if not self.complete:
                raise BrokenResponseError("it switched protocols") from None
            self.extra = True
        except httptools.HttpParserError as error:
            if not self.complete:
                raise BrokenResponseError(str(error)) from None
            self.extra = True
        if not self.headers_done and self.received > LONGEST_HEAD:
            raise BrokenResponseError(f"its head is longer than {LONGEST_HEAD >> 10} kB")
        if self._interim > MOST_INTERIM:
            raise BrokenResponseError(f"it sent more than {MOST_INTERIM} interim responses")

    def end(self) -> bool:
        """The connection ended: whether that completes the response (one without a length ends so)."""
        if self.headers_done and not self.complete and not self.persistent:
            self.complete = _FRAMED.search(self._head) is None
        return self.complete

    def learned(self) -> tuple[bytes, Head] | None:
        """The bytes and the meaning of the head, of a complete response that came with its length, where the next one
        that begins with these bytes can be framed by that length alone."""
        length = len(self._prefix)
        if self._interim or self.chunked or not 4 < length <= _LONGEST_KEPT_HEAD:
            return None
        if self.received != length + self.body:
            return None
        return self._prefix, Head(self.status, length, self.body, persistent=self.persistent)

    @property
    def _head(self) -> bytes:
        """The head of the final response alone: without interim responses and body."""
        heads = self._start.split(b"\r\n\r\n", self._interim + 1)
        return bytes(heads[min(self._interim, len(heads) - 1)])

    def _stays(self) -> bool:
        """Whether the connection stays after an answer to HEAD. Without a length in it, the parser expects a body that
        ends with the connection."""
        if self._parser.get_http_version() != "1.1":
            return _KEEPS.search(self._head) is not None
        return _CLOSES.search(self._head) is None

    @property
    def start(self) -> bytes:
        """The head, with what came in the same packets: interim responses before it, the beginning of the body."""
        return bytes(self._start)

    @property
    def server(self) -> str:
        """The value of the ``Server`` header, or an empty string."""
        found = _SERVER.search(self._head)
        return found[1].decode("latin-1").strip() if found else ""

    # What httptools calls:

    def on_message_begin(self) -> None:
        if self.complete:
            self.extra = True

    def on_headers_complete(self) -> None:
        if self.complete:
            return
        self.status = self._status()
        if 100 <= self.status < 200:
            return
        self.headers_done = True
        self.persistent = self._parser.should_keep_alive() or (self.headless and self._stays())
        self.complete = self.headless

    def on_chunk_header(self) -> None:
        self.chunked = True

    def on_body(self, body: bytes) -> None:
        if self.complete:
            self.extra = True
        else:
            self.body += len(body)

    def on_message_complete(self) -> None:
        if 100 <= self.status < 200 and not self.complete:
            self._interim += 1
        else:
            self.complete = True
