"""What load to make: targets, steps and how to connect, and the bytes of each request. Pure data."""

import base64
import ipaddress
import re
from collections.abc import Iterable
from typing import NoReturn, Self, TypeVar, cast
from urllib.parse import quote, unquote, urlsplit

from msgspec import Struct, field

import loadtop
from loadtop.i18n import Message, MessageError

MAX_CONNECTIONS = 200_000  # more than the ports of one address: a typing error, not a load
MAX_WORKERS = 1024
MAX_RATE = 1e7
MIN_TIMEOUT_S = 0.001  # the precision of event loop timers
MAX_SOCKET_BUFFER = (1 << 31) - 1  # bytes: setsockopt(2) takes an int
UNLIMITED = 1 << 62  # more requests than can be sent

_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PATH_SAFE = "/?:@!$&'()*+,;=%-._~[]{}|\\^`\"<>"
_ANY_BYTE = "surrogateescape"  # the command line need not be UTF-8; its bytes are sent unchanged

_Number = TypeVar("_Number", int, float)


NO_TRACE = b"00-00000000000000000000000000000000-0000000000000000-00"
"""The value of a ``traceparent`` header that each request replaces; it is not valid itself."""


class PlanError(MessageError, ValueError):
    """The load cannot be run as requested; the message is one line and names the fix."""


class Origin(Struct, frozen=True):
    """Where connections lead: ``http`` or ``https``, a host name or address without brackets, a port. ``name`` is the
    name for SNI and the certificate, if that is not ``host``."""

    scheme: str
    host: str
    port: int
    name: str = ""

    @property
    def authority(self) -> str:
        """``host:port`` as in a URL, without the scheme's default port."""
        return self.address.removesuffix(f":{_PORTS[self.scheme]}")

    @property
    def address(self) -> str:
        """``host:port``, always with the port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Target(Struct, frozen=True):
    """One kind of request. ``path`` includes the query; ``url`` never contains a user or a password.

    A ``Host`` header also names the TLS server in ``origin``, as with ab. ``headers`` replace the defaults of the same
    name; several ``Cookie`` headers are sent as one. Targets of a step are requested in proportion to their ``weight``.
    """

    url: str
    origin: Origin
    path: str
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    weight: float = 1.0

    @classmethod
    def parse(
        cls,
        url: str,
        *,
        method: str = "GET",
        headers: tuple[tuple[str, str], ...] = (),
        body: bytes | None = None,
        weight: float = 1.0,
    ) -> Self:
        """Read ``url`` as ab does: ``host/path`` without a scheme is http, a missing path is ``/``.

        A user and password in the URL become a Basic ``Authorization`` header, unless there is one already.

        :raises PlanError: if the URL, the method, a header or the weight cannot be used
        """
        text = url.strip()
        if _CONTROL.search(text):
            raise PlanError("the URL contains a control character: remove it")
        if "://" not in text:
            text = f"http://{text}"
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError as error:
            raise PlanError(_unusable(url, Message(" ({reason})", reason=str(error)))) from None
        scheme = parts.scheme.lower()
        if not scheme:
            raise PlanError(_unusable(url, None))
        if scheme not in _PORTS:
            raise PlanError("Unsupported scheme '{scheme}': use http:// or https://", scheme=scheme)
        if port == 0:
            raise PlanError("port 0 is not valid: use a port from 1 to 65535")
        host = _host(parts.hostname or "", url)
        path = quote(parts.path or "/", safe=_PATH_SAFE, errors=_ANY_BYTE)
        if parts.query:
            path += "?" + quote(parts.query, safe=_PATH_SAFE, errors=_ANY_BYTE)
        if parts.username is not None and not any(name.lower() == "authorization" for name, _ in headers):
            password = unquote(parts.password or "")
            headers = (*headers, ("Authorization", basic_auth(unquote(parts.username), password)))
        if not _TOKEN.fullmatch(method):
            raise PlanError("Invalid method {method}: use a word such as GET, POST or PURGE", method=repr(method))
        for name, value in headers:
            check_header(name, value)
        if not 0 < weight < float("inf"):
            raise PlanError(
                "the weight of {url} must be a number above 0, got {weight}",
                weight=f"{weight:g}",
                url=repr(url),
            )
        asked = next((value for name, value in headers if name.lower() == "host" and scheme == "https"), "")
        tls_name = asked.rpartition(":")[0] or asked if not asked.endswith("]") else asked
        origin = Origin(scheme, host, _PORTS[scheme] if port is None else port, tls_name.strip("[]"))
        return cls(f"{scheme}://{origin.authority}{path}", origin, path, method, headers, body, weight)


class Step(Struct, frozen=True):
    """A period of constant load: closed model with ``concurrency`` alone, open model with ``rate`` (requests/s).

    In the open model ``concurrency`` is the maximum number of connections (None: as many as are needed). The step ends
    after ``duration_s`` or ``requests``, whichever comes first. If neither is set, it runs until it is stopped.
    ``targets`` are indexes into the plan's targets; None means all of them.
    """

    concurrency: int | None = None
    rate: float | None = None
    duration_s: float | None = None
    requests: int | None = None
    targets: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.concurrency is not None and not 1 <= self.concurrency <= MAX_CONNECTIONS:
            _refuse(Message("a concurrency of {n}", n=self.concurrency), Message("1 to {max}", max=MAX_CONNECTIONS))
        if self.rate is not None and not 0 < self.rate <= MAX_RATE:
            _refuse(_option("--rate", self.rate), Message("a number of requests/s above 0"))
        if self.duration_s is not None and not 0 < self.duration_s < float("inf"):
            _refuse(Message("a time of {s} s", s=f"{self.duration_s:g}"), Message("a number of seconds above 0"))
        if self.requests is not None and self.requests < 1:
            _refuse(_option("-n", self.requests), Message("1 or more"))


class Portion(Struct, frozen=True):
    """The part of a load that falls to worker number ``worker`` (from 0) of ``workers``."""

    worker: int = 0
    workers: int = 1

    def of(self, whole: int) -> int:
        """Return this worker's part of ``whole``; the parts of all workers add up to it."""
        return whole * (self.worker + 1) // self.workers - whole * self.worker // self.workers

    def requests(self, step: Step) -> int:
        """Return this worker's part of the requests of ``step``, or :data:`UNLIMITED` if it has no number of requests.
        In the closed model the part is in proportion to the worker's part of the connections."""
        if step.requests is None:
            return UNLIMITED
        if step.rate is not None or step.concurrency is None:
            return self.of(step.requests)
        before = step.concurrency * self.worker // self.workers
        after = before + self.of(step.concurrency)
        return step.requests * after // step.concurrency - step.requests * before // step.concurrency


