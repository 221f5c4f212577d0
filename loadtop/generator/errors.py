"""What went wrong, as one-line messages that say what to do about it."""

import errno
import socket
import ssl

from loadtop.generator.plan import Origin
from loadtop.i18n import Message, MessageError
from loadtop.model.load import NO_LOCAL_PORT

_NO_ISSUER = (18, 19, 20, 21)  # OpenSSL's X509_V_ERR codes for an unknown certificate authority


class TunnelRefusedError(MessageError, ConnectionError):
    """The proxy did not answer CONNECT with 200."""


def connect_error(error: BaseException, origin: Origin, via: str = "", bind: str | None = None) -> Message:
    """Return why no connection to ``origin`` (through the proxy ``via``) was possible, and what to try."""
    server, host = via or origin.address, via or origin.host
    match error:
        case ssl.SSLCertVerificationError():
            unknown = error.verify_code in _NO_ISSUER
            return Message(
                "the TLS certificate of {server} is not trusted ({reason}): {authority}use --insecure to accept it",
                server=origin.address,
                reason=error.verify_message,
                authority=Message("set SSL_CERT_FILE=FILE to trust its issuer, or ") if unknown else None,
            )
        case ssl.SSLError():
            return Message(
                "TLS handshake with {server} failed ({reason}): is this an https port? -f sets the TLS version, -Z the "
                "cipher suites",
                server=origin.address,
                reason=(error.reason or str(error)).replace("_", " ").lower(),
            )
        case socket.gaierror() if bind is not None:
            return Message(
                "{host} has no {family} address, which -B {bind} needs. Check the name and -B.",
                family="IPv6" if ":" in bind else "IPv4",
                host=host,
                bind=bind,
            )
        case socket.gaierror():
            return Message("unknown host {host} ({reason}): check the name", host=host, reason=error.strerror)
        case TimeoutError():
            return Message(
                "{server} does not respond (timed out): check that the host is up and that no firewall blocks the port",
                server=server,
            )
        case TunnelRefusedError():
            return Message(
                "no tunnel to {server}: {reason}: does the proxy allow CONNECT, or need a user and password (-P)?",
                server=origin.address,
                reason=error.message,
            )
        case ConnectionRefusedError():
            return Message("connection refused by {server}: is the server running on {server}?", server=server)
        case ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return Message(
                "{server} closes connections immediately: does it speak {scheme}?",
                server=server,
                scheme=origin.scheme,
            )
        case OSError() if error.errno == errno.EADDRNOTAVAIL and bind is not None:
            return Message(
                "{address} is not an address of this machine, or has no free port. See `ip address` for possible "
                "values of -B.",
                address=bind,
            )
        case OSError() if error.errno == errno.EADDRNOTAVAIL:
            return Message(NO_LOCAL_PORT, server=server)
        case OSError() if error.errno in (errno.EMFILE, errno.ENFILE):
            return Message("no free file descriptor: raise the limit (ulimit -n) or lower -c")
        case _:
            reason = getattr(error, "strerror", None) or str(error)
            return Message("no connection to {server} ({reason}): check the address", server=server, reason=reason)


_STATUS_HINTS = {
    400: Message("does it speak https on this port, or is a header wrong?"),
    401: Message("does it need a user and password (-A)?"),
    403: Message("is the path allowed, or does it need a user and password (-A)?"),
    404: Message("is the path right?"),
    405: Message("is the method right (-m)?"),
    407: Message("does the proxy need a user and password (-P)?"),
    408: Message("is it overloaded?"),
    429: Message("does it limit this client's request rate?"),
    500: Message("its error log will say why"),
    502: Message("is the server behind it running?"),
    503: Message("is it overloaded, or is the server behind it down?"),
    504: Message("is the server behind it answering?"),
}
_REDIRECT = Message("redirects are not followed: use the final URL")


def status_error(status: int) -> Message:
    """Return what to do about a server that answers ``status`` to every request."""
    hint = _STATUS_HINTS.get(status, _REDIRECT if 300 <= status < 400 else None)
    if hint is None:
        return Message("the server answers {status} to every request", status=status)
    return Message("the server answers {status} to every request: {hint}", status=status, hint=hint)
