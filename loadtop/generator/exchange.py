"""A request that is sent many times, and recognition of its responses.

Most responses in a load test differ in nothing but their body, and once a second in their Date. So the bytes of each
parsed head are remembered. A response that starts with the same bytes has the same meaning: only its end has to be
found.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from random import getrandbits

import httptools

from loadtop.generator.plan import NO_TRACE, Origin, Target
from loadtop.i18n import MessageError, verbatim

MAX_HEADS = 1024  # learnt heads after which all are forgotten
_MAX_LEARNT_HEAD = 4096
MAX_HEAD = 1 << 18  # bytes of headers, with interim responses, after which a response is invalid
MAX_SERVER_TEXT = 200  # characters of a text of the server that leave the parser: its name, a status line, an error
MAX_INTERIM = 100  # interim (1xx) responses before one final response, after which it is invalid

_FRAMED = re.compile(rb"\r\n(?:content-length|transfer-encoding)[ \t]{0,100}:", re.IGNORECASE)
_CLOSES = re.compile(rb"\r\nconnection[ \t]{0,100}:[^\r\n]{0,1000}\bclose\b", re.IGNORECASE)
_KEEPS = re.compile(rb"\r\nconnection[ \t]{0,100}:[^\r\n]{0,1000}\bkeep-alive\b", re.IGNORECASE)
_SERVER = re.compile(rb"\r\n[Ss][Ee][Rr][Vv][Ee][Rr]:[ \t]{0,100}([^\r\n]{0,%d})" % MAX_SERVER_TEXT)


@dataclass(slots=True, eq=False)
class Head:
    """A response head: its status, the length of the body that follows, and of both together as ``total``.

    ``persistent``: the connection stays open afterwards. ``learnt``: its exchange recognises it; ``hits`` counts these.
    """

    status: int
    total: int
    body: int
    persistent: bool
    learnt: bool = False
    hits: int = 0


NO_HEAD = Head(0, -1, 0, persistent=False)


@dataclass(slots=True, eq=False)
class Exchange:
    """A target prepared for sending: the request's bytes, and the response heads learnt so far.

    The head that is expected next is also in ``prefix`` and ``head``. ``expected_body`` is the length of the first 2xx
    body. With ``learns=False`` every response is parsed. ``traced``: there is a ``traceparent`` header in the request,
    which is renewed before each use.
    """

    target: Target
    request: bytes
    learns: bool = True
    traced: bool = False
    origin: Origin = field(init=False)
    size: int = field(init=False)
    is_head: bool = field(init=False)
    expected_body: int | None = None
    heads: dict[bytes, Head] = field(default_factory=dict[bytes, Head])
    lengths: tuple[int, ...] = ()
    prefix: bytes = b"\0"
    head: Head = NO_HEAD
    _around_trace: tuple[bytes, bytes] = (b"", b"")

    def __post_init__(self) -> None:
        if self.traced:
            before, _, after = self.request.partition(NO_TRACE)
            self._around_trace = before, after
        self.origin = self.target.origin
        self.size = len(self.request)
        self.is_head = self.target.method == "HEAD"

    def renew(self) -> bytes:
        """Put a new random ``traceparent`` (W3C Trace Context, level 1) into the request; return its trace id."""
        digits = b"%048x" % getrandbits(192)
        trace_id = digits[:32]
        before, after = self._around_trace
        self.request = b"%b00-%b-%b-01%b" % (before, trace_id, digits[32:], after)
        return trace_id

    def find(self, data: bytes) -> Head | None:
        """Return the learnt head with which ``data`` starts."""
        if self.head is not NO_HEAD and data.startswith(self.prefix):
            return self.head
        for length in self.lengths:
            head = self.heads.get(data[:length])
            if head is not None:
                self.prefix, self.head = data[:length], head
                return head
        return None

    def learn(self, prefix: bytes, head: Head) -> None:
        if not self.learns:
            return
        # Two connections may have parsed the same head at the same time: the first one stays, with its hits.
        head = self.heads.setdefault(prefix, head)
        head.learnt = True
        self.prefix, self.head = prefix, head
        if len(prefix) not in self.lengths:
            self.lengths = (len(prefix), *self.lengths[:7])

    def head_bytes(self, head: Head) -> bytes:
        """The bytes of a learnt head, for a person; empty if it was forgotten."""
        return next((prefix for prefix, known in self.heads.items() if known is head), b"")

    def forget(self) -> None:
        """Forget all heads; hits must have been counted before."""
        for head in self.heads.values():
            head.learnt = False
        self.heads.clear()
        self.lengths = ()
        self.prefix, self.head = b"\0", NO_HEAD


class InvalidResponseError(MessageError):
    """The data is not an HTTP/1 response, or one that does not end."""


class ResponseParser:
    """Parses one response after the other with httptools, fed in pieces of any size.

    ``is_head``: the response answers HEAD, so it has no body, whatever its length says. ``complete`` is set by the
    last byte of a final response, ``extra`` when more data follows it. ``start`` is the head and what came in the same
    packets: interim responses before it, the start of the body.
    """

    def __init__(self, *, is_head: bool) -> None:
        self.is_head = is_head
        self._parser = httptools.HttpResponseParser(self)
        self._feed: Callable[[bytes], None] = self._parser.feed_data
        self._status: Callable[[], int] = self._parser.get_status_code
        self.reset()

    def reset(self) -> None:
        """Prepare for the next response on the same connection."""
        self.status = self.body = self.received = self._interim = 0
        self._prefix = b""
        self.start = bytearray()
        self.complete = self.extra = self.chunked = self.headers_done = self.persistent = self.until_close = False

    def feed(self, data: bytes) -> None:
        """Parse the next bytes. Raises InvalidResponseError where they are not HTTP."""
        if not self.headers_done:
            if not self.received:
                self._prefix = data[: data.find(b"\r\n\r\n") + 4]
            self.start += data[:MAX_HEAD]
        self.received += len(data)
        try:
            self._feed(data)
        except httptools.HttpParserUpgrade:
            if not self.complete:
                raise InvalidResponseError("it switched protocols") from None
            self.extra = True
        except httptools.HttpParserError as error:
            if not self.complete:
                raise InvalidResponseError(verbatim(str(error)[:MAX_SERVER_TEXT])) from None
            self.extra = True
        if not self.headers_done and self.received > MAX_HEAD:
            raise InvalidResponseError("its header is longer than {limit} kB", limit=MAX_HEAD >> 10)
        if self._interim > MAX_INTERIM:
            raise InvalidResponseError("it sent more than {limit} interim responses", limit=MAX_INTERIM)

    def end(self) -> bool:
        """The connection ended: return whether the response is complete, as one without a length is then."""
        if self.headers_done and not self.complete and not self.persistent:
            self.complete = self.until_close = _FRAMED.search(self.head) is None
        return self.complete

    @property
    def prefix(self) -> bytes | None:
        """The bytes of the head, if later responses with the same head have the same length."""
        length = len(self._prefix)
        if self.extra or self._interim or self.chunked or self.until_close or not 4 < length <= _MAX_LEARNT_HEAD:
            return None
        return self._prefix if self.received == length + self.body else None

    @property
    def head(self) -> bytes:
        """The head of the final response, without interim responses and body."""
        heads = self.start.split(b"\r\n\r\n", self._interim + 1)
        return bytes(heads[min(self._interim, len(heads) - 1)])

    def _keeps_connection(self) -> bool:
        """Whether it stays open after a response to HEAD: without a length, httptools expects a body up to its end."""
        if self._parser.get_http_version() != "1.1":
            return _KEEPS.search(self.head) is not None
        return _CLOSES.search(self.head) is None

    @property
    def server(self) -> str:
        """The software that the head names, at most :data:`MAX_SERVER_TEXT` characters of it."""
        found = _SERVER.search(self.head)
        return found[1].decode("latin-1").strip() if found else ""

    # Callbacks of httptools:

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
        self.persistent = self._parser.should_keep_alive() or (self.is_head and self._keeps_connection())
        self.complete = self.is_head

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