class Proxy(Struct, frozen=True):
    """An HTTP proxy: plain for http targets, by CONNECT for https. ``authorization`` is the whole header value."""

    origin: Origin
    authorization: str | None = None


class TlsOptions(Struct, frozen=True):
    """TLS settings. ``protocol`` is ab's name (``TLS1.2``, ``TLS1.3``, ``ALL``); ``certificate`` is a PEM file with
    chain and key; ``sni`` sends the host name in the handshake."""

    protocol: str | None = None
    ciphers: str | None = None
    certificate: str | None = None
    sni: bool = True


class Plan(Struct, frozen=True):
    """A whole load. ``timeout_s`` is for one request, from its start (connecting included) to the last byte.

    ``any_length`` accepts bodies of differing length; ``keep_going`` continues when the server cannot be reached any
    more. The first ``warmup_s`` seconds are left out of every counter. ``bind`` is a local address; ``socket_buffer``
    is the size of send and receive buffers in bytes. ``more_workers`` adds worker processes while one is busy and
    cores are idle. ``verbosity`` is ab's -v: from 2 on, requests and responses are printed. ``traceparent`` sends a
    header of that name with a new trace id in each request.
    """

    targets: tuple[Target, ...]
    steps: tuple[Step, ...]
    keepalive: bool = False
    timeout_s: float = 30.0
    any_length: bool = False
    keep_going: bool = False
    verify_tls: bool = True
    warmup_s: float = 0.0
    workers: int = 1
    more_workers: bool = False
    user_agent: str = f"loadtop/{loadtop.__version__}"
    proxy: Proxy | None = None
    bind: str | None = None
    socket_buffer: int | None = None
    verbosity: int = 0
    traceparent: bool = False
    tls: TlsOptions = field(default_factory=TlsOptions)

    def __post_init__(self) -> None:
        if self.bind is not None:
            try:
                ipaddress.ip_address(self.bind.partition("%")[0])
            except ValueError:
                raise PlanError(
                    "-B must be an address of this machine, such as 192.0.2.7, got '{text}'.", text=self.bind
                ) from None
        if not MIN_TIMEOUT_S <= self.timeout_s < float("inf"):
            _refuse(_option("-s", self.timeout_s), Message("{min} seconds or more", min=f"{MIN_TIMEOUT_S:g}"))
        if not 0 <= self.warmup_s < float("inf"):
            _refuse(Message("a warm-up of {s} s", s=f"{self.warmup_s:g}"), Message("0 or more seconds"))
        if not 1 <= self.workers <= MAX_WORKERS:
            _refuse(_option("--workers", self.workers), Message("1 to {max}", max=MAX_WORKERS))
        if self.socket_buffer is not None and not 1 <= self.socket_buffer <= MAX_SOCKET_BUFFER:
            _refuse(_option("-b", self.socket_buffer), Message("1 to {max} bytes", max=MAX_SOCKET_BUFFER))
        if self.verbosity < 0:
            _refuse(_option("-v", self.verbosity), Message("0 or more"))


