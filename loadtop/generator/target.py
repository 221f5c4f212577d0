"""What is requested: one URL with its method, headers and body, and the bytes of the request."""

import base64
import ipaddress
import re
from dataclasses import dataclass
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from loadtop.i18n.message import Message, MessageError

_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_PATH_SAFE = "/?:@!$&'()*+,;=%-._~[]{}|\\^`\"<>"

_ANY_BYTE = "surrogateescape"
"""The command line need not be UTF-8; its bytes are sent unchanged."""


class PlanError(MessageError, ValueError):
    """The load cannot be run as requested; the message is one line and names the fix."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where connections lead: ``http`` or ``https``, a host name or address without brackets, a port.

    ``name`` is the name for SNI and the certificate, if that is not ``host``.
    """

    scheme: str
    host: str
    port: int
    name: str = ""

    @property
    def tls_name(self) -> str:
        return self.name or self.host

    @property
    def authority(self) -> str:
        """``host:port`` as in a URL, without the scheme's default port."""
        return self.address.removesuffix(f":{_PORTS[self.scheme]}")

    @property
    def address(self) -> str:
        """``host:port``, always with the port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of request. ``path`` includes the query; ``url`` never contains a user or a password.

    ``headers`` replace the defaults of the same name; several ``Cookie`` headers are sent as one. Targets of a step
    are requested in proportion to their ``weight``.
    """

    url: str
    scheme: str
    host: str
    port: int
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
            raise PlanError("{scheme} is not a scheme that can be loaded: use http:// or https://", scheme=repr(scheme))
        if port == 0:
            raise PlanError("port 0 cannot be connected to: use a port from 1 to 65535")
        origin = Origin(scheme, _host(parts.hostname or "", url), _PORTS[scheme] if port is None else port)
        path = quote(parts.path or "/", safe=_PATH_SAFE, errors=_ANY_BYTE)
        if parts.query:
            path += "?" + quote(parts.query, safe=_PATH_SAFE, errors=_ANY_BYTE)
        if parts.username is not None and not any(name.lower() == "authorization" for name, _ in headers):
            password = unquote(parts.password or "")
            headers = (*headers, ("Authorization", basic_auth(unquote(parts.username), password)))
        if not _TOKEN.fullmatch(method):
            raise PlanError("{method} is not a method: use a word such as GET, POST or PURGE", method=repr(method))
        for name, value in headers:
            check_header(name, value)
        if not 0 < weight < float("inf"):
            raise PlanError(
                "the weight {weight} of {url} is not possible: give a number above 0",
                weight=f"{weight:g}",
                url=repr(url),
            )
        clean = f"{scheme}://{origin.authority}{path}"
        return cls(clean, scheme, origin.host, origin.port, path, method, headers, body, weight)

    @property
    def origin(self) -> Origin:
        """Where to connect. As with ab, a ``Host`` header also names the TLS server."""
        asked = next((value for name, value in self.headers if name.lower() == "host"), "")
        name = asked.rpartition(":")[0] or asked if not asked.endswith("]") else asked
        return Origin(self.scheme, self.host, self.port, name.strip("[]") if self.scheme == "https" else "")


def basic_auth(user: str, password: str) -> str:
    """Return the value of an ``Authorization`` or ``Proxy-Authorization`` header (RFC 7617, UTF-8)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode(errors=_ANY_BYTE)).decode("ascii")


def check_header(name: str, value: str) -> None:
    """Raise PlanError if the header cannot be sent."""
    if not _TOKEN.fullmatch(name):
        raise PlanError("{name} is not a header name: write headers as 'Name: value'", name=repr(name))
    if _CONTROL.search(value):
        raise PlanError(
            "the value of the header {name} contains a line break or control character: remove it", name=name
        )


def request_bytes(
    target: Target,
    *,
    keepalive: bool,
    user_agent: str,
    proxy_headers: tuple[tuple[str, str], ...] | None = None,
) -> bytes:
    """Return the bytes of the HTTP/1.1 request.

    The user's headers replace the defaults of the same name (Host, User-Agent, Accept, Connection, Content-Length,
    Content-Type). ``proxy_headers`` is None unless the request goes to a plain proxy, which gets an absolute URL
    (RFC 9112 section 3.2.2).
    """
    given = {name.lower() for name, _ in target.headers}
    defaults = [("Host", target.origin.authority), ("User-Agent", user_agent), ("Accept", "*/*")]
    if not keepalive:
        defaults.append(("Connection", "close"))
    if target.body is not None:
        defaults.append(("Content-Length", str(len(target.body))))
        defaults.append(("Content-Type", "text/plain"))
    headers = [(name, value) for name, value in defaults if name.lower() not in given]
    headers += [(name, value) for name, value in target.headers if name.lower() != "cookie"]
    cookies = "; ".join(value for name, value in target.headers if name.lower() == "cookie")
    if cookies:
        headers.append(("Cookie", cookies))
    path = target.path
    if proxy_headers is not None:
        path = f"http://{target.origin.authority}{target.path}"
        headers += proxy_headers
    lines = [f"{target.method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode(errors=_ANY_BYTE) + (target.body or b"")


def _unusable(url: str, reason: Message | None) -> Message:
    return Message(
        "{url} is not a usable URL{reason}: write it as http://host[:port]/path", url=repr(url), reason=reason
    )


def _host(host: str, url: str) -> str:
    if not host:
        raise PlanError("{url} names no host: write it as http://host[:port]/path", url=repr(url))
    if ":" in host:
        try:
            ipaddress.IPv6Address(host.partition("%")[0])
        except ValueError:
            raise PlanError("[{host}] is not an IPv6 address: check it", host=host) from None
        return host
    misspelt = Message("{host} is not a host name: check the spelling", host=repr(host))
    try:
        ascii_host = host.encode("ascii" if host.isascii() else "idna").decode("ascii")
    except UnicodeError:
        raise PlanError(misspelt) from None
    labels = ascii_host.removesuffix(".").split(".")
    if not all(re.fullmatch(r"[A-Za-z0-9_-]{1,63}", label) for label in labels):
        raise PlanError(misspelt)
    return ascii_host