def total(parts: Iterable[_Number | None]) -> _Number | None:
    """Return the sum, or None if a part is None."""
    known = list(parts)
    return None if None in known else cast("_Number", sum(part for part in known if part is not None))


def _option(name: str, value: float) -> Message:
    number = str(value) if isinstance(value, int) else f"{value:g}"
    return Message("{option} {value}", option=name, value=number)


def _refuse(what: Message, instead: Message) -> NoReturn:
    raise PlanError("{what} is not supported: use {instead}", what=what, instead=instead)


def basic_auth(user: str, password: str) -> str:
    """Return the value of an ``Authorization`` or ``Proxy-Authorization`` header (RFC 7617, UTF-8)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode(errors=_ANY_BYTE)).decode("ascii")


def check_header(name: str, value: str) -> None:
    """Raise PlanError if the header cannot be sent."""
    if not _TOKEN.fullmatch(name):
        raise PlanError("Invalid header name {name}: write headers as 'Name: value'", name=repr(name))
    if _CONTROL.search(value):
        raise PlanError(
            "the value of the header {name} contains a line break or control character: remove it", name=name
        )


def request_bytes(target: Target, plan: Plan) -> bytes:
    """Return the bytes of the HTTP/1.1 request.

    The user's headers replace the defaults of the same name (Host, User-Agent, Accept, Connection, Content-Length,
    Content-Type). A plain proxy gets an absolute URL (RFC 9112 section 3.2.2).
    """
    given = {name.lower() for name, _ in target.headers}
    defaults = [("Host", target.origin.authority), ("User-Agent", plan.user_agent), ("Accept", "*/*")]
    if not plan.keepalive:
        defaults.append(("Connection", "close"))
    if target.body is not None:
        defaults.append(("Content-Length", str(len(target.body))))
        defaults.append(("Content-Type", "text/plain"))
    headers = [(name, value) for name, value in defaults if name.lower() not in given]
    headers += [(name, value) for name, value in target.headers if name.lower() != "cookie"]
    if plan.traceparent:
        headers.append(("traceparent", NO_TRACE.decode()))
    cookies = "; ".join(value for name, value in target.headers if name.lower() == "cookie")
    if cookies:
        headers.append(("Cookie", cookies))
    path = target.path
    if plan.proxy is not None and target.origin.scheme == "http":
        path = f"http://{target.origin.authority}{target.path}"
        if plan.proxy.authorization is not None:
            headers.append(("Proxy-Authorization", plan.proxy.authorization))
    lines = [f"{target.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode(errors=_ANY_BYTE) + (target.body or b"")


def _unusable(url: str, reason: Message | None) -> Message:
    return Message("Invalid URL {url}{reason}: write it as http://host[:port]/path", url=repr(url), reason=reason)


def _host(host: str, url: str) -> str:
    if not host:
        raise PlanError("{url} has no host: write it as http://host[:port]/path", url=repr(url))
    if ":" in host:
        try:
            ipaddress.IPv6Address(host.partition("%")[0])
        except ValueError:
            raise PlanError("Invalid IPv6 address [{host}]", host=host) from None
        return host
    misspelt = Message("Invalid host name '{host}': check the spelling", host=host)
    try:
        ascii_host = host.encode("ascii" if host.isascii() else "idna").decode("ascii")
    except UnicodeError:
        raise PlanError(misspelt) from None
    labels = ascii_host.removesuffix(".").split(".")
    if not all(re.fullmatch(r"[A-Za-z0-9_-]{1,63}", label) for label in labels):
        raise PlanError(misspelt)
    return ascii_host
